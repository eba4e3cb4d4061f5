"""The events of a log: what an operation made of one record, as a value, as a row and as bytes. Pure.

Law: a log keeps the numbers of kinds and the places of values, so neither ever changes.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import msgspec

from undrift.stores import rows

__all__ = [
    "COUNTED_AS",
    "GONE",
    "Kind",
    "LoggedEvent",
    "ORIGINALS",
    "as_row",
    "digest_of",
    "event_of",
    "new_row",
    "packed_events",
    "unpacked_events",
]

GONE = 0
"""The kind of an event that a purge destroyed. Only its place is left: the numbers of the later ones stay."""


class Kind(IntEnum):
    """The kinds of records; a log keeps their numbers."""

    ORIGINAL = 1
    """An original that left a window: its text is in a segment, and it is there for good."""
    KEPT = 2
    """An original in a buffer, or a pin, with its text."""
    DECISION = 3
    TASK = 4
    TAG = 5
    FACT = 6
    RUN = 7
    DOCUMENT = 8


ORIGINALS = (Kind.ORIGINAL, Kind.KEPT)
COUNTED_AS = {
    Kind.ORIGINAL: "originals", Kind.KEPT: "originals", Kind.DECISION: "decisions", Kind.TASK: "tasks", Kind.TAG: "tags",
    Kind.FACT: "facts", Kind.RUN: "run_records", Kind.DOCUMENT: "documents",
}  # fmt: skip
"""The names under which results count records."""

_DIGEST_AT = {
    Kind.KEPT: 9, Kind.DECISION: 6, Kind.TASK: 5, Kind.TAG: 4, Kind.FACT: 4, Kind.RUN: 2, Kind.DOCUMENT: 4,
}  # fmt: skip
"""Places of the SHA-256 in a new row of each kind."""


class LoggedEvent(NamedTuple):
    """One record as an operation left it.

    Args:
        key: The record's name within its kind.
        row: Its values, texts as bytes, as the kind's own module hashed them; None: it was closed.
    """

    kind: int
    key: tuple[bytes, ...]
    row: tuple[Any, ...] | None


def digest_of(event: LoggedEvent) -> bytes:
    """Return the SHA-256 of the record that an operation left."""
    assert event.row is not None
    return bytes(event.row[_DIGEST_AT[Kind(event.kind)]])


def as_row(number: int, event: LoggedEvent) -> rows.Row:
    """Return an event's row as the kind's module reads it: number, SHA-256, then the other columns."""
    assert event.row is not None
    at = _DIGEST_AT[Kind(event.kind)]
    return number, event.row[at], *event.row[:at], *event.row[at + 1 :]


def new_row(kind: Kind, stored: rows.Row) -> rows.Row:
    """Return a kind's new row from the row that its module reads: `as_row` the other way round."""
    at = _DIGEST_AT[kind]
    return *stored[2 : 2 + at], stored[1], *stored[2 + at :]


def event_of(kind: Kind, key: Iterable[str | bytes], row: rows.Row) -> LoggedEvent:
    """Return an event from a kind's new row: texts become bytes."""
    own = tuple(one.encode() if isinstance(one, str) else one for one in row)
    return LoggedEvent(kind, tuple(rows.raw(one) if isinstance(one, str) else one for one in key), own)


def packed_events(events: Sequence[LoggedEvent]) -> bytes:
    """Return events as bytes."""
    return msgspec.msgpack.encode(events)


def unpacked_events(data: bytes) -> tuple[LoggedEvent, ...]:
    """Return the events; raises one of `rows.FORGED` or msgspec.DecodeError: these are not ours."""
    return tuple(_decoder().decode(data)) if data else ()


@cache
def _decoder() -> msgspec.msgpack.Decoder[list[LoggedEvent]]:
    return msgspec.msgpack.Decoder(list[LoggedEvent])
