"""The thread that carries out the calls of an asyncio program, so that its event loop never waits for one.

Law: calls run one after the other, in the order in which they were handed over. Each of them runs to its end, also if its
caller has left. An event loop gets the interpreter back soon while a call runs.
"""

import contextvars
import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from undrift.errors import StoreError
from undrift.values.closing import Closing, check_process

if TYPE_CHECKING:
    import asyncio

__all__ = ["Worker"]

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("undrift.session")

SWITCH_SECONDS = 0.0002
"""The interpreter's switch interval while a call runs. With its own 5 ms each wake-up of a loop waits up to 5 ms."""


class Worker(Closing):
    """One thread that carries out calls in order; it starts with the first call.

    Several event loops, in several threads, may use one worker. At the end of the program the interpreter waits for the
    calls that were handed over.

    Args:
        name: What the worker belongs to, for errors: ``session 'run-42'``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._process = os.getpid()
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="undrift")

    @property
    def is_over(self) -> bool:
        """True if each call is refused: the worker was closed, or this process was forked."""
        return self._is_closed or self._process != os.getpid()

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function in the thread, with the context variables of this task, and return its result.

        If the task is cancelled, it leaves at once, and the call continues to its end.

        Raises:
            StoreError: The worker was closed, or this process was forked from the one that made it.
        """
        import asyncio  # a program that awaits has it already; others do not pay for it

        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R] = loop.create_future()
        call = partial(contextvars.copy_context().run, function, *args, **kwargs)
        self.hand_over(partial(_carry_out, call, loop, answer))
        return await answer

    def hand_over(self, call: Callable[[], Any]) -> None:
        """Call a function in the thread after the earlier calls, and wait for nothing; its error is lost.

        Raises StoreError: see `run`.
        """
        check_process(self._process, self.name)
        if self._is_closed:
            raise StoreError(f"{self.name} is closed; open it again")
        try:
            self._thread.submit(call)
        except RuntimeError as error:  # the interpreter is ending, or there is no room for a thread
            raise StoreError(f"{self.name}: {error}") from error

    def close(self) -> None:
        """Take no more calls, and return at once; the thread ends after the calls that it has."""
        if not self.is_over:  # a forked process has no thread to end
            self._is_closed = True
            self._thread.shutdown(wait=False)


def _carry_out(call: Callable[[], Any], loop: "asyncio.AbstractEventLoop", answer: "asyncio.Future[Any]") -> None:
    """Call a function and pass its result or its error to the loop that waits for it."""
    result: Any = None
    error: BaseException | None = None
    with _turns():
        try:
            result = call()
        except StopIteration as stop:  # a future refuses it
            error = RuntimeError(f"the call raised {stop!r}")
            error.__cause__ = stop
        except BaseException as raised:  # noqa: BLE001 - the caller raises it
            error = raised
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(_deliver, answer, result, error)


def _deliver(answer: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if answer.cancelled():
        if error is not None:
            _log.warning("a call failed after its caller had left: %s", error)
    elif error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)


class _Turns:
    """Threads take turns more often inside the block, in the whole interpreter; blocks of several threads may overlap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._before = self._set = 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(SWITCH_SECONDS, self._before))
                self._set = sys.getswitchinterval()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and sys.getswitchinterval() == self._set:  # else the program has chosen another one
                sys.setswitchinterval(self._before)

    def forked(self) -> None:
        """Begin again in a forked process, in which no thread is inside."""
        self._lock = threading.Lock()
        if self._count:
            self._count = 0
            sys.setswitchinterval(self._before)


@cache
def _turns() -> _Turns:
    turns = _Turns()
    if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
        os.register_at_fork(after_in_child=turns.forked)
    return turns
