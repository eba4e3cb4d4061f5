"""Read a client's own todo list: calls of plan tools, as transitions of tasks. Pure.

Law: the plan is a function of the calls in a history, so that every history gives it again. A call that cannot be read,
or that the client refused, changes nothing.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from undrift.core.text.calls import bare_name

__all__ = [
    "PLAN_PREFIX",
    "PlanItem",
    "PlanStatus",
    "PlanStep",
    "Transition",
    "is_plan_tool",
    "read_plan",
    "replay_plan",
    "transitions",
]

PlanStatus = Literal["pending", "in_progress", "completed", "cancelled"]

PLAN_PREFIX = "plan-"
"""The ids of tasks that come from a plan tool begin with this."""

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
    """One line of a plan.

    Args:
        id: The task's id: `PLAN_PREFIX` and 12 hex digits. They come from the number if the client numbers its tasks, else
            from the text; a text in other words is then another task.
        status: As the client has it; several items can be in progress.
    """

    id: str
    content: str
    status: PlanStatus


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of a task's status. `content`: the work to do; empty if the plan no longer says."""

    id: str
    content: str
    before: str
    after: PlanStatus

    def update(self, summary: str = "") -> dict[str, str]:
        """Give it as `core.tasks.change_many` takes it; `summary` is for a task that is completed."""
        update = {"id": self.id, "status": self.after}
        if not self.before:
            update["content"] = self.content
        if self.after == "completed":
            update["result_summary"] = summary
        return update


@dataclass(frozen=True, slots=True)
class PlanStep:
    """The task changes of one tool call. `transitions`: those that end a task, then the one that starts a task."""

    index: int
    transitions: tuple[Transition, ...]


def is_plan_tool(name: str) -> bool:
    """Say whether calls of a tool read or write a client's plan: they are themselves no work on a task."""
    tool = bare_name(name)
    return tool in _LISTS or tool in _CREATES or tool in _UPDATES or tool in _SHOWN or tool in _SILENT


def read_plan(
    tool_name: str,
    arguments: Mapping[str, Any],
    result_text: str = "",
    *,
    before: Sequence[PlanItem] = (),
    scope: str = "",
) -> tuple[PlanItem, ...] | None:
    """Read what a plan says after a call.

    `tool_name`: with or without the prefix of a server or a name space. `result_text`: what the client answered; empty
    if it has not yet. A task that the client numbers is known once its number is there. `before`: what the plan said
    before, for tools that change one item of it. `scope`: whose plan it is: the same text in two scopes is two tasks.
    Returns the whole plan; None if the call says nothing of it: another tool, a question, an error, or nothing
    readable.
    """
    tool = bare_name(tool_name)
    if not isinstance(arguments, Mapping) or _REFUSED.match(result_text[:200]):
        return None
    if tool in _LISTS:
        return _listed(arguments.get(_LISTS[tool]), scope)
    changes = list(_changes(tool, arguments, result_text[:_READ_CHARACTERS]))
    if not changes:
        return None
    items = {item.id: item for item in before}
    for key, content, status in changes:
        task_id = _id(scope, "tracker" if tool.startswith("tracker") else "task", key)
        known = items.get(task_id)
        if known is None and (status is None or len(items) >= _MOST_ITEMS):
            continue
        text = content or (known.content if known else f"task {key}")
        items[task_id] = PlanItem(task_id, text, status or (known.status if known else "pending"))
    return tuple(items.values())


def transitions(known: Mapping[str, str], plan: Sequence[PlanItem]) -> list[Transition]:
    """Say what must become of an agent's tasks so that they are what its plan says.

    One task is in progress: the one that was and still is, else the first; the others wait. A task that was started with
    our own tools goes before all of the plan. A task that is completed or cancelled changes only if it starts again. A
    task that is finished when it is first seen is ignored. An unfinished task that the plan no longer lists is cancelled.

    `known`: status of every task of this agent, by its id.
    """
    held = any(status == "in_progress" and not one.startswith(PLAN_PREFIX) for one, status in known.items())
    wanted = [] if held else [item.id for item in plan if item.status == "in_progress"]
    active = next((one for one in wanted if known.get(one) == "in_progress"), wanted[0] if wanted else "")
    listed = {item.id for item in plan}
    found = [
        Transition(one, "", status, "cancelled")
        for one, status in known.items()
        if one.startswith(PLAN_PREFIX) and one not in listed and status in ("pending", "in_progress")
    ]
    for item in plan:
        before = known.get(item.id, "")
        after = "pending" if item.status == "in_progress" and item.id != active else item.status
        if _is_change(before, after):
            found.append(Transition(item.id, item.content, before, after))
    return sorted(found, key=lambda one: _ORDER.index(one.after))


def replay_plan(
    calls: Iterable[tuple[str, Mapping[str, Any], str]], *, scope: str = ""
) -> tuple[tuple[PlanStep, ...], tuple[PlanItem, ...]]:
    """Read a whole history of calls. `calls`: tool, arguments and result text of each call, of every tool."""
    steps: list[PlanStep] = []
    plan: tuple[PlanItem, ...] = ()
    known: dict[str, str] = {}
    for index, (tool, arguments, result) in enumerate(calls):
        said = read_plan(tool, arguments, result, before=plan, scope=scope)
        if said is None:
            continue
        plan = said
        changed = transitions(known, plan)
        if changed:
            known.update((one.id, one.after) for one in changed)
            steps.append(PlanStep(index, tuple(changed)))
    return tuple(steps), plan


_ORDER = ("completed", "cancelled", "pending", "in_progress")


def _is_change(before: str, after: str) -> bool:
    if before == after:
        return False
    if before in ("completed", "cancelled"):
        return after == "in_progress"
    return bool(before) or after in ("pending", "in_progress")


def _listed(rows: Any, scope: str) -> tuple[PlanItem, ...] | None:
    if not isinstance(rows, list):
        return None
    items: list[PlanItem] = []
    times: dict[str, int] = {}
    for row in rows[:_MOST_ITEMS]:
        text = _text(row, _TEXTS) if isinstance(row, Mapping) else ""
        if text:
            times[text] = times.get(text, 0) + 1
            key = text if times[text] == 1 else f"{text}\0{times[text]}"
            items.append(PlanItem(_id(scope, "text", key), text[:_LONGEST_CONTENT], _status(row) or "pending"))
    return tuple(items) if items or not rows else None


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


def _id(scope: str, kind: str, key: str) -> str:
    digest = hashlib.sha256(f"{len(scope)}\0{scope}\0{kind}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()
    return PLAN_PREFIX + digest[:12]
