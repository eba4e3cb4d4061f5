"""Hits that exclude each other: each says so, and the one that counts more comes first. Pure.

Law: nothing is left out, and a hit without an open conflict keeps its place but for those that move before it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from undrift.core.memory.supersede import open_conflicts
from undrift.values.memory import TRUST_TIERS, MemoryEntry, ScoredMemoryEntry

__all__ = ["DISPUTES", "counts_less", "named", "opponents", "standing_for", "with_disputes"]

DISPUTES = "disputes"
"""The part of `ScoredMemoryEntry.why` with the ids of the active hits that exclude this one."""

_MOST_NAMED = 2
"""A flood makes one statement exclude hundreds: all their ids would be longer than a whole brief."""

_OF_ITS_TEXT = frozenset({"passage", "nearest", "coverage"})
"""The parts of `why` that are about the text of one hit."""

_MOST_BESIDE = 4
"""Hits that move up to stand directly behind the one that counts more."""


def with_disputes(
    hits: Sequence[ScoredMemoryEntry],
    excluding: Iterable[tuple[str, str]] = (),
    unsettled: Iterable[tuple[str, str]] = (),
) -> list[ScoredMemoryEntry]:
    """Mark the active hits that exclude each other, and put the one that counts more directly before the other.

    Between two scopes the project's own counts more than what holds everywhere; else the one that is trusted more does.
    The output of a tool counts less than anything. If two count the same, a pinned one comes first, else the later one.

    `excluding`: pairs of ids that exclude each other, beside those that the memories came with. `unsettled`: pairs of which
    one denies the other; both stand side by side, the better hit of the two first.
    """
    active = {hit.entry.id: hit.entry for hit in hits if not hit.entry.is_contradicted}
    pairs = [(entry.id, one["with"]) for entry in active.values() for one in open_conflicts(entry)]
    pairs = [pair for pair in dict.fromkeys((*pairs, *excluding)) if active.keys() >= {*pair}]
    open_pairs = [pair for pair in dict.fromkeys(unsettled) if active.keys() >= {*pair} and pair not in pairs]
    disputes: dict[str, list[str]] = {}
    for one, other in (*pairs, *open_pairs):
        disputes.setdefault(one, []).append(other)
        disputes.setdefault(other, []).append(one)
    order = [_marked(hit, disputes.get(hit.entry.id)) for hit in hits]
    beside: Counter[str] = Counter()
    for pair in (*pairs, *open_pairs):
        places = {hit.entry.id: place for place, hit in enumerate(order)}
        first, second = sorted((active[one] for one in pair), key=_precedence)
        if pair in open_pairs and _tier(first) == _tier(second):
            first, second = sorted((first, second), key=lambda entry: places[entry.id])
        ahead, behind = places[first.id], places[second.id]
        if ahead > behind:
            lifted = _is_below(order[behind:ahead], first)
            order.insert(behind, order.pop(ahead)) if lifted else order.insert(ahead, order.pop(behind))
        elif 0 < _tier(first) == _tier(second) and beside[first.id] < _MOST_BESIDE:
            beside[first.id] += 1
            place = ahead + beside[first.id]
            if behind > place and _is_below(order[place:behind], second):
                order.insert(place, order.pop(behind))
    return order


def opponents(hits: Mapping[str, ScoredMemoryEntry], others: Iterable[MemoryEntry]) -> list[ScoredMemoryEntry]:
    """Return the active memories that are in open conflict with a hit, as hits with its score.

    `hits`: by id. `others`: memories that are no hits themselves.
    """
    against = {id: {one["with"] for one in open_conflicts(hit.entry)} for id, hit in hits.items()}
    found = []
    for other in others:
        own = {one["with"] for one in open_conflicts(other)}
        id = next((id for id in hits if id in own or other.id in against[id]), None)
        if id is not None and not other.is_contradicted:
            found.append(replace(hits[id], entry=other, why=standing_for(hits[id])))
    return found


def standing_for(hit: ScoredMemoryEntry) -> dict[str, Any]:
    """Return the `why` of a memory that is found because of a hit: the passage and its coverage are of the hit's own text."""
    return {name: part for name, part in hit.why.items() if name not in _OF_ITS_TEXT} | {"stands_for": hit.entry.id}


def counts_less(entry: MemoryEntry) -> tuple[bool, bool, int]:
    """Return a key for the order of two memories that exclude each other: the lower comes first."""
    tier = TRUST_TIERS[entry.trust]
    return tier == 0, entry.scope == "user", -tier


def _precedence(entry: MemoryEntry) -> tuple[bool, bool, int, bool, int, tuple[int, int], int]:
    """Return a key for the order of two that exclude each other: by what counts, then pinned ones, then the later one."""
    phase, task = entry.task_position
    return *counts_less(entry), not entry.pinned, -entry.valid_from_ms, (-phase, -task), -entry.seq


def _tier(entry: MemoryEntry) -> int:
    return TRUST_TIERS[entry.trust]


def _is_below(passed: Iterable[ScoredMemoryEntry], entry: MemoryEntry) -> bool:
    """Tell whether an entry may stand before these hits: none of them is trusted more."""
    return all(_tier(hit.entry) <= _tier(entry) for hit in passed)


def named(ids: Sequence[str], days: Mapping[str, str] | None = None) -> str:
    """Return the first two ids as a text, each with its day if that is known, and how many more there are."""
    more, known = len(ids) - _MOST_NAMED, days or {}
    first = (f"{one} of {known[one]}" if one in known else one for one in ids[:_MOST_NAMED])
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")


def _marked(hit: ScoredMemoryEntry, disputes: Sequence[str] | None) -> ScoredMemoryEntry:
    if not disputes:
        return hit
    return replace(hit, why={**hit.why, DISPUTES: list(dict.fromkeys(disputes))})
