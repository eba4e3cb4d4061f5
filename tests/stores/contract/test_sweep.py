"""A sweep destroys the originals of a session and nothing else; each decision stays, and says when."""

from functools import partial

import pytest

from tests.stores.builders import add, commit, memory, original, prune, remember
from undrift.errors import GoneError, RecallError
from undrift.stores.contract import Store
from undrift.values.window import Decision
from undrift.window.blanking import blanked

DAY_MS = 86_400_000
SWEPT = partial(blanked, act="swept", at_ms=20_000 * DAY_MS)


def filled(store: Store, session: str = "old") -> list[Decision]:
    gone = [original(f"e{number}", f"text number {number} of {session}", session=session) for number in range(5)]
    pin = original("pin:1", "a rule", session=session, source="pin", type="spec")
    kept = original("b1", "an entry of the buffer", session=session, source="buffer")
    commit(store, session, "add", at_ms=1, originals=[*gone, pin, kept], decisions=[prune(one) for one in gone])
    return list(store.decided(session))


def test_only_what_left_the_windows_of_that_session_goes(store: Store):
    before, others = filled(store), filled(store, "other")
    remember(store, memory("m1", "The port is 8080."), session="old")
    assert {one.session_id: one.originals for one in store.sweepable()} == {"old": 5, "other": 5}
    assert all(one.size_bytes > 0 for one in store.sweepable())
    assert store.sweep("old", SWEPT, at_ms=20_000 * DAY_MS) == 5
    assert [(one.entry_id, one.kind, one.tokens_saved) for one in store.decided("old")] == [
        (one.entry_id, one.kind, one.tokens_saved) for one in before
    ]
    assert {one.reason for one in store.decided("old")} == {"its original was swept on 2024-10-04"}
    for one in before:
        for ask in (lambda one=one: store.original(one.ref), lambda one=one: store.by_entry("old", one.entry_id)):
            with pytest.raises(GoneError, match="its original was swept on 2024-10-04"):
                ask()
        found = store.decision(one.ref)
        assert found is not None
        assert found.entry_id == one.entry_id
    assert [one.entry.content for one in store.pins("old")] == ["a rule"]
    assert [one.content for one in store.buffer("old")] == ["an entry of the buffer"]
    assert list(store.decided("other")) == others
    assert {hit.session_id for hit in store.find("text")} == {"other"}
    assert store.integrity() == ()
    assert store.operations("old")[-1].kind == "sweep"
    assert [one.session_id for one in store.sweepable()] == ["other"]


def test_the_same_sweep_again_takes_nothing_and_a_sweep_is_no_use_of_a_session(store: Store):
    filled(store)
    (before,) = store.sweepable()
    store.sweep("old", SWEPT, at_ms=20_000 * DAY_MS)
    assert store.sweep("old", SWEPT, at_ms=20_001 * DAY_MS) == 0
    add(store, original("later", session="old"))
    (after,) = store.sweepable()
    assert (before.last_at_ms, after.last_at_ms) == (1, 1)


def test_a_sweep_that_ends_in_the_middle_is_continued(store: Store):
    before = filled(store)

    def stops(decision: Decision) -> Decision:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.sweep("old", stops, at_ms=1)
    assert store.integrity() == ()
    assert list(store.decided("old")) == before
    assert store.original(before[0].ref).entry.content == "text number 0 of old"
    store.sweep("old", SWEPT, at_ms=20_000 * DAY_MS)
    assert store.find("text") == ()
    assert store.integrity() == ()


def test_an_unknown_reference_in_a_swept_store_is_unknown(store: Store):
    filled(store)
    store.sweep("old", SWEPT, at_ms=20_000 * DAY_MS)
    with pytest.raises(RecallError) as raised:
        store.original("0" * 16)
    assert not isinstance(raised.value, GoneError)
