"""Servers of two repositories share nothing; servers of two terminals of one share its memory, and no task slot."""

import json
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.types import ListRootsResult, Root

from tests.cli.builders import undrift
from tests.mcp.builders import MODE, run, said, stdio
from tests.stores.test_projects import repository
from undrift import __version__
from undrift.mcp.place import ServedHome
from undrift.mcp.serving import build
from undrift.mcp.surface import surface_of
from undrift.settings import Settings

TASKS = {"shop": "fix-login", "blog": "add-cache"}


def remembered(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the command line finds in a folder."""
    monkeypatch.chdir(folder)
    result = undrift("memory", "search", "test command", "--home", home, "--json")
    return [one["content"] for one in json.loads(result.stdout)["found"]]


async def starts(client: Any, task: str) -> None:
    begun = await client.call_tool("task_update", {"id": task, "content": task, "status": "in_progress"})
    assert not begun.is_error, said(begun)


def test_servers_of_two_repositories_share_neither_task_nor_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    for name in TASKS:
        repository(tmp_path / name)

    async def work() -> None:
        async with AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(stdio(home, "--tools=all", cwd=tmp_path / name)) for name in TASKS
            }
            for name, client in clients.items():
                await starts(client, TASKS[name])
                await client.call_tool("remember", {"text": f"The test command is make {name}."})
            for name, client in clients.items():
                found = said(await client.call_tool("search", {"query": "test command"}))
                assert f"make {name}" in found
                assert not any(f"make {other}" in found for other in TASKS if other != name)
                status = (await client.call_tool("status", {})).structured_content
                assert status["working_on"] == [TASKS[name]]

    run(work)
    for name in TASKS:
        assert remembered(tmp_path / name, home, monkeypatch) == [f"The test command is make {name}."]


def test_two_terminals_of_a_repository_share_its_memory_but_no_task_slot(tmp_path: Path):
    home, root = tmp_path / "home", repository(tmp_path / "shop")

    async def work() -> None:
        async with stdio(home, cwd=root) as one, stdio(home, cwd=root) as other:
            await starts(one, "fix-login")
            await starts(other, "add-cache")
            await one.call_tool("remember", {"text": "The test command is make check."})
            assert "make check" in said(await other.call_tool("search", {"query": "test command"}))

    run(work)


async def remembers(home: Path, root: str) -> None:
    """Let an agent remember something through a server in this process, whose client names a root."""

    async def roots(_context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=root)])  # type: ignore[arg-type]

    surface = surface_of(ServedHome(home, Settings(), shares=True), __version__)
    async with Client(build(surface), mode=MODE, list_roots_callback=roots) as client:  # type: ignore[arg-type]
        await client.call_tool("remember", {"text": "The test command is tox."})


def test_the_clients_first_root_tells_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, root = tmp_path / "home", repository(tmp_path / "a shop")
    monkeypatch.chdir(tmp_path)
    run(partial(remembers, home, root.as_uri()))
    assert remembered(root, home, monkeypatch) == ["The test command is tox."]
    listed = json.loads(undrift("session", "list", "--home", home, "--json").stdout)
    assert [one["session_id"][:11] for one in listed["sessions"]] == ["mcp-a-shop-"]


def test_the_folder_that_the_client_sets_wins_over_its_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, root = tmp_path / "home", repository(tmp_path / "shop")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(root))
    run(partial(remembers, home, tmp_path.as_uri()))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    assert remembered(root, home, monkeypatch) == ["The test command is tox."]


@pytest.mark.parametrize("uri", ["file:///no/such/folder", "file://host/etc"])
def test_a_root_that_is_no_folder_here_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str):
    home, root = tmp_path / "home", repository(tmp_path / "shop")
    monkeypatch.chdir(root)
    run(partial(remembers, home, uri))
    assert remembered(root, home, monkeypatch) == ["The test command is tox."]


def test_what_an_agent_keeps_for_the_user_is_found_in_every_project(tmp_path: Path):
    home = tmp_path / "home"
    for name in TASKS:
        repository(tmp_path / name)

    async def work() -> None:
        async with stdio(home, cwd=tmp_path / "shop") as client:
            mine = await client.call_tool("remember", {"text": "The main editor is Emacs.", "scope": "user"})
            await client.call_tool("remember", {"text": "The editor of this shop is French."})
            newer = await client.call_tool("remember", {"text": "Actually, the main editor is vim.", "scope": "user"})
            old = mine.structured_content["id"]
            assert newer.structured_content["superseded"] == [old]
        async with stdio(home, cwd=tmp_path / "blog") as client:
            found = said(await client.call_tool("search", {"query": "editor"}))
            assert "of this user, current: Actually, the main editor is vim." in found
            assert "of this user, superseded: The main editor is Emacs." in found
            assert "French" not in found
            assert "The main editor is Emacs." in said(await client.call_tool("recall", {"ref": old}))
            assert (await client.call_tool("remember", {"text": "x y", "scope": "everybody"})).is_error

    run(work)
    assert len(list((home / "projects").iterdir())) == 1  # the second project only looked
