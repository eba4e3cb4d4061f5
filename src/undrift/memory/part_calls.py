"""Calls of a part that may be slow or fail: an embedder or a re-ranker of the user's own.

Law: a caller with a deadline never waits beyond it. After a fault the part rests, so that a search does not pay for it each
time. A caller without a deadline asked for the work itself: it waits, and gets every error.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from undrift.errors import PartError

__all__ = ["PartCalls"]

_REST_S = 30.0
"""Seconds without a call after a fault. A server that was started again is used from then on."""

T = TypeVar("T")


class PartCalls:
    """Runs the calls of one part, for all sessions of this process.

    `name`: the part, as the setting names it, for errors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._turn = threading.Lock()  # a model need not bear two calls at once
        self._rests_until_s = 0.0
        self._fault = ""

    def run(self, work: Callable[[], T], seconds: float | None) -> T:
        """Return what the work returns. Raises PartError: it failed, it is slow, or the part rests.

        `seconds`: the longest wait; None: no limit, and an earlier fault does not count.
        """
        if seconds is None:
            with self._turn:
                return self._known(work)
        until_s = time.monotonic() + seconds
        if time.monotonic() < self._rests_until_s:
            raise PartError(self._fault)
        if not self._turn.acquire(timeout=max(seconds, 0.0)):
            raise self._faulted(f"{self.name} is still busy with an earlier call")
        done: list[Any] = []
        thread = threading.Thread(target=self._noted, args=(work, done), name="undrift-part", daemon=True)
        thread.start()
        thread.join(max(until_s - time.monotonic(), 0.0))
        if not done:
            raise self._faulted(f"{self.name} did not answer within {seconds:.0f} s")
        if isinstance(done[0], PartError):
            raise self._faulted(str(done[0])) from done[0]
        return done[0]  # type: ignore[no-any-return]

    def _noted(self, work: Callable[[], Any], done: list[Any]) -> None:
        try:
            done.append(self._known(work))
        except PartError as error:
            done.append(error)
        finally:
            self._turn.release()

    def _known(self, work: Callable[[], T]) -> T:
        """Run foreign code: any error of it is a fault of the part."""
        try:
            return work()
        except PartError:
            raise
        except Exception as error:
            said = " ".join(str(error).split())[:300]
            raise PartError(f"{self.name} failed: {type(error).__name__}: {said}") from error

    def _faulted(self, fault: str) -> PartError:
        self._fault, self._rests_until_s = fault, time.monotonic() + _REST_S
        return PartError(fault)
