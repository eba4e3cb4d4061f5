"""The blocks that left and were read again: a later call read the same place, or ran the same command.

Law: only a call that names the very place counts; a use that no call shows is not counted.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from undrift.core.window.fetched import places_read
from undrift.values.window import ContextEntry
from undrift.web.watching import WatchedSession

__all__ = ["UsedAgain"]


class UsedAgain:
    """The readings of one session, by place."""

    def __init__(self, one: WatchedSession, entries: Sequence[ContextEntry]) -> None:
        self._lines = [prompt.line for prompt in one.figures.prompts]
        self._calls: dict[str, ContextEntry] = {}
        self._readings: dict[str, list[tuple[int, int]]] = defaultdict(list)  # place -> line and time of each
        for entry in entries:
            if entry.meta("kind") == "call":
                self._calls[entry.pair_id or entry.id] = entry
                for place in places_read(entry):
                    self._readings[place].append((_line(entry), entry.timestamp))

    def turn(self, entry: ContextEntry, left_ms: int) -> int | None:
        """Return the turn that read a block's place again after it had left; None: none did.

        `entry`: as the recording has it. `left_ms`: in Unix milliseconds; 0: unknown.
        """
        call = self._call_of(entry)
        if call is None or not left_ms:
            return None
        later = (line for place in places_read(call) for line, at_ms in self._readings[place] if at_ms > left_ms)
        first = min(later, default=None)
        return None if first is None else min(bisect_right(self._lines, first), len(self._lines))

    def _call_of(self, entry: ContextEntry) -> ContextEntry | None:
        return entry if entry.meta("kind") == "call" else self._calls.get(entry.pair_id or "")

    def place(self, entry: ContextEntry) -> str:
        """Return the file, the command or the search that a block is of; empty if it is of none."""
        call = self._call_of(entry)
        return "" if call is None else next((place.replace("\n", " ") for place in places_read(call)), "")


def _line(entry: ContextEntry) -> int:
    line = entry.meta("line")
    return line if isinstance(line, int) else 0
