"""The living page of a gateway: a process of its own, begun when the page is first asked for, and ended with the gateway.

Law: the page must not slow a request, so nothing of it runs here. This module only starts the process and says where it listens.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

__all__ = ["PageProcess"]

_START_S = 30.0
_END_S = 5.0


class PageProcess:
    """The page of one home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._url = ""

    async def address(self) -> str:
        """Return the address of the page, with its token; start the process if it does not run. Empty: it cannot be started."""
        async with self._lock:
            if self._url and self._process is not None and self._process.returncode is None:
                return self._url
            await self.end()
            command = (sys.executable, "-P", "-m", "undrift", "web", "--port", "0", "--no-open", "--json")
            more = ("--home", str(self._home), "--while-pid", str(os.getpid()))
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *command, *more, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
                )
                assert self._process.stdout is not None, "it is a pipe"
                said = await asyncio.wait_for(self._process.stdout.readuntil(b"}"), _START_S)
                self._url = str(json.loads(said)["url"])
            except (OSError, EOFError, ValueError, KeyError, TypeError, TimeoutError, asyncio.LimitOverrunError):
                await self.end()
                return ""
            except BaseException:  # asked for no more; the next one begins again
                await self.end()
                raise
            return self._url

    async def end(self) -> None:
        """End the process."""
        process, self._process, self._url = self._process, None, ""
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _END_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
