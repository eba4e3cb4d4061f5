"""Managers that know what the agent will need: how much room there is above every other row.

They choose greedily, so they are references, not bounds. One may break calls from their results; the other is legal.
"""

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from undrift.bench.managers import Fit, Message, WindowManager
from undrift.bench.managers.translate import Block, joined
from undrift.bench.sessions import Case
from undrift.core.text.references import Reference, references_in
from undrift.settings import Settings

__all__ = ["CLAIRVOYANT", "LEGAL_CLAIRVOYANT"]

_TARGET = 0.75
"""The share of the budget that it prunes to, so that it does not prune on every turn."""

_Place = tuple[int, int]
"""A message and a block of it."""


class _Future:
    """The later needs of a session: at which messages each reference is needed."""

    def __init__(self, case: Case) -> None:
        self._at: dict[Reference, list[int]] = {}
        for number in case.needs.messages:
            for need in case.needs.of(number):
                self._at.setdefault((need.kind, need.text), []).append(number)

    def needed(self, text: str) -> tuple[Reference, ...]:
        """Return the references of a text that are needed at some time."""
        return tuple(sorted(reference for reference in references_in(text) if reference in self._at))

    def uses(self, reference: Reference, since: int) -> int:
        """Count the needs of a reference from a message on."""
        at = self._at[reference]
        return len(at) - bisect_left(at, since)


@dataclass(slots=True)
class _Droppable:
    """A part that leaves or stays as one: a block of a message, or a line of a result with its call."""

    places: tuple[_Place, ...]
    tokens: int
    needed: tuple[Reference, ...]
    line: int | None = None
    call_tokens: int = 0
    of_call: tuple[Reference, ...] = ()


def _blocks(case: Case) -> Fit:
    """Drop whole blocks, the one with the fewest later needs for its tokens first. The first message stays."""
    future = _Future(case)
    dropped: set[_Place] = set()
    units: dict[_Place, _Droppable] = {}

    def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
        for number, place, text, tokens in _new(case, messages, units):
            units[number, place] = _Droppable(((number, place),), tokens, future.needed(text))
        size = sum(unit.tokens for key, unit in units.items() if key not in dropped)
        if size > budget_tokens:
            now = len(messages)
            rest = [(key, unit) for key, unit in units.items() if key not in dropped and key[0] > 0]
            rest.sort(key=lambda one: (sum(future.uses(r, now) for r in one[1].needed) / (one[1].tokens + 1), one[0]))
            for key, unit in rest:
                if size <= budget_tokens * _TARGET:
                    break
                dropped.add(key)
                size -= unit.tokens
        return _kept(messages, lambda number, place: (number, place) not in dropped)

    return fit


def _new(
    case: Case, messages: Sequence[Message], known: dict[_Place, _Droppable]
) -> Iterator[tuple[int, int, str, int]]:
    for number in range(len(messages) - 1, -1, -1):
        if (number, 0) in known:
            return
        for place, (text, tokens) in enumerate(case.texts.of_message(messages[number])):
            yield number, place, text, tokens


def _kept(messages: Sequence[Message], stays: Callable[[int, int], bool]) -> list[Message]:
    found = []
    for number, message in enumerate(messages):
        blocks = [block for place, block in enumerate(message["content"]) if stays(number, place)]
        if len(blocks) == len(message["content"]):
            found.append(message)
        elif blocks:
            found.append({**message, "content": blocks})
    return found


class _LegalClairvoyant:
    """Keeps what every system must keep, and of the rest the lines with the most later needs for their tokens.

    A call and its result stay together, and nothing that left comes back.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._future = _Future(case)
        self._since = 0  # the first message that no pruning has judged
        self._kept: dict[_Place, tuple[int, ...] | None] = {}  # the lines that stay of a block; None: all of it
        self._edited: dict[_Place, Block] = {}

    def fit(self, messages: Sequence[Message], budget_tokens: int) -> list[Message]:
        """Prune only if the window is over the budget."""
        sent = self._sent(messages)
        if self._case.size_of(sent) > budget_tokens:
            self._prune(messages, int(budget_tokens * _TARGET))
            sent = self._sent(messages)
        return sent

    def _sent(self, messages: Sequence[Message]) -> list[Message]:
        found = []
        for number, message in enumerate(messages[: self._since]):
            blocks = [
                self._edited.get((number, place), block)
                for place, block in enumerate(message["content"])
                if (number, place) in self._kept
            ]
            if blocks:
                found.append({**message, "content": blocks})
        return joined((m["role"], m["content"]) for m in (*found, *messages[self._since :]))

    def _prune(self, messages: Sequence[Message], target_tokens: int) -> None:
        blocks = {
            (number, place): block
            for number, message in enumerate(messages)
            for place, block in enumerate(message["content"])
            if number >= self._since or (number, place) in self._kept
        }
        calls = {block["id"]: at for at, block in blocks.items() if block["type"] == "tool_use"}
        results = [at for at, block in blocks.items() if block["type"] == "tool_result"]
        stay = {at for at in results if at[0] == len(messages) - 1} | set(results[-Settings().keep_tool_results :])
        stay |= {calls[blocks[at]["tool_use_id"]] for at in stay}
        stay |= {at for at, b in blocks.items() if b["type"] == "text" and messages[at[0]]["role"] == "user"}
        kept: dict[_Place, list[int] | None] = dict.fromkeys(stay)
        left = target_tokens - sum(self._case.size([blocks[at]]) for at in stay)
        covered = {r for at in stay for r in self._future.needed(self._text(messages, at))}
        units = [
            unit for at, block in blocks.items() if at not in stay for unit in self._units(messages, at, block, calls)
        ]
        for unit in _best(units, covered, self._future, len(messages), left):
            for at in unit.places:
                kept.setdefault(at, [])
            if unit.line is not None and (lines := kept[unit.places[0]]) is not None:
                lines.append(unit.line)
        self._since = len(messages)
        self._kept, self._edited = {}, {}
        for at, lines in kept.items():
            self._kept[at] = None if lines is None else tuple(sorted(lines))
            if lines is not None and blocks[at]["type"] == "tool_result":
                content = blocks[at]["content"].split("\n")
                self._edited[at] = {**blocks[at], "content": "\n".join(content[line] for line in sorted(lines))}

    def _text(self, messages: Sequence[Message], at: _Place) -> str:
        return self._case.texts.of_message(messages[at[0]])[at[1]][0]

    def _units(
        self, messages: Sequence[Message], at: _Place, block: Block, calls: dict[str, _Place]
    ) -> Iterator[_Droppable]:
        """Yield an agent's text, or each line of a result with its call. A call is no unit of its own."""
        if block["type"] == "text":
            text = self._text(messages, at)
            yield _Droppable((at,), self._case.count(text), self._future.needed(text))
        elif block["type"] == "tool_result":
            call = calls[block["tool_use_id"]]
            with_call = self._case.size([messages[call[0]]["content"][call[1]]])
            in_call = self._future.needed(self._text(messages, call))
            lines, stay = block["content"].split("\n"), self._kept.get(at)
            for number in range(len(lines)) if stay is None else stay:
                needed = self._future.needed(lines[number])
                if needed or in_call:
                    yield _Droppable(
                        (at, call), self._case.count(lines[number]) + 1, needed, number, with_call, in_call
                    )


def _best(
    units: Sequence[_Droppable], covered: set[Reference], future: _Future, now: int, left: int
) -> Iterator[_Droppable]:
    """Yield units, the one with the most needs that no other covers for its tokens first, until no tokens are left."""
    there: set[_Place] = set()

    def worth(unit: _Droppable) -> tuple[float, int]:
        paid = unit.places[-1] in there
        needed = unit.needed if paid else (*unit.needed, *unit.of_call)
        tokens = unit.tokens if paid else unit.tokens + unit.call_tokens
        return sum(future.uses(r, now) for r in set(needed) - covered) / (tokens + 1), tokens

    heap = [(-value, place) for place, unit in enumerate(units) if (value := worth(unit)[0]) > 0]
    heapq.heapify(heap)
    while heap:
        before, place = heapq.heappop(heap)
        value, tokens = worth(units[place])
        if value <= 0 or tokens > left:
            continue
        if value != -before and heap and value < -heap[0][0]:
            heapq.heappush(heap, (-value, place))
            continue
        unit = units[place]
        left -= tokens
        there.add(unit.places[-1])
        covered.update(unit.needed, unit.of_call)
        yield unit


CLAIRVOYANT = WindowManager(
    "ceiling: clairvoyant, blocks",
    "",
    "",
    "knows every later need; drops whole blocks, may break calls from results",
    lambda case: nullcontext(_blocks(case)),
)
LEGAL_CLAIRVOYANT = WindowManager(
    "ceiling: clairvoyant, legal",
    "",
    "",
    "knows every later need; keeps lines of results with their calls, and what must stay",
    lambda case: nullcontext(_LegalClairvoyant(case).fit),
)
