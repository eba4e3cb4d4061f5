"""The tasks of one session: an agent's changes are judged and written, and finished work leaves the window.

Law: a change of a task is on disk before it is active; a summary is judged before its task is completed. The eviction
itself is the business of the turn.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from undrift.core.agent_rules import TASK_TOOLS
from undrift.core.tasks.life import MAIN_AGENT, TaskChange, annotate, change_many, completions, current, tag, untagged
from undrift.core.text.marker import marker_of, safe_id
from undrift.core.text.masking import masked_value
from undrift.core.validate.service import ValidationService, without_annotation
from undrift.errors import StoreBusy, StoreConflict, StoreError
from undrift.stores.memory_values import MemoryChange
from undrift.values.window import Moment, Task, TaskUpdate
from undrift.window.context import SessionContext
from undrift.window.conversation import Conversation

__all__ = ["TaskUpdates"]

_log = logging.getLogger("undrift.tasks")

_LONG_SUMMARY_CHARACTERS = 1_500
_UNPLACED = "?"  # a task starts or ends without a history, as over MCP: the next history gives the place
_BEFORE = "{} tool calls before this belong to no task: only the budget lets them go"
_LONG_SUMMARY = (
    "task {!r}: its summary has {:,} characters and stands in every window from now on; "
    "put details into active_context.md and keep the summary short"
)


class TaskUpdates:
    """The tasks of a session.

    `context`: the session. Its notes are stored as they are whenever a task begins or ends.
    """

    def __init__(self, context: SessionContext) -> None:
        self._log = context.log
        self._mask = context.settings.mask_secrets
        self._believes_markers = context.settings.task_markers
        self._scratchpad = context.scratchpad
        self._conversation: Conversation | None = None

    def judged(
        self, updates: Sequence[Mapping[str, Any]], *, agent: str, stack: bool
    ) -> tuple[tuple[TaskUpdate, ...], tuple[str, ...]]:
        """Return the changes that one call asks for, each completion with its verdict, and what the agent should know.

        Raises TaskError: it is not possible; the message says what to do. Raises SummaryRejected: a completion without
        a summary.
        """
        given = [self._masked(update) if isinstance(update, Mapping) else update for update in updates]
        changed, notes = self._with_verdicts(change_many(self._log.tasks, agent, given, self._now(), stack=stack))
        return changed, (notes + self._left_out(changed) if changed else notes)

    def write(
        self, changed: Sequence[TaskUpdate], at_ms: int, remembered: MemoryChange | None, *, is_last: bool
    ) -> bool:
        """Store changes of tasks, with the memories of their summaries. False means: another agent was first, judge them again.

        Raises StoreError: it could not be written; nothing has changed. On the last attempt the first writer wins.
        """
        try:
            self._write(changed, at_ms, remembered)
        except StoreBusy:
            raise
        except StoreError as error:
            before = self._log.tasks
            has_news = self._log.reload() or self._log.tasks != before or isinstance(error, StoreConflict)
            if is_last or not has_news:
                raise
            return False
        return True

    def _write(self, changed: Sequence[TaskUpdate], at_ms: int, remembered: MemoryChange | None) -> None:
        """Write changes with what is remembered of them, in one commit; without it where that alone is in the way."""
        notepad = self._scratchpad.snapshot(at_ms)
        try:
            self._log.write_tasks(changed, notepad, at_ms=at_ms, remembered=remembered)
        except (StoreBusy, StoreConflict):
            raise
        except StoreError as error:
            if remembered is None:
                raise
            self._log.write_tasks(changed, notepad, at_ms=at_ms)
            _log.error("session %.80r: a task's summary is not remembered: %s", self._log.session_id, error)

    def _with_verdicts(self, changed: TaskChange) -> tuple[tuple[TaskUpdate, ...], tuple[str, ...]]:
        """The changes with the verdict on each completion, and what the agent should know."""
        notes, tasks = list(changed.notes), changed.tasks
        after = {update.after.id: update for update in changed.updates}
        for task_id in changed.completed:
            task = tasks.by_id[task_id]
            calls = frozenset(call_id for one in completions(tasks, task_id)[-1:] for call_id in one.call_ids)
            logs = self._logs(calls)
            verdict = ValidationService().validate(task, task.result_summary, logs)
            # A log that is not at hand, as right after a restart, confirms nothing.
            is_faithful = verdict.is_faithful and bool(logs or not calls)
            said = without_annotation(task.result_summary) + verdict.annotation
            record = self._masked({**asdict(verdict), "is_faithful": is_faithful})
            tasks = annotate(tasks, task_id, said, record).tasks
            after[task_id] = TaskUpdate(after[task_id].before, tasks.by_id[task_id])
            notes.append(verdict.reason)
            if len(task.result_summary) > _LONG_SUMMARY_CHARACTERS:
                self._scratchpad.start()
                notes.append(_LONG_SUMMARY.format(task_id, len(task.result_summary)))
        return tuple(after.values()), tuple(note for note in notes if note)

    def _left_out(self, changed: Sequence[TaskUpdate]) -> tuple[str, ...]:
        """Return the note for a session's first started task: earlier results belong to none."""
        is_first = any(one.after.segments for one in changed) and not any(
            task.segments for task in self._log.tasks.by_id.values()
        )
        calls = self._conversation.calls_after(-1) if is_first and self._conversation is not None else []
        count = len(untagged(self._log.tasks, (pair_id for pair_id, _ in calls)))
        return (_BEFORE.format(count),) if count else ()

    def follow(self, conversation: Conversation, *, at_ms: int) -> None:
        """Take in the history that is being prepared: calls made while a task is worked on are tagged with it.

        Raises StoreError: the tags could not be written; the calls are tagged at a later turn.
        """
        self._conversation = conversation
        self._place_ends(conversation, at_ms)
        calls: list[tuple[str, str]] = []
        task = self._placed(current(self._log.tasks, MAIN_AGENT), conversation, at_ms)
        if task is not None and task.is_worked_on:
            start = conversation.numbers.get(task.segments[-1].start.id, -1)
            if start >= 0 or not task.segments[-1].start.id:  # else another conversation than that in which it started
                calls = conversation.calls_after(start)
        marked = self._marked(conversation) if self._believes_markers else {}
        calls += [(pair_id, "") for pair_id in marked]
        tasks, new = tag(self._log.tasks, MAIN_AGENT, calls, task_tools=TASK_TOOLS, marked=marked)
        if new:
            self._log.write_tags(tasks, new, at_ms=at_ms)

    def _placed(self, task: Task | None, conversation: Conversation, at_ms: int) -> Task | None:
        """Return the task with its starting place, if no history was known then: all items of this one came before."""
        if task is None or not task.is_worked_on or task.segments[-1].start.id != _UNPLACED:
            return task
        here = Moment(conversation.newest_id, len(conversation.numbers))
        placed = replace(task, segments=(*task.segments[:-1], replace(task.segments[-1], start=here)))
        self._log.write_tasks([TaskUpdate(task, placed)], at_ms=at_ms)
        return placed

    def _place_ends(self, conversation: Conversation, at_ms: int) -> None:
        """Tell the place at which tasks of this history ended if none was known then: before the answer that said so."""
        updates = []
        for task in self._log.tasks.by_id.values():
            last = task.segments[-1] if task.segments else None
            if (
                last is None
                or last.end is None
                or last.end.id != _UNPLACED
                or last.start.id not in conversation.numbers
            ):
                continue
            number = self._said_so(conversation, conversation.numbers[last.start.id])
            there = Moment(list(conversation.numbers)[number], number)
            placed = replace(task, segments=(*task.segments[:-1], replace(last, end=there)))
            updates.append(TaskUpdate(task, placed))
        if updates:
            self._log.write_tasks(updates, at_ms=at_ms)

    def _said_so(self, conversation: Conversation, start: int) -> int:
        """Number of the answer that said that a task ended: the first behind all calls that have a tag.

        It need not be the newest: answers that belong to no task come between where the store refused a turn, or a turn went
        by us.
        """
        items, tags = conversation.window.items, self._log.tasks.tags
        tagged = [item.number for item in items[start + 1 :] if any(e.pair_id in tags for e in item.entries)]
        behind = items[max(tagged, default=start) + 1 :]
        return next((item.number for item in behind if item.role == "assistant"), conversation.newest_answer())

    def _marked(self, conversation: Conversation) -> dict[str, str]:
        """The task that the marker behind a result names, for each call whose result has one."""
        known = {safe_id(task_id): task_id for task_id in self._log.tasks.by_id}
        results = [e for e in conversation.entries if e.type == "tool_result" and e.pair_id is not None]
        found = ((e.pair_id or "", known.get(marker_of(e.content) or "")) for e in results)
        return {pair_id: task_id for pair_id, task_id in found if task_id is not None}

    def _now(self) -> Moment:
        if self._conversation is None:
            return Moment("" if self._log.was_empty else _UNPLACED)
        return Moment(self._conversation.newest_id, len(self._conversation.numbers))

    def _logs(self, pair_ids: Collection[str]) -> list[str]:
        """The raw texts that a task's summary is to replace, as far as the history at hand holds them."""
        entries = self._conversation.entries if self._conversation is not None else []
        return [e.content for e in entries if e.type == "tool_result" and e.pair_id in pair_ids]

    def _masked(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """The fields without secrets; a verdict quotes lines of the log."""
        if not self._mask:
            return dict(update)
        return {name: value if name == "id" else masked_value(value) for name, value in update.items()}
