"""The real server in a process of its own, and the official client that talks to it."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.builders import environment
from tests.task_sessions import TaskSession
from undrift import __version__
from undrift.mcp.place import ServedHome
from undrift.mcp.serving import build
from undrift.mcp.surface import ToolChoice, surface_of
from undrift.settings import Settings
from undrift.stores.secret import TOKEN_NAME

__all__ = ["Served", "command", "evicted", "near", "reached", "run", "said", "served", "stdio"]

MODE = "legacy"  # the handshake that today's clients use


def run(work: Callable[[], Awaitable[None]], most_s: float = 120) -> None:
    """Run an asynchronous test to its end; one that hangs fails."""

    async def bounded() -> None:
        with anyio.fail_after(most_s):
            await work()

    anyio.run(bounded)


def command(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "undrift", "mcp", "--home", str(home), *words]


@asynccontextmanager
async def stdio(
    home: Path, *words: str, mode: str = MODE, cwd: Path | None = None, **client: Any
) -> AsyncIterator[Any]:
    """Start a server for one client, and connect to it."""
    program, *arguments = command(home, *words)
    parameters = StdioServerParameters(command=program, args=arguments, env=environment(), cwd=cwd)
    async with Client(stdio_client(parameters), mode=mode, **client) as connected:
        yield connected


class Served:
    """A server over HTTP that runs."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.url = url
        self.port = int(url.split(":")[2].split("/")[0])
        self.token = (home / TOKEN_NAME).read_text()


@asynccontextmanager
async def near(
    home: Path, *, tools: ToolChoice = "default", session: str | None = None, mode: str = MODE
) -> AsyncIterator[Any]:
    """Connect to the same server in this process: the whole protocol, no other process to wait for."""
    surface = surface_of(ServedHome(home, Settings(), session=session), __version__, tools)
    async with Client(build(surface), mode=mode) as connected:
        yield connected


def evicted(home: Path, answer: str | None = None) -> list[str]:
    """Make a home with a session ``s`` whose task ``read-files`` has let three results go; return their references."""
    one = TaskSession(home, eviction_respects_anchor="never")
    one.starts("read-files", "all tests pass")
    one.works(0, 3, answer)
    refs = one.completes("read-files")
    refs = [ref for ref in refs if one.session.original(ref).entry.type == "tool_result"]
    one.close()
    return refs


@contextmanager
def served(home: Path, *words: str) -> Iterator[Served]:
    """Start a server over HTTP on a free port of this machine."""
    arguments = command(home, "--http", "--port", "0", "--json", *words)
    with subprocess.Popen(arguments, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = list(
                takewhile(lambda line: line not in ("}\n", ""), process.stdout)
            )  # up to the end of the one object
            assert lines, "the server ended before it listened"
            yield Served(home, json.loads("".join([*lines, "}"]))["url"])
        finally:
            process.terminate()
            process.wait(timeout=30)


@asynccontextmanager
async def reached(server: Served, *, session: str = "", mode: str = MODE) -> AsyncIterator[Any]:
    """Connect to a server over HTTP, with its token."""
    import httpx2

    headers = {"authorization": f"Bearer {server.token}"} | ({"x-undrift-session": session} if session else {})
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as connected,
    ):
        yield connected


def said(result: Any) -> str:
    """Return the text of a tool's result."""
    (block,) = result.content
    return str(block.text)
