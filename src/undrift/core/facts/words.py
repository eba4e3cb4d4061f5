"""The words of a text, as facts and descriptions are compared. Pure.

Law: the seed's splitter and its 43 stop words, literally (R4-21); what is added to them is added by the caller (A4-21).
"""

import re
from collections.abc import Iterable

__all__ = ["STOP_WORDS", "parts_of", "words_of"]

STOP_WORDS: frozenset[str] = frozenset(
    {
        "a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "do", "does", "did",
        "will", "would", "shall", "should", "may", "might", "can", "could", "of", "in", "to", "for", "with", "on", "at",
        "by", "from", "as", "or", "and", "but", "not", "no", "this", "that", "it", "its",
    }
)  # fmt: skip

_BETWEEN = re.compile(r"[\s/\-_.,:;()\[\]{}]+")
_HUMPS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, repeated ones repeated, without the stop words.

    Source: R4-21.
    """
    return [word for word in _BETWEEN.split(text.lower()) if word and word not in STOP_WORDS]


def parts_of(text: str) -> list[str]:
    """Return the words of a text, and beside each one in camelCase its parts: an extra splitter, off by default.

    Source: A4-22.
    """
    words: list[str] = []
    for word in _BETWEEN.split(text):
        words += [word, *_humps(word)]
    return [lower for lower in (word.lower() for word in words) if lower and lower not in STOP_WORDS]


def _humps(word: str) -> Iterable[str]:
    found = _HUMPS.findall(word)
    return found if len(found) > 1 else ()
