"""The time of day, for callers without a clock, and the clock of a session."""

import time
from collections.abc import Callable

__all__ = ["Clock", "now_ms"]


def now_ms() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


class Clock:
    """A clock that never runs backwards."""

    def __init__(self, source: Callable[[], int]) -> None:
        self._source = source
        self.now_ms = 0
        """The time of the newest tick."""

    def tick(self) -> int:
        """Read the time, in Unix milliseconds."""
        self.now_ms = max(self.now_ms, self._source())
        return self.now_ms
