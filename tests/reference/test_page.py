"""docs/api.md is what the docstrings say, has a place for every public name, and shows only examples that run."""

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import undrift
from tests.reference import names
from tests.reference.page import PAGE, written
from undrift.testing import Say, ScriptedProvider

TEXT = PAGE.read_text(encoding="utf-8")
BUDGET_TOKENS = 6_000
EVERY = [name for room in undrift._ROOMS.values() for name in room.split()]
MET_FIRST = (
    "trim",
    "wrap",
    "Session",
    "Session.prepare",
    "Session.record",
    "Session.recall",
    "Session.why",
    "Prepared",
    "Settings",
    "AsyncSession",
)
"""The names that a person meets first: each shows how it is used."""


def test_the_page_is_what_the_docstrings_say():
    assert written() == TEXT, "docs/api.md must follow: python -m tests.reference.page"


def test_each_name_of_the_front_door_stands_in_one_place():
    listed = [name for _, every in names.FIRST for name in every.split()]
    assert sorted(listed) == undrift.__all__


def test_each_public_method_of_a_session_stands_in_one_place():
    for owner, groups in names.GROUPS.items():
        listed = [name for _, every in groups for name in every.split()]
        there = {name for name in vars(getattr(undrift, owner)) if not name.startswith("_")}
        facets = {
            f"{outer}.{name}"
            for outer, (place, inner) in names.FACETS.items()
            for name in vars(getattr(importlib.import_module(place), inner))
            if not name.startswith("_") and name not in there
        }
        assert sorted(set(listed) - {"scratchpad"}) == sorted(there | facets)
        assert len(listed) == len(set(listed))


def entries() -> dict[str, str]:
    """Return each entry of the page by its name."""
    parts = re.split(r"^#{3,5} `([\w.]+)`\n", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


ENTRIES = entries()


def test_every_name_that_can_be_imported_has_an_entry():
    known = {*ENTRIES, *re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE)}
    assert [name for name in (*EVERY, *undrift.__all__) if name not in known] == []


def test_no_entry_is_without_its_words():
    said = {
        name: re.sub(r"^```.*?^```|^#.*", "", text, flags=re.MULTILINE | re.DOTALL) for name, text in ENTRIES.items()
    }
    assert [name for name, text in said.items() if not re.search(r"\w{3}", text)] == []


def long_body() -> dict[str, Any]:
    """Return a request that is larger than the budget of the session: twelve files, each read once."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the login."}]
    for number in range(12):
        call = {
            "type": "tool_use",
            "id": f"call{number}",
            "name": "read_file",
            "input": {"path": f"src/part{number}.py"},
        }
        lines = "\n".join(f"src/part{number}.py, line {line}" for line in range(1, 61))
        result = {"type": "tool_result", "tool_use_id": f"call{number}", "content": lines}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages}


def examples() -> Iterator[Any]:
    for part in re.split(r"^(?=## |#{3,5} `)", TEXT, flags=re.MULTILINE):
        found = re.findall(r"^```pycon\n(>>> .*?)^```$", part, flags=re.MULTILINE | re.DOTALL)
        if found:
            name = part.splitlines()[0].strip("#` ")
            yield pytest.param(name, "\n".join(found), id=name)


@pytest.mark.parametrize("name", MET_FIRST)
def test_a_name_that_a_person_meets_first_has_an_example(name: str):
    assert ">>> " in ENTRIES[name].partition("\n#")[0]


@pytest.mark.parametrize(("name", "source"), list(examples()))
def test_an_example_runs(name: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    known = {one: getattr(undrift, one) for one in EVERY} | {"home": tmp_path / "home", "long_body": long_body()}
    if name.startswith("undrift."):
        known |= {one: getattr(importlib.import_module(name), one) for one in importlib.import_module(name).__all__}
    with ExitStack() as stack:
        if re.search(r"\bsession\b", source) and " as session" not in source and "session = " not in source:
            settings = undrift.Settings(budget_tokens=BUDGET_TOKENS)
            known["session"] = stack.enter_context(
                undrift.Session.open("run-1", home=tmp_path / "home", settings=settings)
            )
        if "Anthropic(" in source:
            provider = stack.enter_context(ScriptedProvider([Say("Hello!")], without_tools=True))
            monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        test = doctest.DocTestParser().get_doctest(source, known, name, None, None)
        output: list[str] = []
        result = doctest.DocTestRunner().run(test, out=output.append)
    assert test.examples
    assert result.failed == 0, "".join(output)


def test_no_public_method_of_the_front_door_is_without_its_words():
    for name in undrift.__all__:
        owner = getattr(undrift, name)
        for one, method in vars(owner).items() if inspect.isclass(owner) else ():
            if not one.startswith("_") and callable(method) and f"{name}.{one}" not in names.OURS_ALONE:
                assert inspect.getdoc(method), f"{name}.{one} has no docstring"
