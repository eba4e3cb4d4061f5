"""The log of a session, the list of sessions, and the end of a store."""

import hashlib
from types import MappingProxyType

import pytest

from tests.stores.builders import add, commit, original, prune
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import InputError
from undrift.stores.base import Context, Operation, SessionRow
from undrift.stores.contract import Store
from undrift.values.scope import Scope


def test_sequence_numbers_grow_within_a_session(store: Store):
    numbers = [commit(store, session, "note", at_ms=1) for session in ("a", "b", "a")]
    assert numbers[0] < numbers[2]
    assert [row.seq for row in store.operations("a")] == [numbers[0], numbers[2]]


@pytest.mark.parametrize("other", [Scope("s", project="other"), Scope("s", person="ann"), Scope("s", organisation="o")])
def test_another_scope_is_refused(store: Store, other: Scope):
    add(store, original("e"))
    with pytest.raises(InputError, match="opened for"):
        store.commit(Context(other, 1), "x", [original("f")])
    assert len(store.operations("s")) == 1


def test_the_log_keeps_kind_time_and_payload(store: Store):
    seq = commit(
        store, "s", "prune", at_ms=12, payload=MappingProxyType({"tokens": 3, "of": MappingProxyType({"a": None})})
    )
    assert store.operations("s") == (Operation(seq, "prune", 12, {"tokens": 3, "of": {"a": None}}),)
    assert store.operations("other") == ()


def test_sessions_are_counted_and_the_newest_stands_first(store: Store):
    one, two = original("a"), original("b", source="buffer")
    commit(store, "s", "add", at_ms=5, originals=[one, two], decisions=[prune(one)])
    commit(store, "t", "note", at_ms=1)
    commit(store, "s", "note", at_ms=9)
    assert store.sessions() == (SessionRow("s", 2, 2, 1, 5, 9), SessionRow("t", 1, 0, 0, 1, 1))


def test_the_newest_sequence_number_of_a_session_is_that_of_its_last_operation(store: Store):
    assert store.last_seq("s") == 0
    add(store, original("a"))
    newest = commit(store, "s", "x", at_ms=1000)
    commit(store, "other", "x", at_ms=1000)
    assert store.last_seq("s") == newest


@pytest.mark.parametrize(
    "bad",
    [{"at_ms": True}, {"at_ms": 2**63}, {"at_ms": 1.5}, {"payload": {"x": float("nan")}}, {"payload": {"x": object()}}],
)
def test_values_that_cannot_be_stored_are_the_callers_mistake(store: Store, bad: dict):
    with pytest.raises(InputError):
        commit(store, "s", "x", **{"at_ms": 1} | bad)
    assert store.sessions() == ()


def test_hostile_sessions_do_not_see_each_other(store: Store):
    for session in HOSTILE_IDS:
        add(
            store,
            original(
                "e", f"word of {hashlib.sha256(session.encode('utf-8', 'surrogatepass')).hexdigest()}", session=session
            ),
        )
    assert len(store.sessions()) == len(set(HOSTILE_IDS))
    for session in HOSTILE_IDS:
        assert [hit.session_id for hit in store.find("word", session_id=session, limit=50)] == [session]
