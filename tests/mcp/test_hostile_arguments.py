"""Hostile values in every argument of every tool: an answer or a refusal, the server lives, nothing is written outside.

The tools and their arguments are taken from the schemas that a client is given; a tool on purpose gone wrong is caught.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

from tests.mcp.builders import evicted, near, run, said
from undrift.errors import UndriftError
from undrift.mcp.framing import safe_json
from undrift.mcp.place import ServedHome
from undrift.mcp.surface import surface_of
from undrift.mcp.tools import READ, described_object, guarded
from undrift.mcp.values import Answer, Stopped, Surface, Tool, ToolArguments
from undrift.settings import Settings

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
SENT: list[Any] = [
    "",
    "a\0b",
    "../../../etc/passwd",
    "\u202e\u2066right to left",
    "x" * 1_000_001,
    None,
    2**70,
    [],
    {"a": []},
]
"""Of all these, what goes through the protocol too."""
OTHERS: list[Any] = [None, True, 0, -1, 2**70, 1.5, [], ["a", 1], {}, {"a": []}]
LONGEST_ANSWER = 20_000
PLACES = [
    "..",
    ".",
    "/",
    "\\",
    "\0",
    "\n",
    "~",
    "%2e%2e%2f",
    "planted",
    "etc",
    "read-files",
    "task:",
    "\ud800",
    "CON",
    ":",
]


def everything(folder: Path) -> list[str]:
    """All that lies beside the home, and all names in it that are not of undrift's making."""
    beside = [str(path) for path in folder.rglob("*") if path.relative_to(folder).parts[0] != "home"]
    inside = [path.name for path in (folder / "home").rglob("*")]
    return sorted(beside + [name for name in inside if "planted" in name or "passwd" in name])


def plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Good values for what a tool requires."""
    return dict.fromkeys(schema.get("required", ()), "some words")


def arguments(surface: Surface) -> Iterator[tuple[Tool, str]]:
    """Every argument of every tool."""
    for tool in surface.tools:
        yield from ((tool, name) for name in tool.input_schema["properties"])


def faults(tool: Tool, given_arguments: Mapping[str, Any], folder: Path) -> list[str]:
    """Call a tool as the server does; what is wrong with that."""
    found = []
    try:
        answer = tool.run(ToolArguments(given_arguments))
    except Stopped:
        return ["it says that it was stopped"]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the fault that is looked for
        return [f"it ends with {type(error).__name__}: {error}"[:300]]
    text = "".join(str(block["text"]) for block in safe_json(list(answer.blocks)))
    if not text:
        found.append("it answers nothing")
    if len(text) > LONGEST_ANSWER:
        found.append(f"it answers {len(text):,} characters")
    if answer.structured is not None and tool.output_schema is not None:
        wanted = set(tool.output_schema.get("required", ()))
        found += [f"its structured answer lacks {name}" for name in wanted - set(answer.structured)]
    text.encode()
    return found + [f"it has made {name}" for name in everything(folder)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHome]:
    """A home with a session in it; whoever writes to a relative path writes beside it."""
    folder = tmp_path_factory.mktemp("hostile")
    evicted(folder / "home")
    former = Path.cwd()
    os.chdir(folder)
    yield ServedHome(folder / "home", Settings(), session="s")
    os.chdir(former)


hostile = (
    st.sampled_from(TEXTS)
    | st.text(max_size=80)
    | st.text(st.characters(), max_size=40)
    | st.lists(st.sampled_from(PLACES), min_size=1, max_size=8).map("".join)
    | st.lists(st.sampled_from(PLACES) | st.text(max_size=5), min_size=1, max_size=5).map("/".join)
)
values = hostile | st.sampled_from(OTHERS) | st.integers() | st.lists(hostile, max_size=4) | st.floats()


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_value_of_any_argument_does_harm(place: ServedHome, data: st.DataObject):
    surface = surface_of(place, "1", "all")
    tool, argument = data.draw(st.sampled_from(list(arguments(surface))), "argument")
    others = data.draw(st.dictionaries(st.sampled_from(sorted(tool.input_schema["properties"])), values, max_size=2))
    given_arguments = {**plain(tool.input_schema), **others, argument: data.draw(values)}
    assert faults(tool, given_arguments, place.home.parent) == []


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    hostile,
    hostile,
    st.sampled_from(["undrift://session/{}/tasks", "undrift://session/{}/scratchpad", "undrift://original/{}", "{}"]),
)
def test_no_address_and_no_cursor_does_harm(place: ServedHome, text: str, cursor: str, form: str):
    resources = surface_of(place, "1").resources
    refusals = []
    for ask in (
        lambda: resources.read(form.format(text), ToolArguments()),
        lambda: resources.page(cursor, ToolArguments()),
    ):
        try:
            ask()
        except UndriftError as error:
            refusals.append(str(error))
    assert all(refusals)
    assert everything(place.home.parent) == []


@pytest.mark.parametrize("text", ["../planted", "planted"])
def test_a_tool_that_takes_an_id_for_a_path_is_caught(tmp_path: Path, text: str):
    home = tmp_path / "home"
    home.mkdir()

    def careless(call: ToolArguments) -> Answer:
        (home / call.arguments["id"]).write_text("")
        return Answer.of("done")

    schema = described_object({"id": {"type": "string"}}, "id")
    tool = guarded(Tool("careless", "Careless.", schema, careless, {"type": "object"}, READ), home)
    assert any("it has made" in fault for fault in faults(tool, {"id": text}, tmp_path))
    assert any("ends with" in fault for fault in faults(tool, {"id": "a\0b"}, tmp_path))


def test_nothing_hostile_ends_the_server_or_leaves_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    evicted(home)

    async def work() -> None:
        async with near(home, tools="all", session="s") as client:
            tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            for name, schema in tools.items():
                for argument in schema["properties"]:
                    for value in SENT:
                        given_arguments = {**plain(schema), argument: value}
                        result = await client.call_tool(name, given_arguments)
                        assert said(result), (name, argument, value)
                        assert len(said(result)) < LONGEST_ANSWER, (name, argument)
                result = await client.call_tool(name, {**plain(schema), "no_such_argument": 1})
                assert result.is_error
                assert "has no argument 'no_such_argument'" in said(result)
            assert not (await client.call_tool("status", {})).is_error

    run(work, most_s=300)
    assert everything(tmp_path) == []
