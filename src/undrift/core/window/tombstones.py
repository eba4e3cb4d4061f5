"""Removes old outputs of an open task, and old tombstones if there are too many. Pure.

Law: the newest results stay whole, a call leaves only together with all of its results, and nothing leaves that the
model has not seen.
"""

from collections.abc import Callable, Collection, Hashable, Sequence

from undrift.core.window.fit import protected_keys
from undrift.core.window.rewriting import rewritten
from undrift.core.window.thinking import key_of, unsettled
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.values.window import ContextEntry, Decision

__all__ = ["roll_old_outputs", "roll_old_tombstones", "rolled_tombstones"]


def rolled_tombstones(window: Window, turn: Turn) -> Window:
    """Remove the oldest tombstones if there are too many, with those of this turn."""
    if turn.binding.holds(window) or not _has_evicted(window, turn):
        return window
    return rewritten(window, turn, _leaving)


def _leaving(window: Window, turn: Turn) -> list[Decision]:
    """Return the decisions that remove tombstones."""
    return roll_old_tombstones(
        window.entries,
        window.seen,
        int(turn.rules.tombstone_share * turn.room.budget_tokens),
        decided_here=window.decided_here,
        keep_tool_results=turn.rules.keep_tool_results,
        ref_of=turn.tools.ref_of,
    )


def _has_evicted(window: Window, turn: Turn) -> bool:
    """Return whether an evicted log of the session can be recalled."""
    return turn.past.has_evicted or any(d.kind == "evicted" and d.ref for d in window.new)


def roll_old_outputs(
    outputs: Sequence[ContextEntry],
    task_id: str,
    *,
    keep: int,
    text: Callable[[str], str],
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
) -> list[Decision]:
    """Remove the oldest outputs of an open task when it has one and a half times as many as it may keep.

    One batch at a time: each rewrites the provider's cache.

    `keep`: how many of its newest outputs stay, at least 1; not fewer than the last N that are anchored.
    """
    if len(outputs) <= keep + keep // 2:
        return []
    reason = f"task {task_id} goes on; the newest {keep} of its outputs stay"
    found = []
    for entry in outputs[:-keep]:
        ref = ref_of(entry.id)
        said = text(ref)
        saved = entry.token_count - count(said)
        found.append(Decision(entry.id, "evicted", reason, saved, ref, {"task": task_id, "text": said}))
    return found


def roll_old_tombstones(
    entries: Sequence[ContextEntry],
    first_unseen: int,
    limit_tokens: int,
    *,
    decided_here: Collection[str] = (),
    keep_tool_results: int,
    ref_of: Callable[[str], str],
) -> list[Decision]:
    """If all tombstones exceed a limit, remove the oldest, with their calls, down to half of the limit.

    `decided_here`: ids of entries with a decision at the newest item; they wait for a later turn.
    """
    tombstones = [e for e in entries[:first_unseen] if _is_tombstone(e)]
    tokens = sum(e.token_count for e in tombstones)
    if tokens <= limit_tokens:
        return []
    protected = protected_keys(entries, first_unseen, keep_tool_results)
    units: dict[Hashable, list[ContextEntry]] = {}
    for entry in entries:
        units.setdefault(key_of(entry), []).append(entry)
    removed: set[str] = set()
    for entry in tombstones:
        if tokens <= limit_tokens // 2:
            break
        unit = units[key_of(entry)]
        may_leave = all((_is_tombstone(e) or e.meta("kind") == "call") and e.id not in decided_here for e in unit)
        if key_of(entry) in protected or not may_leave:
            continue
        removed |= {e.id for e in unit}
        tokens -= entry.token_count
    while more := unsettled(entries, removed, lambda e: key_of(e) in protected) - removed:
        removed |= more
    reason = (
        f"the tombstones of finished tasks took more than {limit_tokens:,} tokens; the list of finished tasks has it"
    )
    return [Decision(e.id, "pruned", reason, e.token_count, ref_of(e.id)) for e in entries if e.id in removed]


def _is_tombstone(entry: ContextEntry) -> bool:
    return entry.type == "summary" and entry.meta("task") is not None
