"""What tasks let go in one history: the logs of finished ones, old outputs of a long one, tombstones that add up. No I/O.

Law: everything is a decision about blocks of this history, made by `core`, history by history; nothing is in force here,
and nothing is written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from undrift.core.agent_rules import TASK_TOOLS
from undrift.core.tasks.evict import Ended, prune_task_logs
from undrift.core.tasks.life import MAIN_AGENT, completions, current, open_segments
from undrift.core.tasks.plan_tools import is_plan_tool
from undrift.core.tasks.roll import roll_old_outputs, roll_old_tombstones
from undrift.core.text.tombstone import RolledTask, assistant_tombstone, roll_up, rolling_tombstone, tool_tombstone
from undrift.settings import Settings
from undrift.tasks.from_plans import PLAN_AGENT, planned_tasks
from undrift.values.window import Decision, Segment, Task, TaskUpdate
from undrift.window.conversation import Conversation
from undrift.window.ledger import Ledger

__all__ = ["Clearing"]


class Clearing:
    """The passes over a history that belong to tasks.

    Args:
        ledger: Of the session; it holds the tasks.
        settings: In force.
        log_path: Task id to where its log is exported; empty where it is not.
    """

    def __init__(self, ledger: Ledger, settings: Settings, log_path: Callable[[str], str]) -> None:
        self._ledger = ledger
        self._settings = settings
        self._log_path = log_path

    def let_go(self, conversation: Conversation, count: Callable[[str], int]) -> list[Decision]:
        """Return what leaves now whatever the budget says, as far as it has not left yet."""
        ended = [one for task in self._told for one in self._ended(task, conversation)]
        if self._settings.plan_tasks == "at_once":
            ended += self._planned(conversation)
        return [*self._evicted(ended, conversation, count), *self._rolled(conversation, count)]

    def let_go_under_pressure(self, conversation: Conversation, count: Callable[[str], int]) -> list[Decision]:
        """Return what leaves first in a turn that exceeds the budget."""
        if self._settings.plan_tasks != "under_pressure":
            return []
        return self._evicted(self._planned(conversation), conversation, count)

    def roll_up(self, conversation: Conversation, budget_tokens: int) -> list[Decision]:
        """Return the old tombstones that leave because there are too many; to be asked once those of this turn are there.

        Source: AX-2.
        """
        if not self._ledger.decisions.tasks:
            return []
        entries, first_unseen = conversation.live()
        limit = int(self._settings.tombstone_share * budget_tokens)
        return roll_old_tombstones(
            entries,
            first_unseen,
            limit,
            decided_here=conversation.decided_here,
            keep_tool_results=self._settings.keep_tool_results,
            ref_of=self._ledger.decisions.ref_of,
        )

    def records(self, conversation: Conversation, decisions: Iterable[Decision]) -> tuple[TaskUpdate, ...]:
        """Return the records of planned steps that let something go and are not in the store yet."""
        known = self._ledger.tasks.by_id
        new = {d.detail["task"] for d in decisions if d.kind == "evicted"} - set(known)
        found = {one.task_id: one for one in planned_tasks(conversation)} if new else {}
        return tuple(TaskUpdate(None, found[task_id].task()) for task_id in sorted(new & set(found)))

    def finished_note(self, conversation: Conversation) -> str:
        """Return the list of the last finished tasks whose summaries stand nowhere in the window any more.

        It is made anew at each turn from the tasks, and is no part of the history. Empty where there are none.

        Source: AX-2.
        """
        most = self._settings.finished_tasks_shown
        if not most or not self._told:
            return ""
        entries, _ = conversation.live()
        shown = {(e.metadata or {}).get("task") for e in entries if e.type == "summary" and "\nSUMMARY: " in e.content}
        ended = [task for task in self._told if task.status == "completed" and task.id not in shown]
        here = [t for t in ended if t.segments and (end := t.segments[-1].end) and end.id in conversation.numbers]
        refs = {task.id: self._ledger.decisions.let_go_by(task.id)[-1:] for task in here}
        last = sorted((task for task in here if refs[task.id]), key=lambda task: task.ordinal)[-most:]
        names = conversation.names_recall
        rolled = [RolledTask(t.id, t.content, t.annotated_summary, refs[t.id][0] if names else "") for t in last]
        return roll_up(rolled) if rolled else ""

    @property
    def _told(self) -> list[Task]:
        """The tasks that agents have told us of."""
        return [task for task in self._ledger.tasks.by_id.values() if task.agent != PLAN_AGENT]

    def _evicted(self, ended: list[Ended], conversation: Conversation, count: Callable[[str], int]) -> list[Decision]:
        if not ended:
            return []
        entries, first_unseen = conversation.live()
        covered = [_range(segment, conversation.numbers) for segment in open_segments(self._ledger.tasks)]
        return prune_task_logs(
            entries,
            first_unseen,
            ended,
            number_of=conversation.numbers,
            keep_tool_results=self._settings.keep_tool_results,
            spared=conversation.open_answer,
            spares_tool=_tells_of_tasks,
            covered=covered,
            count=count,
            ref_of=self._ledger.decisions.ref_of,
        )

    def _planned(self, conversation: Conversation) -> list[Ended]:
        """The completed steps of the client's own plan; none for an agent that tells us of its tasks."""
        if self._told:
            return []
        is_valid = self._settings.eviction_respects_anchor == "never"
        return [
            Ended(
                one.task_id,
                (one.items,) if one.items else (),
                one.pair_ids,
                is_valid,
                _tool_text(one.task_id, one.summary, self._log_path(one.task_id), names=conversation.names_recall),
                _assistant_text(one.task_id, one.summary, names=conversation.names_recall),
            )
            for one in planned_tasks(conversation)
        ]

    def _ended(self, task: Task, conversation: Conversation) -> Iterator[Ended]:
        rule = self._settings.eviction_respects_anchor
        log_path = self._log_path(task.id)
        for one in completions(self._ledger.tasks, task.id):
            spans = [_range(segment, conversation.numbers) for segment in one.segments]
            verdict = task.validation or {}
            is_newest = bool(task.segments) and one.segments[-1] == task.segments[-1]
            is_valid = is_newest and bool(verdict.get("is_valid")) and bool(verdict.get("is_faithful"))
            yield Ended(
                task.id,
                tuple(span for span in spans if span),
                frozenset(one.call_ids),
                {"always": False, "never": True}.get(rule, is_valid),
                _tool_text(task.id, _given(one.summary), log_path, names=conversation.names_recall),
                _assistant_text(task.id, _given(one.summary), names=conversation.names_recall),
            )

    def _rolled(self, conversation: Conversation, count: Callable[[str], int]) -> list[Decision]:
        """Of a task that is still open, let old outputs go once there are half as many again as stay (A3-19)."""
        stay, task = self._settings.rolling_tool_results, current(self._ledger.tasks, MAIN_AGENT)
        if not stay or task is None:
            return []
        entries, first_unseen = conversation.live()
        tagged = {one.call_id for one in self._ledger.tasks.tags.values() if one.task_id == task.id}
        return roll_old_outputs(
            entries[:first_unseen],
            task.id,
            tagged,
            spares_tool=_tells_of_tasks,
            keep=max(stay, self._settings.keep_tool_results),
            text=lambda ref: rolling_tombstone(
                task.id, ref=ref if conversation.names_recall else "", log_path=self._log_path(task.id)
            ),
            count=count,
            ref_of=self._ledger.decisions.ref_of,
        )


def _tells_of_tasks(tool: str) -> bool:
    return tool in TASK_TOOLS or is_plan_tool(tool)


def _range(segment: Segment, numbers: Mapping[str, int]) -> range:
    """The items of a history that a segment holds, both ends left out; empty where it lies in another history."""
    start = numbers.get(segment.start.id, -1) if segment.start.id else -1
    if segment.start.id and start < 0:
        return range(0)
    end = len(numbers) if segment.end is None else numbers.get(segment.end.id, -1)
    return range(start + 1, end) if end > start else range(0)


def _given(summary: str) -> Callable[[], str]:
    return lambda: summary


def _tool_text(task_id: str, summary: Callable[[], str], log_path: str, *, names: bool) -> Callable[[str, bool], str]:
    return lambda ref, is_last: tool_tombstone(
        task_id, summary() if is_last else None, ref=ref if names else "", log_path=log_path
    )


def _assistant_text(task_id: str, summary: Callable[[], str], *, names: bool) -> Callable[[str, bool], str]:
    return lambda ref, is_last: assistant_tombstone(task_id, summary() if is_last else None, ref=ref if names else "")
