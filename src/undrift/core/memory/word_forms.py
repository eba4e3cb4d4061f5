"""The form of a word in which two statements are compared: its stem, or that of the first of its synonyms. Pure."""

from functools import cache

from undrift.core.memory.same_words import LIGHT, SYNONYMS
from undrift.core.text.words import stem

__all__ = ["groups", "light", "normal", "normal_forms", "short_form"]

_LONG = 9
_ENDINGS = ("ations", "ation", "ions", "ion", "als", "al", "ments", "ment", "ance", "ence")


@cache
def groups() -> dict[str, tuple[str, ...]]:
    return {words[0]: words for words in (tuple(group.split()) for group in SYNONYMS)}


@cache
def _synonyms() -> dict[str, str]:
    found: dict[str, str] = {}
    for group in SYNONYMS:
        for word in group.split():
            for form in (word, short_form(word)):
                found.setdefault(form, group.split()[0])
    return found


@cache
def light() -> frozenset[str]:
    return frozenset(map(short_form, LIGHT))


@cache
def normal_forms(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(normal, words))


def normal(word: str) -> str:
    short = short_form(word)
    return short if short in light() else _synonyms().get(word) or _synonyms().get(short) or short


def short_form(word: str) -> str:
    """Return the stem of a word that it shares with the noun made of it: "remove" and "removal"."""
    short = stem(word)
    if len(short) >= _LONG and short.endswith("y"):
        return short[:-1]
    for ending in _ENDINGS:
        if short.endswith(ending) and len(short) - len(ending) >= 5:
            return stem(short.removesuffix(ending))
    return short
