"""What was said outright: the user's requests and rules, the plan, the newest edits, the newest failure. Pure.

Each is a list of `Excerpt`: lines as they stand in the history, the most wanted first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.restore.history import History
from undrift.core.restore.plain import label
from undrift.types import ContextEntry

__all__ = ["Excerpt", "newest_edits", "plan", "requests", "statements", "verdicts"]

_RULE = re.compile(
    r"\b(?:must|never|always|don'?t|do not|only|instead of|make sure|ensure|prefer|avoid|without|remember|stop|no longer)\b",
    re.IGNORECASE,
)
_BY_CLIENT = re.compile(r"\s*(?:<|\[Request interrupted|Caveat: |# AGENTS\.md|This session is being continued)")
_VERDICT = re.compile(
    r"(?:error|exception|\b(?:fail(?:ed|ure|s)?|panic|traceback|undefined|cannot|not found|denied))\b|[✗✘❌]"
    r"|^(?:ok|pass)\b|\b\d{1,9} (?:passed|tests?|errors?|issues)\b",
    re.IGNORECASE,
)
_LAST_REQUESTS = 3
_RULE_CHARACTERS = 400
_EDITS = 3
_EDIT_LINES = 10
_VERDICT_AGE_CALLS = 15
_VERDICT_LINES = 6
_DONE = frozenset({"completed", "done", "deleted", "cancelled"})


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines that belong together.

    Args:
        source: Id of the entry.
        path: The file, or None.
        lines: As they stand in the history.
        reason: One sentence for a human.
        age: How many calls ago.
        title: What to put above it; empty for nothing.
    """

    source: str
    path: str | None
    lines: Sequence[str]
    reason: str
    age: int = 0
    title: str = ""


def _user_texts(entries: Sequence[ContextEntry]) -> Iterator[tuple[int, ContextEntry]]:
    """Yield what the user typed, the newest first, without what the client wrote in the user's name."""
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        about = entry.metadata or {}
        if about.get("role") != "user" or about.get("kind") != "text" or about.get("meta"):
            continue
        if entry.content.strip() and not _BY_CLIENT.match(entry.content):
            yield index, entry


def requests(entries: Sequence[ContextEntry]) -> list[Excerpt]:
    """Give the last requests whole, then the first, then single lines of earlier ones that read like rules."""
    found: list[Excerpt] = []
    rules: list[Excerpt] = []
    seen: set[str] = set()
    first: Excerpt | None = None
    for _, entry in _user_texts(entries):
        if entry.content in seen:
            continue
        seen.add(entry.content)
        lines = entry.content.strip("\n").split("\n")
        if len(found) < _LAST_REQUESTS:
            found.append(Excerpt(entry.id, None, lines, "One of the user's last requests.", title="### request"))
            continue
        first = Excerpt(entry.id, None, lines, "The session's first request.", title="### first request")
        ruled = [line for line in lines if len(line) <= _RULE_CHARACTERS and _RULE.search(line)]
        if ruled:
            rules.append(Excerpt(entry.id, None, ruled, "The user's words read like a rule.", title="### earlier"))
    return found + ([first] if first else []) + rules


def plan(entries: Sequence[ContextEntry]) -> list[Excerpt]:
    """Give the open steps of the newest plan or task list; done ones are left out."""
    tasks: dict[str, tuple[str, str, str]] = {}
    for entry in entries:
        about = entry.metadata or {}
        given = about.get("input")
        if about.get("kind") != "call" or not isinstance(given, Mapping):
            continue
        tool = about.get("tool_name")
        if tool in ("TodoWrite", "update_plan"):
            tasks = _steps(entry.id, given)
        elif tool == "TaskCreate":
            tasks[str(len(tasks) + 1)] = (entry.id, str(given.get("subject") or ""), "pending")
        elif tool == "TaskUpdate" and (known := tasks.get(str(given.get("taskId")))):
            tasks[str(given.get("taskId"))] = (*known[:2], str(given.get("status") or known[2]))
    open_steps = [(source, f"- [{status}] {text}") for source, text, status in tasks.values() if status not in _DONE]
    return [Excerpt(source, None, line.split("\n")[:1], "An open step of the plan.") for source, line in open_steps]


def _steps(source: str, given: Mapping[str, Any]) -> dict[str, tuple[str, str, str]]:
    steps = given.get("todos") or given.get("plan")
    if not isinstance(steps, list):
        return {}
    rows = [step for step in steps if isinstance(step, Mapping)]
    return {
        str(number): (source, str(row.get("content") or row.get("step") or ""), str(row.get("status") or "pending"))
        for number, row in enumerate(rows, 1)
    }


def newest_edits(history: History) -> list[Excerpt]:
    """Give what the last edits wrote, one per file, the newest first."""
    found: list[Excerpt] = []
    files: set[str] = set()
    for place in range(len(history.traces) - 1, -1, -1):
        trace = history.traces[place]
        if trace.path and trace.path not in files and any(line.strip() for line in trace.written):
            files.add(trace.path)
            lines = [line for line in trace.written[:_EDIT_LINES] if line.strip()]
            reason = "The newest edit of this file wrote it."
            age = history.ages[place]
            title = f"### {label(trace.path)}, {age} calls ago"
            found.append(Excerpt(history.entries[place].id, trace.path, lines, reason, age, title))
            if len(found) == _EDITS:
                break
    return found


def verdicts(history: History) -> list[Excerpt]:
    """Give the telling lines of the newest result that says how a run went, where it is recent."""
    for place in range(len(history.traces) - 1, -1, -1):
        trace = history.traces[place]
        age = history.ages[place]
        if age > _VERDICT_AGE_CALLS:
            break
        if trace.kind != "shell" and not (trace.failed and trace.kind != "user"):
            continue
        short = [line for line in trace.lines if line.strip() and len(line) <= _RULE_CHARACTERS]
        lines = [line for line in short if _VERDICT.search(line)] or (short if trace.failed else [])
        if lines:
            title = f"### {label(trace.brief or trace.tool, 120)}, {age} calls ago"
            source = history.entries[place].id
            return [Excerpt(source, None, lines[:_VERDICT_LINES], "The newest error or verdict.", age, title)]
    return []


def statements(history: History) -> list[Excerpt]:
    """Give what the agent said last."""
    for place in range(len(history.traces) - 1, -1, -1):
        if history.traces[place].kind == "said":
            lines = [line for line in history.traces[place].lines if line.strip()]
            return [Excerpt(history.entries[place].id, None, lines, "What the agent said last.", history.ages[place])]
    return []
