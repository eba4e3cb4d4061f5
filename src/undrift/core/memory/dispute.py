"""Hits that exclude each other: each says so, and the one that counts more comes first. Pure.

Law: nothing is left out, and a hit without an open conflict keeps its place but for those that move before it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from undrift.core.memory.supersede import open_conflicts
from undrift.values.memory import TRUST_TIERS, MemoryEntry, ScoredMemoryEntry

__all__ = ["DISPUTES", "counts_less", "named", "with_disputes"]

DISPUTES = "disputes"
"""The part of `ScoredMemoryEntry.why` with the ids of the active hits that exclude this one."""

_MOST_NAMED = 2
"""A flood makes one statement exclude hundreds: all their ids would be longer than a whole brief."""


def with_disputes(
    hits: Sequence[ScoredMemoryEntry], excluding: Iterable[tuple[str, str]] = ()
) -> list[ScoredMemoryEntry]:
    """Mark the active hits that exclude each other, and put the one that counts more first.

    Between two scopes the project's own counts more than what holds everywhere; else the one that is trusted more does.
    The output of a tool counts less than anything.

    `excluding`: pairs of ids that exclude each other, beside those that the memories came with.
    """
    active = {hit.entry.id: hit.entry for hit in hits if not hit.entry.is_contradicted}
    pairs = [(entry.id, one["with"]) for entry in active.values() for one in open_conflicts(entry)]
    pairs = [pair for pair in (*pairs, *excluding) if active.keys() >= {*pair}]
    disputes: dict[str, list[str]] = {}
    for one, other in pairs:
        disputes.setdefault(one, []).append(other)
        disputes.setdefault(other, []).append(one)
    order = [_marked(hit, disputes.get(hit.entry.id)) for hit in hits]
    for pair in pairs:
        first, second = sorted(pair, key=lambda one: counts_less(active[one]))
        places = {hit.entry.id: place for place, hit in enumerate(order)}
        if counts_less(active[first]) < counts_less(active[second]) and places[first] > places[second]:
            order.insert(places[second], order.pop(places[first]))
    return order


def counts_less(entry: MemoryEntry) -> tuple[bool, bool, int]:
    """Return a key for the order of two memories that exclude each other: the lower comes first."""
    tier = TRUST_TIERS[entry.trust]
    return tier == 0, entry.scope == "user", -tier


def named(ids: Sequence[str]) -> str:
    """Return the first two ids as a text, and how many more there are."""
    more = len(ids) - _MOST_NAMED
    return ", ".join(ids[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _marked(hit: ScoredMemoryEntry, disputes: Sequence[str] | None) -> ScoredMemoryEntry:
    if not disputes:
        return hit
    return replace(hit, why={**hit.why, DISPUTES: list(dict.fromkeys(disputes))})
