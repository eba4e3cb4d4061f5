"""Seed 002: what is pinned stays whatever the pressure [3_MCP-RISK-303]."""

import inspect
import logging
import tomllib
from contextlib import closing, contextmanager

import pytest

from tests.seeds.builders import ROOT, entry, ids, modules_after, section, tokens
from tests.stores.builders import raw
from undrift import PINNED_TYPES, PRUNE_THRESHOLD, ContextPruner, MemoryRefresher, Settings, TieredMemoryManager
from undrift.stores.sqlite import SqliteStore

TAS = entry("tas", "tas", 40_000, at=0)
REQUIREMENTS = entry("requirements", "requirements", 60_000, at=1)


def conversation() -> list:
    """An agent's window of 1.1 million tokens: the pinned documents, then reasoning and tool calls with their results."""
    window = [TAS, REQUIREMENTS]
    for turn in range(10):
        at = 10 * (turn + 1)
        window.append(entry(f"thought-{turn}", tokens=30_000, at=at))
        window.append(entry(f"call-{turn}", tokens=10_000, at=at + 1, metadata={"pair_id": f"p{turn}"}))
        window.append(entry(f"result-{turn}", "tool_result", 60_000, at=at + 2, metadata={"pair_id": f"p{turn}"}))
    return window


def test_context_pruner_preserves_tas_content_when_the_token_budget_is_exceeded():
    """R2-04, R2-05, R2-07, R2-11, R2-12, R2-24, R2-25"""
    window = conversation()
    assert tokens(window) == 1_100_000 > PRUNE_THRESHOLD
    kept = ContextPruner(Settings()).prune(window, PRUNE_THRESHOLD)
    assert [e for e in kept if e.type in ("tas", "requirements")] == [TAS, REQUIREMENTS]
    assert tokens(kept) <= PRUNE_THRESHOLD
    removed = [e for e in window if e not in kept]
    assert {e.type for e in removed} == {"reasoning", "tool_result"}


def test_a_summary_is_prunable_like_reasoning():
    """R2-05, R2-12: summary is the third type that may leave."""
    window = [TAS, entry("summary", "summary", 500, at=1), entry("newer", tokens=100, at=2)]
    assert ids(ContextPruner(Settings()).prune(window, 40_100)) == ["tas", "newer"]


def test_context_pruner_prunes_the_oldest_reasoning_turns_first():
    """R2-09, R2-13"""
    turns = [entry(f"turn-{i:02}", tokens=1_000, at=100 + i) for i in range(20)]
    as_they_came = [TAS, *turns[10:], REQUIREMENTS, *turns[:10]]  # age is the timestamp, not the place in the list
    kept = ContextPruner(Settings()).prune(as_they_came, 107_000)
    assert ids(kept) == ["tas", "requirements", *(f"turn-{i:02}" for i in range(13, 20))]


@pytest.mark.parametrize("above_the_pins", [0, 1, 99])
def test_context_pruner_never_prunes_tas_even_at_extreme_token_pressure(above_the_pins):
    """R2-14, A0-3: without tool results, as the newest of those would stay as well."""
    others = [entry(f"turn-{i}", tokens=100, at=10 + i) for i in range(30)]
    kept = ContextPruner(Settings()).prune([TAS, *others, REQUIREMENTS], 100_000 + above_the_pins)
    assert kept == [TAS, REQUIREMENTS]


def test_pins_above_the_budget_are_all_returned_and_nothing_else(caplog):
    """R2-08"""
    kept = ContextPruner(Settings()).prune([TAS, entry("turn", tokens=1, at=5), REQUIREMENTS], 99_999)
    assert kept == [TAS, REQUIREMENTS]
    assert [r.levelno for r in caplog.records if r.levelno >= logging.WARNING] == [logging.CRITICAL]


def test_every_pinned_type_is_pinned_and_there_are_three():
    """R2-05, R2-06, A2-8: spec as well."""
    assert isinstance(PINNED_TYPES, frozenset)
    assert sorted(PINNED_TYPES) == ["requirements", "spec", "tas"]
    for type_ in PINNED_TYPES:
        assert ids(ContextPruner(Settings()).prune([entry("pin", type_), entry("other", at=1)], 100)) == ["pin"]


def test_a_new_pinned_type_is_one_edit(monkeypatch):
    """R2-06: the pruner has no second list of types."""
    monkeypatch.setattr("undrift.core.window.prune.PINNED_TYPES", PINNED_TYPES | {"summary"})
    assert ids(ContextPruner(Settings()).prune([entry("s", "summary"), entry("other", at=1)], 100)) == ["s"]


def test_context_pruner_integrates_with_the_tiered_memory_manager(tmp_path):
    """R2-22, R2-23, R2-24: pins stay in the buffer, pruned turns are in SQLite, written by the refresher."""
    settings = Settings(prune_threshold_tokens=1_000)
    pins = [entry("tas", "tas", 200), entry("requirements", "requirements", 200, at=1)]
    with TieredMemoryManager(tmp_path, settings=settings) as manager:
        assert isinstance(manager.refresher, MemoryRefresher)
        left = [gone for e in pins for gone in manager.add_entry(e)]
        for i in range(20):
            left += manager.add_entry(entry(f"turn-{i:02}", at=10 + i))
            assert manager.total_tokens <= 1_000
        assert ids(manager.entries)[:2] == ["tas", "requirements"]
        assert ids(left) == sorted(ids(left))
        assert set(ids(left)) | set(ids(manager.entries)) == {
            "tas",
            "requirements",
            *(f"turn-{i:02}" for i in range(20)),
        }
    assert left
    with SqliteStore.open(tmp_path) as store:
        assert list(store.decisions("default")) == ids(left)
        assert [store.by_entry("default", e.id).entry.content for e in left] == [f"content of {e.id}" for e in left]


def test_the_refresher_alone_writes_what_it_is_given_once(tmp_path):
    """R2-23, A2-5: the same entries again are no second row."""
    pruned = [entry("turn-1", content="naïve 思考 \N{THINKING FACE}"), entry("turn-2", at=1)]
    refresher = MemoryRefresher(tmp_path, session_id="run", settings=Settings())
    first = refresher.flush(pruned)
    assert refresher.flush(pruned) > first
    refresher.close()
    with SqliteStore.open(tmp_path) as store:
        assert store.by_entry("run", "turn-1").entry.content == "naïve 思考 \N{THINKING FACE}"
        (row,) = store.sessions()
        assert (row.session_id, row.originals, row.decisions) == ("run", 2, 2)


def test_the_default_threshold_is_800_000_and_only_more_than_that_prunes(tmp_path):
    """R2-20, R2-22, R2-25, A2-7"""
    with TieredMemoryManager(tmp_path, settings=Settings()) as manager:
        assert [manager.add_entry(entry(f"turn-{i}", tokens=100_000, at=i)) for i in range(8)] == [()] * 8
        assert manager.total_tokens == 800_000
        assert ids(manager.add_entry(entry("turn-8", tokens=1, at=8))) == ["turn-0", "turn-1", "turn-2"]
        assert manager.total_tokens == 500_001


def test_one_prune_goes_down_to_the_low_water_mark_with_anchors_counted_as_pinned(tmp_path):
    """A2-3: target = pinned + 0.75 x (threshold - pinned)."""
    with TieredMemoryManager(tmp_path, settings=Settings(prune_threshold_tokens=1_000, keep_tool_results=1)) as manager:
        manager.add_entry(entry("tas", "tas", 100))
        manager.add_entry(entry("result", "tool_result", 100, at=1))
        for i in range(8):
            manager.add_entry(entry(f"turn-{i}", tokens=100, at=2 + i))
        assert manager.total_tokens == 1_000
        manager.add_entry(entry("turn-8", tokens=100, at=10))
        assert manager.total_tokens == 200 + 600
        assert ids(manager.entries) == ["tas", "result", *(f"turn-{i}" for i in range(3, 9))]


def test_with_a_ratio_of_1_the_seed_is_taken_literally(tmp_path):
    """A2-3: the option changes something, and 1.0 prunes down to the threshold itself."""
    with TieredMemoryManager(
        tmp_path, settings=Settings(prune_threshold_tokens=1_000, prune_target_ratio=1)
    ) as manager:
        for i in range(11):
            manager.add_entry(entry(f"turn-{i:02}", at=i))
        assert ids(manager.entries) == [f"turn-{i:02}" for i in range(1, 11)]


def test_the_threshold_is_read_from_the_environment_at_construction(tmp_path, monkeypatch):
    """R2-20, R2-21"""
    monkeypatch.setenv("DEVS_PRUNE_THRESHOLD", "100")
    with TieredMemoryManager(tmp_path) as manager:
        monkeypatch.setenv("DEVS_PRUNE_THRESHOLD", "1000000")
        manager.add_entry(entry("old", tokens=60))
        assert ids(manager.add_entry(entry("new", tokens=60, at=1))) == ["old"]


def test_the_manager_reports_pins_above_the_threshold_once_per_transition(tmp_path, caplog):
    """R2-08, A2-11"""
    with TieredMemoryManager(tmp_path, settings=Settings(prune_threshold_tokens=100)) as manager:
        for i in range(4):
            manager.add_entry(entry(f"tas-{i}", "tas", 60, at=i))
        assert len(manager.entries) == 4
    assert [r.levelname for r in caplog.records] == ["CRITICAL"]


@contextmanager
def a_disk_that_takes_entries_but_no_removals(home):
    """The database itself refuses to record that something left, as long as the block lasts."""
    with closing(raw(home)) as connection:
        refuse = "CREATE TRIGGER refuse BEFORE INSERT ON decisions BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        connection.execute(refuse)
        yield
        connection.execute("DROP TRIGGER refuse")


def test_what_cannot_be_written_stays_in_the_buffer_and_leaves_at_the_next_entry(tmp_path, caplog):
    """A2-5: logged as ERROR, tried again, nothing lost and nothing twice."""
    turns = [entry(f"turn-{i}", at=i) for i in range(7)]
    with TieredMemoryManager(tmp_path, settings=Settings(prune_threshold_tokens=500, prune_target_ratio=1)) as manager:
        for turn in turns[:5]:
            manager.add_entry(turn)
        with a_disk_that_takes_entries_but_no_removals(tmp_path):
            assert manager.add_entry(turns[5]) == ()
            assert list(manager.entries) == turns[:6]
        assert [r.levelname for r in caplog.records] == ["ERROR"]
        assert list(manager.add_entry(turns[6])) == turns[:2]
        assert list(manager.entries) == turns[2:]
    with SqliteStore.open(tmp_path) as store:
        assert list(store.decisions("default")) == ids(turns[:2])


def test_an_old_version_whose_leaving_could_not_be_written_leaves_at_the_next_entry(tmp_path):
    """A2-5, A2-9: and a manager that is opened on the same store holds the same window."""
    versions = [entry(f"v{i}", "spec", at=i, metadata={"slot": "api.md"}) for i in (1, 2)]
    with TieredMemoryManager(tmp_path, settings=Settings()) as manager:
        manager.add_entry(versions[0])
        with a_disk_that_takes_entries_but_no_removals(tmp_path):
            assert manager.add_entry(versions[1]) == ()
            assert ids(manager.entries) == ["v1", "v2"]
        left = manager.add_entry(entry("turn", at=3))
        with TieredMemoryManager(tmp_path, settings=Settings()) as opened:
            assert opened.entries == manager.entries
        assert ids(left) == ["v1"]
        assert ids(manager.entries) == ["v2", "turn"]


def test_the_pruner_runs_without_any_database():
    """R2-16: neither LanceDB nor SQLite; the manager is the control, which needs one."""
    database = {"apsw", "lancedb", "sqlite3", "undrift.stores"}
    of_pruner = modules_after("import undrift; undrift.ContextPruner().prune([], 1)")
    assert "undrift.core.window.prune" in of_pruner
    assert not of_pruner & database
    assert modules_after("import undrift; undrift.TieredMemoryManager") & database == {"apsw", "undrift.stores"}


def test_the_readme_explains_the_guard():
    """R2-26"""
    text = section("README.md", "Context Drift Guard")
    missing = [word for word in ("DEVS_PRUNE_THRESHOLD", "800,000", *PINNED_TYPES) if word not in text]
    assert not missing, f"README.md, Context Drift Guard, does not say {missing}"


def test_the_doc_comments_say_the_pin_rule_and_the_budget_contract():
    """R2-27"""
    of_class = inspect.getdoc(ContextPruner) or ""
    assert all(words in of_class for words in ("pin rule", "budget contract", "[3_MCP-RISK-303]", *PINNED_TYPES))
    assert "Pinned entries are returned even when they alone exceed" in (inspect.getdoc(ContextPruner.prune) or "")


def test_the_decision_is_on_record():
    """R2-28, AX-3"""
    text = (ROOT / "docs/architectural_decisions.md").read_text(encoding="utf-8")
    (record,) = [part for part in text.split("\n- ") if "[3_MCP-RISK-303]" in part]
    assert all(word in record for word in ("never pruned", "tas", "equirements", "ContextPruner", "adr/"))


def test_the_coverage_that_the_seeds_ask_for_is_enforced():
    """R2-29, R0-17"""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    floors = pyproject["tool"]["undrift"]["coverage_floors"]
    assert floors["src/undrift/core/window/prune.py"] >= 90
    assert floors["src/undrift/core/window/last_results.py"] == 100
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "coverage_floors" in makefile
    assert "--json-report-file=build/test-report.json" in makefile
