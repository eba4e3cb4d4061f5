"""Records of dispatched runs: written where they are still what they were, and by name."""

import pytest

from tests.stores.builders import commit
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import InputError, StoreError
from undrift.stores.base import RunChange
from undrift.stores.contract import Store


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


def test_the_same_change_again_is_nothing_new(store: Store):
    change = RunChange("run", None, {"n": 1})
    put(store, change)
    put(store, change)
    assert store.run_records("run") == {"run": {"n": 1}}


@pytest.mark.parametrize("before", [None, {"n": 7}])
def test_what_was_changed_meanwhile_is_refused_and_nothing_is_written(store: Store, before: dict | None):
    put(store, RunChange("run", None, {"n": 1}))
    with pytest.raises(StoreError, match="another process has continued it"):
        put(store, RunChange("task:1", None, {}), RunChange("run", before, {"n": 2}))
    assert store.run_records("run") == {"run": {"n": 1}}
    assert len(store.operations("run")) == 1


def test_two_changes_of_one_name_are_refused(store: Store):
    with pytest.raises(InputError, match="one change for each name"):
        put(store, RunChange("run", None, {}), RunChange("run", None, {"n": 1}))
    assert store.sessions() == ()


def test_values_that_json_cannot_hold_are_refused(store: Store):
    with pytest.raises(InputError, match="JSON"):
        put(store, RunChange("run", None, {"n": {1, 2}}))


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_names_are_only_names(store: Store, hostile: str):
    put(store, RunChange(hostile, None, {hostile: hostile}), RunChange("run", None, {}), run=hostile)
    assert store.run_records(hostile) == {hostile: {hostile: hostile}, "run": {}}
    assert store.run_records(hostile, [hostile]) == {hostile: {hostile: hostile}}
