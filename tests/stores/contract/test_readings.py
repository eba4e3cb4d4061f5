"""Readings of a history: chosen by their heads, and gone with whatever of the session is purged."""

from typing import Any

from tests.stores.builders import add, commit, original
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.stores.base import Aim, Context
from undrift.stores.contract import Store
from undrift.values.readings import StretchReading
from undrift.values.scope import Scope

FIRST = StretchReading("form", "", "a" * 64, 10, b'{"a":1}')
SECOND = StretchReading("form", "a" * 64, "b" * 64, 20, b"\0\xff")


def every(store: Store, session: str = "s", key: str = "form") -> list[StretchReading]:
    return store.readings(session, key, lambda heads: [number for number, _ in heads])


def put(store: Store, *readings: StretchReading, session: str = "s") -> int:
    return commit(store, session, "read", at_ms=1, readings=readings)


def test_those_are_given_that_are_chosen_by_their_heads(store: Store):
    put(store, FIRST, SECOND)
    heads: list[Any] = []

    def chosen(given: Any) -> list[int]:
        heads.extend(given)
        return [number for number, one in given if one.before]

    assert store.readings("s", "form", chosen) == [SECOND]
    assert [(one.sha256, one.record) for _, one in heads] == [(FIRST.sha256, b""), (SECOND.sha256, b"")]
    assert (every(store), every(store, key="other"), every(store, "t")) == ([FIRST, SECOND], [], [])


def test_the_same_again_is_kept_once_and_what_follows_nothing_is_not_kept(store: Store):
    put(store, SECOND)
    assert every(store) == []
    put(store, FIRST)
    put(store, FIRST, SECOND)
    assert every(store) == [FIRST, SECOND]


def test_going_back_leaves_them_and_a_purge_takes_them(store: Store):
    add(store, original("e"))
    put(store, FIRST)
    put(store, FIRST, session="t")
    store.rewind(Context(Scope("s"), 1), 0, "rewind", payload={"to": 0})
    assert every(store) == [FIRST]
    done = store.purge([Aim("original", "s", "e")], lambda one: one, at_ms=1)
    assert done is not None
    assert done.removed == {"originals": 1}
    assert (every(store), every(store, "t")) == ([], [FIRST])


def test_hostile_sessions_do_not_see_each_other(store: Store):
    for number, session in enumerate(dict.fromkeys(HOSTILE_IDS)):
        put(store, StretchReading("form", "", f"{number:064}", 1, b"{}"), session=session)
    for number, session in enumerate(dict.fromkeys(HOSTILE_IDS)):
        assert [int(one.sha256) for one in every(store, session)] == [number]
