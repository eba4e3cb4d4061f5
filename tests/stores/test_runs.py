"""The records of dispatched runs: each version is kept, nothing is written over that another process has changed."""

from pathlib import Path

import pytest

from tests.stores.builders import Opener, commit, raw
from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores.base import RunChange, Store


def put(store: Store, *changes: RunChange, run: str = "run") -> int:
    return commit(store, run, "dispatch", at_ms=1, run=changes)


def test_records_come_back_by_name(store: Store):
    first = {"a": [1, None, "é\ud800"], "b": {"c": True}}
    put(store, RunChange("run", None, first), RunChange("task:1", None, {}))
    assert store.run_records("run") == {"run": first, "task:1": {}}
    assert store.run_records("run", ["task:1", "task:9"]) == {"task:1": {}}
    assert store.run_records("other") == {}
    put(store, RunChange("run", first, {"a": 2}))
    assert store.run_records("run")["run"] == {"a": 2}


def test_every_version_is_kept(store: Store, home: Path):
    seqs = [put(store, RunChange("run", None if n == 0 else {"n": n - 1}, {"n": n})) for n in range(3)]
    connection = raw(home)
    rows = connection.execute("SELECT from_seq, to_seq FROM run_records ORDER BY number").fetchall()
    connection.close()
    assert rows == [(seqs[0], seqs[1]), (seqs[1], seqs[2]), (seqs[2], None)]


def test_the_same_change_again_is_nothing_new(store: Store):
    change = RunChange("run", None, {"n": 1})
    put(store, change)
    put(store, change)
    assert store.run_records("run") == {"run": {"n": 1}}


@pytest.mark.parametrize("before", [None, {"n": 7}])
def test_what_was_changed_meanwhile_is_refused_and_nothing_is_written(store: Store, before: dict | None):
    put(store, RunChange("run", None, {"n": 1}))
    with pytest.raises(StoreError, match="another process has gone on with it"):
        put(store, RunChange("task:1", None, {}), RunChange("run", before, {"n": 2}))
    assert store.run_records("run") == {"run": {"n": 1}}
    assert len(store.operations("run")) == 1


def test_two_changes_of_one_name_are_refused(store: Store):
    with pytest.raises(InputError, match="one change for each name"):
        put(store, RunChange("run", None, {}), RunChange("run", None, {"n": 1}))


def test_values_that_json_cannot_hold_are_refused(store: Store):
    with pytest.raises(InputError, match="JSON values"):
        put(store, RunChange("run", None, {"n": {1, 2}}))


def test_a_changed_byte_is_noticed(open_store: Opener, home: Path):
    with open_store(home) as store:
        put(store, RunChange("run", None, {"n": 1}))
    connection = raw(home)
    connection.execute("UPDATE run_records SET record = '{\"n\":2}'")
    connection.close()
    with open_store(home) as store:
        with pytest.raises(StoreCorrupt, match="does not match its SHA-256"):
            store.run_records("run")
        with pytest.raises(StoreCorrupt):
            put(store, RunChange("run", {"n": 1}, {"n": 3}))
        assert any("run record 1" in sentence for sentence in store.integrity())
