"""Things that a ``with`` block closes at its end, and that several threads share until then.

Law: leaving the block closes, also after an error, and hides nothing. A shared thing does one thing at a time, and
nothing after its end.
"""

import os
import threading
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from undrift.errors import StoreError

__all__ = ["AsyncClosing", "Closing", "Sharing", "check_process", "in_turn", "of_part"]

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


class Sharing:
    """Let one thread in at a time until the thing is closed; a thread inside may enter again."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()
        self._is_over = False

    def __enter__(self) -> Self:
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
        """Wait for the current turn and close; from then on each turn raises."""
        with self._lock:
            self._is_over = True
            close()


def check_process(process: int, name: str) -> None:
    """Refuse a thing that another process made before a fork. Raises StoreError: this is not the process `process`."""
    if process != os.getpid():
        raise StoreError(f"{name} was opened before a fork; open it again in this process")


def in_turn(method: F) -> F:
    """Make a method wait until other threads have left the methods of this object.

    Raises StoreError: when it is called: what is shared was closed.
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
