"""Hits that exclude each other: each says so, and the one that is trusted more comes first. Pure.

Law: nothing is left out, and a hit without an open conflict keeps its place but for those that move before it.
"""

from collections.abc import Sequence
from dataclasses import replace

from undrift.core.memory.supersede import open_conflicts
from undrift.values.memory import TRUST_TIERS, ScoredMemoryEntry

__all__ = ["DISPUTES", "with_disputes"]

DISPUTES = "disputes"
"""The part of `ScoredMemoryEntry.why` with the ids of the active hits that exclude this one."""


def with_disputes(hits: Sequence[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
    """Mark the active hits that exclude each other; of two, the one that is trusted more comes first."""
    active = {hit.entry.id: hit.entry for hit in hits if not hit.entry.is_contradicted}
    pairs = [(entry.id, one["with"]) for entry in active.values() for one in open_conflicts(entry)]
    pairs = [pair for pair in pairs if pair[1] in active]
    disputes: dict[str, list[str]] = {}
    for one, other in pairs:
        disputes.setdefault(one, []).append(other)
        disputes.setdefault(other, []).append(one)
    order = [_marked(hit, disputes.get(hit.entry.id)) for hit in hits]
    for pair in pairs:
        first, second = sorted(pair, key=lambda one: -TRUST_TIERS[active[one].trust])
        places = {hit.entry.id: place for place, hit in enumerate(order)}
        is_trusted_more = TRUST_TIERS[active[first].trust] > TRUST_TIERS[active[second].trust]
        if is_trusted_more and places[first] > places[second]:
            order.insert(places[second], order.pop(places[first]))
    return order


def _marked(hit: ScoredMemoryEntry, disputes: Sequence[str] | None) -> ScoredMemoryEntry:
    if not disputes:
        return hit
    return replace(hit, why={**hit.why, DISPUTES: list(dict.fromkeys(disputes))})
