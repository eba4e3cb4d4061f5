"""The parts of a streamed answer, kept while they pass on to the program. Pure.

Law: the program gets each part, however many come; what is kept of them has an end.
"""

from typing import Any

from undrift.errors import InputError

__all__ = ["AnswerParts", "MOST_BYTES", "too_long"]

MOST_BYTES = 32 << 20
"""A longer answer is not recorded, as in the gateway. The longest that a model writes today has about 3 MB of events."""


_VALUE_BYTES = 1 << 10  # of a chunk that the SDK of Google has decoded: a guess, for its size is not known


class AnswerParts:
    """The parts of one answer so far: bytes, texts or the values that they hold."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._bytes = 0

    def add(self, part: Any) -> None:
        """Keep a part; of an answer that is too long none is kept."""
        self._bytes += len(part) if isinstance(part, (str, bytes)) else _VALUE_BYTES
        if self.is_too_long:
            self._parts = [part]
        else:
            self._parts.append(part)

    @property
    def is_too_long(self) -> bool:
        """True if it has more bytes than are kept."""
        return self._bytes > MOST_BYTES

    def __bool__(self) -> bool:
        return bool(self._parts)

    def all(self) -> list[Any]:
        """Return all parts. Raises InputError: together they are too long."""
        if self.is_too_long:
            raise too_long()
        return self._parts


def too_long() -> InputError:
    """Return the error of an answer of which not all is kept."""
    return InputError(f"it is longer than {MOST_BYTES:,} bytes")
