"""Supersession, for memories and facts alike: whose validity ends when another statement takes its place. Pure.

Law: the one owner of supersession. Order is valid time, not arrival; a loser is closed and marked, never removed or
hidden; a mark is set once; no change causes another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from undrift.core.contradict.verdicts import Verdict
from undrift.values.memory import MemoryEntry

__all__ = ["Placement", "Supersession", "holds", "place", "supersede"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a new version of a single-valued thing stands among those that are there.

    Args:
        closes: Key of an existing version -> the moment at which its validity ends now.
        valid_to: The moment at which the new version's validity ends; None: it holds until further notice.
    """

    closes: Mapping[str, int] = field(default_factory=dict)
    valid_to: int | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """What storing a new memory changes.

    Args:
        new: The entry to store: closed and marked where a statement that is there already holds later than it.
        changed: Existing entries with their new marks and validity, in the order given.
        conflicts: What stays open.
        reinforced: Ids of existing entries that say the same.
    """

    new: MemoryEntry
    changed: tuple[MemoryEntry, ...] = ()
    conflicts: tuple[Verdict, ...] = ()
    reinforced: tuple[str, ...] = ()


def place(valid_from: int, existing: Iterable[tuple[str, int, int | None]], valid_to: int | None = None) -> Placement:
    """Place a new version of a single-valued thing in time: at each moment exactly one version is to hold.

    Args:
        valid_from: Since when the new version holds.
        existing: Key, start and end (None: open) of each version of the same thing that the new one may displace.
        valid_to: Until when the new version holds, if that is known.

    Returns:
        Versions that hold at `valid_from` are closed there; the new one ends where the next later one starts. Of equal
        starts the new version is the later one, so the other is closed with an empty span.

    Source: A4-6, R4-09, issue "Memory": late arrivals are ordered by valid time.
    """
    closes: dict[str, int] = {}
    ends = [] if valid_to is None else [valid_to]
    for key, start, end in existing:
        if start > valid_from:
            ends.append(start)
        elif end is None or end > valid_from:
            closes[key] = valid_from
    return Placement(closes, min(ends, default=None))


def supersede(
    new: MemoryEntry, existing: Sequence[MemoryEntry], verdicts: Iterable[Verdict], now_ms: int
) -> Supersession:
    """Apply verdicts on a new entry.

    A new entry that loses (it arrives late, and something that holds later is there) marks nothing itself (R1-18). An
    entry that is contradicted already keeps its first mark; its validity may end earlier than it did.

    Args:
        new: As it would be stored without any verdict.
        existing: The entries that the verdicts name, at least.
        verdicts: Of `contradict.judge`.
        now_ms: When the change becomes known.

    Returns:
        What to store; `existing` itself is not changed.

    Source: R1-16, R1-18, A1-7, A1-8; [8_RISKS-REQ-105].
    """
    by_id = {entry.id: entry for entry in existing}
    decided = list(verdicts)
    superseding = [one for one in decided if one.kind == "supersede"]
    won = [one for one in superseding if one.winner_id == new.id and one.loser_id in by_id]
    lost = [one for one in superseding if one.loser_id == new.id and one.winner_id in by_id]
    lost.sort(key=lambda one: (by_id[one.winner_id].valid_from_ms, by_id[one.winner_id].seq))
    if lost:
        winner = by_id[lost[0].winner_id]
        new = _marked(new, winner, lost[0].rule, now_ms, _ended(new, winner.valid_from_ms))
    spans = ((one.loser_id, by_id[one.loser_id].valid_from_ms, by_id[one.loser_id].valid_to_ms) for one in won)
    closes = place(new.valid_from_ms, spans).closes
    changed: dict[str, MemoryEntry] = {}
    for one in won:
        loser = by_id[one.loser_id]
        end = closes.get(loser.id, loser.valid_to_ms)
        if lost or loser.is_contradicted:
            after = loser if lost and not loser.is_contradicted else replace(loser, valid_to_ms=end)
        else:
            after = _marked(loser, new, one.rule, now_ms, end)
        if after != loser:
            changed[loser.id] = after
    return Supersession(
        new,
        tuple(changed[entry.id] for entry in existing if entry.id in changed),
        tuple(one for one in decided if one.kind == "open_conflict"),
        tuple(_other(one, new.id) for one in decided if one.kind == "reinforce"),
    )


def holds(entry: MemoryEntry, as_of_ms: int | None = None, known_at_ms: int | None = None) -> bool:
    """Tell whether an entry holds.

    Args:
        entry: As it stands today.
        as_of_ms: At which moment; None: until further notice.
        known_at_ms: By what was known then; None: by what is known today. A mark that was set later does not count.
    """
    end = entry.valid_to_ms
    if known_at_ms is not None:
        if entry.recorded_at_ms > known_at_ms:
            return False
        if entry.contradicted_at_ms is not None and entry.contradicted_at_ms > known_at_ms:
            end = None
    if as_of_ms is None:
        return end is None
    return entry.valid_from_ms <= as_of_ms and (end is None or as_of_ms < end)


def _marked(loser: MemoryEntry, winner: MemoryEntry, rule: str, now_ms: int, end: int | None) -> MemoryEntry:
    return replace(
        loser,
        contradicted_by_task_id=winner.task_id,
        contradicted_by_entry_id=winner.id,
        contradicted_at_ms=now_ms,
        contradiction_rule=rule,
        valid_to_ms=end,
    )


def _ended(entry: MemoryEntry, at_ms: int) -> int:
    return at_ms if entry.valid_to_ms is None else min(entry.valid_to_ms, at_ms)


def _other(verdict: Verdict, id: str) -> str:
    return verdict.loser_id if verdict.winner_id == id else verdict.winner_id
