"""The passes that put pins and notes into the window. Pure.

Law: they remove nothing. A note that does not fit the budget is not added.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from undrift.core.text.tombstone import RolledTask, roll_up
from undrift.core.window.additions import is_loose, note_decision, pin_decision, without_pin
from undrift.core.window.left import LEFT, LeftLine, left_allowance, left_lines, left_text, listed_in
from undrift.core.window.log import PLACED, place_of, taken_at
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.values.items import outlined
from undrift.values.window import Decision

__all__ = ["loose_pins", "notes", "pins", "stale_notes", "without_note"]


def pins(window: Window, turn: Turn) -> Window:
    """Add each pin that this history does not contain yet, and those that are due in it."""
    count = turn.tools.count
    if turn.due_pins:
        window = window.with_(
            pin_decision(ref, window.pins[ref], anchor=place, count=count) for ref, place in turn.due_pins
        )
    if not turn.pins:
        return window
    placed = {d.detail.get("pin") for anchor in window.placed for d in window.placed_in(anchor)}
    missing = [ref for ref in turn.pins if ref not in placed]
    anchor = window.anchor if missing else None
    if anchor is None:
        return window
    return window.with_(pin_decision(ref, turn.pins[ref], anchor=anchor, count=count) for ref in missing)


def notes(window: Window, turn: Turn) -> Window:
    """Add new notes after the last sent item, if the budget has room."""
    if turn.is_aside:
        return window
    return _with_left(_with_texts(window, turn), turn)


def _with_texts(window: Window, turn: Turn) -> Window:
    texts = _texts(window, turn)
    if _has_left(window.new):  # earlier versions wrote notes under names that no version writes now
        window = window.with_(without_note(d) for d in window.notes if d.detail["name"] not in {*texts, LEFT})
    standing = {d.detail["name"]: d.detail["text"] for d in window.notes}
    news = [(name, text) for name, text in texts.items() if text and standing.get(name) != text]
    anchor = window.anchor if news else None
    if anchor is None:
        return window
    count, ref_of = turn.tools.count, turn.tools.ref_of
    noted = window.with_(note_decision(*new, anchor=anchor, count=count, ref_of_entry=ref_of) for new in news)
    return noted if turn.total_tokens(noted) <= turn.room.budget_tokens else window


def stale_notes(window: Window, turn: Turn) -> list[Decision]:
    """Return the decisions that remove outdated and repeated notes, and loose pins."""
    texts = _texts(window, turn)
    kept: set[str] = set()
    gone = []
    for note in reversed(window.notes):
        name = note.detail["name"]
        if name == LEFT:
            continue
        if name not in kept and note.detail["text"] == texts.get(name, ""):
            kept.add(name)
        else:
            gone.append(without_note(note))
    return [*map(without_pin, loose_pins(window)), *gone[::-1]]


def loose_pins(window: Window) -> tuple[Decision, ...]:
    """Return the decisions that placed the pins which leave with the next prune."""
    placed = (decision for anchor in window.placed for decision in window.placed_in(anchor))
    return tuple(d for d in placed if is_loose(window.pins.get(d.detail.get("pin", ""))))


def _texts(window: Window, turn: Turn) -> dict[str, str]:
    """Return the current notes for the agent: name -> text; the text is empty if there is no note."""
    finished = _finished_text(window, turn)
    return {"finished": finished, "scratchpad": turn.texts.scratchpad, "memory": turn.texts.remembered}


def without_note(note: Decision) -> Decision:
    """Return the decision that removes a note."""
    reason = f"a newer note stands in for it: {note.reason}"
    return Decision(note.entry_id, "pruned", reason, -note.tokens_saved, note.ref)


def _has_left(decisions: Iterable[Decision]) -> bool:
    """Return whether any of these decisions removes something other than thinking."""
    return any(decision.kind == "pruned" and not decision.detail.get("thinking") for decision in decisions)


def _with_left(window: Window, turn: Turn) -> Window:
    """Replace the note of what left, in a turn in which something leaves; add it if there is none yet.

    A note before the first place that is rewritten anyway stays: its removal would cost the provider's cache.
    """
    anchor, way_back = window.anchor, turn.tools.way_back
    standing = [d for d in (window.before or window).notes if d.detail["name"] == LEFT]
    here = {d.entry_id for d in window.notes}
    if not _has_left(window.new) and (standing or not way_back or not _has_left(window.ruling.values())):
        return window
    if not way_back:
        return window.with_(without_note(d) for d in standing if d.entry_id in here)
    places = [_number(window, d) for d in window.new if d.kind not in PLACED]
    stays = [d for d in standing if d.entry_id in here and _number(window, d) < min(places)]
    old = [d for d in standing if d not in stays]
    most_tokens = left_allowance(turn.room.budget_tokens) - sum(-d.tokens_saved for d in stays)
    if most_tokens <= 0 or anchor is None:
        return window
    listed = listed_in(d.detail["text"] for d in old)
    units = _left_since(window, max((window.numbers.get(taken_at(d), -1) for d in standing), default=-1))
    text = left_text(
        chain((_lines(window, unit) for unit in units), ((line,) for line in reversed(listed.lines))),
        len(units) + len(listed.lines) + listed.others,
        way_back=way_back,
        most_tokens=most_tokens,
        count=turn.tools.count,
    )
    if not text:
        return window
    note = note_decision(LEFT, text, anchor=anchor, count=turn.tools.count, ref_of_entry=turn.tools.ref_of)
    noted = window.with_([*(without_note(d) for d in old if d.entry_id in here), note])
    return noted if turn.total_tokens(noted) <= turn.room.budget_tokens else window


def _number(window: Window, decision: Decision) -> int:
    """Return the number of the item that a decision is about."""
    return window.numbers.get(place_of(decision.entry_id), 0)


def _left_since(window: Window, since: int) -> list[list[Decision]]:
    """Return the decisions that removed parts of the history in this turn or after an item, by unit, newest first."""
    new = {d.entry_id for d in window.new}
    units: dict[str, list[tuple[int, int, Decision]]] = {}
    for entry_id, decision in window.ruling.items():
        number, block = window.numbers.get(place_of(entry_id)), entry_id.rpartition(".")[2]
        if number is None or not _is_whole(decision) or not block.isdecimal():
            continue
        if entry_id not in new and window.numbers.get(taken_at(decision), 0) <= since:
            continue
        if pairs := _pairs(window, number):  # none: the provider's own compaction replaces the item
            units.setdefault(pairs[int(block)] or entry_id, []).append((number, int(block), decision))
    ordered = sorted((sorted(unit, key=lambda one: one[:2]) for unit in units.values()), key=lambda unit: unit[0][:2])
    return [[decision for _, _, decision in unit] for unit in reversed(ordered)]


def _is_whole(decision: Decision) -> bool:
    """Return whether a decision removed a block that can be recalled; thinking cannot be used again."""
    return decision.kind == "pruned" and bool(decision.ref) and not decision.detail.get("thinking")


def _pairs(window: Window, number: int) -> Sequence[str | None]:
    """Return the pair ids of an item's blocks."""
    outline = outlined(window.items, number)
    return outline.pairs if outline is not None else [e.pair_id for e in window.items[number].entries]


def _lines(window: Window, unit: Sequence[Decision]) -> Sequence[LeftLine]:
    """Return the lines about a unit that left."""
    refs = {d.entry_id: d.ref for d in unit}
    numbers = dict.fromkeys(_number(window, d) for d in unit)
    return left_lines([e for n in numbers for e in window.items[n].entries if e.id in refs], refs)


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
