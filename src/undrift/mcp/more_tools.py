"""The tools of ``--tools all``: facts, conflicts, scratchpad_read, _write and _append, checkpoint, rewind, status."""

from functools import partial
from typing import TYPE_CHECKING, Any

from undrift.errors import InputError
from undrift.mcp.framing import as_data, clipped, one_line
from undrift.mcp.place import ServedHome
from undrift.mcp.tools import READ, WRITE, described_object, guarded
from undrift.mcp.values import Answer, Json, Tool, ToolArguments

if TYPE_CHECKING:
    from undrift.session.session import Session

__all__ = ["more_tools"]

_OVERWRITE: Json = {"destructiveHint": True, "openWorldHint": False}
_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer"}
_MOST_ROWS = 50
_LONGEST_STATEMENT = 300
_LONGEST_NAME = 80
_LONGEST_NUMBER = 19  # digits


def _facts(place: ServedHome, call: ToolArguments) -> Answer:
    subject, named = call.arguments.get("subject"), place.is_bound(call.session)
    rows: list[str] = []
    runs = [place.session_id(call.session)] if named else [row.session_id for row in reversed(place.sessions())]
    for done, run in enumerate(runs):
        call.step(done, len(runs), "runs read")
        with place.look(run) as session:
            rows += [
                clipped(f"{' '.join(one.triple)}  [task:{one.source_task_id}]", _LONGEST_STATEMENT)
                for one in (session.facts() if session else ())
                if subject in (None, one.subject)
            ]
    if not rows:
        return Answer.of_data("", "No valid fact is known" + (" of that subject." if subject else "."), count=0)
    shown = rows[-_MOST_ROWS:]
    data = as_data("\n".join(shown), f"{len(shown)} of {len(rows)} valid facts that sub-agents stated, newest last")
    return Answer.of_data(data, count=len(rows))


def _conflicts(place: ServedHome, call: ToolArguments) -> Answer:
    from undrift.core.contradict.verdicts import OPEN_BECAUSE

    call.step(0, None, "memories read")
    with place.look(call.session) as session:
        found = session.conflicts() if session else ()
    if not found:
        return Answer.of_data("", "No two memories contradict each other.", count=0)
    rows = [
        f"{one.newer.id} ({clipped(one.newer.content, _LONGEST_STATEMENT)}) against "
        f"{one.older.id} ({clipped(one.older.content, _LONGEST_STATEMENT)}): {OPEN_BECAUSE.get(one.reason, one.reason)}"
        for one in found[:_MOST_ROWS]
    ]
    data = as_data("\n".join(rows), f"{len(rows)} of {len(found)} contradictions")
    return Answer.of_data(data, "Settle one by asking the user, then remember what holds.", count=len(found))


def _scratchpad_read(place: ServedHome, call: ToolArguments) -> Answer:
    text = ""
    if place.has_store():
        with place.session(call.session) as session:
            text = session.scratchpad.read()
    if not text:
        return Answer.of_data("", "The notes are empty.")
    return Answer.of_data(as_data(text, "active_context.md, the notes of this session"))


def _scratchpad_write(place: ServedHome, call: ToolArguments) -> Answer:
    with place.session(call.session) as session:
        warning = session.scratchpad.write(call.arguments["text"])
    return Answer.of(f"Written. {warning}".strip(), {"warning": warning})


def _scratchpad_append(place: ServedHome, call: ToolArguments) -> Answer:
    with place.session(call.session) as session:
        warning = session.scratchpad.append(call.arguments["text"])
    return Answer.of(f"Appended. {warning}".strip(), {"warning": warning})


def _checkpoint(place: ServedHome, call: ToolArguments) -> Answer:
    label = call.arguments.get("label", "")
    seq = place.change(call, lambda session: session.checkpoint(label))
    return Answer.of(f"This moment is {seq}; rewind takes it.", {"seq": seq})


def _rewind(place: ServedHome, call: ToolArguments) -> Answer:
    to, undo = call.arguments.get("to"), call.arguments.get("undo", False)
    if (to is None) != undo:
        raise InputError("rewind takes either to (a checkpoint's number or label, or a task's id) or undo=true")
    target: Any = to
    if isinstance(to, str) and to.isascii() and to.isdecimal() and len(to) < _LONGEST_NUMBER:
        target = int(to)

    def work(session: "Session") -> int:
        return (session.undo_rewind() if undo else session.rewind(target)).to_seq

    seq = place.change(call, work)
    return Answer.of(f"Rewound to operation {seq}; rewind with undo=true undoes that.", {"seq": seq})


def _status(place: ServedHome, call: ToolArguments) -> Answer:
    with place.look(call.session) as session:
        tasks = session.tasks() if session else ()
        memories, open_conflicts = (len(session.memories()), len(session.conflicts())) if session else (0, 0)
        history = session.history() if session else ()
    session_id = place.session_id(call.session)
    working = [task.id for task in tasks if task.status == "in_progress"]
    value = {
        "session": session_id,
        "home": str(place.home),
        "working_on": working,
        "tasks": {status: sum(task.status == status for task in tasks) for status in {task.status for task in tasks}},
        "memories": memories,
        "conflicts": open_conflicts,
        "operations": len(history),
        "seq": history[-1].seq if history else 0,
    }
    named = ", ".join(one_line(task_id, _LONGEST_NAME) for task_id in working) or "no task"
    text = (
        f"Session {one_line(session_id, _LONGEST_NAME)}, working on {named}; {len(tasks)} tasks, {memories} memories, "
        f"{open_conflicts} open contradictions, newest operation {value['seq']}."
    )
    return Answer.of(text, value)


def more_tools(place: ServedHome) -> tuple[Tool, ...]:
    """Return the tools that ``--tools all`` adds to the default four."""
    rows = described_object({"data": _TEXT, "note": _TEXT, "count": _NUMBER}, "data", "count")
    notes, seq = described_object({"warning": _TEXT}, "warning"), described_object({"seq": _NUMBER}, "seq")
    text = described_object({"text": _TEXT}, "text")
    moment = {"type": ["integer", "string"], "description": "A checkpoint's number or label, or a task's id."}
    status = described_object({"session": _TEXT, "home": _TEXT, "seq": _NUMBER}, "session", "home", "seq")
    tools = (
        Tool(
            "facts",
            "List the facts that sub-agents learned and that still hold.",
            described_object({"subject": {**_TEXT, "description": "Only about this, as src/app.py."}}),
            partial(_facts, place),
            rows,
            READ,
        ),
        Tool(
            "conflicts",
            "Memories that contradict each other.",
            described_object({}),
            partial(_conflicts, place),
            rows,
            READ,
        ),
        Tool(
            "scratchpad_read",
            "Read active_context.md, the notes of this session.",
            described_object({}),
            partial(_scratchpad_read, place),
            described_object({"data": _TEXT, "note": _TEXT}, "data"),
            READ,
        ),
        Tool("scratchpad_write", "Replace all notes.", text, partial(_scratchpad_write, place), notes, _OVERWRITE),
        Tool("scratchpad_append", "Add to the notes.", text, partial(_scratchpad_append, place), notes, WRITE),
        Tool(
            "checkpoint",
            "Name this moment, to rewind to it.",
            described_object({"label": _TEXT}),
            partial(_checkpoint, place),
            seq,
            WRITE,
        ),
        Tool(
            "rewind",
            "Take tasks, memories, facts and notes back to a moment; files stay. Nothing is lost: undo takes it back.",
            described_object({"to": moment, "undo": {"type": "boolean"}}),
            partial(_rewind, place),
            seq,
            _OVERWRITE,
        ),
        Tool(
            "status",
            "Which session, task and moment this is.",
            described_object({}),
            partial(_status, place),
            status,
            READ,
        ),
    )
    return tuple(guarded(tool, place.home) for tool in tools)
