"""One ranking of the hits of two stores: a project's memories, and those that hold in every project. Pure.

Law: the project's hits keep their order and their scores. A memory that holds everywhere never stands before a project's
memory that fits the question better; age lowers the latter's score, not its fit.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import log

from undrift.core.text.words import stem, words_of
from undrift.values.memory import ScoredMemoryEntry

__all__ = ["merged", "rarity", "strength"]

_LOOKED_AT = 10
_MEANING = 0.4
"""The share of the similarity, as in the ranking of one store (`Weights.dense`)."""


def rarity(total: int, counts: Mapping[str, int]) -> dict[str, float]:
    """Return how much each word of a question says: the rarer, the more.

    Args:
        total: The number of memories, of both stores.
        counts: A word to the number of memories that hold it, of both stores.
    """
    return {word: log(1 + (max(total - number, 0) + 0.5) / (number + 0.5)) for word, number in counts.items()}


def strength(hits: Sequence[ScoredMemoryEntry], words: Mapping[str, float]) -> float:
    """Return how well the best of the first hits fits, 0 to 1, by a measure that is the same in every store.

    Args:
        hits: Best first.
        words: The words of the question, each with its rarity.
    """
    stems = {stem(word): weight for word, weight in words.items()}
    whole = sum(stems.values())
    return max((_fit(hit, stems, whole) for hit in hits[:_LOOKED_AT]), default=0.0)


def merged(
    project: Sequence[ScoredMemoryEntry], everywhere: Sequence[ScoredMemoryEntry], factor: float = 1.0
) -> list[ScoredMemoryEntry]:
    """Put the hits that hold everywhere among those of the project; each list is best first.

    `factor`: the scores of the former are multiplied by it, so that they compare with the project's.
    """
    order = list(project)
    start = 0
    for hit in everywhere:
        raw, decayed = min(1.0, hit.raw_score * factor), min(1.0, hit.decayed_score * factor)  # as a hit cuts them off
        place = next(
            (place for place in range(start, len(order)) if _is_behind(order[place:], raw, decayed)), len(order)
        )
        if place:
            decayed = min(decayed, order[place - 1].decayed_score)
        order.insert(place, replace(hit, raw_score=raw, decayed_score=decayed))
        start = place + 1
    return order


def _is_behind(rest: Sequence[ScoredMemoryEntry], raw: float, decayed: float) -> bool:
    """Tell whether nothing of the rest fits better, and its first one scores lower."""
    fits_better = any(one.raw_score >= raw for one in rest if not one.entry.is_contradicted)
    return not fits_better and rest[0].decayed_score <= decayed


def _fit(hit: ScoredMemoryEntry, stems: Mapping[str, float], whole: float) -> float:
    own: Collection[str] = {stem(word) for word in words_of(hit.entry.content)}
    share = sum(weight for one, weight in stems.items() if one in own) / whole if whole else 0.0
    similarity = hit.why.get("similarity")
    return share if similarity is None else (1 - _MEANING) * share + _MEANING * max(0.0, float(similarity))
