"""Read a client's own todo list from its calls of plan tools. Pure.

Law: the plan is a function of the calls in a history, so that every history gives it again. A call that cannot be read,
or that the client refused, changes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from undrift.profiles import Act, PlanTool, acts_of, tools_named

__all__ = ["PlanItem", "PlanStatus", "is_plan_tool", "plan_tool", "replay_plan"]

PlanStatus = Literal["pending", "in_progress", "completed", "cancelled"]

_MOST_ITEMS = 500
_LONGEST_CONTENT = 2_000
_LONGEST_KEY = 64
_READ_CHARACTERS = 50_000

_TEXTS = ("content", "step", "description")
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
    return plan_tool(name) is not None


def plan_tool(name: str) -> PlanTool | None:
    """Return the way a tool changes or shows the client's plan; None if it does neither."""
    return next((tool.plan for tool in tools_named(name) if tool.plan is not None), None)


def replay_plan(calls: Iterable[tuple[str, Mapping[str, Any], str]]) -> tuple[PlanItem, ...]:
    """Return what a plan says after a whole history of calls, of every tool.

    `calls`: tool, with or without the prefix of a server or a name space; arguments; and what the client answered, empty
    if it has not yet. A task that the client numbers is known once its number is there.
    """
    plan: dict[str, PlanItem] = {}
    for tool, arguments, result in calls:
        if isinstance(arguments, Mapping) and not _REFUSED.match(result[:200]):
            for act in acts_of(tool, arguments):
                plan = _after(act, result[:_READ_CHARACTERS], plan)
    return tuple(plan.values())


def _after(act: Act, result: str, before: dict[str, PlanItem]) -> dict[str, PlanItem]:
    """The plan after one act; the same if the act says nothing of it."""
    tool = plan_tool(act.tool)
    if tool is None:
        return before
    if tool.act == "list":
        listed = _listed(act.given.get(tool.text))
        return before if listed is None else listed
    items = dict(before)
    for number, content, status in _changes(tool, act.given, result):
        key = f"{tool.series} {number}"
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


def _changes(tool: PlanTool, arguments: Mapping[str, Any], result: str) -> Iterator[tuple[str, str, PlanStatus | None]]:
    """Yield the number, the new text (or none) and the new status (or none) of each task that a call speaks of."""
    if tool.act == "create":
        text, found = _text(arguments, (tool.text,)), tool.result.search(result) if tool.result else None
        if text and found:
            yield found["key"], text[:_LONGEST_CONTENT], "pending"
    elif tool.act == "update":
        key = arguments.get(tool.key)
        key = str(key) if type(key) is int and abs(key) < 10**12 else key
        if isinstance(key, str) and (key := key.strip().removeprefix("#")) and len(key) <= _LONGEST_KEY:
            yield key, _text(arguments, (tool.text,))[:_LONGEST_CONTENT], _status(arguments)
    elif tool.act == "show" and tool.result:
        for found in tool.result.finditer(result):
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
