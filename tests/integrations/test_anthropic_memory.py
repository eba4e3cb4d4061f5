"""Claude's memory tool: the SDK's answers, paths that lead nowhere else, and nothing lost between two agents."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="needs the package anthropic (make conformance installs it)")

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from tests.integrations.memory_commands import answer, awaited_answer, commands
from undrift import Session, Settings
from undrift.integrations.anthropic_memory import UndriftAsyncMemoryTool, UndriftMemoryTool

SECRET = "sk-ant-api03-" + "aB3" * 31 + "AA"


@pytest.fixture
def tool(home: Path):
    with UndriftMemoryTool("s", home=home, settings=Settings()) as opened:
        yield opened


def create(tool: UndriftMemoryTool, path: str, text: str = "text\n"):
    return tool.call({"command": "create", "path": path, "file_text": text})


def view(tool: UndriftMemoryTool, path: str = "/memories", **more):
    return tool.call({"command": "view", "path": path, **more})


@pytest.mark.parametrize("seed", range(10))
def test_every_answer_is_the_one_of_the_tool_for_local_files(tool: UndriftMemoryTool, tmp_path: Path, seed: int):
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path / "theirs"))
    for command in (*commands(seed), {"command": "view", "path": "/memories"}):
        expected, given = answer(theirs, command, ToolError), answer(tool, command, ToolError)
        assert given[0] == "told" if expected[0] == "failed" else given == expected, command


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "", "memories/a", "/memories/../a", "/memories/../../etc/passwd", "/memories/a/../../../x",
        "/memories/..", "/../memories", "/memories/a\0b", "/memories/\ud800", "/memories/a\nb", "/memories/\x1b[2J",
        "/memories/" + "x" * 256, "/memories/" + "日" * 86, "/memories" + "/a" * 3_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "delete", "rename"])
def test_a_path_that_leads_elsewhere_is_refused_by_each_command(tool: UndriftMemoryTool, path: str, command: str):
    create(tool, "/memories/kept")
    each: dict[str, dict[str, Any]] = {
        "view": {}, "create": {"file_text": "x"}, "str_replace": {"old_str": "a", "new_str": "b"},
        "insert": {"insert_line": 0, "insert_text": "x"}, "delete": {}, "rename": {},
    }  # fmt: skip
    paths = [{"path": path}] if command != "rename" else [
        {"old_path": path, "new_path": "/memories/new"}, {"old_path": "/memories/kept", "new_path": path},
    ]  # fmt: skip
    for given in paths:
        with pytest.raises(ToolError):
            tool.call({"command": command, **given, **each[command]})
    assert view(tool).splitlines()[2:] == ["5B\t/memories/kept"]


def test_a_path_may_go_up_and_come_back(tool: UndriftMemoryTool):
    create(tool, "/memories/../memories/a/./b//../c")
    assert view(tool).splitlines()[2:] == ["4K\t/memories/a/", "5B\t/memories/a/c"]


def test_names_of_other_systems_are_names(tool: UndriftMemoryTool):
    for name in ("C:\\x", "~", "%2e%2e", "..\\x", "con", "a b", "é", "e\u0301"):
        create(tool, f"/memories/{name}", name)
        assert view(tool, f"/memories/{name}").endswith(f"\t{name}")
    assert len(view(tool).splitlines()) == 9  # "..\\x" begins with a point, so it is hidden


def test_a_text_with_half_a_character_is_refused_and_nothing_is_made(tool: UndriftMemoryTool):
    with pytest.raises(ToolError, match="cannot be stored"):
        create(tool, "/memories/a/b", "x\ud800")
    assert len(view(tool).splitlines()) == 2


def test_large_files_are_kept_whole(tool: UndriftMemoryTool):
    text = "ab\n" * 300_000
    create(tool, "/memories/large", text)
    shown = view(tool, "/memories/large", view_range=[299_999, 300_000])
    assert shown.splitlines()[1:] == ["299999\tab", "300000\tab"]
    with pytest.raises(ToolError, match="Multiple occurrences") as raised:
        tool.call({"command": "str_replace", "path": "/memories/large", "old_str": "b\na", "new_str": ""})
    assert str(raised.value).count(", ") == 299_998


def test_secrets_are_masked_before_they_are_written(tool: UndriftMemoryTool, home: Path):
    create(tool, "/memories/a", f"key: {SECRET}\nrest\n")
    tool.call({"command": "insert", "path": "/memories/a", "insert_line": 2, "insert_text": SECRET})
    assert SECRET not in view(tool, "/memories/a")
    tool.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_rewinding_takes_files_back(tool: UndriftMemoryTool, home: Path):
    create(tool, "/memories/a", "first\n")
    with Session.open("s", home=home, settings=Settings()) as session:
        then = session.checkpoint()
        tool.call({"command": "str_replace", "path": "/memories/a", "old_str": "first", "new_str": "second"})
        tool.call({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"})
        session.rewind(then)
    assert view(tool, "/memories/a").endswith("\tfirst\n     2\t")
    with pytest.raises(ToolError):
        view(tool, "/memories/b")


def test_two_agents_lose_nothing_of_each_other(tool: UndriftMemoryTool, home: Path):
    create(tool, "/memories/log", "")
    with UndriftMemoryTool("s", home=home, settings=Settings()) as other:
        for number in range(20):
            writer = (tool, other)[number % 2]
            writer.call({"command": "insert", "path": "/memories/log", "insert_line": 0, "insert_text": str(number)})
    assert len(view(tool, "/memories/log").splitlines()) == 22


def test_a_store_that_fails_is_told_to_the_model(tool: UndriftMemoryTool):
    tool.close()
    with pytest.raises(ToolError, match="cannot be used now"):
        create(tool, "/memories/a")


def test_the_awaited_tool_answers_the_same(home: Path, tmp_path: Path):
    async def play() -> list[tuple[str, str]]:
        async with UndriftAsyncMemoryTool("s", home=home, settings=Settings()) as tool:
            found = [await awaited_answer(tool, command, ToolError) for command in commands(3)]
            await tool.clear_all_memory()
            assert len((await tool.call({"command": "view", "path": "/memories"})).splitlines()) == 2
        return found

    awaited = asyncio.run(play())
    with UndriftMemoryTool("other", home=tmp_path / "other", settings=Settings()) as tool:
        assert awaited == [answer(tool, command, ToolError) for command in commands(3)]
