"""The passes that repair the window after a rewrite: single calls or results, and thinking before changed words. Pure.

Law: a call and its result stay or leave together. Thinking leaves from the start of the window up to the newest answer
at the time of the rewrite, and never comes back.
"""

from collections.abc import Callable, Sequence

from undrift.core.window.notes import stale_notes
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.values.window import Decision

__all__ = ["loose_halves", "rewritten", "stale_thinking", "without_thinking"]


def loose_halves(window: Window, turn: Turn) -> Window:
    """Remove each call or result whose other half is gone because the client rewrote it."""
    if window.was_checked:
        return window
    gone = window.gone_pairs
    halves = [e for e in window.entries if e.pair_id in gone]
    reason, ref_of = "the call that it belongs to has left", turn.tools.ref_of
    return window.with_(Decision(e.id, "pruned", reason, e.token_count, ref_of(e.id)) for e in halves)


def stale_thinking(window: Window, turn: Turn) -> Window:
    """Remove thinking that is invalid because the words before it have changed."""
    end = window.rewritten_at + 1
    if turn.binding.may_wait and end:  # the newest answer's went out then; to remove it now would be one rewrite more
        while end and window.items[end - 1].role != "assistant":
            end -= 1
        while end and window.items[end - 1].role == "assistant":
            end -= 1
    return _stripped(window, turn, end)


def without_thinking(window: Window, turn: Turn) -> Window:
    """Remove all bound thinking, because words before it will change."""
    return _stripped(window, turn, len(window.items))


def rewritten(window: Window, turn: Turn, leaving: Callable[[Window, Turn], Sequence[Decision]]) -> Window:
    """Remove entries, and also bound thinking and outdated notes.

    Bound thinking leaves first, and the entries are chosen after that: a tombstone cannot replace removed thinking.
    """
    gone = leaving(window, turn)
    if not gone:
        return window
    stripped = without_thinking(window, turn)
    if stripped is not window:
        gone = leaving(stripped, turn)
    return stripped.with_([*gone, *stale_notes(stripped, turn)])


def _stripped(window: Window, turn: Turn, end: int) -> Window:
    """Return the window without the thinking blocks of its first `end` items."""
    if not turn.binding.strips:
        return window
    if turn.binding.may_wait and window.round_is_open:
        end = min(end, window.newest_answer)
    reason, ref_of = "thinking that is bound to words before it, which were rewritten", turn.tools.ref_of
    stale = [entry for number, entry in window.thinking if number < end]
    detail = {"at": window.place, "thinking": True}
    return window.with_(Decision(e.id, "pruned", reason, e.token_count, ref_of(e.id), detail) for e in stale)
