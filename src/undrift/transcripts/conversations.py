"""Reads the first conversation of a file of messages: one JSON document, or one record in each line. Pure.

A file of many conversations is no session: no provider ever saw them together. The first that holds a message is read,
the messages of the others are counted as `OTHER`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import Any

from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.document import members
from undrift.transcripts.lines import decode

__all__ = ["OTHER", "begins_with", "first"]

OTHER = "message of another conversation"

_LOOKED_AT = 64
"""How many lines say whether the file is one document or a record a line."""

Member = tuple[str, RecordPlace, Any]
"""A key of the conversation (empty if messages stand bare), the place, and the value or one element of it."""


def first(
    collector: Collector, lines: Iterable[str], arrays: Sequence[str], is_message: Callable[[Any], bool]
) -> Iterator[Member]:
    """Yield the members of the first conversation: every element of its `arrays`, and all members next to them."""
    chosen: int | None = None
    for number, key, place, value in _numbered(collector, lines, arrays):
        if chosen is None and key in ("", *arrays) and is_message(value):
            chosen = number
        if chosen is None or number == chosen:
            yield key, place, value
        elif key in arrays:
            collector.skip(OTHER)


def begins_with(
    lines: Sequence[str],
    arrays: Sequence[str],
    is_message: Callable[[Any], bool],
    *,
    until: Callable[[Any], bool] = lambda _: False,
) -> bool:
    """Say whether a message stands among the first lines of a file, ahead of the first for which `until` holds."""
    found = (value for _, key, _, value in _numbered(Collector(""), lines, arrays) if key in ("", *arrays))
    return any(is_message(value) for value in takewhile(lambda value: not until(value), found))


def _numbered(
    collector: Collector, lines: Iterable[str], arrays: Sequence[str]
) -> Iterator[tuple[int, str, RecordPlace, Any]]:
    """Number the conversations: all bare messages are one, every record that holds an array of them is one of its own."""
    number = 0
    for key, place, value in _members(collector, lines, arrays):
        held = [name for name in arrays if isinstance(value, dict) and isinstance(value.get(name), list)]
        if key or not held:
            yield 0, key, place, value
            continue
        number += 1
        for name, inner in value.items():
            if name not in held:
                yield number, name, place, inner
        for name in held:
            for index, inner in enumerate(value[name]):
                yield number, name, RecordPlace(place.line, place.part + index), inner


def _members(collector: Collector, lines: Iterable[str], arrays: Sequence[str]) -> Iterator[Member]:
    stream = iter(lines)
    head = list(islice(stream, _LOOKED_AT))
    if _is_record_a_line(head):
        for place, record in collector.records(chain(head, stream)):
            yield "", place, record
    else:
        yield from members(collector, chain(head, stream), arrays)


def _is_record_a_line(head: Sequence[str]) -> bool:
    """Say whether whole objects stand on lines; those of a pretty-printed document are indented or end in a comma."""
    rows = [row for row in head if row.strip()]
    if len(rows) < 2 or rows[0].lstrip("\ufeff \t").startswith("["):
        return False
    return any(_is_whole(row) for row in rows if row.startswith("{") or row is rows[0])


def _is_whole(row: str) -> bool:
    found, failed = decode(row)
    return failed is None and any(found)
