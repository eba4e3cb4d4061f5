"""The passes that put pins and notes into the window. Pure.

Law: they remove nothing. A note that does not fit the budget is not added.
"""

from collections.abc import Iterable

from undrift.core.text.tombstone import RolledTask, roll_up
from undrift.core.window.additions import note_decision, pin_decision
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.values.window import Decision

__all__ = ["notes", "pins", "stale_notes"]


def pins(window: Window, turn: Turn) -> Window:
    """Add each pin that this history does not contain yet."""
    if not turn.pins:
        return window
    placed = {d.detail.get("pin") for anchor in window.placed for d in window.placed_in(anchor)}
    missing = [ref for ref in turn.pins if ref not in placed]
    anchor = window.anchor if missing else None
    if anchor is None:
        return window
    return window.with_(pin_decision(ref, turn.pins[ref], anchor=anchor, count=turn.tools.count) for ref in missing)


def notes(window: Window, turn: Turn) -> Window:
    """Add new notes after the last sent item, if the budget has room."""
    if turn.is_aside:
        return window
    texts = _texts(window, turn)
    if _has_left(window.new):  # earlier versions wrote notes under names that no version writes now
        window = window.with_(_removed(d) for d in window.notes if d.detail["name"] not in texts)
    standing = {d.detail["name"]: d.detail["text"] for d in window.notes}
    news = [(name, text) for name, text in texts.items() if text and standing.get(name) != text]
    anchor = window.anchor if news else None
    if anchor is None:
        return window
    count, ref_of = turn.tools.count, turn.tools.ref_of
    noted = window.with_(note_decision(*new, anchor=anchor, count=count, ref_of_entry=ref_of) for new in news)
    return noted if turn.total_tokens(noted) <= turn.room.budget_tokens else window


def stale_notes(window: Window, turn: Turn) -> list[Decision]:
    """Return the decisions that remove outdated and repeated notes."""
    texts = _texts(window, turn)
    kept: set[str] = set()
    gone = []
    for note in reversed(window.notes):
        name = note.detail["name"]
        if name not in kept and note.detail["text"] == texts.get(name, ""):
            kept.add(name)
        else:
            gone.append(_removed(note))
    return gone[::-1]


def _texts(window: Window, turn: Turn) -> dict[str, str]:
    """Return the current notes for the agent: name -> text; the text is empty if there is no note."""
    finished = _finished_text(window, turn)
    return {"finished": finished, "scratchpad": turn.texts.scratchpad, "memory": turn.texts.remembered}


def _removed(note: Decision) -> Decision:
    reason = f"a newer note stands in for it: {note.reason}"
    return Decision(note.entry_id, "pruned", reason, -note.tokens_saved, note.ref)


def _has_left(decisions: Iterable[Decision]) -> bool:
    """Return whether any of these decisions removes something other than thinking."""
    return any(decision.kind == "pruned" and not decision.detail.get("thinking") for decision in decisions)


def _finished_text(window: Window, turn: Turn) -> str:
    """Return the list of recently finished tasks whose summaries the window does not contain any more.

    It is built from the tasks at each turn, and is no part of the history.
    """
    most = turn.rules.finished_tasks_shown
    reported = turn.reported_tasks if most else ()
    if not reported:
        return ""
    shown = {e.meta("task") for e in window.entries if e.type == "summary" and "\nSUMMARY: " in e.content}
    ended = [task for task in reported if task.status == "completed" and task.id not in shown]
    here = [t for t in ended if t.segments and (end := t.segments[-1].end) and end.id in window.numbers]
    refs = {task.id: _refs_of(task.id, window, turn)[-1:] for task in here}
    last = sorted((task for task in here if refs[task.id]), key=lambda task: task.ordinal)[-most:]
    names = turn.tools.names_recall
    rolled = [RolledTask(t.id, t.content, t.annotated_summary, refs[t.id][0] if names else "") for t in last]
    return roll_up(rolled) if rolled else ""


def _refs_of(task_id: str, window: Window, turn: Turn) -> tuple[str, ...]:
    """Return the references of a task's evicted logs, oldest first, with those of this turn."""
    new = (d.ref for d in window.new if d.kind == "evicted" and d.detail["task"] == task_id and d.ref)
    return (*turn.past.refs_of(task_id), *new)
