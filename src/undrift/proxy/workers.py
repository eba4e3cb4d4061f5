"""The workers of a gateway: threads that do the jobs of requests, and what a job may cost.

Law: a deadline counts work, not the wait for a turn. Long jobs are done a few at a time, so that each has its turn in time
and short ones pass them. No wait is endless: the caller then sends the original.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

from undrift.proxy.ask import Ask, Bypass, MustWait

__all__ = ["MOST_LONG", "Workers"]

MOST_LONG = 2
"""Long jobs at once: all share one interpreter, so that more would only make each of them late."""

_LOOKS = 4  # at a job within its deadline
_LEAST_SHARE = 0.06  # of a processor; a job with less waits, and to look for a lock needs up to 0.03


class _Work:
    """One job on its way: since when it runs, the processor time that it has used, and who waits for it."""

    def __init__(self, job: Callable[..., Any], *given: Any) -> None:
        self._job, self._given = job, given
        self._clock: int | None = None
        self._cpu_s = 0.0
        self.began_s: float | None = None
        """None: no thread has taken it yet."""
        self.seen_s = 0.0  # the work at the last look
        self.moved_s = time.monotonic()  # the last look that saw some
        self.found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.timer: asyncio.TimerHandle | None = None
        self.job: Future[Any] | None = None

    def __call__(self) -> Any:
        """Do the job, in the thread that took it."""
        if sys.platform != "win32" and hasattr(time, "pthread_getcpuclockid"):  # not on macOS
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
            self._cpu_s = time.clock_gettime(self._clock)
        self.began_s = time.monotonic()
        return self._job(*self._given)

    def worked_s(self, now_s: float) -> float:
        """Return for how long it has worked; where the system does not say it, for how long it has run."""
        if self.began_s is None:
            return 0.0
        if sys.platform == "win32" or self._clock is None:
            return now_s - self.began_s
        return time.clock_gettime(self._clock) - self._cpu_s


class _Overdue(Bypass):
    """A job took too long."""


class Workers:
    """The workers; use them on the event loop alone.

    Args:
        threads: Does the jobs.
        count: The number of threads.
        deadline_s: How long a job may work, and how long it may stand still.
        longest_wait_s: How long a request may wait in all.
    """

    def __init__(self, threads: Executor, count: int, deadline_s: float, longest_wait_s: float) -> None:
        self.threads = threads
        self._count = count
        self._deadline_s = deadline_s
        self._longest_wait_s = longest_wait_s
        self._long = asyncio.Semaphore(MOST_LONG)
        self.overdue = 0
        """Jobs that still run although their requests no longer wait for them."""
        self.waiting = 0
        """Long jobs that wait for their turn."""

    async def do(self, job: Callable[..., Any], ask: Ask, *more: Any) -> Any:
        """Return what a job returns. A job that raises `MustWait` is long, and is begun again when it has its turn.

        Raises Bypass: it took too long.
        """
        until_s = time.monotonic() + self._longest_wait_s
        try:
            return await self._done(_Work(job, ask, *more), until_s)
        except MustWait:
            pass
        self.waiting += 1
        try:
            async with asyncio.timeout(until_s - time.monotonic()):
                await self._long.acquire()
        except TimeoutError:
            raise Bypass("overloaded", is_fault=False) from None
        finally:
            self.waiting -= 1
        ask.has_turn, ask.deadline_s = True, time.monotonic() + self._deadline_s
        work = _Work(job, ask, *more)
        try:
            return await self._done(work, until_s)
        finally:
            self._end_turn(work)

    def _end_turn(self, work: _Work) -> None:
        """Give the turn to the next job: of a client that has left when its job ends, which still works till then."""
        if work.job is None or work.job.done() or not work.found.cancelled():
            self._long.release()
            return
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        ended.add_done_callback(lambda _: self._long.release())
        work.job.add_done_callback(lambda _: _soon(loop, _set, ended))
        loop.call_later(self._deadline_s, _set, ended)  # one that is stuck keeps no other from its turn

    async def _done(self, work: _Work, until_s: float) -> Any:
        """Return the result of a job. Raises Bypass: it took too long, and is not waited for."""
        if self.overdue >= self._count:
            raise Bypass("overloaded", is_fault=False)
        loop = asyncio.get_running_loop()
        found = work.found  # a plain future: each helper of asyncio takes a round more
        job = work.job = self.threads.submit(work)
        job.add_done_callback(lambda _: _soon(loop, self._deliver, job, found))
        work.timer = loop.call_later(self._deadline_s / _LOOKS, self._look, work, job, until_s)
        try:
            return await found
        finally:
            work.timer.cancel()
            if found.cancelled():  # its client has left: what has not begun never begins
                job.cancel()

    def _look(self, work: _Work, job: "Future[Any]", until_s: float) -> None:
        """Wait no longer for a job that works for too long, stands still, or has not begun in time."""
        now_s = time.monotonic()
        worked_s = work.worked_s(now_s)
        if worked_s - work.seen_s >= _LEAST_SHARE * self._deadline_s / _LOOKS:
            work.moved_s = now_s
        work.seen_s = worked_s  # else what looking for a lock needs would add up to work
        can_move = work.began_s is None and self.overdue < self._count
        is_stuck = now_s - work.moved_s >= self._deadline_s and not can_move
        if not (is_stuck or worked_s >= self._deadline_s or now_s >= until_s):
            loop = asyncio.get_running_loop()
            work.timer = loop.call_later(self._deadline_s / _LOOKS, self._look, work, job, until_s)
        elif not work.found.done():
            self.overdue += not job.cancel()  # what has begun cannot be ended
            is_slow = is_stuck or worked_s >= self._deadline_s  # else only its turn came late, which is no fault
            work.found.set_exception(_Overdue("deadline" if is_slow else "overloaded", is_fault=is_slow))

    def _deliver(self, job: "Future[Any]", found: "asyncio.Future[Any]") -> None:
        """Pass the result of a job on; no caller waits for an overdue one, or for one whose client has left."""
        if not found.done():
            if (error := job.exception()) is None:
                found.set_result(job.result())
            else:
                found.set_exception(error)
        elif not job.cancelled() and not found.cancelled() and isinstance(found.exception(), _Overdue):
            self.overdue -= 1


def _set(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *given: Any) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(call, *given)
