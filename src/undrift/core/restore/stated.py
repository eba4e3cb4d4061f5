"""Finds explicit statements: the user's requests, the plan, the newest edits and failure. Pure.

Each is a list of `Excerpt`: lines as they stand in the history, the most wanted first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.restore.history import RestoreHistory
from undrift.core.tasks.plan_tools import plan_tool
from undrift.core.text.safe_lines import label
from undrift.core.text.typed import GAP, typed_and_pasted, user_texts
from undrift.profiles import Act, acts_of
from undrift.values.window import ContextEntry

__all__ = ["Excerpt", "newest_edits", "pasted", "plan", "requests", "statements", "verdicts"]

_VERDICT = re.compile(
    r"(?:error|exception|\b(?:fail(?:ed|ure|s)?|panic|traceback|undefined|cannot|not found|denied))\b|[✗✘❌]"
    r"|^(?:ok|pass)\b|\b\d{1,9} (?:passed|tests?|errors?|issues)\b",
    re.IGNORECASE,
)
_LAST_REQUESTS = 3
_VERDICT_CHARACTERS = 400
_EDITS = 3
_EDIT_LINES = 10
_VERDICT_AGE_CALLS = 15
_VERDICT_LINES = 6
_DONE = frozenset({"completed", "done", "deleted", "cancelled"})


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines that belong together. `lines`: unchanged from the history. `age`: the number of calls since."""

    source: str
    path: str | None
    lines: Sequence[str]
    reason: str
    age: int = 0
    title: str = ""


def requests(entries: Sequence[ContextEntry]) -> list[Excerpt]:
    """Return the last requests and the first; only text that the user typed."""
    found: list[Excerpt] = []
    first: Excerpt | None = None
    for entry in _user_texts(entries):
        lines, _ = typed_and_pasted(entry.content)
        if len(found) < _LAST_REQUESTS:
            found.append(Excerpt(entry.id, None, lines, "One of the user's last requests.", title="### request"))
            continue
        first = Excerpt(entry.id, None, lines, "The session's first request.", title="### first request")
    return found + ([first] if first else [])


def pasted(entries: Sequence[ContextEntry]) -> list[Excerpt]:
    """Return the text that the user pasted into the last requests and the first one."""
    typed_texts = _user_texts(entries)
    shown = typed_texts if len(typed_texts) <= _LAST_REQUESTS else [*typed_texts[:_LAST_REQUESTS], typed_texts[-1]]
    found = [(entry, typed_and_pasted(entry.content)[1]) for entry in shown]
    return [
        Excerpt(entry.id, None, lines, "The user pasted or quoted it.", title="### with a request")
        for entry, lines in found
        if any(line != GAP for line in lines)
    ]


def _user_texts(entries: Sequence[ContextEntry]) -> list[ContextEntry]:
    """The user's texts, the newest first, each once."""
    typed_texts: dict[str, ContextEntry] = {}
    for entry in user_texts(entries):
        typed_texts.setdefault(entry.content, entry)
    return list(typed_texts.values())


def plan(entries: Sequence[ContextEntry]) -> list[Excerpt]:
    """Return the open steps of the newest plan or task list."""
    tasks: dict[str, tuple[str, str, str]] = {}
    for entry in entries:
        about = entry.metadata or {}
        given = about.get("input")
        if about.get("kind") != "call" or not isinstance(given, Mapping):
            continue
        for act in acts_of(str(about.get("tool_name") or ""), given):
            tasks = _after(entry.id, act, tasks)
    open_steps = [(source, f"- [{status}] {text}") for source, text, status in tasks.values() if status not in _DONE]
    return [Excerpt(source, None, line.split("\n")[:1], "An open step of the plan.") for source, line in open_steps]


def _after(source: str, act: Act, tasks: dict[str, tuple[str, str, str]]) -> dict[str, tuple[str, str, str]]:
    """Give the tasks after one act; the same mapping, changed, unless a list replaces them all."""
    tool, given = plan_tool(act.tool), act.given
    if tool is None:
        return tasks
    if tool.act == "list":
        return _steps(source, given.get(tool.text))
    if tool.act == "create":
        tasks[str(len(tasks) + 1)] = (source, str(given.get(tool.text) or ""), "pending")
    number = str(given.get(tool.key))
    if tool.act == "update" and (known := tasks.get(number)):
        tasks[number] = (*known[:2], str(given.get("status") or known[2]))
    return tasks


def _steps(source: str, steps: Any) -> dict[str, tuple[str, str, str]]:
    if not isinstance(steps, list):
        return {}
    rows = [step for step in steps if isinstance(step, Mapping)]
    return {
        str(number): (source, str(row.get("content") or row.get("step") or ""), str(row.get("status") or "pending"))
        for number, row in enumerate(rows, 1)
    }


def newest_edits(history: RestoreHistory) -> list[Excerpt]:
    """Return the text that the last edits wrote, one for each file, newest first."""
    found: dict[str, Excerpt] = {}
    for place in range(len(history.traces) - 1, -1, -1):
        age = history.ages[place]
        for edit in history.traces[place].edits:
            if edit.file and edit.file not in found and any(line.strip() for line in edit.written):
                lines = [line for line in edit.written[:_EDIT_LINES] if line.strip()]
                title = f"### {label(edit.file)}, {age} calls ago"
                reason = "The newest edit of this file wrote it."
                found[edit.file] = Excerpt(history.entries[place].id, edit.file, lines, reason, age, title)
        if len(found) >= _EDITS:
            break
    return list(found.values())[:_EDITS]


def verdicts(history: RestoreHistory) -> list[Excerpt]:
    """Return the most important lines of the newest result that tells how a run went, if it is recent."""
    for place in range(len(history.traces) - 1, -1, -1):
        trace = history.traces[place]
        age = history.ages[place]
        if age > _VERDICT_AGE_CALLS:
            break
        if trace.kind != "shell" and not (trace.failed and trace.kind != "user"):
            continue
        short = [line for line in trace.lines if line.strip() and len(line) <= _VERDICT_CHARACTERS]
        lines = [line for line in short if _VERDICT.search(line)] or (short if trace.failed else [])
        if lines:
            title = f"### {label(trace.brief or trace.tool, 120)}, {age} calls ago"
            source = history.entries[place].id
            return [Excerpt(source, None, lines[:_VERDICT_LINES], "The newest error or verdict.", age, title)]
    return []


def statements(history: RestoreHistory) -> list[Excerpt]:
    """Return the agent's last statements."""
    for place in range(len(history.traces) - 1, -1, -1):
        if history.traces[place].kind == "said":
            lines = [line for line in history.traces[place].lines if line.strip()]
            return [Excerpt(history.entries[place].id, None, lines, "The agent said this last.", history.ages[place])]
    return []
