"""The front door: every promised name, sorted, documented, and loaded only when it is used."""

import ast
import doctest
import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

import undrift
from undrift import errors

ROOT = Path(__file__).parents[1]

EVERY = sorted(name for names in undrift._ROOMS.values() for name in names.split())
"""All that can be imported from `undrift`; `__all__` shows the few that most programs need."""

PROMISED = (
    "Action",
    "ContextEntry",
    "ContextPruner",
    "MemoryRefresher",
    "PINNED_TYPES",
    "PRUNE_THRESHOLD",
    "Prepared",
    "Session",
    "Settings",
    "TERMINAL_OBSERVATION_WINDOW",
    "TerminalObservationWindow",
    "TieredMemoryManager",
    "token_count",
)
"""What the public surface names and the first issues ask for; R2-19 among it."""


def test_the_names_are_sorted_and_each_stands_once():
    assert undrift.__all__ == sorted(set(undrift.__all__))


def test_the_front_door_shows_at_most_20_names():
    """Who adds one says in the same commit what it replaces."""
    assert len(undrift.__all__) <= 20
    assert set(undrift.__all__) <= {*EVERY, "__version__"}


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_name_can_be_imported(name):
    """R2-19"""
    names: dict = {}
    exec(f"from undrift import {name}", names)
    assert names[name] is getattr(undrift, name)


@pytest.mark.parametrize("room", ["undrift.tiered", "undrift.facts", "undrift.dispatch", "undrift.errors"])
def test_the_names_of_a_room_are_the_same_on_the_front_door(room):
    module = importlib.import_module(room)
    named = set(module.__all__) & set(EVERY)
    assert named == set(module.__all__) or room == "undrift.dispatch"
    assert all(getattr(module, name) is getattr(undrift, name) for name in named)


@pytest.mark.parametrize("name", ["undrift", "undrift.tiered", "undrift.facts"])
def test_the_example_of_a_room_runs(name, tmp_path, monkeypatch):
    """Those of the names in it: tests/reference."""
    monkeypatch.chdir(tmp_path)
    known = {one: getattr(undrift, one) for one in EVERY} | {"home": tmp_path / "home"}
    text = inspect.getdoc(importlib.import_module(name)) or ""
    test = doctest.DocTestParser().get_doctest(text, known, name, None, None)
    assert test.examples, f"{name} has no example"
    output: list[str] = []
    result = doctest.DocTestRunner().run(test, out=output.append)
    assert result.failed == 0, "".join(output)


def test_every_public_name_that_is_called_has_an_example():
    called = [
        name
        for name in undrift.__all__
        if inspect.isclass(value := getattr(undrift, name)) or inspect.isfunction(value)
    ]
    assert [name for name in called if ">>> " not in (inspect.getdoc(getattr(undrift, name)) or "")] == []


@pytest.mark.parametrize("name", EVERY)
def test_every_name_is_there_and_is_ours(name):
    value = getattr(undrift, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__module__.startswith("undrift.")
        assert inspect.getdoc(value)


def test_every_error_can_be_imported_and_is_in_one_tree():
    assert set(errors.__all__) <= set(EVERY)
    assert all(issubclass(getattr(undrift, name), undrift.UndriftError) for name in errors.__all__)


def test_a_type_checker_sees_the_names_that_a_program_gets():
    """The imports that only a type checker reads, and the modules that are loaded on first use, are two lists of one thing."""
    tree = ast.parse((ROOT / "src/undrift/__init__.py").read_text(encoding="utf-8"))
    seen = {
        name: importlib.import_module(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("undrift.")
        for alias in node.names
        for name in (importlib.import_module(node.module).__all__ if alias.name == "*" else [alias.name])
    }
    assert sorted(seen) == sorted(EVERY)
    assert [name for name, module in seen.items() if getattr(module, name) is not getattr(undrift, name)] == []


def test_a_star_import_gives_every_name():
    names: dict = {}
    exec("from undrift import *", names)
    assert set(undrift.__all__) <= set(names)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        undrift.no_such_name  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(undrift, "no_such_name")
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from undrift import no_such_name", {})


def test_an_interpreter_s_completion_sees_the_names_that_are_not_loaded_yet():
    assert set(undrift.__all__) <= set(dir(undrift))


def test_the_version_is_that_of_the_package():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert undrift.__version__ == pyproject["project"]["version"]


def parameters(function) -> list[str]:
    """Return a function's parameters as they are called: keyword-only ones with ``=`` behind."""
    return [
        p.name + ("=" if p.kind is p.KEYWORD_ONLY else "")
        for p in inspect.signature(function).parameters.values()
        if p.name not in ("self", "cls")
    ]


def test_the_session_is_called_as_promised():
    """CONTRACT, Python."""
    session = undrift.Session
    assert {"session_id", "home=", "settings="} <= set(parameters(session.open))
    assert parameters(session.prepare) == ["body", "wire=", "model="]  # the last for forms whose body does not name it
    assert parameters(session.record) == ["reply", "wire="]
    assert parameters(session.recall) == ["ref"]
    assert parameters(session.pin) == ["type", "text"]


def test_the_seeds_things_are_called_as_promised():
    """CONTRACT, the table of the seeds' names; R2-01, R2-04, R0-02."""
    entry = parameters(undrift.ContextEntry)
    assert entry[:6] == ["id", "type", "content", "token_count", "timestamp", "metadata"]
    assert parameters(undrift.ContextPruner().prune) == ["entries", "token_budget"]
    assert parameters(undrift.TerminalObservationWindow.get_last) == ["entries", "n"]
    assert parameters(undrift.MemoryRefresher.flush)[0] == "entries"
    assert parameters(undrift.TieredMemoryManager.add_entry) == ["entry"]
    assert parameters(undrift.token_count) == ["text"]


def test_the_session_of_the_public_surface_runs_as_it_is_written_there(tmp_path):
    """CONTRACT, Python: budget, context manager, the same object back while nothing changes."""
    settings = undrift.Settings(budget_tokens=60_000)
    body = {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}
    with undrift.Session.open("run-42", home=tmp_path / "home", settings=settings) as session:
        prepared = session.prepare(body, wire="anthropic")
        assert prepared.body is body
        assert prepared.tokens_before == prepared.tokens_after > 0
        assert prepared.budget_tokens == 60_000
        assert (prepared.actions, dict(prepared.headers), prepared.warnings) == ((), {}, ())
        session.record({"usage": {"input_tokens": 3}}, wire="anthropic")


def test_the_manager_of_the_public_surface_runs_as_it_is_written_there(tmp_path):
    """CONTRACT: add_entry, entries, total_tokens."""
    with undrift.TieredMemoryManager(tmp_path / "home", settings=undrift.Settings()) as manager:
        manager.add_entry(undrift.ContextEntry("e1", "reasoning", "text", undrift.token_count("text"), 1))
        assert [e.id for e in manager.entries] == ["e1"]
        assert manager.total_tokens == undrift.token_count("text") == 1
