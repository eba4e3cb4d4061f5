"""Chooses the lines to restore: the best score per character; each name counts one time. Pure."""

import heapq
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from undrift.core.restore.history import RestoreHistory
from undrift.core.restore.trace import file_key

__all__ = ["Pick", "choose", "group_of"]

# A line used again against a name used again. Names / lines held at 5,000 tokens, 22 compactions of Claude Code, each
# judged by weights fitted without its repository: 0.84 / 0.25 at 0, 0.80 / 0.54 at 1, 0.78 / 0.60 at 2, 0.75 / 0.68 at 4,
# 0.71 / 0.69 at 8. A name counted in every line that shows it, instead of once: 0.67 / 0.54.
_LINE_WORTH = 4.0
_LONGEST = 500  # characters; what is longer is a blob, and one of it would fill the text
_GUTTER = 6  # characters that a line costs beyond its own: number, arrow, line end
_HEADER = 24  # characters that opening a file or result costs beyond its name
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

    def worth(self, key: str, place: int, index: int) -> float:
        """Return the line's score: the sum of the chances of everything new in it."""
        wanted = dict.fromkeys(self._history.traces[place].line_names[index])
        names, covered = self._names, self._covered
        shown = sum([names[name] for name in wanted if name in names and name not in covered])
        return _LINE_WORTH * self._lines.get(key, 0.0) + shown

    def price(self, place: int, index: int) -> int:
        """Return the characters that the line costs, with its heading if that is not shown yet."""
        trace = self._history.traces[place]
        own = len(trace.lines[index]) + _GUTTER
        return own if group_of(self._history, place) in self._opened else own + _HEADER + min(len(trace.brief), 120)

    def take(self, place: int, index: int) -> bool:
        """Choose a line; return whether it is the first of its group."""
        self._covered.update(self._history.traces[place].line_names[index])
        group = group_of(self._history, place)
        is_new = group not in self._opened
        self._opened.add(group)
        return is_new

    def offer(self, key: str, place: int, index: int) -> Iterator[tuple[float, int, int, str]]:
        """Yield the line's place in the queue, by its current score; nothing if the score is too low."""
        if (value := self.worth(key, place, index)) >= _LEAST:
            yield -value / self.price(place, index), place, index, key


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
    queue: list[tuple[float, int, int, str]] = []
    for key, (place, index) in history.lines.shown.items():
        if len(history.traces[place].lines[index]) > _LONGEST or key in shown_lines or key in history.stale:
            continue
        offers = list(shelf.offer(key, place, index))
        if offers:
            queue += offers
            members.setdefault(group_of(history, place), []).append((key, place, index))
    heapq.heapify(queue)
    picks: list[Pick] = []
    chosen: set[str] = set()
    while queue and characters > _GUTTER:
        _, place, index, key = heapq.heappop(queue)
        cost = shelf.price(place, index)
        value = shelf.worth(key, place, index)
        if key in chosen or cost > characters or value < _LEAST:
            continue
        if queue and -value / cost > queue[0][0]:  # worth less than when it was put in: let it queue again
            heapq.heappush(queue, (-value / cost, place, index, key))
            continue
        chosen.add(key)
        picks.append(Pick(place, index, value))
        characters -= cost
        if shelf.take(place, index):  # its fellows have become cheaper
            for fellow in members[group_of(history, place)]:
                for offer in shelf.offer(*fellow):
                    heapq.heappush(queue, offer)
    return picks
