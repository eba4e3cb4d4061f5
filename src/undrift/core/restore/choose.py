"""Chooses the lines to restore: the best score per character; each name counts one time. Pure."""

import heapq
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from undrift.core.restore.history import RestoreHistory
from undrift.core.restore.trace import file_key

__all__ = ["Pick", "choose", "group_of"]

# A line used again against a name used again. Names / lines held at 10,000 tokens, each repository left out, of Claude Code and
# of Codex: 0.87 / 0.69 and 0.65 / 0.53 at 2.5, 0.86 / 0.70 and 0.61 / 0.55 at 3, 0.85 / 0.77 and 0.59 / 0.55 at 4. A name
# counted in every line that shows it, instead of once, held 8 of 100 names and 13 of 100 lines less.
_LINE_WORTH = 4.0
_LONGEST = 500  # characters; what is longer is a blob, and one of it would fill the text
_LINE_END = 1
_RUN = 5  # characters that a run of lines costs: a number with its arrow, or the mark of a gap
_HEADER = 16  # characters that opening a file or result costs beyond its name
_HEADING = 80  # the most characters of a result's heading
_BESIDE = (
    1.2  # a line beside a chosen one is worth so much more: an agent works in regions; it costs the figures nothing
)
_LEAST = 1e-4  # worth below which nothing is given back


@dataclass(frozen=True, slots=True)
class Pick:
    """A chosen line: its entry, its position, and its score at the time."""

    place: int
    index: int
    worth: float


def group_of(history: RestoreHistory, place: int) -> str | int:
    """Return the group under which a line is shown: its file, or its own entry."""
    trace = history.traces[place]
    return file_key(trace.path) if trace.path and trace.kind == "read" else place


class _Shelf:
    """The score and cost of lines at present: both fall while others are chosen."""

    def __init__(
        self, history: RestoreHistory, names: Mapping[str, float], lines: Mapping[str, float], covered: AbstractSet[str]
    ) -> None:
        self._history = history
        self._names = names
        self._lines = lines
        self._covered = set(covered)
        self._opened: set[str | int] = set()
        self._chosen: set[tuple[int, int]] = set()
        self._groups = [group_of(history, place) for place in range(len(history.traces))]

    def group(self, place: int) -> str | int:
        """Return the group of an entry's lines, see `group_of`."""
        return self._groups[place]

    def now(self, key: str, place: int, index: int) -> tuple[float, int]:
        """Return the line's score, the sum of the chances of everything new in it; and the characters that it costs.

        The cost holds what a new run and a new heading take.
        """
        trace = self._history.traces[place]
        value = _LINE_WORTH * self._lines.get(key, 0.0)
        if found := trace.line_names[index]:
            names, covered = self._names, self._covered
            new = dict.fromkeys(found) if len(found) > 1 else found
            value += sum([names[name] for name in new if name in names and name not in covered])
        cost = len(trace.lines[index]) + _LINE_END
        if (place, index - 1) in self._chosen or (place, index + 1) in self._chosen:
            value *= _BESIDE
        else:
            cost += _RUN
        if self._groups[place] not in self._opened:
            cost += _HEADER + min(len(trace.brief), _HEADING)
        return value, cost

    def take(self, place: int, index: int) -> bool:
        """Choose a line; return whether it is the first of its group."""
        self._covered.update(self._history.traces[place].line_names[index])
        self._chosen.add((place, index))
        group = self._groups[place]
        is_new = group not in self._opened
        self._opened.add(group)
        return is_new


def choose(
    history: RestoreHistory,
    names: Mapping[str, float],
    lines: Mapping[str, float],
    *,
    characters: int,
    shown_lines: AbstractSet[str] = frozenset(),
    shown_names: AbstractSet[str] = frozenset(),
) -> list[Pick]:
    """Choose lines by score per character until `characters` are used; return the best first.

    A name is worth something only in the first line that shows it, and a file or result costs its heading only once.

    `characters`: what the lines may cost with their headings; below 0 there are none.
    """
    shelf = _Shelf(history, names, lines, shown_names)
    members: dict[str | int, list[tuple[str, int, int]]] = {}
    keys: dict[tuple[int, int], str] = {}
    queue: list[tuple[float, int, int, str]] = []
    for key, (place, index) in history.lines.shown.items():
        if len(history.traces[place].lines[index]) > _LONGEST or key in shown_lines or key in history.stale:
            continue
        value, cost = shelf.now(key, place, index)
        if value >= _LEAST:
            queue.append((-value / cost, place, index, key))
            members.setdefault(shelf.group(place), []).append((key, place, index))
            keys[place, index] = key
    heapq.heapify(queue)
    picks: list[Pick] = []
    chosen: set[str] = set()
    while queue and characters > _RUN:
        _, place, index, key = heapq.heappop(queue)
        if key in chosen:
            continue
        value, cost = shelf.now(key, place, index)
        if cost > characters or value < _LEAST:
            continue
        if queue and -value / cost > queue[0][0]:  # worth less than when it was put in: let it queue again
            heapq.heappush(queue, (-value / cost, place, index, key))
            continue
        chosen.add(key)
        picks.append(Pick(place, index, value))
        characters -= cost
        if shelf.take(place, index):  # its fellows have become cheaper
            cheaper = members[shelf.group(place)]
        else:
            cheaper = [(keys[at], *at) for at in ((place, index - 1), (place, index + 1)) if at in keys]
        for fellow in cheaper:
            if fellow[0] not in chosen:
                value, cost = shelf.now(*fellow)
                if value >= _LEAST:
                    heapq.heappush(queue, (-value / cost, fellow[1], fellow[2], fellow[0]))
    return picks
