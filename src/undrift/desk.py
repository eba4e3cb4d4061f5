"""The tasks of one session: what the agent says of them is judged, written, and let go of in the window.

Law: a change of a task is on disk before it is in force; a summary is judged before its task is completed; what a task let
go is decided by `core.evict`, history by history, and stored with the originals like every other decision.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from undrift.conversation import Conversation
from undrift.core.evict import Ended, prune_task_logs
from undrift.core.tasks import MAIN_AGENT, annotate, change_many, completions, current, open_segments, tag
from undrift.core.tombstone import assistant_tombstone, tool_tombstone
from undrift.core.validate import ValidationService, without_annotation
from undrift.ledger import Ledger, masked_value
from undrift.types import Decision, Moment, Segment, Task, TaskUpdate

__all__ = ["Desk", "TASK_TOOLS"]

TASK_TOOLS = frozenset({"task_update", "mcp__undrift__task_update", "SigmaTaskUpdate"})
"""The tools by which tasks are changed: their own results are never tagged (A3-18)."""


class Desk:
    """What a session knows of its tasks.

    Args:
        ledger: Of the session; it holds the tasks and writes them.
        keep_tool_results: N of the last N.
        mask_secrets: Whether secrets are masked in what is stored.
    """

    def __init__(self, ledger: Ledger, *, keep_tool_results: int, mask_secrets: bool) -> None:
        self._ledger = ledger
        self._keep = keep_tool_results
        self._mask = mask_secrets
        self._conversation: Conversation | None = None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, in the order in which they were made."""
        return tuple(self._ledger.tasks.by_id.values())

    def update(
        self, updates: Sequence[Mapping[str, Any]], *, agent: str = MAIN_AGENT, stack: bool = False, at_ms: int
    ) -> tuple[str, ...]:
        """Make, change and complete tasks as one call asks; return what the agent should know.

        Args:
            updates: See `core.tasks.change_many`.
            agent: Who calls.
            stack: Whether a task may be taken up on top of another.
            at_ms: The session's clock.

        Raises:
            TaskError: It is not possible; nothing has changed, and the message says what to do.
            SummaryRejected: A completion without a summary.
            StoreError: It could not be written; nothing has changed.

        Source: R3-03, R3-14 to R3-16, R3-20, A3-8 to A3-11.
        """
        given = [self._masked(update) for update in updates]
        changed = change_many(self._ledger.tasks, agent, given, self._now(), stack=stack)
        notes, tasks = list(changed.notes), changed.tasks
        after = {update.after.id: update for update in changed.updates}
        for task_id in changed.completed:
            task = tasks.by_id[task_id]
            calls = frozenset(call_id for one in completions(tasks, task_id)[-1:] for call_id in one.call_ids)
            verdict = ValidationService().validate(task, task.result_summary, self._logs(calls))
            said = without_annotation(task.result_summary) + verdict.annotation
            judged = annotate(
                tasks, task_id, said, self._masked({**asdict(verdict), "is_faithful": verdict.is_faithful})
            )
            tasks = judged.tasks
            before = after[task_id].before
            after[task_id] = TaskUpdate(before, tasks.by_id[task_id])
            notes.append(verdict.reason)
        if after:
            self._ledger.write_tasks(tuple(after.values()), at_ms=at_ms)
        return tuple(note for note in notes if note)

    def follow(self, conversation: Conversation, *, at_ms: int) -> None:
        """Take in the history that is being prepared: calls made while a task is worked on are tagged with it.

        Raises:
            StoreError: The tags could not be written; the calls are tagged at a later turn.
        """
        self._conversation = conversation
        task = current(self._ledger.tasks, MAIN_AGENT)
        if task is None or not task.is_worked_on:
            return
        start = conversation.numbers.get(task.segments[-1].start.id, -1)
        if start < 0 and task.segments[-1].start.id:
            return  # another conversation than the one in which it was taken up
        calls = conversation.calls_after(start)
        tasks, new = tag(self._ledger.tasks, MAIN_AGENT, calls, task_tools=TASK_TOOLS)
        if new:
            self._ledger.write_tags(tasks, new, at_ms=at_ms)

    def let_go(self, conversation: Conversation, count: Callable[[str], int]) -> list[Decision]:
        """Return what the completed tasks let go in a history, as far as it has not left yet."""
        tasks = self._ledger.tasks
        ended = [one for task in tasks.by_id.values() for one in self._ended(task, conversation)]
        if not ended:
            return []
        entries, first_unseen = conversation.live()
        covered = [_range(segment, conversation.numbers) for segment in open_segments(tasks)]
        return prune_task_logs(
            entries,
            first_unseen,
            ended,
            number_of=conversation.numbers,
            keep_tool_results=self._keep,
            spared=conversation.open_answer,
            covered=covered,
            count=count,
            ref_of=self._ledger.decisions.ref_of,
        )

    def _ended(self, task: Task, conversation: Conversation) -> list[Ended]:
        found = []
        for one in completions(self._ledger.tasks, task.id):
            spans = [_range(segment, conversation.numbers) for segment in one.segments]
            verdict = task.validation or {}
            is_newest = bool(task.segments) and one.segments[-1] == task.segments[-1]
            found.append(
                Ended(
                    task.id,
                    tuple(span for span in spans if span),
                    frozenset(one.call_ids),
                    is_newest and bool(verdict.get("is_valid")) and bool(verdict.get("is_faithful")),
                    _tool_text(task.id, one.summary),
                    _assistant_text(task.id, one.summary),
                )
            )
        return found

    def _now(self) -> Moment:
        if self._conversation is None:
            return Moment("")
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


def _range(segment: Segment, numbers: Mapping[str, int]) -> range:
    """The items of a history that a segment holds, both ends left out; empty where it lies in another history."""
    start = numbers.get(segment.start.id, -1) if segment.start.id else -1
    if segment.start.id and start < 0:
        return range(0)
    end = len(numbers) if segment.end is None else numbers.get(segment.end.id, -1)
    return range(start + 1, end) if end > start else range(0)


def _tool_text(task_id: str, summary: str) -> Callable[[str, bool], str]:
    return lambda ref, is_last: tool_tombstone(task_id, summary if is_last else None, ref=ref)


def _assistant_text(task_id: str, summary: str) -> Callable[[str, bool], str]:
    return lambda ref, is_last: assistant_tombstone(task_id, summary if is_last else None, ref=ref)
