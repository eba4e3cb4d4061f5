"""The passes that put something into the window: pins, and notes to the agent. Pure.

Law: they make nothing else leave. What does not fit the budget is not said.
"""

from collections.abc import Iterable

from undrift.core.text.tombstone import RolledTask, roll_up
from undrift.core.window.additions import LEFT, note_decision, pin_decision, stale
from undrift.core.window.left import LeftCall, left_note
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.values.window import Decision

__all__ = ["note_texts", "notes", "pins"]


def pins(window: Window, turn: Turn) -> Window:
    """Put each pin that stands nowhere in this history into it."""
    if not turn.pins:
        return window
    placed = {d.detail.get("pin") for anchor in window.placed for d in window.placed_in(anchor)}
    missing = [ref for ref in turn.pins if ref not in placed]
    anchor = window.anchor if missing else None
    if anchor is None:
        return window
    return window.with_(pin_decision(ref, turn.pins[ref], anchor=anchor, count=turn.tools.count) for ref in missing)


def notes(window: Window, turn: Turn) -> Window:
    """Say what is new behind what was sent, as far as the budget has room for it."""
    if turn.is_aside:
        return window
    texts = note_texts(window, turn)
    if _has_left(window.new):
        outdated = [d for d in window.notes if d.detail["name"] == LEFT]
        window = window.with_(stale(outdated, {LEFT: texts[LEFT]}))
    new = _new_notes(window, turn, texts)
    without_left = [d for d in new if d.detail["name"] != LEFT]
    for some in (new, without_left):  # what the agent wrote, or is to know, goes before what it can get back
        noted = window.with_(some)
        if turn.total_tokens(noted) <= turn.room.budget_tokens:
            return noted
    return window


def note_texts(window: Window, turn: Turn) -> dict[str, str]:
    """Return what the agent is to be told, as it is now: the name of each note and its text; empty where there is none."""
    left = _left_text(window, turn) if _has_left(window.new) else _standing_text(window)
    finished = _finished_text(window, turn)
    return {LEFT: left, "finished": finished, "scratchpad": turn.texts.scratchpad, "memory": turn.texts.remembered}


def _new_notes(window: Window, turn: Turn, texts: dict[str, str]) -> list[Decision]:
    standing = {d.detail["name"]: d.detail["text"] for d in window.notes}
    news = [(name, text) for name, text in texts.items() if text and standing.get(name) != text]
    anchor = window.anchor if news else None
    if anchor is None:
        return []
    count, ref_of = turn.tools.count, turn.tools.ref_of
    return [note_decision(name, text, anchor=anchor, count=count, ref_of_entry=ref_of) for name, text in news]


def _has_left(decisions: Iterable[Decision]) -> bool:
    """Whether any of these decisions lets go of more than thinking."""
    return any(decision.kind == "pruned" and not decision.detail.get("thinking") for decision in decisions)


def _standing_text(window: Window) -> str:
    """The note of what left as it stands in a history; empty where none does."""
    found = [d.detail["text"] for d in window.notes if d.detail["name"] == LEFT]
    return found[-1] if found else ""


def _left_text(window: Window, turn: Turn) -> str:
    """The note of what left as it is to stand: each call that left with its result, the newest last."""
    if turn.room.note_tokens <= 0:
        return ""
    done = (action for sent in window.sent.values() for action in sent.actions)
    refs = {action.entry_id: action.ref for action in done if action.kind == "pruned"}
    calls: dict[str, tuple[str, str, str]] = {}
    gone: list[LeftCall] = []
    for entry in window.given:
        if entry.id not in refs or not entry.pair_id:
            continue
        if entry.meta("kind") == "call":
            calls[entry.pair_id] = (entry.meta("tool_name") or "", entry.content, refs[entry.id])
        elif entry.meta("kind") == "result" and (call := calls.pop(entry.pair_id, None)):
            tool, given, call_ref = call
            ref = refs[entry.id] if len(entry.content) >= len(given) else call_ref
            gone.append(LeftCall(tool, given, entry.content, ref))
    return left_note(gone, turn.room.note_tokens, turn.tools.count, names_recall=turn.tools.names_recall)


def _finished_text(window: Window, turn: Turn) -> str:
    """The list of the last finished tasks whose summaries stand nowhere in the window any more.

    It is made at each turn from the tasks, and is no part of the history..
    """
    most = turn.rules.finished_tasks_shown
    told = turn.told_tasks if most else ()
    if not told:
        return ""
    shown = {e.meta("task") for e in window.entries if e.type == "summary" and "\nSUMMARY: " in e.content}
    ended = [task for task in told if task.status == "completed" and task.id not in shown]
    here = [t for t in ended if t.segments and (end := t.segments[-1].end) and end.id in window.numbers]
    refs = {task.id: _refs_of(task.id, window, turn)[-1:] for task in here}
    last = sorted((task for task in here if refs[task.id]), key=lambda task: task.ordinal)[-most:]
    names = turn.tools.names_recall
    rolled = [RolledTask(t.id, t.content, t.annotated_summary, refs[t.id][0] if names else "") for t in last]
    return roll_up(rolled) if rolled else ""


def _refs_of(task_id: str, window: Window, turn: Turn) -> tuple[str, ...]:
    """The references of what a task let go, this turn's included, oldest first."""
    new = (d.ref for d in window.new if d.kind == "evicted" and d.detail["task"] == task_id and d.ref)
    return (*turn.past.refs_of(task_id), *new)
