"""Who worked on what when, in words of lists, and a history as the client sends it: what `task_machine` judges the engine by."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from undrift.core.text.refs import message_id
from undrift.wire.form import Block
from undrift.wire.forms import form_of

__all__ = ["History", "Model", "NOWHERE", "Stint", "Stretch", "TOOL"]

TOOL = "task_update"
"""What the tool is called by which the agent tells of tasks; it belongs to none of them."""

NOWHERE = "in no history"

Stint = tuple[str, int]
"""A task, and which of its lives: each begins again once it was completed, cancelled or delegated."""


@dataclass
class Stretch:
    """What was worked on between two items of a history, both left out.

    `start` is None until there is a history to begin in, and empty for its very beginning; `end` is None while it goes on.
    Where it ended without a history at hand, `until` has all items that there were: what was said later is not in it.
    """

    stint: Stint
    start: str | None
    end: str | None = None
    until: Collection[str] = ()

    def holds(self, number: int, history: "History") -> bool:
        """Tell whether an item of a history lies in it."""
        start = history.number(self.start)
        if start is None or number <= start:
            return False
        end = history.numbers.get(self.end or NOWHERE)
        return history.ids[number] in self.until if end is None else number < end


class Model:
    """What was told of tasks, in words of lists."""

    def __init__(self) -> None:
        self.status: dict[str, str] = {}
        self.summaries: dict[str, str] = {}
        self.lives: dict[str, int] = {}
        self.stack: list[str] = []
        self.stretches: list[Stretch] = []
        self.completed: set[Stint] = set()
        self.owners: dict[str, Stint] = {}  # call -> for whom it was made

    def told(self, task_id: str, status: str, at: str | None, summary: str = "", so_far: Collection[str] = ()) -> None:
        """Take in a change that was accepted, at the newest item that its process was given; None where it was none.

        Then `so_far` has the items of all histories.
        """
        before = self.status.get(task_id)
        if before == status and status != "in_progress":
            return
        top = self.stack[-1:]
        stint = (task_id, self.lives.setdefault(task_id, 0))
        if task_id in self.stack:
            self.stack.remove(task_id)
        if status == "in_progress":
            self.stack.append(task_id)
        elif status != "pending":
            self.lives[task_id] += 1
        if status == "completed":
            self.completed.add(stint)
            self.summaries[task_id] = summary
        self.status[task_id] = status
        if self.stack[-1:] != top:
            for stretch in self.stretches:
                if stretch.end is None:
                    stretch.end, stretch.until = at or NOWHERE, so_far
            if self.stack:
                self.stretches.append(Stretch((self.stack[-1], self.lives[self.stack[-1]]), at))

    def begins(self, history: "History") -> None:
        """What was taken up without a history at hand begins behind the first that comes."""
        for stretch in self.stretches:
            if stretch.start is None and stretch.end is None:
                stretch.start = history.newest

    def sees(self, history: "History") -> None:
        """Note for whom the calls of a history were made that nobody owns yet."""
        stretch = next((one for one in self.stretches if one.end is None), None)
        start = history.number(stretch.start) if stretch else None
        if stretch is not None and start is not None:
            for key, block in history.calls:
                if history.numbers[key.rpartition(".")[0]] > start and block.tool_name != TOOL:
                    self.owners.setdefault(key, stretch.stint)

    def may_lose_words(self, number: int, history: "History") -> bool:
        """Tell whether an item lies within what a completed task was worked on."""
        return any(one.holds(number, history) for one in self.stretches if one.stint in self.completed)


class History:
    """A history as the client sends it, read block by block; keys are those by which actions name blocks."""

    def __init__(self, wire: str, body: Mapping[str, Any]) -> None:
        form = form_of(wire)
        self.numbers: dict[str, int] = {}
        self.blocks: dict[str, tuple[str, Block]] = {}  # key -> role and block
        newest = ""
        for number, item in enumerate(form.items(body[form.HISTORY])):
            newest = message_id(newest, form.digest(item))
            self.numbers[newest] = number
            view = form.read(item, "")
            self.blocks.update((f"{newest}.{place}", (view.role, block)) for place, block in enumerate(view.blocks))
        self.newest = newest
        self.ids = list(self.numbers)
        self.calls = [(key, block) for key, (_, block) in self.blocks.items() if block.kind == "call"]
        results = [key for key, (_, block) in self.blocks.items() if block.kind == "result"]
        self.call_of = {result: call for result, (call, _) in zip(results, self.calls, strict=False)}

    def number(self, start: str | None) -> int | None:
        """Number of the item where a stretch begins: -1 at the very beginning, None where that is in another history."""
        return -1 if start == "" else self.numbers.get(start or NOWHERE)
