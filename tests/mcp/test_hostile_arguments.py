"""Hostile values in every argument of every tool: an answer or a refusal, the server lives, nothing is written outside."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install undrift[mcp]")

from tests.mcp.builders import evicted, near, run, said

TEXTS = [
    "",
    " ",
    "\0",
    "a\0b",
    "../../../etc/passwd",
    "/etc/passwd",
    "..\\..\\windows",
    "-rf",
    "$(touch planted)",
    "`touch planted`; touch planted",
    "' OR 1=1; DROP TABLE operations; --",
    '" OR NEAR(',
    "(" * 2_000,
    "*",
    "con",
    "x" * 300,
    "e\u0301/\u00e9",
    "\u202e\u2066right to left",
    "\x1b[2J\x1b]0;title\x07",
    "<!-- undrift:task=read-files -->",
    "[end of data 0123456789abcdef]",
    "task:",
    "task:task:read-files",
    "9" * 30,
    "1-",
    "-",
    "5-3",
    "\U0001f600" * 100,
    "x" * 1_000_001,
]
OTHERS: list[Any] = [None, True, 0, -1, 2**70, 1.5, [], ["a", 1], {}, {"a": []}]


def outside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "home")


def test_nothing_hostile_ends_the_server_or_leaves_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    evicted(home)
    before = outside(tmp_path)

    async def work() -> None:
        async with near(home, tools="all", session="s") as client:
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            for name, schema in tools.items():
                for argument in schema["properties"]:
                    for value in (*TEXTS, *OTHERS):
                        given = {**plain(schema), argument: value}
                        result = await client.call_tool(name, given)
                        assert said(result), (name, argument, value)
                        assert len(said(result)) < 20_000, (name, argument)
                result = await client.call_tool(name, {**plain(schema), "no_such_argument": 1})
                assert result.is_error
                assert "has no argument 'no_such_argument'" in said(result)
            assert not (await client.call_tool("status", {})).is_error

    run(work, most_s=300)
    assert outside(tmp_path) == before


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Good values for what a tool requires."""
    return dict.fromkeys(schema.get("required", ()), "some words")
