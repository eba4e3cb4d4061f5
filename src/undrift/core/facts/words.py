"""The words of a text, as facts and descriptions are compared. Pure.

Law: the seed's 43 stop words, literally; callers add their own. core/text/words cuts the words: at every sign where the
seed's splitter cuts, and at quotes and other signs, which are no part of a word. All forms of a word are compared as one.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from undrift.core.text.words import stem, words_of, words_written

__all__ = ["STOP_WORDS", "parts_of", "stems", "telling_words"]

STOP_WORDS: frozenset[str] = frozenset(
    {
        "a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "do", "does", "did",
        "will", "would", "shall", "should", "may", "might", "can", "could", "of", "in", "to", "for", "with", "on", "at",
        "by", "from", "as", "or", "and", "but", "not", "no", "this", "that", "it", "its",
    }
)  # fmt: skip

_HUMPS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")


def telling_words(text: str) -> list[str]:
    """Return the words of a text in lower case, repeated ones repeated, without the stop words."""
    return [word for word in words_of(text) if word not in STOP_WORDS]


def parts_of(text: str) -> list[str]:
    """Return the words of a text, and beside each one in camelCase its parts: an extra splitter, off by default."""
    words: list[str] = []
    for word in words_written(text):
        humps = _HUMPS.findall(word)
        words += [word, *humps] if len(humps) > 1 else [word]
    return [lower for word in words if (lower := word.casefold()) not in STOP_WORDS]


def stems(words: Iterable[str]) -> list[str]:
    """Return the stem of each word: ``refreshing`` and ``refreshes`` are compared as ``refresh``."""
    return [_stem(word) for word in words]


@lru_cache(maxsize=8_192)
def _stem(word: str) -> str:
    """Keep the stems of the words that come again and again: an index of 100,000 facts asks for a million of them."""
    return stem(word)
