"""The known beginning of a request body: a longer body with the same first bytes is read only after them. Pure.

Law: the result is that of reading the whole body, or there is none. JSON after complete items does not depend on them,
so only the end of the beginning must lie inside the array. A mark that occurs nowhere in the rest proves it. If the
mark does not come back as the array's first item, that name occurs twice, and the whole body is read.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from undrift.errors import WireError
from undrift.wire import raw

__all__ = ["Beginning", "Rest"]

_MOST_HEADS = 4  # places that look like the start of the array, as within a text
_OPENS = re.compile(rb"\s*:\s*\[\s*")


@dataclass(frozen=True, slots=True)
class Rest:
    """The rest of a body after a known beginning: its fields, and the items of its array that are new."""

    fields: dict[str, Any]
    items: list[bytes]


@dataclass(frozen=True, slots=True, eq=False)
class Beginning:
    """The first items of an array in a body, as bytes.

    `fields`: those that begin before the array ends, in order; the array's is empty.
    """

    name: str
    body: bytes
    places: "array[int]"
    fields: dict[str, bytes]
    stem: object

    @classmethod
    def of(cls, body: bytes, name: str, items: Sequence[bytes]) -> "Beginning | None":
        """Return the beginning of a body up to these items, at least one. None means: the body has none."""
        mark = _mark(b"")
        try:
            places = _walked(body, 0, items)
            fields = raw.fields(b"".join((memoryview(body)[: places[-1]], b",", mark, b"]}")))
            found = raw.split(fields.get(name, b""), name)
        except (ValueError, WireError):  # the first item also stands elsewhere in the body
            return None
        if len(found) != len(items) + 1 or bytes(found[-1]) != mark:
            return None
        head = {key: b"" if key == name else bytes(value) for key, value in fields.items()}
        return cls(name, body, places, head, object())

    @classmethod
    def head(cls, body: bytes, name: str) -> "tuple[int, dict[str, bytes]] | None":
        """Return where the array's first item starts, and the fields before it. None means: that is unclear.

        The array stands there if a mark in place of its items comes back as its only item.
        """
        key, end = msgspec.json.encode(name), 0
        for _ in range(_MOST_HEADS):
            end = body.find(key, end) + len(key)
            found = _OPENS.match(body, end)
            if end < len(key):
                break
            if found is None:
                continue
            before = body[: found.end()]
            mark = _mark(before)
            try:
                fields = raw.fields(before + mark + b"]}")
                items = raw.split(fields.get(name, b""), name)
            except WireError:
                continue
            if [bytes(item) for item in items] == [mark]:
                return found.end(), {key: b"" if key == name else bytes(value) for key, value in fields.items()}
        return None

    @property
    def count(self) -> int:
        """The number of items in the beginning."""
        return len(self.places) // 2

    def item(self, number: int) -> bytes:
        """Return the bytes of an item."""
        return self.body[self.places[2 * number] : self.places[2 * number + 1]]

    def rest(self, body: bytes) -> Rest | None:
        """Return the rest of a body. None means: it begins differently, or must be read as a whole."""
        if not body.startswith(memoryview(self.body)[: self.places[-1]]):
            return None
        behind = body[self.places[-1] :]
        mark = _mark(behind)
        try:
            fields = raw.fields(b"".join((b"{", msgspec.json.encode(self.name), b":[", mark, behind)))
            items = [bytes(item) for item in raw.split(fields[self.name], self.name)]
        except WireError:
            return None  # reading it whole reports the fault
        if items[:1] != [mark]:
            return None
        return Rest({**self.fields, **fields, self.name: b""}, items[1:])

    def longer(self, body: bytes, items: Sequence[bytes]) -> "Beginning":
        """Return a longer beginning: this one with more items of the same body."""
        places = self.places + _walked(body, self.places[-1], items)
        return Beginning(self.name, body, places, self.fields, self.stem)


def _walked(body: bytes, start: int, items: Sequence[bytes]) -> "array[int]":
    """Return the places of consecutive items, with only commas and white space between them."""
    places = array("Q")
    for item in items:
        at = body.index(item, start)
        start = at + len(item)
        places.extend((at, start))
    return places


def _mark(text: bytes) -> bytes:
    """Return a JSON string that does not occur in `text`."""
    number = 0
    while (mark := b'"\\u0000beginning %d"' % number) in text:
        number += 1
    return mark
