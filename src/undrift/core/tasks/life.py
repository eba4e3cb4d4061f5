"""The life of tasks: what an agent says of them, turned into their state, their segments and the tags of calls. Pure.

Law: at most one task of each agent has an open segment; a change is made whole or not at all; an error tells the agent
what to do next.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from undrift.core.agent_rules import MIN_SUMMARY_CHARACTERS
from undrift.core.tasks.fields import checked_update, json_object, shown
from undrift.errors import SummaryRejected, TaskError
from undrift.values.window import Moment, Segment, SegmentEnd, Tag, Task, Tasks, TaskUpdate

__all__ = [
    "Completion",
    "MAIN_AGENT",
    "TaskChange",
    "annotate",
    "change",
    "change_many",
    "completions",
    "current",
    "open_segments",
    "tag",
    "untagged",
]

MAIN_AGENT = "main"
_MOST_IDS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TaskChange:
    """The changes of one call."""

    tasks: Tasks
    updates: tuple[TaskUpdate, ...] = ()
    closed: Mapping[str, Segment] = field(default_factory=dict)
    opened: Mapping[str, Segment] = field(default_factory=dict)
    completed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion of a task: the segments and calls that it evicts, and the summary that replaces them.

    Segments of an earlier completion, and those that ended because the task was cancelled or delegated, are not among
    them.
    """

    task_id: str
    segments: tuple[Segment, ...]
    call_ids: tuple[str, ...]
    summary: str


def change(
    tasks: Tasks, task_id: str, agent: str, fields: Mapping[str, Any], at: Moment, *, stack: bool = False
) -> TaskChange:
    """Make or change one task; see `change_many`."""
    return change_many(tasks, agent, [{**fields, "id": task_id}], at, stack=stack)


def change_many(
    tasks: Tasks, agent: str, updates: Sequence[Mapping[str, Any]], at: Moment, *, stack: bool = False
) -> TaskChange:
    """Make and change the tasks of one call: the ones that end first, then the ones that start.

    `updates`: for each task its ``id`` and the fields to change: content, active_form, status, acceptance_criteria,
    grounding, grounding_evidence, result_summary, delegated_to, phase_index. A field that is missing or None keeps its
    stored value. `at`: the newest item of the caller's history. `stack`: whether a task may start on top of another one
    of the same agent, which continues when it ends. Raises SummaryRejected: a task is completed without a summary of at
    least `MIN_SUMMARY_CHARACTERS`. Raises TaskError: anything else that is not possible.
    """
    work = _TaskWork(tasks, agent, stack)
    given = [checked_update(update) for update in updates]
    ids = [task_id for task_id, _ in given]
    twice = next((one for n, one in enumerate(ids) if one in ids[:n]), None)
    if twice is not None:
        raise TaskError(f"task {shown(twice)} stands twice in one call: send one update for each task")
    for task_id, fields in sorted(given, key=lambda one: one[1].get("status") == "in_progress"):  # a stable sort
        work.update(task_id, fields)
    return work.finished(at)


def annotate(tasks: Tasks, task_id: str, summary: str, validation: Mapping[str, Any] | None) -> TaskChange:
    """Give a completed task the summary with its verdict; windows show this text from now on.

    Raises TaskError: it is not completed.
    """
    before = tasks.by_id.get(task_id)
    if before is None or before.status != "completed":
        raise TaskError(f"task {shown(task_id)} is not completed: only a completed task has a verdict on its summary")
    verdict = None if validation is None else json_object(task_id, "validation", validation)
    after = replace(before, annotated_summary=summary, validation=verdict)
    if after.segments and after.segments[-1].ended == "completed":
        after = _with_last(after, replace(after.segments[-1], summary=summary))
    if after == before:
        return TaskChange(tasks)
    return TaskChange(replace(tasks, by_id={**tasks.by_id, task_id: after}), (TaskUpdate(before, after),))


def tag(
    tasks: Tasks,
    agent: str,
    calls: Iterable[tuple[str, str]],
    *,
    task_tools: Container[str] = (),
    marked: Mapping[str, str] | None = None,
) -> tuple[Tasks, tuple[Tag, ...]]:
    """Tag tool calls with the task that the agent works on now.

    A call that has a tag keeps it. The calls of task tools have none, nor has one that is made while no task is worked
    on: no task takes it with it.

    `marked`: call id to the id of the task that a marker names; it wins, where that task was ever worked on. Returns
    the tasks, and the tags that are new, for the store.
    """
    task = current(tasks, agent)
    owner = task.id if task is not None and task.is_worked_on else None
    new: dict[str, Tag] = {}
    for call_id, tool in calls:
        task_id = (marked or {}).get(call_id, owner)
        if task_id is None or tool in task_tools or call_id in tasks.tags or not tasks.by_id[task_id].segments:
            continue
        new[call_id] = Tag(call_id, task_id, len(tasks.by_id[task_id].segments) - 1)
    return (replace(tasks, tags={**tasks.tags, **new}), tuple(new.values())) if new else (tasks, ())


def untagged(tasks: Tasks, call_ids: Iterable[str]) -> tuple[str, ...]:
    """Return those of the calls that belong to no task: no completion ever reaches them."""
    return tuple(call_id for call_id in call_ids if call_id not in tasks.tags)


def current(tasks: Tasks, agent: str = MAIN_AGENT) -> Task | None:
    """Return the task that an agent works on: the topmost of those it has in progress."""
    mine = (task for task in tasks.by_id.values() if task.status == "in_progress" and task.agent == agent)
    return max(mine, key=lambda task: task.depth, default=None)


def open_segments(tasks: Tasks, *, besides: str = "") -> tuple[Segment, ...]:
    """Return the open segments of all tasks but one: eviction by range skips what they cover."""
    return tuple(task.segments[-1] for task in tasks.by_id.values() if task.is_worked_on and task.id != besides)


def completions(tasks: Tasks, task_id: str) -> tuple[Completion, ...]:
    """Return what each completion of a task evicts, oldest first.

    A completion of a task that was never worked on lets nothing go and is not among them.
    """
    task = tasks.by_id.get(task_id)
    if task is None:
        return ()
    found: list[Completion] = []
    first = 0
    for n, segment in enumerate(task.segments):
        if segment.ended == "completed":
            calls = (one for one in tasks.tags.values() if one.task_id == task_id and first <= one.segment <= n)
            ids = tuple(one.call_id for one in calls)
            found.append(Completion(task_id, task.segments[first : n + 1], ids, segment.summary))
        if segment.ended in ("completed", "cancelled", "delegated"):
            first = n + 1
    return tuple(found)


class _TaskWork:
    """The tasks of one call while it is worked through; nothing is seen of it outside unless all of it succeeds."""

    def __init__(self, tasks: Tasks, agent: str, stack: bool) -> None:
        if not isinstance(agent, str) or not agent:
            raise TaskError(f"agent must be a text that is not empty, not {agent!r}: leave it out for {MAIN_AGENT!r}")
        self.before = tasks
        self.by_id = dict(tasks.by_id)
        self.agent = agent
        self.stack = stack
        self.completed: list[str] = []
        self.notes: list[str] = []
        self.ends: dict[str, SegmentEnd] = {}  # how the open segment of a task ends that leaves the stack

    def update(self, task_id: str, fields: dict[str, Any]) -> None:
        status = fields.pop("status", None)
        task = self.by_id.get(task_id)
        if task is None:
            task = self._new_task(task_id, fields, status)
        if status == "completed":
            self._complete(task, fields)
            return
        self._refuse_another_result(task, fields, status)
        if status == "in_progress":
            self._start(task, fields)
        elif status is None or status == task.status:
            self._put(replace(task, **fields))
            self._check_delegation(self.by_id[task_id])
        else:
            self._leave(task, fields, status)

    def finished(self, at: Moment) -> TaskChange:
        """Open and close segments so that the topmost task of each agent, and no other one, has an open one."""
        closed, opened = {}, {}
        tops = {task.agent: task.id for task in sorted(self.by_id.values(), key=lambda task: task.depth) if task.depth}
        for task in list(self.by_id.values()):
            is_top = tops.get(task.agent) == task.id
            if task.is_worked_on and not is_top:
                ended = self.ends.get(task.id, "stacked")
                summary = task.annotated_summary if ended == "completed" else ""
                closed[task.id] = replace(task.segments[-1], end=at, ended=ended, summary=summary)
                self._put(_with_last(task, closed[task.id]))
            elif is_top and not task.is_worked_on:
                opened[task.id] = Segment(at)
                self._put(replace(task, segments=(*task.segments, opened[task.id])))
        was = self.before.by_id
        updates = [TaskUpdate(was.get(one), task) for one, task in self.by_id.items() if was.get(one) != task]
        tasks = replace(self.before, by_id=self.by_id) if updates else self.before
        return TaskChange(tasks, tuple(updates), closed, opened, tuple(self.completed), tuple(self.notes))

    def _put(self, task: Task) -> None:
        self.by_id[task.id] = task

    def _new_task(self, task_id: str, fields: Mapping[str, Any], status: str | None) -> Task:
        if status in ("completed", "cancelled"):
            raise TaskError(f"there is no task {shown(task_id)}: {self._known_open()}. Use the id of one of them")
        if not fields.get("content", "").strip():
            raise TaskError(
                f"there is no task {shown(task_id)}: {self._known_open()}. Use the id of one of them, "
                "or give content, what is to be done, to make a new task"
            )
        return Task(task_id, agent=self.agent)

    def _known_open(self) -> str:
        ids = [one for one, task in self.by_id.items() if task.status not in ("completed", "cancelled")]
        if not ids:
            return "no task is open"
        more = f" and {len(ids) - _MOST_IDS_SHOWN} more" if len(ids) > _MOST_IDS_SHOWN else ""
        return f"open are {', '.join(map(shown, ids[-_MOST_IDS_SHOWN:]))}{more}"

    def _refuse_another_agent(self, task: Task) -> None:
        if task.status == "in_progress" and task.agent != self.agent:
            raise TaskError(
                f"task {shown(task.id)} is in progress with agent {shown(task.agent)}: let that agent end it, "
                "cancel it if that agent no longer runs, or start another task"
            )

    def _refuse_another_result(self, task: Task, fields: Mapping[str, Any], status: str | None) -> None:
        if task.status != "completed" or status == "in_progress":
            return
        if status is not None:
            raise TaskError(
                f"task {shown(task.id)} is completed and cannot become {status}: "
                "set it in_progress to reopen it, or make a new task"
            )
        if fields.get("result_summary", task.result_summary) != task.result_summary:
            raise TaskError(_ANOTHER_SUMMARY % shown(task.id))

    def _start(self, task: Task, fields: Mapping[str, Any]) -> None:
        self._refuse_another_agent(task)
        mine = [one for one in self.by_id.values() if one.status == "in_progress" and one.agent == self.agent]
        top = max(mine, key=lambda one: one.depth, default=None)
        if top is not None and top.id == task.id:
            self._put(replace(task, **fields))
            return
        if top is not None and not self.stack:
            raise TaskError(
                f"task {shown(task.id)} cannot start: task {shown(top.id)} is in progress. Complete "
                f"{shown(top.id)} with a result_summary, or cancel it first. Or use stack=True: {shown(top.id)} then "
                f"continues when {shown(task.id)} ends"
            )
        if (
            task.status == "completed"
        ):  # what it came to stays with its segments; the new work needs a result of its own
            task = replace(task, result_summary="", annotated_summary="", validation=None)
            self.notes.append(
                f"task {shown(task.id)} is reopened: what was evicted stays so, and completing it again "
                "needs a new result_summary, of the work from now on"
            )
        depth = 1 + (top.depth if top else 0)
        self._put(replace(task, **{**fields, "status": "in_progress", "agent": self.agent, "depth": depth}))

    def _leave(self, task: Task, fields: Mapping[str, Any], status: str) -> None:
        if status != "cancelled":
            self._refuse_another_agent(task)
        after = replace(task, **{**fields, "status": status, "depth": 0})
        self._check_delegation(after)
        if status != "pending":
            after = _with_last_rested(after, status)  # no later completion takes what was given up or away with it
        self.ends[task.id] = status  # type: ignore[assignment]  # in_progress and completed are dealt with elsewhere
        self._put(after)

    def _check_delegation(self, task: Task) -> None:
        missing = [name for name in ("acceptance_criteria", "delegated_to") if not getattr(task, name)]
        if task.status == "delegated" and missing:
            raise TaskError(
                f"task {shown(task.id)} cannot be delegated without {' and '.join(missing)}: "
                "say who takes it over, and what the result will be measured against"
            )

    def _complete(self, task: Task, fields: dict[str, Any]) -> None:
        self._refuse_another_agent(task)
        if task.status == "completed":
            if _trimmed(fields, task.result_summary) != task.result_summary.strip():
                raise TaskError(_ANOTHER_SUMMARY % shown(task.id))
            self.notes.append(f"task {shown(task.id)} is completed already, with this summary: nothing was changed")
            return
        if task.status == "cancelled":
            raise TaskError(
                f"task {shown(task.id)} is cancelled: set it in_progress to start it again, and complete it then"
            )
        if fields.get("acceptance_criteria") == ():
            del fields["acceptance_criteria"]
            self.notes.append(f"task {shown(task.id)}: its acceptance criteria stay, completing does not empty them")
        summary = _trimmed(fields, task.result_summary)
        if len(summary) < MIN_SUMMARY_CHARACTERS:
            raise SummaryRejected(
                f"task {shown(task.id)} is not completed: its result_summary has {len(summary)} characters and needs at "
                f"least {MIN_SUMMARY_CHARACTERS}. Complete it again with a summary of what was found, changed and "
                "decided. Name the files and numbers that are needed later. The summary replaces all logs of the task"
            )
        after = replace(task, **{**fields, "status": "completed", "depth": 0})
        after = replace(after, annotated_summary=after.result_summary, validation=None)
        after = _with_last_rested(after, "completed", after.annotated_summary)
        self.ends[task.id] = "completed"
        self.completed.append(task.id)
        self._put(after)


_ANOTHER_SUMMARY = (
    "task %s is completed already, with another summary, which replaces its logs: nothing was changed. "
    "Set it in_progress to reopen it if there is more to do, or make a new task"
)


def _with_last(task: Task, segment: Segment) -> Task:
    return replace(task, segments=(*task.segments[:-1], segment))


def _with_last_rested(task: Task, ended: str, summary: str = "") -> Task:
    """Return the task with another end of its last segment, if it only rested since."""
    if not task.segments or task.segments[-1].ended not in ("pending", "stacked"):
        return task
    return _with_last(task, replace(task.segments[-1], ended=ended, summary=summary))  # type: ignore[arg-type]


def _trimmed(fields: Mapping[str, Any], stored: str) -> str:
    text: str = fields.get("result_summary", stored)
    return text.strip()
