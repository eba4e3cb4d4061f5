"""The passage of a text that fits a question best. Pure, linear in the text.

Law: a passage stands in the text as it is, and is short enough to be judged as one statement.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from undrift.core.text.words import stem, words_of
from undrift.values.passages import Passage, passages_of

__all__ = ["best_passage", "explained", "passage_in"]


def best_passage(text: str, words: Mapping[str, float], nearest: int = 0) -> tuple[Passage, float]:
    """Return the passage that holds most of a question, and the share of the question that it holds, 0 to 1.

    Args:
        words: The words of the question, each with its rarity. Any form of a word counts.
        nearest: The number of the passage that is taken if none holds a word: the nearest one by its vector.
    """
    stems: dict[str, float] = {}
    for word, weight in words.items():
        stems[stem(word)] = max(weight, stems.get(stem(word), 0.0))
    passages = passages_of(text) or [Passage(0, len(text))]
    held = [_held(text[one.start : one.end], stems) for one in passages]
    most, whole = max(held), sum(stems.values())
    best = held.index(most) if most > 0.0 else nearest if nearest < len(passages) else 0
    return passages[best], min(1.0, most / whole) if whole > 0.0 else 0.0


def explained(text: str, why: Mapping[str, Any], words: Mapping[str, float]) -> dict[str, Any]:
    """Return the parts of a hit's score with the passage that fits best, and the share of the question that it holds.

    ``passage``: its first character and the one after its last. ``coverage``: 0 to 1; it compares between searches.
    """
    place, coverage = best_passage(text, words, why.get("nearest", 0))
    return {**why, "passage": list(place), "coverage": coverage}


def passage_in(text: str, why: Mapping[str, Any]) -> str:
    """Return the passage of a hit's text that fits the question best: its ``why["passage"]``; without one, the whole text."""
    place = why.get("passage")
    return text[place[0] : place[1]] if place else text


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """Stem a word; most words of a text were in the one before."""
    return stem(word)


def _held(text: str, stems: Mapping[str, float]) -> float:
    own = {_stem(word) for word in words_of(text)}
    return sum(weight for one, weight in stems.items() if one in own)
