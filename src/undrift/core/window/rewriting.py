"""The passes that repair the window after a rewrite: halves of pairs, and thinking bound to changed words. Pure.

Law: a call and its result stay or leave together. Thinking leaves from the start of the window up to the newest answer
at the time of the rewrite, and never comes back.
"""

from collections.abc import Callable, Sequence

from undrift.core.window.additions import stale
from undrift.core.window.notes import note_texts
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.values.window import ContextEntry, Decision

__all__ = ["loose_halves", "rewritten", "stale_thinking", "without_thinking"]


def loose_halves(window: Window, turn: Turn) -> Window:
    """Remove each block that has lost its call or result: the client wrote the other half again."""
    if window.was_checked:
        return window
    gone = {pair_id for item in window.gone_unseen.values() for pair_id in item.pairs}
    gone |= {e.pair_id for item in window.looked_at for e in item.entries if window.is_gone(e)}
    halves = [e for e in window.entries if e.pair_id is not None and e.pair_id in gone and not window.is_gone(e)]
    return window.with_(_pruned(e, "the call that it belongs to has left", turn) for e in halves)


def stale_thinking(window: Window, turn: Turn) -> Window:
    """Remove thinking that is bound to words which have changed since."""
    return window.with_(_stale_thinking(window, turn, window.rewritten_at + 1))


def without_thinking(window: Window, turn: Turn) -> Window:
    """Remove all bound thinking because the words before it are about to be rewritten."""
    return window.with_(_stale_thinking(window, turn, len(window.items)))


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
    return stripped.with_([*gone, *stale(stripped.notes, note_texts(stripped, turn))])


def _stale_thinking(window: Window, turn: Turn, end: int) -> list[Decision]:
    """Return a decision for each thinking block in the first items of a window, up to the number `end`."""
    if not turn.binding.strips:
        return []
    if turn.binding.may_wait and window.round_is_open:
        end = min(end, window.newest_answer)
    reason = "thinking that is bound to words before it, which were rewritten"
    stale = [entry for number, entry in window.thinking if number < end]
    detail = {"at": window.newest_id, "thinking": True}
    return [_pruned(e, reason, turn, detail) for e in stale]


def _pruned(entry: ContextEntry, reason: str, turn: Turn, detail: dict[str, object] | None = None) -> Decision:
    return Decision(entry.id, "pruned", reason, entry.token_count, turn.tools.ref_of(entry.id), detail or {})
