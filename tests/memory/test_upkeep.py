"""What enters the memory by itself, what goes out of sight, how searches are rated, what stands in a window."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import assistant, body, opened, rounds, sent, user
from tests.task_sessions import SUMMARY, TaskSession
from undrift.core.memory.brief import HEADER
from undrift.core.text.tombstone import purged_tombstone, tool_tombstone
from undrift.errors import InputError
from undrift.session.session import Session
from undrift.stores.memory_values import MemoryUpdate


def demoted(session: Session, content: str, weight: float):
    """A memory whose stored weight was lowered, as feedback would."""
    entry = session.remember(content)
    after = replace(entry, decay_weight=weight)
    session._repository.write(session.id, "demote", [MemoryUpdate(entry, after)], at_ms=1, payload={})
    return after


# ------------------------------------------------------------------------------------------------------------ the gate


def test_a_borne_out_task_is_remembered_and_another_is_not(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("read")
    session.starts("vague")
    session.works(20, 2)
    session.completes("vague", "It is all done now, more or less.")
    (entry,) = session.session.memories()
    assert (entry.content, entry.type, entry.status, entry.trust) == (SUMMARY, "task_outcome", "approved", "task")
    assert (entry.source, entry.task_id, entry.task_index) == ("task:read", "read", 1)


def test_a_summary_that_hides_a_failure_is_not_remembered(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.starts("read", "all tests pass")
    session.works(0, 3, "FAILED tests/test_a.py::test_a - AssertionError: 1 failed, 11 passed")
    session.completes("read", "All tests pass: 12 passed in a.py.")
    assert session.session.memories() == ()


def test_the_setting_switches_it_off(tmp_path: Path):
    session = TaskSession(tmp_path, learns="off")
    session.does("read")
    assert session.session.memories() == ()


def test_a_task_ends_whatever_stands_in_the_way_of_its_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    session = TaskSession(tmp_path)
    session.starts("read", "all tests pass")
    session.works(0, 3)
    with caplog.at_level(logging.WARNING):
        session.session.complete_task("read", f"[Remembered: {SUMMARY}")
    (task,) = session.session.tasks()
    assert task.status == "completed"
    assert session.session.memories() == ()


def test_what_may_not_enter_is_refused_and_the_refusal_logged_without_a_word_of_it(tmp_path: Path):
    session = opened(tmp_path)
    assert session.admit("I read it somewhere.", type="research", status="verified") is None
    assert session.memories() == ()
    last = session.history()[-1]
    assert (last.kind, last.payload) == ("memory_denied", {"type": "research", "status": "verified"})
    entry = session.admit("Retries need a jitter.", type="lesson_learned", status="verified", source="review")
    assert entry is not None
    assert (entry.trust, entry.source) == ("task", "review")
    assert session.memories() == (entry,)


# ------------------------------------------------------------------------------------------------------------- hygiene


def test_our_own_texts_are_refused(tmp_path: Path):
    session = opened(tmp_path)
    session.remember("The parser is written in Rust.", trust="user")
    brief = session.brief("parser")
    for text in (
        brief,
        f"\n {brief}",
        brief.split("\n")[1],
        tool_tombstone("t", "Done."),
        purged_tombstone("t"),
        "[Pinned spec: it holds for the whole session]\nx",
        "[active_context.md: the notes of this session, as they are now]\nx",
    ):
        with pytest.raises(InputError, match="undrift's own"):
            session.remember(text)
    assert len(session.memories()) == 1


# ------------------------------------------------------------------------------------------------------------- pruning


def test_a_dry_run_says_which_and_changes_nothing(tmp_path: Path):
    session = opened(tmp_path)
    low = demoted(session, "The parser is slow.", 0.01)
    session.remember("The port is 8080.")
    before = session.history()
    found = session.prune_memories()
    assert [(one.entry.id, one.reason) for one in found.stale] == [(low.id, "demoted")]
    assert (found.looked_at, found.threshold, found.seq) == (2, 0.05, 0)
    assert session.history() == before
    assert len(session.memories()) == 2


def test_pruned_memories_are_out_of_sight_and_come_back_with_a_rewinding(tmp_path: Path):
    session = opened(tmp_path)
    low = demoted(session, "The parser is slow.", 0.01)
    kept = session.remember("The port is 8080.")
    here = session.checkpoint("before")
    found = session.prune_memories(dry_run=False)
    assert session.memories() == (kept,)
    assert all(hit.entry.id != low.id for hit in session.search("parser slow"))
    last = session.history()[-1]
    assert (last.seq, last.kind) == (found.seq, "prune_memories")
    assert last.payload == {"threshold": 0.05, "looked_at": 2, "pruned": {"demoted": [low.id], "contradicted": []}}
    session.rewind(here)
    assert session.memories() == (low, kept)
    assert session.search("parser slow")[0].entry.id == low.id


def test_a_contradicted_memory_of_an_earlier_phase_goes(tmp_path: Path):
    session = opened(tmp_path)
    old = session.remember("The main database is PostgreSQL.", trust="user")
    new = session.remember("Actually, the main database is SQLite.", trust="user")
    session.start_task("later", phase_index=1)
    found = session.prune_memories(dry_run=False)
    assert [(one.entry.id, one.reason) for one in found.stale] == [(old.id, "contradicted")]
    assert [one.id for one in session.memories()] == [new.id]


def test_the_threshold_is_the_settings_unless_one_is_given(tmp_path: Path):
    session = opened(tmp_path, stale_eviction_threshold=0.5)
    demoted(session, "The parser is slow.", 0.4)
    assert len(session.prune_memories().stale) == 1
    assert session.prune_memories(threshold=0.3).stale == ()
    with pytest.raises(InputError):
        session.prune_memories(threshold=0.6)


# -------------------------------------------------------------------------------------------------------------- rating


def test_rated_searches_give_a_precision_and_an_alert_and_keep_no_query(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    session = opened(tmp_path)
    assert (session.search_precision().samples, session.search_precision().value) == (0, None)
    for _ in range(4):
        assert not session.rate_search("where is zqcanary", ["a", "b"], ["a"]).alert
    with caplog.at_level(logging.WARNING):
        found = session.rate_search("where is zqcanary", ["a", "b"], [])
    assert (found.samples, found.value, found.alert) == (5, 0.4, True)
    assert "40% was of use" in caplog.text
    session.rate_search("nothing was found", [], [])
    assert session.search_precision().samples == 5
    assert "zqcanary" not in json.dumps([one.payload for one in session.history()])
    assert len(session.history()[0].payload["query_sha256"]) == 64  # type: ignore[index]


def test_only_the_newest_searches_count(tmp_path: Path):
    session = opened(tmp_path, retrieval_monitor_window=3)
    for useful in ([], [], ["a"], ["a"], ["a"]):
        session.rate_search("q", ["a"], useful)
    assert (session.search_precision().samples, session.search_precision().value) == (3, 1.0)
    with pytest.raises(InputError):
        session.rate_search("q", ["a"], ["b"])


# ---------------------------------------------------------------------------------------------------------- the window


def test_what_is_remembered_stands_in_the_window_where_it_is_asked_for(tmp_path: Path):
    session = opened(tmp_path, memory_tokens=300)
    session.remember("The parser is written in Rust.", trust="user")
    first = user("In which language is the parser written?")
    shown = sent(session.prepare(body(first)))
    assert HEADER in json.dumps(shown)
    assert "written in Rust." in json.dumps(shown)
    history = [first, *rounds(3)]
    again = sent(session.prepare(body(*history)))
    assert again[0] == shown[0]
    assert json.dumps(again).count("[Remembered") == 1
    history += [assistant("Rust."), user("And what else?")]
    assert json.dumps(sent(session.prepare(body(*history)))).count("[Remembered") <= 2
    session.close()
    restarted = opened(tmp_path, memory_tokens=300)
    assert sent(restarted.prepare(body(first)))[0] == shown[0]


def test_off_by_default(tmp_path: Path):
    session = opened(tmp_path)
    session.remember("The parser is written in Rust.", trust="user")
    request = body(user("In which language is the parser written?"))
    assert session.prepare(request).body is request


def test_a_memory_that_stood_in_a_window_is_purged_from_there_too(tmp_path: Path):
    session = opened(tmp_path, memory_tokens=300)
    entry = session.remember("The parser is written in zq7rust7qz.", trust="user")
    request = body(user("In which language is the parser written?"))
    assert "zq7rust7qz" in json.dumps(sent(session.prepare(request)))
    session.purge(entry.id)
    assert "zq7rust7qz" not in json.dumps(sent(session.prepare(request)))
    session.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"zq7rust7qz" in path.read_bytes().lower()]
