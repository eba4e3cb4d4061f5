"""What the lines of a history are still worth: how much of what the agent learned stands in them alone. Pure.

A *reference* is a name or a line of code. One that the agent learned from a user or a tool, and that few entries mention,
may have to be looked up again once it has left: it is worth 1. What the agent made up itself, what stands everywhere, and
a line that an edit has taken out since, is worth nothing. Why no finer scale: docs/adr/0015-what-a-line-is-worth.md.

Law: a function of the history alone: learning it at once or message by message gives the same values.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from undrift.core.text.calls import edit_of
from undrift.core.text.references import (
    LINE_CHARACTERS,
    NAME_CANDIDATE,
    RARE_MENTIONS,
    NameTable,
    decoded_call,
    normal,
)
from undrift.core.window.fold import lines_without_noise
from undrift.values.window import ContextEntry

__all__ = ["KnownReferences", "Rows", "rows_left"]

Rows = tuple[tuple[int, ...], ...]
"""For each line of a text the references that it mentions."""

_MOST_CHARACTERS = 1_000_000  # what is longer is data: its lines are worth nothing


class KnownReferences:
    """What a history has mentioned so far: learned entry by entry, asked for what is worth what.

    Memory: a few dozen bytes per reference beside its text, and the references of each line of the entries last kept.
    """

    __slots__ = ("_ids", "_learned", "_names", "_places", "_rows", "_stale")

    def __init__(self) -> None:
        self._names = NameTable()
        self._ids: dict[str, int] = {}  # a line stands behind a newline, so that a name can never equal it
        self._learned: list[bool] = []
        self._places: list[int] = []
        self._rows: dict[str, Rows] = {}
        self._stale: set[int] = set()  # lines that an edit has taken out

    def learn(self, entry: ContextEntry) -> None:
        """Take in the next entry of the history. Thinking teaches nothing: what is in it the agent knew, or made up."""
        if _meta(entry, "kind") not in ("text", "call", "result"):
            return
        is_learned = _meta(entry, "role") != "assistant" or _meta(entry, "kind") == "result"
        rows = self._rows[entry.id] = self._read(entry)
        found = {reference for row in rows for reference in row}
        self._stale -= found
        if _meta(entry, "kind") == "call":
            self._stale.update(number for key in _removed(entry) if (number := self._ids.get("\n" + key)) is not None)
        for reference in found:
            if not self._places[reference]:
                self._learned[reference] = is_learned
            self._places[reference] += 1

    def rows(self, entry: ContextEntry) -> Rows:
        """Return the references of each line of an entry; a call is one line."""
        found = self._rows.get(entry.id)
        if found is None:
            found = self._rows[entry.id] = self._read(entry)
        return found

    def keep(self, entry_ids: Collection[str]) -> None:
        """Forget the lines of all other entries; they are read again when they are asked for."""
        self._rows = {id_: rows for id_, rows in self._rows.items() if id_ in entry_ids}

    def is_worth(self, reference: int) -> bool:
        """Tell whether the agent would miss a reference that nothing in its window mentions."""
        return (
            self._learned[reference] and 0 < self._places[reference] <= RARE_MENTIONS and reference not in self._stale
        )

    def _read(self, entry: ContextEntry) -> Rows:
        text = entry.content if len(entry.content) <= _MOST_CHARACTERS else ""
        if _meta(entry, "kind") == "call":
            lines_written = decoded_call(text).split("\n")
            return ((*self._names_in(text), *(id_ for line in lines_written for id_ in self._line(line))),)
        lines = lines_without_noise(text) if _meta(entry, "kind") == "result" else text.split("\n")
        return tuple((*self._names_in(line), *self._line(line)) if line else () for line in lines)

    def _names_in(self, text: str) -> set[int]:
        names, number_of = self._names, self._number_of
        return {number_of(name) for token in NAME_CANDIDATE.findall(text) if (name := names[token]) is not None}

    def _line(self, line: str) -> tuple[int, ...]:
        if len(line) < LINE_CHARACTERS.start:
            return ()
        key = normal(line)
        return (self._number_of("\n" + key),) if len(key) in LINE_CHARACTERS else ()

    def _number_of(self, key: str) -> int:
        number = self._ids.get(key)
        if number is None:
            number = self._ids[key] = len(self._places)
            self._learned.append(False)
            self._places.append(0)
        return number


def _removed(call: ContextEntry) -> Collection[str]:
    """Return the lines that a call takes out of a file."""
    if len(call.content) > _MOST_CHARACTERS:
        return ()
    try:
        arguments = json.loads(call.content)
    except (ValueError, RecursionError):
        return ()
    return edit_of(str(_meta(call, "tool_name") or ""), arguments)[0] if isinstance(arguments, dict) else ()


def rows_left(entry: ContextEntry, lines: int) -> Sequence[int]:
    """Return the numbers of the lines that a window still holds of an entry of so many lines."""
    ranges = _meta(entry, "rows")
    return range(lines) if ranges is None else [n for start, end in ranges for n in range(start, min(end, lines))]


def _meta(entry: ContextEntry, name: str) -> Any:
    return entry.metadata.get(name) if entry.metadata else None
