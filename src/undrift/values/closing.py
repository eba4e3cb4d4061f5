"""Things that a ``with`` block closes at its end, and that several threads of one process share until then.

Law: leaving the block closes, also after an error, and hides nothing. A shared thing does one thing at a time, and
nothing after its end. In a process that was forked it does nothing at all: what it holds is the other process's.
"""

import os
import threading
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar, cast

from undrift.errors import StoreError

__all__ = ["AsyncClosing", "Closing", "OfOneProcess", "Sharing", "check_process", "in_turn", "of_part"]

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


class Closing:
    """A context manager that closes itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is held."""
        raise NotImplementedError


class AsyncClosing(Closing):
    """The same in an ``async with`` block."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class OfOneProcess:
    """A thing that stays in the process that opened it: it is neither pickled nor copied."""

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"{name} cannot be pickled or copied: pass its id and its home, and open it in the other process"
        )


class Sharing:
    """Let one thread in at a time until the thing is closed; a thread inside may enter again."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._is_over = False

    @property
    def state(self) -> str:
        """Words for a person: open, closed, or opened in another process."""
        if self._process != os.getpid():
            return "opened in another process"
        return "closed" if self._is_over else "open"

    def __enter__(self) -> Self:
        check_process(self._process, self._name)  # first: a thread of the other process may hold the lock for ever
        self._lock.acquire()
        if self._is_over:
            self._lock.release()
            raise StoreError(f"{self._name} is closed; open it again")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def end(self, close: Callable[[], None]) -> None:
        """Wait for the current turn and close; from then on each turn raises. Do nothing in a forked process."""
        if self._process == os.getpid():
            with self._lock:
                self._is_over = True
                close()


def check_process(process: int, name: str) -> None:
    """Refuse a thing that another process made before a fork. Raises StoreError: this is not the process `process`."""
    if process != os.getpid():
        raise StoreError(f"{name} was opened before a fork; open it again in this process")


def in_turn(method: F) -> F:
    """Make a method wait until other threads have left the methods of this object.

    Raises StoreError: when it is called: what is shared was closed, or is another process's.
    """

    @wraps(method)
    def waits(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self._sharing:
            return method(self, *args, **kwargs)

    return cast(F, waits)


def of_part(name: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method of an object that calls the same method of one of its parts.

    `method`: its signature and its docstring are those of the new one.
    """

    @wraps(method)
    def passes_on(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(getattr(self, name), *args, **kwargs)

    return passes_on
