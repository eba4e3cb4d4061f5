"""Decide which memories a new one changes: the ones that it replaces, or the one that replaces it. Pure.

Law: when a statement ends is decided in `validity` alone. Order is valid time, not arrival; a loser is closed and marked, never removed or
hidden; a mark is set once; no change causes another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from undrift.core.contradict.verdicts import Verdict
from undrift.core.memory.validity import ends_at
from undrift.values.memory import MemoryEntry

__all__ = ["Supersession", "marked", "open_conflicts", "supersede"]


@dataclass(frozen=True, slots=True)
class Supersession:
    """The changes that a new memory makes.

    `new`: the entry to store: closed and marked where a statement that is there already holds later than it.
    """

    new: MemoryEntry
    changed: tuple[MemoryEntry, ...] = ()
    conflicts: tuple[Verdict, ...] = ()
    reinforced: tuple[str, ...] = ()


def supersede(
    new: MemoryEntry, existing: Sequence[MemoryEntry], verdicts: Iterable[Verdict], now_ms: int
) -> Supersession:
    """Apply verdicts on a new entry. Returns the values to store; `existing` itself is not changed.

    A new entry that loses (it arrives late, and something that holds later is there) marks nothing itself. An
    entry that is contradicted already keeps its first mark; its validity may end earlier than it did.
    """
    by_id = {entry.id: entry for entry in existing}
    decided = list(verdicts)
    superseding = [one for one in decided if one.kind == "supersede"]
    won = [one for one in superseding if one.winner_id == new.id and one.loser_id in by_id]
    lost = [one for one in superseding if one.loser_id == new.id and one.winner_id in by_id]
    lost.sort(key=lambda one: (by_id[one.winner_id].valid_from_ms, by_id[one.winner_id].seq))
    if lost:
        winner = by_id[lost[0].winner_id]
        new = marked(
            new, winner, lost[0].rule, now_ms, ends_at(new.valid_from_ms, new.valid_to_ms, winner.valid_from_ms)
        )
    changed: dict[str, MemoryEntry] = {}
    for one in won:
        loser = by_id[one.loser_id]
        end = ends_at(loser.valid_from_ms, loser.valid_to_ms, new.valid_from_ms)
        if lost or loser.is_contradicted:
            after = loser if lost and not loser.is_contradicted else replace(loser, valid_to_ms=end)
        else:
            after = marked(loser, new, one.rule, now_ms, end)
        if after != loser:
            changed[loser.id] = after
    return Supersession(
        new,
        tuple(changed[entry.id] for entry in existing if entry.id in changed),
        tuple(one for one in decided if one.kind == "open_conflict"),
        tuple(_other(one, new.id) for one in decided if one.kind == "reinforce"),
    )


def open_conflicts(entry: MemoryEntry) -> tuple[Mapping[str, Any], ...]:
    """Return the open conflicts that a memory came with: ``with``, ``rule``, ``evidence``, ``confidence``, ``reason``.

    Its metadata may come from a stranger: what has another form is no conflict, or an empty text.
    """
    found = entry.metadata.get("conflicts")
    given = found if isinstance(found, list | tuple) else ()
    return tuple(_conflict(one) for one in given if isinstance(one, Mapping) and isinstance(one.get("with"), str))


def _conflict(one: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = {name: text if isinstance(text := one.get(name), str) else "" for name in ("with", "rule", "reason")}
    evidence, confidence = one.get("evidence"), one.get("confidence")
    is_pair = isinstance(evidence, list | tuple) and [type(part) for part in evidence] == [str, str]
    return {
        **texts,
        "evidence": list(evidence) if is_pair and evidence is not None else ["", ""],
        "confidence": confidence if type(confidence) in (int, float) else 0.0,
    }


def marked(loser: MemoryEntry, winner: MemoryEntry, rule: str, now_ms: int, end: int | None) -> MemoryEntry:
    """Return a memory as superseded by another. `rule`: the reason. `end`: until when it held, in milliseconds."""
    return replace(
        loser,
        contradicted_by_task_id=winner.task_id,
        contradicted_by_entry_id=winner.id,
        contradicted_at_ms=now_ms,
        contradiction_rule=rule,
        valid_to_ms=end,
    )


def _other(verdict: Verdict, id: str) -> str:
    return verdict.loser_id if verdict.winner_id == id else verdict.winner_id
