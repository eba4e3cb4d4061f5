"""Of hits that speak of one thing, the later one first, where a question is about now. Pure.

Law: recency breaks near-ties, and those alone: a later statement passes an earlier one that is about as good an answer, of
the same speaker, in the same words, and vouched for no better. What is asked of the past keeps its order.
"""

from collections.abc import Sequence
from functools import cache

from undrift.core.contradict.words import stems_of
from undrift.core.retrieve import STOP_WORDS, is_question, words_of
from undrift.records import TRUST_TIERS, ScoredMemoryEntry

__all__ = ["asks_of_now", "later_first"]

_NEAR = 0.6
"""Of the earlier hit's score, what the later one has at least. Chosen, like the next two, on half of the update set and two
conversations of LoCoMo: ``python -m bench.update_ranking`` has both halves."""
_SHARED = 0.25
"""Of the words of the shorter statement, those that both have."""
_FIRST = 10
"""Hits among which it is done."""
_PAST = frozenset({
    "did", "was", "were", "had", "been", "ago", "last", "yesterday", "earlier", "previously", "former", "formerly",
    "before", "originally", "first", "initially", "history",
})  # fmt: skip


def asks_of_now(query: str) -> bool:
    """Tell whether nothing in a question points to the past."""
    return _PAST.isdisjoint(words_of(query))


def later_first(query: str, hits: Sequence[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
    """Put a later statement directly before the first that it may take the place of.

    Args:
        query: What was asked.
        hits: Best first, with their decayed scores.

    Source: issue "Memory": of two statements about the same thing the later one ranks first.
    """
    if not asks_of_now(query):
        return list(hits)
    order = list(hits[:_FIRST])
    words = cache(_words)  # few pairs come so far
    for hit in tuple(order):
        if hit.entry.is_contradicted or is_question(hit.entry.content):
            continue
        for place, earlier in enumerate(order[: order.index(hit)]):
            if _is_later(hit, earlier) and _meet(words(hit.entry.content), words(earlier.entry.content)):
                order.remove(hit)
                order.insert(place, hit)
                break
    return [*order, *hits[_FIRST:]]


def _is_later(hit: ScoredMemoryEntry, other: ScoredMemoryEntry) -> bool:
    one, two = hit.entry, other.entry
    return (
        one.valid_from_ms > two.valid_from_ms
        and hit.decayed_score >= _NEAR * other.decayed_score
        and one.speaker == two.speaker
        and TRUST_TIERS[one.trust] >= TRUST_TIERS[two.trust]
        and not two.pinned
    )


def _meet(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= max(1.0, _SHARED * min(len(one), len(other)))


def _words(text: str) -> frozenset[str]:
    return frozenset(stems_of(frozenset(word for word in words_of(text) if word not in STOP_WORDS)))
