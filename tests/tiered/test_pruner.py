"""ContextPruner: the decision is the plain rule's, and the log says what a human has to know, once."""

import logging

import pytest

from undrift import ContextEntry, ContextPruner, Settings, SettingsError, WindowError
from undrift.core.window.prune import prune


def entry(id_: str, type_="reasoning", tokens: int = 10, at: int = 0) -> ContextEntry:
    return ContextEntry(id_, type_, f"content of {id_}", tokens, at)


PINS = [entry("tas", "tas", 60), entry("result", "tool_result", 40, at=1)]


@pytest.fixture
def log(caplog):
    """Return what is logged from DEBUG on, as (level, message)."""
    caplog.set_level(logging.DEBUG, logger="undrift")

    def records(level: str = "WARNING") -> list[tuple[str, str]]:
        least = logging.getLevelNamesMapping()[level]
        return [(r.levelname, r.getMessage()) for r in caplog.records if r.levelno >= least]

    return records


def test_it_returns_what_the_plain_rule_keeps_as_a_new_list(log):
    """R2-04, R2-15"""
    window = [*PINS, *(entry(f"t{i}", at=2 + i) for i in range(9))]
    before = list(window)
    kept = ContextPruner(Settings()).prune(window, 130)
    assert type(kept) is list
    assert kept == list(prune(window, 130, keep_tool_results=5).kept)
    assert window == before
    kept.clear()
    assert window == before


def test_even_where_all_stays_the_list_is_a_new_one():
    """R2-15"""
    window = list(PINS)
    kept = ContextPruner(Settings()).prune(window, 1_000)
    assert kept == window
    assert kept is not window


def test_any_sequence_of_entries_will_do():
    """R2-04"""
    assert ContextPruner(Settings()).prune(tuple(PINS), 1_000) == PINS


def test_the_debug_line_lists_the_anchored_ids_newest_first(log):
    """R0-05"""
    window = [entry(f"r{i}", "tool_result", at=i) for i in range(4)]
    ContextPruner(Settings(keep_tool_results=2)).prune(window, 1_000)
    assert log("DEBUG") == [("DEBUG", "anchored observations: r3, r2")]


def test_the_debug_line_says_so_where_nothing_is_anchored(log):
    """R0-05"""
    ContextPruner(Settings()).prune([entry("a")], 1_000)
    assert log("DEBUG") == [("DEBUG", "anchored observations: none")]


def test_a_prune_that_goes_well_warns_of_nothing(log):
    """R0-09, R2-08: negative case, with something removed and the budget met exactly."""
    old, new = entry("old", at=8), entry("new", at=9)
    assert ContextPruner(Settings()).prune([*PINS, old, new], 110) == [*PINS, new]
    assert log() == []


def test_pins_over_the_budget_are_critical_with_figures_and_anchored_ids(log):
    """R2-08, R0-09, A0-6"""
    assert ContextPruner(Settings()).prune([*PINS, entry("a", at=9)], 91) == PINS
    ((level, message),) = log()
    assert level == "CRITICAL"
    for part in ("100 tokens", "9 more", "budget of 91", "result"):
        assert part in message


def test_critical_is_logged_once_per_transition_and_again_after_it_was_well(log):
    """A2-11"""
    pruner = ContextPruner(Settings())
    levels = []
    for budget in (99, 50, 99, 100, 99, 99):
        pruner.prune(PINS, budget)
        levels.append(len(log()))
    assert levels == [1, 1, 1, 1, 2, 2]


def test_two_pruners_report_each_for_itself(log):
    """A2-11: the transition is that of one window's pruner."""
    for _ in range(2):
        ContextPruner(Settings()).prune(PINS, 50)
    assert [level for level, _ in log()] == ["CRITICAL", "CRITICAL"]


def test_one_warning_names_all_that_could_not_fit_even_alone(log):
    """A2-1: one per prune, not per entry."""
    window = [entry("big-1", tokens=200, at=1), entry("small", at=2), entry("big-2", tokens=300, at=3)]
    pruner = ContextPruner(Settings())
    assert [e.id for e in pruner.prune(window, 100)] == ["small"]
    ((level, message),) = log()
    assert level == "WARNING"
    assert "big-1" in message
    assert "big-2" in message
    assert "small" not in message
    pruner.prune(window, 100)
    assert [level for level, _ in log()] == ["WARNING", "WARNING"]


def test_no_content_is_ever_logged(log):
    """R0-05: ids and figures only; the log is no second store."""
    window = [entry("tas", "tas", 60), entry("big", tokens=900, at=1), entry("result", "tool_result", 60, at=2)]
    ContextPruner(Settings()).prune(window, 100)
    ContextPruner(Settings()).prune(window, 500)
    messages = log("DEBUG")
    assert {level for level, _ in messages} == {"DEBUG", "CRITICAL", "WARNING"}
    assert not [message for _, message in messages if "content of" in message]


def test_explain_gives_the_whole_decision_and_logs_nothing(log):
    """A0-6"""
    result = ContextPruner(Settings()).explain([*PINS, entry("a", at=9)], 50)
    assert result.over_budget
    assert [e.id for e in result.removed] == ["a"]
    assert result.anchored_ids == ("result",)
    assert log("DEBUG") == []


def test_explain_does_not_use_up_the_transition(log):
    """A2-11"""
    pruner = ContextPruner(Settings())
    pruner.explain(PINS, 50)
    pruner.prune(PINS, 50)
    assert [level for level, _ in log()] == ["CRITICAL"]


def test_a_refused_window_logs_nothing(log):
    """A2-6"""
    with pytest.raises(WindowError, match="occurs twice"):
        ContextPruner(Settings()).prune([PINS[0], PINS[0]], 1)
    assert log("DEBUG") == []


def test_without_arguments_the_environment_is_read_once_at_construction(monkeypatch):
    """R2-21, R0-13, A0-5"""
    window = [entry(f"r{i}", "tool_result", at=i) for i in range(9)]
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", "3")
    pruner = ContextPruner()
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", "not read again")
    assert len(pruner.prune(window, 0)) == 3


def test_settings_that_are_given_win_over_the_environment(monkeypatch):
    """A0-5"""
    monkeypatch.setenv("DEVS_TERMINAL_WINDOW_SIZE", "not read at all")
    assert (
        len(ContextPruner(Settings(keep_tool_results=2)).prune([entry(f"r{i}", "tool_result") for i in range(9)], 0))
        == 2
    )
    with pytest.raises(SettingsError, match="DEVS_TERMINAL_WINDOW_SIZE='not read at all'"):
        ContextPruner()
