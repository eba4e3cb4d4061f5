"""Facts of a run: each version by its sequence, one that ended beside the one that took its place, and any moment again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import Opener, add, commit, original
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import InputError, StoreError
from undrift.stores.contract import Store
from undrift.values.facts import FactChange, FactVersion, SessionFact, create_fact_id


def version(sequence: int, said: str = "green", *, run: str = "run", **fields: Any) -> FactVersion:
    values: dict[str, Any] = {"tags": ("test",), "valid_from": 5, "run_id": run} | fields
    return FactVersion(sequence, SessionFact(create_fact_id("build", "is", said), "build", "is", said, **values))


def ended(one: FactVersion, at: int = 9) -> FactVersion:
    return replace(one, fact=replace(one.fact, valid_to=at))


def put(store: Store, *changes: FactChange, run: str = "run") -> int:
    return commit(store, run, "facts", at_ms=1, facts=changes)


def new(*versions: FactVersion) -> list[FactChange]:
    return [FactChange(None, one) for one in versions]


def test_facts_come_back_as_they_were_given(open_store: Opener, store: Store, home: Path):
    one = version(1, source_task_id="t", source_role="reviewer", confidence=0.5, last_seen=7, metadata={"a": [1, None]})
    other = version(2, "é \ud800 \0 '", tags=())
    put(store, *new(one, other))
    store.close()
    with open_store(home) as again:
        assert again.facts("run") == (one, other)
        assert again.integrity() == ()


def test_what_took_the_place_of_a_fact_stands_beside_its_end(store: Store):
    red, green = version(1, "red"), version(2, "green")
    first = put(store, *new(red))
    second = put(store, FactChange(red, ended(red)), *new(green))
    assert store.facts("run") == (ended(red), green)
    assert [store.facts("run", as_of=seq) for seq in (0, first, second)] == [(), (red,), (ended(red), green)]


def test_they_stand_in_the_order_in_which_they_were_added(store: Store):
    put(store, *new(version(2), version(10), version(1)))
    assert [one.sequence for one in store.facts("run")] == [1, 2, 10]


def test_a_dropped_version_is_gone_and_its_number_is_not_given_out_again(store: Store):
    one, two = version(1), version(2, "red")
    first = put(store, *new(one, two))
    last = put(store, FactChange(two, None))
    assert store.facts("run") == (one,)
    assert store.facts("run", as_of=first) == (one, two)
    assert store.facts_state("run") == (last, 3)


def test_how_far_the_facts_have_come_is_told_by_the_changes_of_facts_alone(store: Store):
    assert store.facts_state("run") == (0, 1)
    seq = put(store, *new(version(4)))
    commit(store, "run", "other", at_ms=1)
    put(store, *new(version(4)))
    assert store.facts_state("run") == (seq, 5)
    assert store.facts_state("other") == (0, 1)


def test_the_same_change_again_is_nothing_new(store: Store):
    one = version(1)
    for changes in (new(one), new(one), [FactChange(one, ended(one))], [FactChange(one, ended(one))]):
        put(store, *changes)
    assert store.facts("run") == (ended(one),)


@pytest.mark.parametrize("before", [None, version(1, "red")])
def test_what_another_has_changed_meanwhile_is_not_written_over(
    open_store: Opener, store: Store, home: Path, before: FactVersion | None
):
    with open_store(home) as other:
        put(other, *new(version(1)))
    with pytest.raises(StoreError, match="changed meanwhile"):
        put(store, *new(version(2, "new")), FactChange(before, version(1, "blue")))
    assert store.facts("run") == (version(1),)
    assert len(store.operations("run")) == 1


def test_a_commit_takes_one_change_for_each_version(store: Store):
    for changes in (
        new(version(1), version(1, "red")),
        [FactChange(version(1), version(2))],
        [FactChange(None, None)],
        new(version(1, metadata={"a": {1}})),
        new(version(2**63)),
    ):
        with pytest.raises(InputError):
            put(store, *changes)
    assert store.sessions() == ()


def test_facts_go_back_and_forth_and_nothing_else_of_the_session_does(store: Store):
    one, two = version(1, "red"), version(2)
    first = put(store, *new(one))
    second = put(store, FactChange(one, ended(one)), *new(two))
    add(store, original("e", session="run"), prune_them=True)
    back = store.rewind_facts("run", first, at_ms=3)
    assert store.facts("run") == (one,)
    assert store.facts_state("run") == (back, 3)
    assert [row.kind for row in store.operations("run")][-1] == "rewind-facts"
    assert list(store.decisions("run")) == ["e"]
    store.rewind_facts("run", second, at_ms=4)
    assert store.facts("run") == (ended(one), two)
    store.rewind_facts("run", 0, at_ms=5)
    assert store.facts("run") == ()
    assert store.facts("run", as_of=back) == (one,)


def test_runs_do_not_see_each_other(store: Store):
    for number, run in enumerate(dict.fromkeys(HOSTILE_IDS), 1):
        put(store, *new(version(number, run, run=run, source_task_id=run)), run=run)
    for number, run in enumerate(dict.fromkeys(HOSTILE_IDS), 1):
        assert store.facts(run) == (version(number, run, run=run, source_task_id=run),)
