"""Seed 000: the last N terminal observations stay raw [3_MCP-RISK-501]."""

import ast
import inspect
import logging
from copy import deepcopy

import pytest

from tests.seeds.builders import ROOT, entry, ids, section, tokens, tool_results
from undrift import (
    TERMINAL_OBSERVATION_WINDOW,
    ContextPruner,
    Settings,
    SettingsError,
    TerminalObservationWindow,
    TieredMemoryManager,
)
from undrift.core.window.prune import prune
from undrift.stores.sqlite import SqliteStore

NEWEST_FIVE = [f"result-{i}" for i in range(10, 15)]


def window_with_15_results() -> list:
    pins = [entry("tas", "tas", 50), entry("requirements", "requirements", 50, at=1)]
    return [*pins, *tool_results(15, first_at=10), *(entry(f"thought-{i}", at=20 + i) for i in range(5))]


def kept_results(entries, budget: int) -> list:
    return [e for e in ContextPruner(Settings()).prune(entries, budget) if e.type == "tool_result"]


@pytest.mark.parametrize("budget", [0, 1, 100, 599, 600, 699])
def test_context_pruner_retains_the_last_5_terminal_observations_in_raw_form(budget):
    """R0-06, R0-10: five of 100 tokens and pins of 100; under 700 nothing else has room."""
    window = window_with_15_results()
    as_given = {e.id: deepcopy(e) for e in window}
    kept = kept_results(window, budget)
    assert ids(kept) == NEWEST_FIVE
    assert kept == [as_given[e.id] for e in kept]
    assert all(any(e is given for given in window) for e in kept)


@pytest.mark.parametrize("budget", [0, 10_000])
def test_context_pruner_retains_fewer_than_5_terminal_observations_when_fewer_exist(budget):
    """R0-07"""
    window = [entry("tas", "tas"), *tool_results(3, first_at=10), entry("thought", at=20)]
    assert ids(kept_results(window, budget)) == ["result-0", "result-1", "result-2"]


def test_only_the_newest_5_are_guaranteed_and_older_ones_are_ordinary_prunable_entries():
    """R0-08, A0-4: with a large budget the older stay as well; as it shrinks they go, oldest first."""
    window = window_with_15_results()
    everything = tokens(window)
    assert len(kept_results(window, 10 * everything)) == 15
    for gone in range(11):
        kept = ids(kept_results(window, everything - 100 * gone))
        assert kept == [f"result-{i}" for i in range(gone, 15)]
    assert prune(window, 10 * everything, keep_tool_results=5).anchored_ids == tuple(reversed(NEWEST_FIVE))


@pytest.mark.parametrize("size", [0, 3, 5, 10])
def test_the_terminal_observation_window_returns_exactly_the_last_n_entries(size):
    """R0-02, R0-03, A0-1: newest first."""
    results = tool_results(size)
    others = [entry("tas", "tas", at=50), entry("thought", at=60), entry("summary", "summary", at=70)]
    last = TerminalObservationWindow.get_last([*results[1::2], *others, *results[::2]], 5)
    assert ids(last) == [f"result-{i}" for i in range(size - 1, max(size - 6, -1), -1)]


def test_tiered_memory_manager_preserves_raw_terminal_observations_after_pruning(tmp_path):
    """R0-11, R0-12: the newest five in the buffer, the other 15 in SQLite, and no anchored one among what left."""
    results = tool_results(20)
    with TieredMemoryManager(tmp_path, settings=Settings(prune_threshold_tokens=550)) as manager:
        for result in results:
            manager.add_entry(result)
        assert list(manager.entries) == results[15:]
        assert [e.content for e in manager.entries] == [e.content for e in results[15:]]
    with SqliteStore.open(tmp_path) as store:
        assert list(store.decisions("default")) == ids(results[:15])
        assert [store.by_entry("default", e.id).entry.content for e in results[:15]] == [
            e.content for e in results[:15]
        ]


def test_after_reopening_the_same_5_observations_are_in_the_buffer(tmp_path):
    """R0-12: the anchors are computed again from what is on disk."""
    settings = Settings(prune_threshold_tokens=550)
    with TieredMemoryManager(tmp_path, settings=settings) as manager:
        for result in tool_results(20):
            manager.add_entry(result)
    with TieredMemoryManager(tmp_path, settings=settings) as manager:
        assert ids(manager.entries) == [f"result-{i}" for i in range(15, 20)]
        assert ids(manager.add_entry(tool_results(21)[20])) == ["result-15"]


def test_anchors_are_counted_as_pinned_before_the_budget_is_shared_out():
    """R0-04: what is left for the rest is the budget less pins and anchors."""
    window = [
        entry("thought-old", tokens=100, at=1),
        *tool_results(5, first_at=10),
        entry("tas", "tas", 50, at=20),
        entry("thought-new", tokens=100, at=30),
    ]
    result = prune(window, 650, keep_tool_results=5)
    assert result.pinned_tokens == 550
    assert ids(result.removed) == ["thought-old"]
    assert result.total_tokens == 650


def test_anchored_observations_above_the_budget_are_a_critical_warning_and_no_exception(caplog):
    """R0-09, A0-6: it names the observations and the overshoot, and the result carries it."""
    window = [entry("tas", "tas", 1_000), *tool_results(1, tokens=900_000, first_at=5)]
    with caplog.at_level(logging.WARNING):
        assert ContextPruner(Settings()).prune(window, 800_000) == window
    (record,) = caplog.records
    assert record.levelname == "CRITICAL"
    assert "result-0" in record.getMessage()
    assert "101000" in record.getMessage()
    assert prune(window, 800_000, keep_tool_results=5).over_budget


def test_the_debug_log_lists_the_anchored_observations(caplog):
    """R0-05"""
    with caplog.at_level(logging.DEBUG, logger="undrift"):
        ContextPruner(Settings()).prune(window_with_15_results(), 100_000)
    (record,) = [r for r in caplog.records if r.levelno == logging.DEBUG]
    assert all(id_ in record.getMessage() for id_ in NEWEST_FIVE)
    assert "result-9" not in record.getMessage()


def test_the_default_is_5_and_a_constant():
    """R0-01"""
    assert TERMINAL_OBSERVATION_WINDOW == 5
    assert Settings().keep_tool_results == TERMINAL_OBSERVATION_WINDOW


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_window_size_comes_from_the_environment(monkeypatch, tmp_path, n):
    """R0-01, R0-13: pruner and manager alike."""
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", str(n))
    assert len(ContextPruner().prune(tool_results(9), 0)) == n
    monkeypatch.setenv("DEVS_PRUNE_THRESHOLD", "1")
    with TieredMemoryManager(tmp_path) as manager:
        for result in tool_results(9):
            manager.add_entry(result)
        assert len(manager.entries) == n


@pytest.mark.parametrize("text", ["0", "-1", "5.0", "", "abc", "five", " 5"])
@pytest.mark.parametrize("start", [lambda home: ContextPruner(), TieredMemoryManager], ids=["pruner", "manager"])
def test_a_wrong_window_size_is_refused_at_start_with_a_description(monkeypatch, tmp_path, start, text):
    """R0-13, A0-5: variable, value and rule; and nothing was made on disk."""
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", text)
    home = tmp_path / "home"
    with pytest.raises(SettingsError) as error:
        start(home)
    assert f"DEVS_TERMINAL_WINDOW_SIZE={text!r}" in str(error.value)
    assert "integer of at least 1" in str(error.value)
    assert not home.exists()


def numbers_in(path: str) -> set:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is int}


def test_the_number_of_observations_is_no_number_in_the_logic():
    """R0-14: only the settings hold it."""
    names = [f"core/window/{name}" for name in ("prune", "last_results", "incremental", "fit", "plan", "turn")]
    names += ["tiered/pruner", "tiered/manager", "session/session"]
    assert [name for name in names if TERMINAL_OBSERVATION_WINDOW in numbers_in(f"src/undrift/{name}.py")] == []
    assert TERMINAL_OBSERVATION_WINDOW in numbers_in("src/undrift/settings/__init__.py")


def test_the_readme_explains_why_observations_stay_raw():
    """R0-15"""
    text = section("README.md", "Semantic Drift Prevention")
    missing = [word for word in ("DEVS_TERMINAL_WINDOW_SIZE", "5", "raw", "summar") if word not in text]
    assert not missing, f"README.md, Semantic Drift Prevention, does not say {missing}"


def test_the_doc_comment_of_get_last_says_its_order_and_its_n():
    """R0-15"""
    doc = inspect.getdoc(TerminalObservationWindow.get_last) or ""
    assert all(words in doc for words in ("newest first", "timestamp", "n: "))


def test_the_decision_is_on_record():
    """R0-16"""
    text = (ROOT / "docs/architectural_decisions.md").read_text(encoding="utf-8")
    (record,) = [part for part in text.split("\n- ") if "[3_MCP-RISK-501]" in part]
    assert all(word in record for word in ("last 5", "raw", "summar", "DEVS_TERMINAL_WINDOW_SIZE", "drift", "adr/"))
