"""Samples in the pages are those of the program: Python calls things that are there, and texts are what is written today."""

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import undrift
from undrift.core.dispatch.contracts import read_implementer_result
from undrift.core.memory.brief import brief
from undrift.core.text.tokens import token_count
from undrift.mcp.framing import as_data
from undrift.settings import SETTINGS
from undrift.values.memory import MemoryEntry, ScoredMemoryEntry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(kind: str) -> list[tuple[str, str]]:
    """Return the page and the text of each block of a kind."""
    return [
        (path.relative_to(ROOT).as_posix(), text)
        for path in PAGES
        for found, text in re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)
        if found == kind
    ]


PYTHON = blocks("python")


def block_with(page: str, words: str) -> str:
    (found,) = [text for name, text in blocks("") if name == page and words in text]
    return found


def names_of(tree: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield each name that a block imports from undrift with what it is; a module that needs a framework gives None."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "undrift":
            try:
                module: ModuleType | None = importlib.import_module(node.module or "")
            except ImportError as error:
                if (error.name or "undrift").partition(".")[0] == "undrift":
                    raise AssertionError(f"{node.module} is not there") from error
                module = None
            for name in node.names:
                assert module is None or hasattr(module, name.name), f"{node.module} has no {name.name}"
                yield name.asname or name.name, None if module is None else getattr(module, name.name)


def called(node: ast.Call, known: dict[str, Any]) -> Any:
    """Return what a call calls, if it is a name of ours, a method of one, or a method of a session."""
    steps: list[str] = []
    inner: ast.expr = node.func
    while isinstance(inner, ast.Attribute):
        steps.insert(0, inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return None
    found = known.get(inner.id, undrift.Session if inner.id == "session" else None)
    for step in steps if len(steps) <= 1 else ():
        if found is None:
            return None
        assert hasattr(found, step), f"{inner.id} has no {step}"
        found = getattr(found, step)
    return found if len(steps) <= 1 else None


def fits(function: Any, node: ast.Call, *, bound: bool) -> None:
    """Raise TypeError if a function does not take as many arguments, or not the keywords. `bound`: not by its class."""
    if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
        return
    given = [None] * (len(node.args) + bound)
    inspect.signature(function).bind(*given, **{str(one.arg): None for one in node.keywords})


@pytest.mark.parametrize(("page", "text"), PYTHON, ids=[f"{page}-{number}" for number, (page, _) in enumerate(PYTHON)])
def test_a_block_of_python_calls_what_is_there(page: str, text: str) -> None:
    tree = ast.parse(text)
    known = dict(names_of(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and callable(function := called(node, known)):
            is_method = inspect.isfunction(function) and "self" in inspect.signature(function).parameters
            try:
                fits(function, node, bound=is_method)
            except TypeError as error:
                pytest.fail(f"{page}: {ast.unparse(node)}: {error}")


@pytest.mark.parametrize(
    "text",
    [
        "from undrift import Sesion",
        "from undrift.memori import x",
        "from undrift import Settings\nSettings(budgets=1)",
        "session.remembers('x')",
        "session.brief()",
        "session.search('x', many=3)",
    ],
)
def test_python_that_calls_something_else_is_found(text: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_a_block_of_python_calls_what_is_there("a page", text)


def test_there_are_blocks_of_python_in_many_pages() -> None:
    assert len({page for page, _ in PYTHON}) >= 8


def test_a_settings_file_in_a_page_has_settings_only() -> None:
    known = {setting.name for setting in SETTINGS}
    for page, text in blocks("toml"):
        if "# undrift.toml" in text:
            assert set(tomllib.loads(text)) <= known, page


def test_the_brief_in_the_page_of_memory_is_one() -> None:
    shown = block_with("docs/memory.md", "[Remembered: ")
    day = int(datetime(2025, 11, 23, tzinfo=UTC).timestamp() * 1_000)
    entry = MemoryEntry(
        "m0000000000000001",
        "The port is 8080.",
        "architectural_decision",
        created_at_ms=day,
        trust="user",
        speaker="Ann",
        source="adr-7",
    )
    written = brief([ScoredMemoryEntry(entry, 0.8, 0.4)], 500, now_ms=day, count=token_count)
    assert shown.strip() == written.text


def test_the_marks_in_the_page_of_the_server_are_as_written() -> None:
    first, dots, last = block_with("docs/mcp.md", "[data ").splitlines()
    name = re.fullmatch(r"\[data [0-9a-f]{16}: (.*); recorded text, not instructions\]", first)
    assert name
    assert dots == "..."
    begin, _, end = as_data("a text", name[1]).splitlines()
    mark, shown = re.findall("[0-9a-f]{16}", f"{begin} {first}")
    assert (begin, end) == (first.replace(shown, mark), last.replace(shown, mark))


def test_the_result_in_the_page_of_dispatch_is_accepted() -> None:
    result = read_implementer_result(block_with("docs/dispatch.md", "BEGIN_DISPATCH_RESULT"))
    assert (result.task_id, result.status, len(result.tests or ())) == ("basket", "completed", 1)
