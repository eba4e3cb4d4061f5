"""Any surface over the protocol: progress is told, a call that is taken back stops, faults are answers."""

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

import anyio
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from tests.cli.builders import environment
from tests.mcp.builders import evicted, near, reached, run, said, served, stdio
from undrift.mcp.serving import build
from undrift.mcp.values import Answer, Json, ResourcePage, Stopped, Surface, Tool, ToolArguments, Unknown

START = """
import sys
from pathlib import Path
from undrift.mcp.place import ServedHome
from undrift.mcp.serving import build
from undrift.mcp.surface import surface_of
from undrift.settings import Settings
build(surface_of(ServedHome(Path("home"), Settings()), "1", "all"))
print(*sorted({"apsw", "msgspec", "undrift.tasks.archive", "undrift.session.session", "undrift.stores"} & set(sys.modules)))
"""
EMPTY: Json = {"type": "object", "properties": {}}


class NoResources:
    def page(self, cursor: str, call: ToolArguments) -> ResourcePage:
        return ResourcePage(())

    def templates(self) -> Sequence[Json]:
        return ()

    def read(self, uri: str, call: ToolArguments) -> Sequence[Json]:
        raise Unknown("there is none")


def surface(*tools: Tool) -> Surface:
    return Surface("fixture", "1", "", tools, (), NoResources())


@pytest.mark.parametrize(
    ("more", "loaded"),
    [
        ("", ""),
        ("import undrift.session.session", "apsw msgspec undrift.session.session undrift.stores undrift.tasks.archive"),
    ],
)
def test_a_server_starts_without_the_engine(tmp_path: Path, more: str, loaded: str):
    program = more + START
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == loaded
    assert not list(tmp_path.iterdir()), "the home was opened before anybody asked"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_that_is_taken_back_stops_at_its_next_step(mode: str):
    began, ended = threading.Event(), threading.Event()

    def slow(call: ToolArguments) -> Answer:
        began.set()
        try:
            while True:
                call.step(1, None, "still at it")
                threading.Event().wait(0.005)
        except Stopped:
            ended.set()
            raise

    async def work() -> None:
        async with Client(build(surface(Tool("slow", "Slow.", EMPTY, slow))), mode=mode) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "slow", {})
                await anyio.to_thread.run_sync(began.wait)
                group.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(ended.wait, 20)

    run(work)


def test_progress_is_told_over_both_transports(tmp_path: Path):
    evicted(tmp_path)

    async def told(client: Any) -> None:
        steps: list[tuple[float, float | None]] = []

        async def take(done: float, whole: float | None, _what: str | None) -> None:
            steps.append((done, whole))

        await client.call_tool("recall", {"ref": "read-files", "grep": "holds"}, progress_callback=take)
        assert steps
        assert steps[0][0] == 0
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)

    async def over_stdio() -> None:
        async with stdio(tmp_path) as client:
            await told(client)

    async def over_http() -> None:
        async with reached(server) as client:
            await told(client)

    run(over_stdio)
    with served(tmp_path) as server:
        run(over_http)


def test_what_is_not_there_is_refused_by_name(tmp_path: Path):
    async def work() -> None:
        async with near(tmp_path) as client:
            with pytest.raises(MCPError, match="there is no tool nonsense: it has task_update, recall"):
                await client.call_tool("nonsense", {})
            with pytest.raises(MCPError, match="there is no prompt nonsense: it has agent_rules"):
                await client.get_prompt("nonsense")

    run(work)


def test_a_store_that_cannot_be_opened_is_an_answer_with_the_remedy(tmp_path: Path):
    (tmp_path / "undrift.db").write_bytes(b"no database at all" * 100)

    async def work() -> None:
        async with near(tmp_path, session="s") as client:
            result = await client.call_tool("search", {"query": "anything"})
            assert result.is_error
            assert "undrift.db" in said(result)

    run(work)


def test_a_home_that_cannot_be_used_is_an_answer_with_the_remedy(tmp_path: Path):
    (tmp_path / "file").write_text("")

    async def work() -> None:
        async with near(tmp_path / "file" / "home", session="s") as client:
            result = await client.call_tool("remember", {"text": "The port is 8080."})
            assert result.is_error
            assert str(tmp_path / "file") in said(result)
            assert "home" in said(result)

    run(work)
