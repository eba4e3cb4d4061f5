"""The time of day, for callers without a clock, and the clock of a session."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "day_of", "now_ms"]


def now_ms() -> int:
    """Return the time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def day_of(at_ms: int) -> str:
    """Return the day of a time in Unix milliseconds, in UTC."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return "an unknown day"


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
