"""Stored readings (parsed items) of a history's beginning: written for the next start, and used by it. No I/O.

Law: a reading is used only if the new body has the very bytes that it was read from. Form, counter and version must be
the same too. Missing, cut or doubtful readings are replaced by reading the bytes, as if nothing had been known.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

import msgspec

from undrift.values.items import Outline
from undrift.values.readings import Heads, StretchReading
from undrift.wire.beginning import Beginning

__all__ = ["Recorder", "StretchRecord", "TakenOver", "plain", "reading_key", "recalled"]

_LEAST = 64
"""The fewest items of a stretch."""


_LAYOUT = 2
"""Add one whenever a form reads the same bytes otherwise, or the meaning of a record changes."""
_PROBE = "".join(map(chr, range(1, 0x500, 3))) * 3 + "\n    def read(self, path: str) -> dict[str, int]:  # 12,345\n"


def reading_key(form: str, counter: str, count: Callable[[str], int], *, ties_thinking: bool) -> str:
    """Return the key of the parser and the token counter; readings with another key are not used."""
    return f"{_LAYOUT} {form} {counter} {_probed(count)} {ties_thinking}"


@lru_cache(maxsize=16)
def _probed(count: Callable[[str], int]) -> int:
    """Count the probe once for each counter: every turn asks for the key, and this took 0.07 ms of it."""
    return count(_PROBE)


class StretchRecord(msgspec.Struct):
    """The readings of a stretch in columns; every column has one value for each item.

    Args:
        ids: Chain ids of the items.
        places: The start and end of each item, in turn, in bytes from the start of the stretch.
        tokens: The tokens of each item.
        pairs: The pair id of each block of each item.
        items: For each item its run, whether that has more than reasoning, and tokens, tool and fixedness of its
            blocks.
        calls: Id, pair id and tool of each call.
        served: Id of each call that the provider runs itself, and that of its item.
        open: Calls that later items may answer, with their pair ids.
        marked: Numbers of the items with a cache marker, from the start of the stretch.
        fixed: Numbers of those with a block that never leaves, or that loads tools.
    """

    ids: list[str]
    places: list[int]
    tokens: list[int]
    pairs: list[list[str | None]]
    items: list[msgspec.Raw]
    calls: list[tuple[str, str, str]]
    served: list[tuple[str, str]]
    open: dict[str, str]
    marked: list[int]
    fixed: list[int]

    def is_whole(self, length: int) -> bool:
        """Return whether all columns have the same length, and the stretch has `length` bytes."""
        count, places = len(self.ids), self.places
        columns = (self.tokens, self.pairs, self.items)
        ordered = places == sorted(places)
        return (
            0 < count == len(places) // 2
            and all(len(column) == count for column in columns)
            and ordered
            and places[0] >= 0
            and places[-1] == length
            and all(0 <= number < count for number in (*self.marked, *self.fixed))
        )


@dataclass(slots=True)
class TakenOver:
    """The first items of a history, loaded from stored readings.

    Args:
        beginning: The bytes that hold them.
        ends: The end of each stretch: number of items, number of bytes and SHA-256.
        stretches: Their readings.
    """

    beginning: Beginning
    ends: list[tuple[int, int, str]]
    stretches: list[StretchRecord]
    ids: list[str] = field(init=False)
    tokens: list[int] = field(init=False)
    pairs: list[list[str | None]] = field(init=False)
    items: list[msgspec.Raw] = field(init=False)
    firsts: list[int] = field(init=False)
    fixed: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("ids", "tokens", "pairs", "items"):
            setattr(self, name, [*chain.from_iterable(getattr(one, name) for one in self.stretches)])
        self.fixed = frozenset(self._numbers("fixed"))
        self.firsts = [0, *accumulate(map(len, self.pairs))]

    @property
    def count(self) -> int:
        """The number of these items."""
        return len(self.ids)

    @property
    def marked(self) -> Iterator[int]:
        """Numbers of the items that have a cache marker."""
        return self._numbers("marked")

    def outline(self, number: int) -> Outline | None:
        """Return an item's outline, without its bytes; None if one of its blocks never leaves or loads tools."""
        return None if number in self.fixed else Outline(self.ids[number], self.tokens[number], self.pairs[number])

    def _numbers(self, name: str) -> Iterator[int]:
        starts = (0, *(end for end, _, _ in self.ends))
        found = zip(starts, self.stretches, strict=False)
        return (start + number for start, one in found for number in getattr(one, name))

    def item(self, number: int) -> tuple[str, bool, list[tuple[int, str | None, bool]]]:
        """Return an item's run, whether the run has more than reasoning, and the tokens and tool of each block."""
        return _ITEM.decode(self.items[number])


_RECORD = msgspec.json.Decoder(StretchRecord)
_ITEM = msgspec.json.Decoder(tuple[str, bool, list[tuple[int, str | None, bool]]])


def recalled(
    body: bytes,
    name: str,
    head: tuple[int, dict[str, bytes]],
    stored: Callable[[Callable[[Heads], list[int]]], list[StretchReading]],
) -> TakenOver | None:
    """Return the stored readings of a body's beginning. None means: no reading fits.

    Args:
        body: JSON.
        name: The name of the field with the history.
        head: See `Beginning.head`.
        stored: Returns the readings that are chosen by their heads.
    """
    (start, fields), places = head, array("Q")
    readings = {one.before: one for one in stored(lambda heads: _chain(heads, body, start))}
    ends: list[tuple[int, int, str]] = []
    stretches: list[StretchRecord] = []
    end, before, count = start, "", 0
    while one := readings.get(before):
        try:
            record = _RECORD.decode(one.record)
        except (msgspec.DecodeError, ValueError, RecursionError):
            break
        if not record.is_whole(one.length):
            break
        places.extend(end + place for place in record.places)
        end, before, count = end + one.length, one.sha256, count + len(record.ids)
        ends.append((count, end - start, before))
        stretches.append(record)
    if not stretches:
        return None
    return TakenOver(Beginning(name, body, places, fields, object()), ends, stretches)


def _chain(heads: Heads, body: bytes, start: int) -> list[int]:
    """Return the numbers of the readings that follow each other in a body, from a byte on."""
    following: dict[str, list[tuple[int, StretchReading]]] = {}
    for number, one in heads:
        following.setdefault(one.before, []).append((number, one))
    found, before = [], ""
    while True:
        for number, one in sorted(following.get(before, ()), key=lambda pair: -pair[1].length):
            if one.length > 0 and one.sha256 == _digest(before, body, start, start + one.length):
                found.append(number)
                start, before = start + one.length, one.sha256
                break
        else:
            return found


def _digest(before: str, body: bytes, start: int, end: int) -> str:
    """Return the SHA-256 of the body up to the end of a stretch; empty if the body ends earlier."""
    if end > len(body):
        return ""
    digest = hashlib.sha256(before.encode("ascii", "replace"))
    digest.update(memoryview(body)[start:end])
    return digest.hexdigest()


class Recorder:
    """Tracks how much of one conversation's parsed history is stored on disk.

    `key`: see `reading_key`; empty if nothing is recorded. `past`: what is on disk; None without any.
    """

    def __init__(self, key: str = "", past: TakenOver | None = None) -> None:
        self.key = key
        self._stem: object = None if past is None else past.beginning.stem
        self._ends = [] if past is None else [*past.ends]

    @property
    def count(self) -> int:
        """The number of items on disk."""
        return self._ends[-1][0] if self._ends else 0

    @property
    def first(self) -> str:
        """The SHA-256 of the first stretch; empty if no stretch is on disk."""
        return self._ends[0][2] if self._ends else ""

    def forget(self, known: int) -> None:
        """Drop all items from a number on, because they have changed."""
        self._ends = [one for one in self._ends if one[0] <= known]

    def due(self, beginning: Beginning | None) -> range:
        """Return the numbers of the items to store; none if they are too few."""
        if not self.key or beginning is None:
            return range(0)
        if beginning.stem is not self._stem:
            self._stem, self._ends = beginning.stem, _standing(self._ends, beginning)
        more = range(self.count, beginning.count)
        return more if len(more) >= _LEAST else range(0)

    def reading(self, beginning: Beginning, record: Callable[[list[int]], StretchRecord]) -> StretchReading | None:
        """Return the record of the items to store. None means: JSON cannot hold it.

        `record`: builds it from the places of the items in the stretch.
        """
        first, places = self.count, beginning.places
        start = places[2 * first - 1] if first else places[0]
        before = self._ends[-1][2] if self._ends else ""
        try:
            made = msgspec.json.encode(record([place - start for place in places[2 * first :]]))
        except (UnicodeEncodeError, msgspec.EncodeError):  # half of a pair of surrogates
            return None
        return StretchReading(
            self.key, before, _digest(before, beginning.body, start, places[-1]), places[-1] - start, made
        )

    def written(self, reading: StretchReading, beginning: Beginning) -> None:
        """Note that this reading is stored."""
        length = (self._ends[-1][1] if self._ends else 0) + reading.length
        self._ends.append((beginning.count, length, reading.sha256))


def _standing(ends: Sequence[tuple[int, int, str]], beginning: Beginning) -> list[tuple[int, int, str]]:
    """Return the stretches whose bytes another body also contains."""
    found: list[tuple[int, int, str]] = []
    start, places, before, former = beginning.places[0], beginning.places, "", 0
    for count, length, sha256 in ends:
        is_here = count <= beginning.count and places[2 * count - 1] == start + length
        if not is_here or _digest(before, beginning.body, start + former, start + length) != sha256:
            break
        found.append((count, length, sha256))
        before, former = sha256, length
    return found


def plain(value: Any) -> msgspec.Raw:
    """Return a JSON value that is parsed only on demand."""
    return msgspec.Raw(msgspec.json.encode(value))
