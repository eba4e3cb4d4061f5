"""The tasks of a session, changed in one step with the memories about them; its methods are methods of the session.

Law: a change that another agent overtook is judged again on top of that agent's change.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from undrift.core.tasks.life import MAIN_AGENT, current
from undrift.core.text import marker
from undrift.errors import TaskError, UndriftError
from undrift.memory.upkeep import MemoryUpkeep
from undrift.tasks.updates import TaskUpdates
from undrift.values.closing import in_turn
from undrift.values.window import Task
from undrift.window.context import SessionContext
from undrift.wire import objects, raw
from undrift.wire.calls import arguments_of
from undrift.wire.form import ToolCall, ToolResult

__all__ = ["SessionTasks"]

_ATTEMPTS = 200  # a failed attempt is another agent's success


class SessionTasks:
    """Creates, changes and completes the tasks of one session."""

    def __init__(self, context: SessionContext, updates: TaskUpdates, upkeep: MemoryUpkeep) -> None:
        self._context = context
        self._sharing = context.sharing
        self._log = context.log
        self._updates = updates
        self._upkeep = upkeep

    @in_turn
    def start_task(
        self,
        task_id: str,
        *,
        content: str = "",
        acceptance_criteria: Sequence[str] = (),
        phase_index: int = 0,
        stack: bool = False,
    ) -> Task:
        """Start a task: all tool calls belong to it until it ends.

        Args:
            task_id: Any text; known or new.
            content: The work to do; default for a new task is its id.
            acceptance_criteria: The criteria for its result.
            phase_index: The phase of the work that it belongs to, at least 0.
            stack: True: it may start while another task is in progress; that task continues when it ends.

        Raises:
            TaskError: Another task is in progress, or a field is wrong; the message says what to do.
            StoreError: It could not be written; nothing has changed.

        >>> session.start_task("fix-login", content="Fix the login").status
        'in_progress'
        """
        fields = {
            "content": content or (None if task_id in self._log.tasks.by_id else task_id),
            "acceptance_criteria": tuple(acceptance_criteria) or None,
            "phase_index": phase_index or None,
        }
        return self.update_task(task_id, stack=stack, status="in_progress", **fields)

    @in_turn
    def update_task(self, /, task_id: str, *, stack: bool = False, **fields: Any) -> Task:
        """Change some fields of a task; fields that are not given keep their values.

        Args:
            task_id: Known, or new.
            stack: See `start_task`.
            fields: content, active_form, status, acceptance_criteria, grounding, grounding_evidence, result_summary,
                delegated_to, phase_index.

        Raises:
            TaskError: It is not possible; the message says what to do.
            SummaryRejected: It is completed without a summary of at least 15 characters.
            StoreError: It could not be written; nothing has changed.

        >>> session.update_task("fix-login", content="Fix the login", acceptance_criteria=("tests pass",)).status
        'pending'
        """
        self._change([_with_lists({**fields, "id": task_id})], MAIN_AGENT, stack=stack)
        return self._log.tasks.by_id[task_id]

    @in_turn
    def change_tasks(self, updates: Iterable[Any], *, agent: str = MAIN_AGENT, stack: bool = False) -> tuple[str, ...]:
        """Change several tasks in one step, or none: first end tasks, then start tasks.

        Args:
            updates: For each task its ``id`` and the fields of `update_task` that change; or a call of the task tool, as
                an SDK gives it.
            agent: The agent that works on them; each agent has at most one task in progress.
            stack: See `start_task`.

        Returns:
            Sentences for the agent: verdicts, and fields that were ignored.

        Raises:
            TaskError: It is not possible; the message says what to do.
            SummaryRejected: A task is completed without a summary of at least 15 characters.
            StoreError: It could not be written; nothing has changed.

        >>> _ = session.start_task("find")
        >>> done = {"id": "find", "status": "completed", "result_summary": "The cause is an old token."}
        >>> _ = session.change_tasks([done, {"id": "mend", "content": "Renew it", "status": "in_progress"}])
        >>> [(task.id, task.status) for task in session.tasks()]
        [('find', 'completed'), ('mend', 'in_progress')]
        """
        return self._change(_given(updates), agent, stack=stack)

    def _change(self, updates: list[Any], agent: str, *, stack: bool = False) -> tuple[str, ...]:
        """Change tasks by updates as they stand: one that looks like a call is none."""
        self._log.follow()
        at_ms = self._context.clock.tick()
        for attempt in range(1, _ATTEMPTS + 1):
            changed, notes = self._updates.judged(updates, agent=agent, stack=stack)
            if not changed:
                return notes
            remembered = self._upkeep.admitted(changed, at_ms) if self._context.settings.learns != "off" else None
            if self._updates.write(changed, at_ms, remembered, is_last=attempt == _ATTEMPTS):
                return notes
        raise AssertionError  # the last attempt returns or raises

    @in_turn
    def mark(self, tool_result: str) -> str:
        """Return a tool's result with the hidden marker of the task in progress as its last line.

        Only for results whose call has no id, or that can arrive after their task has ended. Markers are believed if
        the setting `task_markers` is on. `undrift.strip_markers` removes markers from a text for a user.

        Args:
            tool_result: The tool's own text. Any text like a marker in it is made unreadable.
        """
        task = current(self._log.tasks)
        return marker.mark(tool_result, task.id) if task is not None else marker.neutralise(tool_result)

    @in_turn
    def complete_task(self, task_id: str, result_summary: str) -> Task:
        """Complete a task: the next `prepare` replaces its raw logs by its summary; `recall` can get the logs back.

        Args:
            task_id: A task in progress.
            result_summary: At least 15 characters; it is judged by the task's criteria and its raw logs.

        Returns:
            The task with its `annotated_summary` and `validation`.

        Raises:
            SummaryRejected: It is missing or too short.
            TaskError: There is no such task, or it ended otherwise.
            StoreError: It could not be written; nothing has changed.

        >>> _ = session.start_task("fix-login")
        >>> session.complete_task("fix-login", "The token had expired; it is renewed now.").status
        'completed'
        """
        return self.update_task(task_id, status="completed", result_summary=result_summary)

    @in_turn
    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks of the session, oldest first."""
        return tuple(self._log.tasks.by_id.values())

    def answer(self, call: ToolCall) -> ToolResult:
        """Execute a call of the task tool and return the answer; a refusal is an answer too."""
        try:
            arguments = raw.decode(call.arguments.encode("utf-8", "replace"), "arguments")
            if not isinstance(arguments, Mapping):
                raise TaskError("the arguments of the task tool must be an object: give id and what changes")
            notes = self._change([arguments], MAIN_AGENT)
            task = self._log.tasks.by_id[str(arguments["id"])]
        except UndriftError as error:
            return ToolResult(call.id, str(error), is_error=True)
        return ToolResult(call.id, " ".join((f"Task {marker.safe_id(task.id)} is {task.status}.", *notes)))


def _given(updates: Any) -> list[Any]:
    """Return the updates as a list, each as an object if it is a call of a tool."""
    every = objects.listed(updates)
    if not isinstance(every, list):
        kind = type(updates).__name__
        raise TaskError(
            f"updates must be a list of objects, one for each task, not {kind}: put a single one into [...]"
        )
    return [_with_lists(arguments_of(one)) for one in every]


def _with_lists(update: Any) -> Any:
    if not isinstance(update, Mapping):
        return update
    return {name: objects.listed(value) for name, value in update.items()}
