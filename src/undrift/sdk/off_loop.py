"""Our work for the requests of an asyncio client, off its event loop."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undrift.session.worker import Worker

__all__ = ["OffLoop"]


class OffLoop:
    """The thread that prepares and records for one client; it starts with the first call, also with one after `close`."""

    def __init__(self) -> None:
        self._workers: dict[int, Worker] = {}  # by process: a thread does not survive a fork

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the thread of this process, and return its result."""
        from undrift.session.worker import Worker  # it loads asyncio, which a program without it need not pay for

        process = os.getpid()
        if process not in self._workers:
            self._workers[process] = Worker("a managed client")
        return await self._workers[process].run(function, *arguments)

    def close(self) -> None:
        """End the thread after the calls that it has."""
        if (worker := self._workers.pop(os.getpid(), None)) is not None:
            worker.close()
