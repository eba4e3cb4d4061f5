"""The usefulness of a history's lines: how much the agent learned that only these lines contain. Pure.

A *reference* is a name or a line of code. If the agent learned it from a user or a tool and few entries mention it, its
loss may cost a lookup: a name scores 1, a line more where a file was shown and less elsewhere, and what the agent used
itself scores more. A name that the agent made up, a common name, and a line that an edit has removed score nothing. The
figures behind the scores: docs/adr/0015-what-a-line-is-worth.md.

Law: a function of the history alone: learning it at once or message by message gives the same values.
"""

from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

from undrift.core.text.calls import edit_of, shown_files
from undrift.core.text.references import LINE_CHARACTERS, NAME_CANDIDATE, RARE_MENTIONS, decoded_call, name_in, normal
from undrift.core.window.fold import lines_without_noise
from undrift.profiles import Act, acts_of
from undrift.values.window import ContextEntry

__all__ = ["KnownReferences", "Rows", "rows_left"]

Rows = tuple[tuple[int, ...], ...]
"""The references of each line of a text."""

_MOST_CHARACTERS = 1_000_000  # a longer text is data: its lines score nothing
_MOST_NAMES = 10_000  # candidates that are examined once and remembered
_KEY_BYTES = 7  # an int of 8 bytes needs half as much memory again
_LINE_BIT = 1  # of a key: set for a line, not for a name
_STALE = 1  # an edit has removed the line
_LEARNED = 2  # a user or a tool mentioned it first
_USED = 4  # the agent mentioned it too
_ONE = 8
_MOST = _ONE * (RARE_MENTIONS + 1)  # more are not counted

_LINE_OF_FILE, _LINE_ELSEWHERE = 2.0, 0.2
"""The score of a line, of a name's 1: an agent copies lines from files in order to edit them, hardly ever from other output."""

_USED_FACTOR = 3.0
_AGAIN_FACTOR = 1.5
"""A name that more than one entry mentions scores more."""


class _NameKeys(dict[str, int | None]):
    """Possible name -> its key; None for a plain word. Each value is computed on first use."""

    def __missing__(self, candidate: str) -> int | None:
        name = name_in(candidate)
        key = self[candidate] = None if name is None else _key_of(name) & ~_LINE_BIT
        return key


class KnownReferences:
    """The references in a history so far, with their scores; each entry adds its own.

    A key of 55 bits, and one that tells lines from names, identifies a reference. Two of a million references share a key with a chance of 1 in 100,000; then
    one line weighs more or less than it should.

    Memory: about 80 bytes per reference, and the references of each line of the entries last kept.
    """

    __slots__ = ("_found", "_names", "_rows", "_shows_file")

    def __init__(self) -> None:
        self._names = _NameKeys()
        self._found: dict[int, int] = {}  # key of a reference -> mentions * _ONE, and the two flags
        self._rows: dict[str, Rows] = {}
        self._shows_file: set[str] = set()  # pair ids of calls

    def learn(self, entry: ContextEntry) -> None:
        """Add the references of the next entry. Thinking adds none: the agent knew its words, or invented them."""
        if _meta(entry, "kind") not in ("text", "call", "result"):
            return
        is_agents = _meta(entry, "role") == "assistant" and _meta(entry, "kind") != "result"
        first, used = (0, _USED) if is_agents else (_LEARNED, 0)
        rows = self._rows[entry.id] = self._read(entry)
        found = self._found
        for reference in {reference for row in rows for reference in row}:
            state = found.get(reference, first) & ~_STALE
            found[reference] = (state + _ONE if state < _MOST else state) | used
        if _meta(entry, "kind") == "call":
            acts = _acts(entry)
            for line in frozenset().union(*(edit_of(act)[0] for act in acts)):
                if (reference := _line_key(line)) in found:
                    found[reference] |= _STALE
            if entry.pair_id and any(act.kind == "read" or shown_files(act.command) for act in acts):
                self._shows_file.add(entry.pair_id)
        if len(self._names) > _MOST_NAMES:
            self._names.clear()

    def rows(self, entry: ContextEntry) -> Rows:
        """Return the references of each line of an entry; a call is one line."""
        found = self._rows.get(entry.id)
        if found is None:
            found = self._rows[entry.id] = self._read(entry)
        return found

    def keep(self, entry_ids: Collection[str]) -> None:
        """Forget the lines of all other entries; `rows` computes them again on demand."""
        self._rows = {id_: rows for id_, rows in self._rows.items() if id_ in entry_ids}

    def shows_file(self, pair_id: str | None) -> bool:
        """Return whether a call shows the text of a file."""
        return pair_id in self._shows_file

    def worth(self, reference: int, *, of_file: bool) -> float:
        """Return the score of a reference that the window no longer contains; 0 if the agent would not miss it.

        `of_file`: the text of a file mentions it.
        """
        state = self._found.get(reference, 0)
        if state & (_LEARNED | _STALE) != _LEARNED or state >= _MOST:
            return 0.0
        used = _USED_FACTOR if state & _USED else 1.0
        if reference & _LINE_BIT:
            return used * (_LINE_OF_FILE if of_file else _LINE_ELSEWHERE)
        return used * (_AGAIN_FACTOR if state >= 2 * _ONE else 1.0)

    def _read(self, entry: ContextEntry) -> Rows:
        text = entry.content if len(entry.content) <= _MOST_CHARACTERS else ""
        if _meta(entry, "kind") == "call":
            lines_written = decoded_call(text).split("\n")
            return ((*self._names_in(text), *(key for line in lines_written for key in _line(line))),)
        lines = lines_without_noise(text) if _meta(entry, "kind") == "result" else text.split("\n")
        return tuple((*self._names_in(line), *_line(line)) if line else () for line in lines)

    def _names_in(self, text: str) -> set[int]:
        names = self._names
        return {key for token in NAME_CANDIDATE.findall(text) if (key := names[token]) is not None}


def _line(line: str) -> tuple[int, ...]:
    if len(line) < LINE_CHARACTERS.start:
        return ()
    text = normal(line)
    return (_line_key(text),) if len(text) in LINE_CHARACTERS else ()


def _line_key(line: str) -> int:
    return _key_of(line) | _LINE_BIT


def _key_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest())


def _acts(call: ContextEntry) -> tuple[Act, ...]:
    if len(call.content) > _MOST_CHARACTERS:
        return ()
    return acts_of(str(_meta(call, "tool_name") or ""), call.content)


def rows_left(entry: ContextEntry, lines: int) -> Sequence[int]:
    """Return the numbers of an entry's lines that the window still contains."""
    ranges = _meta(entry, "rows")
    return range(lines) if ranges is None else [n for start, end in ranges for n in range(start, min(end, lines))]


def _meta(entry: ContextEntry, name: str) -> Any:
    return entry.metadata.get(name) if entry.metadata else None
