"""A stored reading of a stretch of a history, so that a restarted process need not parse it again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Heads", "StretchReading"]


@dataclass(frozen=True, slots=True)
class StretchReading:
    """The parsed form of one stretch: some items in a row of a history.

    Args:
        key: What it was read with: form, counter and version, so that nothing else takes it over.
        before: SHA-256 of all that stands before it in the array, in hexadecimal; empty at the first item.
        length: Bytes, from the end of the item before to the end of its last item.
        record: What was read, as JSON; `undrift.window.readings` knows its shape.
    """

    key: str
    before: str
    sha256: str
    length: int
    record: bytes = b""


Heads: TypeAlias = Sequence[tuple[int, StretchReading]]
"""Readings without what was read, each with its number, oldest first."""
