"""The MCP server on its stdin: frames that are damaged.

An input begins with ``mcp``; what follows is what a client writes, a frame on each line. Every line that comes out is a
frame of the protocol, each request has at most one answer, and nothing is written outside the home.
"""

import io
import json
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from hypothesis import strategies as st

from tests.fuzz.surface import MEMORY, Surface, Take, head_of
from tests.mcp.builders import evicted
from undrift.mcp.place import ServedHome
from undrift.mcp.serving import build
from undrift.mcp.surface import surface_of
from undrift.settings import Settings

__all__ = ["MCP_SURFACE"]

_WAITS_S = 0.005
_LONGEST_WAIT_S = 1.0


class _Client:
    """Stdin and stdout of a client that closes them when every request of its has an answer, or after some seconds."""

    def __init__(self, frames: bytes) -> None:
        self._lines = io.TextIOWrapper(io.BytesIO(frames), encoding="utf-8", errors="replace").readlines()
        self.written: list[str] = []

    async def __aiter__(self) -> AsyncIterator[str]:
        for line in self._lines:
            yield line
        with anyio.move_on_after(_LONGEST_WAIT_S):
            while len(self.written) < sum(map(_is_request, self._lines)):
                await anyio.sleep(_WAITS_S)

    async def write(self, text: str) -> None:
        self.written.append(text)

    async def flush(self) -> None:
        """It is written already."""


def _is_request(line: str) -> bool:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return False
    is_one = isinstance(frame, dict) and frame.get("jsonrpc") == "2.0" and isinstance(frame.get("method"), str)
    return is_one and type(frame.get("id")) in (int, str)


async def _served(place: ServedHome, client: Any) -> None:
    from mcp.server.stdio import stdio_server

    server = build(surface_of(place, "1", "all"))
    async with stdio_server(client, client) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _take(folder: Path, place: ServedHome, data: bytes) -> None:
    words, frames = head_of(data)
    if words != ["mcp"]:
        return
    client = _Client(frames)
    anyio.run(_served, place, client)
    answers: Counter[str] = Counter()
    for text in client.written:
        frame = json.loads(text)
        assert text.count("\n") == 1, "a frame of more than one line"
        assert frame["jsonrpc"] == "2.0", "no frame of the protocol"
        if "method" not in frame:
            answers[json.dumps(frame.get("id"))] += 1
    asked = Counter(json.dumps(json.loads(line)["id"]) for line in map(str.strip, client._lines) if _is_request(line))
    doubled = {name: n for name, n in answers.items() if name != "null" and n > asked[name]}
    assert not doubled, f"answered more often than asked: {doubled}"
    assert {path.name for path in folder.iterdir()} == {"home"}, "written beside the home"


@contextmanager
def _opened() -> Iterator[Take]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        evicted(folder / "home")
        place = ServedHome(folder / "home", Settings(), session="s")
        yield lambda data: _take(folder, place, data)


def _frame(method: str, number: int | None = None, **params: Any) -> dict[str, Any]:
    asked = {} if number is None else {"id": number}
    return {"jsonrpc": "2.0", **asked, "method": method, "params": params}


BEGIN = (
    _frame("initialize", 0, protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "c", "version": "1"}),
    _frame("notifications/initialized"),
)
CALLS = (
    _frame("tools/list", 1),
    _frame("ping", 2),
    _frame("resources/list", 3),
    _frame("resources/read", 4, uri="undrift://session/s/tasks"),
    _frame("prompts/get", 5, name="resume"),
    _frame("tools/call", 6, name="status", arguments={}),
    _frame("tools/call", 7, name="recall", arguments={"find": "number 7"}),
    _frame("tools/call", 8, name="search", arguments={"query": "number"}),
    _frame("tools/call", 9, name="remember", arguments={"content": "The port is 8080."}),
    _frame("notifications/cancelled", requestId=7),
    _frame(
        "completion/complete", 10, ref={"type": "ref/prompt", "name": "resume"}, argument={"name": "a", "value": ""}
    ),
)


def _input(calls: list[dict[str, Any]]) -> bytes:
    return b"mcp\n" + b"".join(json.dumps(frame).encode() + b"\n" for frame in (*BEGIN, *calls))


MCP_SURFACE = Surface(
    "mcp",
    _opened,
    st.lists(st.sampled_from(CALLS), min_size=1, max_size=5, unique_by=id).map(_input),
    (
        *(
            b'"id":null',
            b'"id":1.5',
            b'"id":"x"',
            b'"jsonrpc":"1.0"',
            b'"method":"tools/call"',
            b'"_meta":{"progressToken":1}',
        ),
        *(
            b'"result":{}',
            b'"error":{"code":1,"message":"x"}',
            b"[" * 200,
            b"\\ud800",
            b"\x1b[2J",
            b"undrift://session/../tasks",
        ),
    ),
)
"""Frames on the stdin of the server."""
