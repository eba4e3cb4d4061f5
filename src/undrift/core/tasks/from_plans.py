"""The tasks of an agent that knows nothing of us: the steps of its client's own plan, as one history tells them. Pure.

Law: they are a function of the history, made anew at each turn; what is written of them is a record for people. A step
says nothing of its result, so its summary is distilled by rule, and its newest results stay raw.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from undrift.core.tasks.distil import TaskCall, distil
from undrift.core.tasks.plan_tools import is_plan_tool, replay_plan
from undrift.values.window import ContextEntry, Moment, Segment, Task

__all__ = ["PLAN_AGENT", "PlannedTask", "planned_tasks"]

_REFUSED = re.compile(
    r"\s{0,9}(?:<tool_use_error>|Error:|Error editing|InputValidationError|Failed to )", re.IGNORECASE
)

PLAN_AGENT = "plan"
"""Whose the tasks are that a plan tool tells of."""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One step of a plan, from its being taken up to its being ticked off.

    Args:
        task_id: Of the step.
        content: What was to be done.
        items: Half-open range of item numbers, both ends of the stretch left out.
        pair_ids: Of the calls made in it.
        start: Where it was taken up.
        end: Where it was ticked off.
        summary: Gives what it came to; costs a look through the stretch at the first call.
    """

    task_id: str
    content: str
    items: range
    pair_ids: frozenset[str]
    start: Moment
    end: Moment
    summary: Callable[[], str]

    def task(self) -> Task:
        """Return the record of it, for people."""
        said = self.summary()
        segment = Segment(self.start, self.end, "completed", said)
        return Task(
            self.task_id,
            self.content or self.task_id,
            status="completed",
            agent=PLAN_AGENT,
            result_summary=said,
            annotated_summary=said,
            segments=(segment,),
        )


def planned_tasks(entries: Iterable[ContextEntry], numbers: Mapping[str, int]) -> list[PlannedTask]:
    """Return the steps of the plan that a history tells of as completed, in the order of their ends.

    Args:
        entries: The history as it came in, in order.
        numbers: Chain id of each item to its number.
    """
    entries = [e for e in entries if e.metadata is not None]
    if not any(_is_plan_call(e) for e in entries):
        return []
    results = {e.pair_id: e.content for e in entries if e.type == "tool_result" and e.pair_id is not None}
    calls = [(e, numbers[e.meta("message")]) for e in entries if e.meta("kind") == "call"]
    told = (
        (_tool(e), _arguments(e), results.get(e.pair_id or "", "")) if _is_plan_call(e) else ("", {}, "")
        for e, _ in calls
    )
    ids = list(numbers)
    return list(_completed(replay_plan(told)[0], calls, entries, results, ids, numbers))


def _completed(
    steps: Any,
    calls: list[tuple[ContextEntry, int]],
    entries: list[ContextEntry],
    results: Mapping[str, str],
    ids: list[str],
    numbers: Mapping[str, int],
) -> Iterator[PlannedTask]:
    begun: dict[str, tuple[int, str]] = {}
    for step in steps:
        for one in step.transitions:
            if one.after == "in_progress":
                begun[one.id] = (step.index, one.content)
                continue
            first, content = begun.pop(one.id, (-1, ""))
            if one.after != "completed" or first < 0:
                continue
            mine = [e for e, _ in calls[first + 1 : step.index] if e.pair_id is not None and not _is_plan_call(e)]
            start, end = calls[first][1], calls[step.index][1]
            items = range(start + 1, max(end, start + 1))
            yield PlannedTask(
                one.id,
                content or one.content,
                items,
                frozenset(e.pair_id or "" for e in mine),
                Moment(ids[start], start + 1),
                Moment(ids[end], end + 1),
                functools.cache(
                    functools.partial(_summary, content or one.content, mine, entries, results, items, numbers)
                ),
            )


def _summary(
    content: str,
    calls: list[ContextEntry],
    entries: list[ContextEntry],
    results: Mapping[str, str],
    items: range,
    numbers: Mapping[str, int],
) -> str:
    # The message that ticks the step off often holds the conclusion.
    until = range(items.start, items.stop + 1)
    words = [e.content for e in entries if _is_words(e) and numbers[e.meta("message")] in until]
    made = [_made(e, results.get(e.pair_id or "", "")) for e in calls]
    return f"{content}\n{distil(made, words[-1] if words else '')}"


def _made(call: ContextEntry, result: str) -> TaskCall:
    """A call and what came of it; the forms keep no flag for a call that the client refused, but its words say so."""
    return TaskCall(_tool(call), _arguments(call), result, _REFUSED.match(result[:200]) is not None)


@functools.lru_cache(maxsize=1_000)
def _is_plan_name(name: str) -> bool:
    return is_plan_tool(name)


def _is_plan_call(entry: ContextEntry) -> bool:
    return entry.meta("kind") == "call" and _is_plan_name(_tool(entry))


def _is_words(entry: ContextEntry) -> bool:
    return bool(entry.meta("kind") == "text" and entry.meta("role") == "assistant")


def _tool(entry: ContextEntry) -> str:
    return str(entry.meta("tool_name") or "")


def _arguments(entry: ContextEntry) -> Mapping[str, Any]:
    """A call's arguments; a text that is no JSON object, as of a tool that takes free text, stands under one name."""
    try:
        given = msgspec.json.decode(entry.content.encode("utf-8", "replace"))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {"input": entry.content}
    return given if isinstance(given, dict) else {"input": entry.content}
