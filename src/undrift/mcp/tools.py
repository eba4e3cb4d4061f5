"""The four default tools: task_update, recall, search, remember.

Law: all that a client lists of them costs its user tokens on every turn, so it stays under 800 (a test counts it).
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undrift.core.agent_rules import TASK_TOOL_NAME, TASK_TOOL_SCHEMA
from undrift.core.memory.dispute import named
from undrift.errors import InputError, StoreBusy, StoreError, UndriftError
from undrift.mcp.arguments import checked
from undrift.mcp.framing import as_data, clipped, one_line
from undrift.mcp.place import ServedHome
from undrift.mcp.recalling import recall
from undrift.mcp.values import Answer, Json, Tool, ToolArguments
from undrift.values.clock import day_of
from undrift.values.extras import command_for

if TYPE_CHECKING:
    from undrift.session.session import Session
    from undrift.stores.base import Found
    from undrift.values.memory import MemoryEntry, ScoredMemoryEntry

__all__ = ["READ", "WRITE", "default_tools", "described_object", "guarded"]

READ: Json = {"readOnlyHint": True, "openWorldHint": False}
WRITE: Json = {"destructiveHint": False, "openWorldHint": False}
"""A write adds to what is there; every earlier state can be read and brought back."""

_KINDS = ["note", "architectural_decision", "user_preference", "req_context", "lesson_learned", "research"]
_SCOPES = ["project", "user", "session"]
_TEXT: Json = {"type": "string"}
_HITS = 5
_MOST_HITS = 20
_LONGEST_HIT = 300
_SHOWN = 2
_SHOWN_CHARACTERS = 1_500
_LONGEST_PATH = 4_096


def described_object(properties: Json, *required: str) -> dict[str, Any]:
    """Return the JSON schema of an object whose fields are plain values."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def guarded(tool: Tool, home: Path) -> Tool:
    """Return a tool that checks its arguments first and returns errors as answers."""

    def run(call: ToolArguments) -> Answer:
        try:
            call.check()
            arguments = checked(tool.name, tool.input_schema, call.arguments)
            return tool.run(ToolArguments(arguments, call.session, call.progress, call.stopped))
        except StoreBusy as error:
            return Answer.refused(f"{error}. Nothing was changed; call {tool.name} again with the same arguments.")
        except UndriftError as error:
            return Answer.refused(str(error))
        except OSError as error:
            place = error.filename or home
            return Answer.refused(
                f"{place}: {error.strerror or error}. Tell the user: the server's --home must be usable."
            )

    return replace(tool, run=run)


def _task_update(place: ServedHome, call: ToolArguments) -> Answer:
    from undrift.core.text.marker import safe_id

    def work(session: "Session") -> tuple[str, tuple[str, ...]]:
        notes = session.change_tasks([dict(call.arguments)])
        status = next(task.status for task in session.tasks() if task.id == call.arguments["id"])
        if call.arguments.get("status") == "in_progress" and session.scratchpad.is_on:
            notes = (
                *notes,
                f"Put texts that are too long for its summary into {one_line(str(session.scratchpad.path), _LONGEST_PATH)}",
            )
        return status, notes

    status, notes = place.change(call, work)
    text = " ".join((f"Task {safe_id(call.arguments['id'])} is {status}.", *notes))
    return Answer.of(text, {"status": status, "notes": list(notes)})


def _search(place: ServedHome, call: ToolArguments) -> Answer:
    query = call.arguments["query"]
    limit = call.arguments.get("limit", _HITS)
    if not 1 <= limit <= _MOST_HITS:
        raise InputError(f"limit={limit}: must be from 1 to {_MOST_HITS}")
    with place.look(call.session) as session:
        call.step(0, 2, "memories")
        memories = session.search(query, k=limit) if session else []
        call.step(1, 2, "originals")
        has_store = session is not None and place.has_store()  # a session may have only memories of the user
        is_bound = place.is_bound(call.session)
        originals = _left(place, session, query, limit, is_bound=is_bound) if session and has_store else ()
    days = {one.entry.id: day_of(one.entry.valid_from_ms) for one in memories}
    rows = [_hit(one, days) for one in memories]
    rows += [f"{one.ref}  left the window, {one.type}: {clipped(one.snippet, _LONGEST_HIT)}" for one in originals]
    rows += _lines_of(place, originals, query) if originals else []
    refs = [*(one.entry.id for one in memories), *(one.ref for one in originals)]
    if not rows:
        how = "" if find_spec("wordllama") else f" To search by meaning as well: {command_for('vectors')}"
        return Answer.of_data("", f"Nothing remembered or recorded fits; try other words.{how}", refs=[])
    data = as_data("\n".join(rows), f"{len(memories)} memories, {len(originals)} originals, best first")
    return Answer.of_data(data, refs=refs)


def _left(place: ServedHome, session: "Session", query: str, limit: int, *, is_bound: bool) -> "tuple[Found, ...]":
    """Find originals in the named session, else in the whole home."""
    if is_bound:
        return session.find(query, limit=limit)
    with place.store() as store:
        return store.find(query, limit=limit)


def _lines_of(place: ServedHome, found: "tuple[Found, ...]", query: str) -> list[str]:
    """Return the lines with the words in the best originals; one that cannot be read has none."""
    from undrift.core.text.passages import passages

    rows: list[str] = []
    with place.store() as store:
        for one in found[:_SHOWN]:
            with suppress(StoreError):
                text = store.original(one.ref).entry.content
                lines = passages(text, query, most_characters=_SHOWN_CHARACTERS)
                rows += [f"lines of {one.ref}:", *(f"{number}: {line}" for number, line in lines)] if lines else []
    return rows


def _hit(one: "ScoredMemoryEntry", days: dict[str, str]) -> str:
    entry = one.entry
    state = "superseded" if entry.is_contradicted else "current"
    disputes = one_line(named(one.why.get("disputes", ()), days), _LONGEST_HIT)
    state += f", contradicts {disputes}" if disputes else ""
    words = clipped(entry.content, _LONGEST_HIT)
    return f"{entry.id}  {days[entry.id]}  {entry.type} by {entry.trust}, of this {entry.scope}, {state}: {words}"


def _remember(place: ServedHome, call: ToolArguments) -> Answer:
    given = dict(call.arguments)
    text = given.pop("text")
    if given.pop("from_tool", False):
        given["trust"] = "tool"

    from undrift.core.memory.restatements import times_restated
    from undrift.core.memory.supersede import open_conflicts

    def work(session: "Session") -> "tuple[MemoryEntry, list[str], list[str]]":
        entry = session.remember(text, **given)
        operations = [one.payload or {} for one in session.history() if one.kind == "remember"]
        mine: Json = next((one for one in reversed(operations) if one.get("memory") == entry.id), {})
        superseded = list(mine.get("superseded", ()))
        if entry.scope == "user":  # its history is another one
            superseded = [one.id for one in session.memories() if one.contradicted_by_entry_id == entry.id]
        conflicts = [str(one["with"]) for one in open_conflicts(entry)]
        return entry, superseded, conflicts

    entry, superseded, conflicts = place.change(call, work)
    memory_id, times = entry.id, times_restated(entry)
    said = [f"Remembered as {memory_id}."]
    said += [f"It says the same, and was said again {times} times by now."] if times else []
    said += [f"It supersedes {', '.join(superseded)}."] if superseded else []
    said += [f"It contradicts {', '.join(conflicts)}, and nothing says which holds."] if conflicts else []
    return Answer.of(" ".join(said), {"id": memory_id, "superseded": superseded, "conflicts": conflicts})


def default_tools(place: ServedHome) -> tuple[Tool, ...]:
    """Return the four tools."""
    texts: Json = {"type": "array", "items": _TEXT}
    tools = (
        Tool(
            TASK_TOOL_NAME,
            "Start, change or complete one task. Start it before other tools; complete it with a summary.",
            TASK_TOOL_SCHEMA,
            partial(_task_update, place),
            described_object({"status": _TEXT, "notes": texts}, "status"),
            WRITE,
        ),
        Tool(
            "recall",
            "Get back what left the window, or a memory.",
            described_object(
                {
                    "ref": {**_TEXT, "description": "A reference, or a task's id for all that left with it."},
                    "lines": {**_TEXT, "description": "As 10-40 or -40."},
                    "grep": {**_TEXT, "description": "Only lines with this text."},
                },
                "ref",
            ),
            partial(recall, place),
            described_object({"data": _TEXT, "note": _TEXT, "lines": {"type": "integer"}}, "data"),
            READ,
        ),
        Tool(
            "search",
            "Search memories and what left the window.",
            described_object({"query": _TEXT, "limit": {"type": "integer"}}, "query"),
            partial(_search, place),
            described_object({"data": _TEXT, "note": _TEXT, "refs": texts}, "data"),
            READ,
        ),
        Tool(
            "remember",
            "Keep one statement for later sessions: a decision, preference or lesson.",
            described_object(
                {
                    "text": _TEXT,
                    "type": {**_TEXT, "enum": _KINDS},
                    "source": {**_TEXT, "description": "Document or file."},
                    "scope": {**_TEXT, "enum": _SCOPES, "description": "user: for all projects of the user."},
                    "from_tool": {"type": "boolean", "description": "Stated by a tool's output, not by you."},
                },
                "text",
            ),
            partial(_remember, place),
            described_object({"id": _TEXT, "superseded": texts, "conflicts": texts}, "id"),
            {**WRITE, "idempotentHint": True},
        ),
    )
    return tuple(guarded(tool, place.home) for tool in tools)
