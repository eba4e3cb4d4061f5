"""The pass that evicts finished tasks: tool outputs by tag, the agent's words by range; tombstones replace them. Pure.

Law: calls and the user's words stay, and so does anything the model has not seen. Only the last tombstone of each kind
carries the summary; if results leave in several turns, the last of the first turn.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.agent_rules import TASK_TOOLS
from undrift.core.tasks.life import MAIN_AGENT, completions, current, open_segments
from undrift.core.tasks.plan_tools import is_plan_tool
from undrift.core.text.tombstone import assistant_tombstone, rolling_tombstone, tool_tombstone
from undrift.core.window.last_results import TerminalObservationWindow
from undrift.core.window.rewriting import rewritten
from undrift.core.window.tombstones import roll_old_outputs
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.values.window import ContextEntry, Decision, Segment, Task

__all__ = ["Ended", "ended_tasks", "prune_task_logs"]


def ended_tasks(window: Window, turn: Turn) -> Window:
    """Evict the logs of finished tasks, at any budget, and old outputs of an open task."""
    if turn.binding.holds(window):
        return window
    return rewritten(window, turn, _leaving)


@dataclass(frozen=True, slots=True)
class Ended:
    """One completion of a task, and its place in a history.

    Args:
        ranges: Half-open ranges of the item numbers in which it was worked on, without both ends of the seed's range.
        pair_ids: The calls tagged with it. Provider ids will not do: they can repeat or be absent.
        is_valid: Whether its summary was measured and nothing was missing. Then even the newest results leave at once;
            else the last N stay until newer results follow.
        tool_text: The tombstone of a tool's output, from its reference and whether it is the last.
        assistant_text: The tombstone of the agent's words, from the same arguments.
    """

    task_id: str
    ranges: tuple[range, ...]
    pair_ids: Collection[str]
    is_valid: bool
    tool_text: Callable[[str, bool], str]
    assistant_text: Callable[[str, bool], str]


def prune_task_logs(
    entries: Sequence[ContextEntry],
    first_unseen: int,
    ended: Iterable[Ended],
    *,
    number_of: Mapping[str, int],
    keep_tool_results: int,
    spared: Collection[str],
    spares_tool: Callable[[str], bool] = lambda _: False,
    covered: Sequence[range],
    count: Callable[[str], int],
    ref_of: Callable[[str], str],
) -> list[Decision]:
    """Plan the evictions for completed tasks.

    Args:
        entries: The window, in order. Metadata: ``role``, ``kind``, ``message``, ``pair_id``.
        first_unseen: Index of the first entry that the model has not seen.
        ended: The completions, oldest first.
        number_of: Item id to its number in the history.
        keep_tool_results: N of the last N.
        spared: Items whose words must stay for now, such as the newest answer with open calls.
        spares_tool: Whether a tool's results stay: true for the tools that report tasks. A pair id does not identify
            them if reasoning binds all calls of an answer together.
        covered: Item numbers of other open tasks; words there stay.
        ref_of: Entry id to recall reference.

    Returns:
        One decision of kind ``evicted`` for each block. Its ``text`` replaces the block, or is None if the message
            already has a tombstone.
    """
    seen = entries[:first_unseen]
    anchored = {e.id for e in TerminalObservationWindow.get_last(entries, keep_tool_results)}
    outputs = [e for e in seen if _is_output(e)]
    words = [e for e in seen if _is_words(e) and e.meta("message") not in spared]
    places = [(e, number_of.get(e.meta("message"), -1)) for e in words]
    open_words = [(e, number) for e, number in places if not any(number in other for other in covered)]
    decisions: list[Decision] = []

    def evicted(entry: ContextEntry, task_id: str, text: str | None) -> Decision:
        saved = entry.token_count - (count(text) if text is not None else 0)
        reason = f"task {task_id} was completed; its summary stands in for the raw logs"
        return Decision(entry.id, "evicted", reason, saved, ref_of(entry.id), {"task": task_id, "text": text})

    for one in ended:
        mine = [e for e in outputs if e.pair_id in one.pair_ids and not spares_tool(e.meta("tool_name") or "")]
        gone = [e for e in mine if one.is_valid or e.id not in anchored]
        has_summary = bool(gone) and any(_tells(e, one) for e in seen)
        decisions += [
            evicted(entry, one.task_id, one.tool_text(ref_of(entry.id), entry is gone[-1] and not has_summary))
            for entry in gone
        ]
        spoken: dict[Any, list[ContextEntry]] = {}
        for entry, number in open_words:
            if any(number in span for span in one.ranges):
                spoken.setdefault(entry.meta("message"), []).append(entry)
        messages = list(spoken.values())
        for message in messages:
            text = one.assistant_text(ref_of(message[0].id), message is messages[-1])
            decisions.append(evicted(message[0], one.task_id, text))
            decisions += [evicted(entry, one.task_id, None) for entry in message[1:]]
    return decisions


def _tells(entry: ContextEntry, ended: Ended) -> bool:
    """Return whether the entry is the tombstone with the summary of that completion, in place of an output."""
    if entry.type != "summary" or entry.meta("task") != ended.task_id or entry.meta("kind") != "result":
        return False
    return entry.content.startswith(ended.tool_text("", True).rpartition("]")[0])


def _is_words(entry: ContextEntry) -> bool:
    """Return whether the entry is unchanged text of the agent, or thinking that may leave without its call."""
    kind = entry.meta("kind")
    is_word = (kind == "text" or (kind == "thinking" and not entry.pair_id)) and entry.type == "reasoning"
    return is_word and entry.meta("role") == "assistant"


def _leaving(window: Window, turn: Turn) -> list[Decision]:
    """Plan the evictions for finished tasks and for old outputs of an open task."""
    ended = [one for task in turn.reported_tasks for one in _ended(task, window, turn)]
    return [*_evicted(ended, window, turn), *_rolled(window, turn)]


def _evicted(ended: Sequence[Ended], window: Window, turn: Turn) -> list[Decision]:
    if not ended:
        return []
    return prune_task_logs(
        window.entries,
        window.seen,
        ended,
        number_of=window.numbers,
        keep_tool_results=turn.rules.keep_tool_results,
        spared=window.open_answer,
        spares_tool=_tells_of_tasks,
        covered=[_range(segment, window.numbers) for segment in open_segments(turn.tasks)],
        count=turn.tools.count,
        ref_of=turn.tools.ref_of,
    )


def _ended(task: Task, window: Window, turn: Turn) -> Iterator[Ended]:
    """Yield the completions of a task in this history."""
    log_path = turn.tools.log_path(task.id)
    for one in completions(turn.tasks, task.id):
        spans = [_range(segment, window.numbers) for segment in one.segments]
        verdict = task.validation or {}
        is_newest = bool(task.segments) and one.segments[-1] == task.segments[-1]
        is_valid = is_newest and bool(verdict.get("is_valid")) and bool(verdict.get("is_faithful"))
        texts = _Texts(task.id, _given(one.summary), log_path, turn.tools.names_recall)
        yield Ended(
            task.id,
            tuple(span for span in spans if span),
            frozenset(one.call_ids),
            {"always": False, "never": True}.get(turn.rules.eviction_respects_anchor, is_valid),
            texts.of_tool,
            texts.of_assistant,
        )


def _rolled(window: Window, turn: Turn) -> list[Decision]:
    """Evict old outputs of an open task once there are one and a half times as many as stay."""
    stay, task = turn.rules.rolling_tool_results, current(turn.tasks, MAIN_AGENT)
    if not stay or task is None:
        return []
    names, log_path = turn.tools.names_recall, turn.tools.log_path(task.id)
    calls = {one.call_id for one in turn.tasks.tags.values() if one.task_id == task.id}
    results = (e for e in window.entries[: window.seen] if _is_output(e) and e.pair_id in calls)
    return roll_old_outputs(
        [e for e in results if not _tells_of_tasks(e.meta("tool_name") or "")],
        task.id,
        keep=max(stay, turn.rules.keep_tool_results),
        text=lambda ref: rolling_tombstone(task.id, ref=ref if names else "", log_path=log_path),
        count=turn.tools.count,
        ref_of=turn.tools.ref_of,
    )


@dataclass(frozen=True, slots=True)
class _Texts:
    """The tombstones of one completion; the last tombstone of each kind contains the summary."""

    task_id: str
    summary: Callable[[], str]
    log_path: str
    names_recall: bool

    def of_tool(self, ref: str, is_last: bool) -> str:
        summary = self.summary() if is_last else None
        return tool_tombstone(self.task_id, summary, ref=ref if self.names_recall else "", log_path=self.log_path)

    def of_assistant(self, ref: str, is_last: bool) -> str:
        summary = self.summary() if is_last else None
        return assistant_tombstone(self.task_id, summary, ref=ref if self.names_recall else "")


def _is_output(entry: ContextEntry) -> bool:
    return entry.type == "tool_result" and bool(entry.meta("kind") == "result")


def _given(summary: str) -> Callable[[], str]:
    return lambda: summary


def _tells_of_tasks(tool: str) -> bool:
    return tool in TASK_TOOLS or is_plan_tool(tool)


def _range(segment: Segment, numbers: Mapping[str, int]) -> range:
    """Return the items of a segment in a history, without its first and last; empty if another history has it."""
    start = numbers.get(segment.start.id, -1) if segment.start.id else -1
    if segment.start.id and start < 0:
        return range(0)
    end = len(numbers) if segment.end is None else numbers.get(segment.end.id, -1)
    return range(start + 1, end) if end > start else range(0)
