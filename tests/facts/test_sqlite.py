"""What facts on disk promise beside the contract: restarts, other processes, runs, one transaction, secrets, damage."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.facts.builders import Clock, fact, query, triples
from tests.stores.builders import commit, python, raw
from undrift.core.facts.changes import FactBatch
from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.facts import KeywordFactRetriever, SqliteSessionFactStore
from undrift.settings import Settings
from undrift.stores.sqlite import SqliteStore
from undrift.values.facts import FactChange, FactVersion


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def opened(home: Path, run_id: str = "run", **fields: Any) -> SqliteSessionFactStore:
    return SqliteSessionFactStore(home, run_id=run_id, settings=Settings(), clock=Clock(), **fields)


def test_facts_outlive_the_process(home: Path):
    """A4-18"""
    with opened(home) as store:
        store.add([fact("a"), fact("b")])
        store.invalidate("a", "modified_by")
        before = store.history()
    with opened(home) as store:
        assert store.history() == before
        assert triples(store.get_valid()) == [fact("b").triple]
        store.add([fact("c")])
        assert [version.sequence for version in store.history()] == [1, 2, 3]
        assert store.store.integrity() == ()


def test_runs_do_not_see_each_other(home: Path):
    """AX-5: the literal task:1 of one run is not that of another."""
    with opened(home, "one") as one, opened(home, "two") as two:
        one.add([fact("task:1", "summary", "a")])
        two.add([fact("task:1", "summary", "b")])
        assert triples(one.get_valid()) == [("task:1", "summary", "a")]
        assert [version.fact.run_id for version in two.history()] == ["two"]


def test_a_dropped_version_never_gives_its_sequence_to_another(home: Path):
    with opened(home) as store:
        store.add([fact("a"), fact("b")])
        seq = store.store.last_seq("run")
        store.compact(0)
    with opened(home) as store:
        store.add([fact("c")])
        assert [version.sequence for version in store.history()] == [3]
        assert triples(version.fact for version in store.history(as_of=seq)) == [fact("a").triple, fact("b").triple]


def test_what_another_process_writes_is_seen(home: Path):
    with opened(home) as one, opened(home) as two:
        for n in range(5):
            (one, two)[n % 2].add([fact(object=f"task:{n}")])
        assert one.history() == two.history()
        assert one.count() == 1
        assert one.get_valid() == KeywordFactRetriever(two).retrieve(query("a.py"))


WRITER = """
import sys
from tests.facts.builders import fact
from undrift.facts import SqliteSessionFactStore
with SqliteSessionFactStore(sys.argv[1], run_id="run") as store:
    for n in range(40):
        store.add([fact(f"{sys.argv[2]}-{n}"), fact("shared", object=f"{sys.argv[2]}-{n}")])
        if n % 10 == 9:
            store.compact(10_000)
"""


def test_processes_that_write_at_once_lose_and_double_nothing(home: Path):
    with opened(home) as store:
        writers = [python(WRITER, home, name) for name in ("x", "y", "z")]
        for writer in writers:
            _, errors = writer.communicate(timeout=240)
            assert writer.returncode == 0, errors
        own = [one.subject for one in store.get_valid() if one.subject != "shared"]
        assert sorted(own) == sorted(f"{name}-{n}" for name in "xyz" for n in range(40))
        assert [one.subject for one in store.get_valid()].count("shared") == 1
        assert len(store.history()) == 240
        assert store.store.integrity() == ()


def test_facts_are_written_together_with_what_the_caller_writes(home: Path):
    """A4-14, A4-19"""
    with opened(home) as store:

        def act() -> None:
            store.add([fact("a"), fact("b")])
            store.compact(1)
            assert store.count() == 1

        def write(changes: Sequence[FactChange]) -> int:
            return commit(store.store, "run", "both", at_ms=1, facts=changes, payload={"ledger": 1})

        store.together(act, write)
        (operation,) = store.store.operations("run")
        assert (operation.kind, operation.payload) == ("both", {"ledger": 1})
        assert triples(store.get_valid()) == [fact("b").triple]

        def fails(changes: Sequence[FactChange]) -> int:
            raise StoreError("the disk is full")

        with pytest.raises(StoreError, match="full"):
            store.together(lambda: store.add([fact("c")]), fails)
        assert triples(store.get_valid()) == [fact("b").triple]
        store.add([fact("d")])
        assert triples(store.get_valid()) == [fact("b").triple, fact("d").triple]


def test_a_change_of_what_is_no_more_is_refused(home: Path):
    with opened(home) as store:
        store.add([fact()])
        (version,) = store.history()
        store.compact(0)
        with pytest.raises(StoreError, match="changed meanwhile"):
            commit(store.store, "run", "late", at_ms=1, facts=[FactChange(version, None)])
        again = FactChange(None, FactVersion(9, fact("z", run_id="run")))
        for _ in range(2):  # the same again is no change
            commit(store.store, "run", "add", at_ms=1, facts=[again])
        assert triples(store.get_valid()) == [fact("z").triple]


def test_facts_travel_with_a_rewind_and_back(home: Path):
    """A1-10: those said later are gone, those ended later are valid again; nothing is deleted."""
    with opened(home) as store:
        store.add([fact("a"), fact("b")])
        then = store.store.last_seq("run")
        store.invalidate("a", "modified_by")
        store.add([fact("c")])
        now, valid = store.store.last_seq("run"), store.get_valid()
        store.rewind(then)
        assert triples(store.get_valid()) == [fact("a").triple, fact("b").triple]
        store.add([fact("d")])
        assert store.history()[-1].sequence == 4
        store.rewind(now)
        assert store.get_valid() == valid
        assert store.store.integrity() == ()


def test_a_secret_is_masked_before_it_is_written(home: Path):
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    with opened(home) as store:
        store.add([fact("task:1", "summary", f"uses {secret}", metadata={"fix": secret})])
        (kept,) = store.get_valid()
    assert "ghp_" not in kept.object
    assert kept.metadata is not None
    assert "ghp_" not in kept.metadata["fix"]
    assert all(secret.encode() not in path.read_bytes() for path in home.iterdir())


def test_a_flipped_bit_is_no_fact(home: Path):
    with opened(home) as store:
        store.add([fact()])
    connection = raw(home)
    connection.execute("UPDATE facts SET record = replace(record, 'task:1', 'task:2')")
    connection.close()
    with opened(home) as store, pytest.raises(StoreCorrupt, match="SHA-256"):
        store.get_valid()
    with SqliteStore.open(home) as bare:
        assert any("fact 1 does not match" in problem for problem in bare.integrity())


def test_a_change_of_nothing_is_refused(home: Path):
    with opened(home) as store:
        version = FactVersion(1, fact())
        for changes in ([FactChange(None, None)], [FactChange(None, version), FactChange(version, None)]):
            with pytest.raises(InputError, match="one change for each version"):
                commit(store.store, "run", "x", at_ms=1, facts=changes)


def test_a_store_without_facts_gives_none_and_the_retriever_never_raises(home: Path, caplog: pytest.LogCaptureFixture):
    store = opened(home)
    assert store.get_valid() == []
    assert store.count() == 0
    assert store.history() == ()
    store.add(FactBatch())
    assert store.store.operations("run") == ()
    store.close()
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        assert KeywordFactRetriever(store).retrieve(query("a")) == []
    with pytest.raises(StoreError, match="closed"):
        store.add([fact()])
