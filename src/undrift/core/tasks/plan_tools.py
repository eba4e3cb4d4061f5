"""Read a client's own todo list from its calls of plan tools. Pure.

Law: the plan is a function of the calls in a history, so that every history gives it again. A call that cannot be read,
or that the client refused, changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from undrift.core.text.calls import bare_name

__all__ = ["PlanItem", "PlanStatus", "is_plan_tool", "replay_plan"]

PlanStatus = Literal["pending", "in_progress", "completed", "cancelled"]

_MOST_ITEMS = 500
_LONGEST_CONTENT = 2_000
_LONGEST_KEY = 64
_READ_CHARACTERS = 50_000

# Tool -> where the list stands in its arguments. The list replaces the one before.
_LISTS = {"todowrite": "todos", "todo_write": "todos", "update_plan": "plan", "write_todos": "todos"}
_TEXTS = ("content", "step", "description")

# Tools that make or change one task, which the client knows by a number of its own; it gives the number in the result.
_CREATES = {
    "taskcreate": ("subject", re.compile(r"\bTask #(\w{1,64}) created")),
    "tracker_create_task": ("title", re.compile(r"\bCreated task (\w{1,64}):")),
}
_UPDATES = {"taskupdate": ("taskId", "subject"), "tracker_update_task": ("id", "title")}
# Number, status, text of each line; the groups' names say which is which.
_SHOWN = {
    "tasklist": re.compile(r"^#(?P<key>\w{1,64}) \[(?P<status>\w{1,20})\] (?P<text>.{1,4000})$", re.MULTILINE),
    "tracker_list_tasks": re.compile(
        r"^- \[(?P<key>\w{1,64})\] (?P<text>.{1,4000}) \((?P<status>\w{1,20})\)$", re.MULTILINE
    ),
}
_SILENT = frozenset({
    "taskget", "todo_read", "todoread", "tracker_add_dependency", "tracker_get_task", "tracker_visualize",
})  # fmt: skip
_BLOCKED = " [blocked by "

_STATUSES: Mapping[str, PlanStatus] = {
    "blocked": "pending", "not_started": "pending", "open": "pending", "pending": "pending", "todo": "pending",
    "in_progress": "in_progress",
    "closed": "completed", "complete": "completed", "completed": "completed", "done": "completed",
    "canceled": "cancelled", "cancelled": "cancelled", "deleted": "cancelled",
}  # fmt: skip

_REFUSED = re.compile(
    r"\s{0,9}(?:<tool_use_error>|InputValidationError|(?:\w{1,40} ){0,2}error\b|failed to |task not found"
    r"|the user doesn't want|the \w{1,40} tool was called with invalid)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One line of a plan. `status`: as the client has it; several items can be in progress."""

    content: str
    status: PlanStatus


def is_plan_tool(name: str) -> bool:
    """Say whether calls of a tool read or write a client's plan: they are themselves no work on a task."""
    tool = bare_name(name)
    return tool in _LISTS or tool in _CREATES or tool in _UPDATES or tool in _SHOWN or tool in _SILENT


def replay_plan(calls: Iterable[tuple[str, Mapping[str, Any], str]]) -> tuple[PlanItem, ...]:
    """Return what a plan says after a whole history of calls, of every tool.

    `calls`: tool, with or without the prefix of a server or a name space; arguments; and what the client answered, empty
    if it has not yet. A task that the client numbers is known once its number is there.
    """
    plan: dict[str, PlanItem] = {}
    for tool, arguments, result in calls:
        if isinstance(arguments, Mapping) and not _REFUSED.match(result[:200]):
            plan = _after(bare_name(tool), arguments, result[:_READ_CHARACTERS], plan)
    return tuple(plan.values())


def _after(tool: str, arguments: Mapping[str, Any], result: str, before: dict[str, PlanItem]) -> dict[str, PlanItem]:
    """The plan after one call; the same if the call says nothing of it."""
    if tool in _LISTS:
        listed = _listed(arguments.get(_LISTS[tool]))
        return before if listed is None else listed
    items = dict(before)
    for number, content, status in _changes(tool, arguments, result):
        key = f"{'tracker' if tool.startswith('tracker') else 'task'} {number}"
        known = items.get(key)
        if known is None and (status is None or len(items) >= _MOST_ITEMS):
            continue
        text = content or (known.content if known else f"task {number}")
        items[key] = PlanItem(text, status or (known.status if known else "pending"))
    return items


def _listed(rows: Any) -> dict[str, PlanItem] | None:
    """The items of a list, by their place; None if it cannot be read."""
    if not isinstance(rows, list):
        return None
    items: dict[str, PlanItem] = {}
    for index, row in enumerate(rows[:_MOST_ITEMS]):
        text = _text(row, _TEXTS) if isinstance(row, Mapping) else ""
        if text:
            items[f"text {index}"] = PlanItem(text[:_LONGEST_CONTENT], _status(row) or "pending")
    return items if items or not rows else None


def _changes(tool: str, arguments: Mapping[str, Any], result: str) -> Iterator[tuple[str, str, PlanStatus | None]]:
    """Yield the number, the new text (or none) and the new status (or none) of each task that a call speaks of."""
    if tool in _CREATES:
        field, number = _CREATES[tool]
        text, found = _text(arguments, (field,)), number.search(result)
        if text and found:
            yield found[1], text[:_LONGEST_CONTENT], "pending"
    elif tool in _UPDATES:
        name, field = _UPDATES[tool]
        key = arguments.get(name)
        key = str(key) if type(key) is int and abs(key) < 10**12 else key
        if isinstance(key, str) and (key := key.strip().removeprefix("#")) and len(key) <= _LONGEST_KEY:
            yield key, _text(arguments, (field,))[:_LONGEST_CONTENT], _status(arguments)
    elif tool in _SHOWN:
        for found in _SHOWN[tool].finditer(result):
            text = " ".join(found["text"].partition(_BLOCKED)[0].split())
            yield found["key"], text[:_LONGEST_CONTENT], _STATUSES.get(found["status"].lower())


def _text(given: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first of the fields that holds a text, on one line."""
    texts = (given.get(name) for name in names)
    return next((line for text in texts if isinstance(text, str) and (line := " ".join(text.split()))), "")


def _status(given: Mapping[str, Any]) -> PlanStatus | None:
    status = given.get("status")
    if not isinstance(status, str):
        return None
    return _STATUSES.get(status[:40].strip().lower().replace("-", "_").replace(" ", "_"))
