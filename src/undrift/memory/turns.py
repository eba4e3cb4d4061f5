"""Changes of memories by many agents at the same moment: each is planned on what the one before it wrote.

Law: a change that came too late is repeated, and nothing of it was written. The threads of one process wait for each
other. Other processes are met with a pause, which is longer after each failed attempt.
"""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from undrift.errors import StoreConflict

__all__ = ["repeated"]

T = TypeVar("T")

ATTEMPTS = 200
"""Attempts of a change. Each failure is another agent's success, so only as many are needed as others write meanwhile."""
_LONGEST_TURN_S = 30.0  # how long a thread waits for others: the wait only saves attempts
_PAUSE_S = 0.004  # about one attempt
_DOUBLINGS = 6


def repeated(change: Callable[[], T]) -> T:
    """Carry out a change; if another agent was first, carry it out again on what that agent wrote.

    Raises StoreConflict: another agent was first at each attempt; nothing was written.
    """
    with _turn():
        for attempt in range(1, ATTEMPTS):
            try:
                return change()
            except StoreConflict:
                time.sleep(random.uniform(0, _PAUSE_S * 2 ** min(attempt, _DOUBLINGS)))  # noqa: S311 - no secret
        return change()


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for the changes of other threads, at most half a minute."""
    lock = _lock(os.getpid())
    has_turn = lock.acquire(timeout=_LONGEST_TURN_S)
    try:
        yield
    finally:
        if has_turn:
            lock.release()


@cache
def _lock(process: int) -> threading.Lock:  # noqa: ARG001 - a forked process has one of its own
    return threading.Lock()
