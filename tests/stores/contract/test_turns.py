"""A turn: originals byte for byte, decisions made once, buffers and pins."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stores.builders import Opener, add, commit, entry, original, prune
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import InputError, RecallError, StoreError
from undrift.stores.contract import Store
from undrift.values.window import Decision, MaskedSpan, Original


def test_an_original_comes_back_as_it_was_given(store: Store):
    given = Original(
        "0123456789abcdef",
        "s",
        "window",
        entry(
            "e",
            "one\r\ntwo",
            type="reasoning",
            token_count=7,
            timestamp=8,
            seq=9,
            metadata={"role": "user", "n": [1, None]},
        ),
        (MaskedSpan("api-key", 3, 40),),
    )
    add(store, given)
    assert store.original(given.ref) == given
    assert store.by_entry("s", "e") == given


@pytest.mark.parametrize(
    "content", ["", "a\0b", "\ud800 alone", "\ud83d\ude00", "😀é", "x" * 300_000, "\r\n\t\x1b[0m", "\ufeff"]
)
def test_content_comes_back_byte_for_byte(store: Store, content: str):
    add(store, original("e", content))
    assert store.original(original("e").ref).entry.content == content


def test_reopening_gives_the_same_answers(open_store: Opener, store: Store, home: Path):
    kept, left, pin = (
        original("a", source="buffer", timestamp=5),
        original("b", "the quick fox"),
        original("p", source="pin"),
    )
    add(store, kept, pin)
    commit(
        store,
        "s",
        "prune",
        at_ms=2,
        originals=[left],
        decisions=[prune(left, detail={"k": [1, "é"]})],
        payload={"tokens": 3},
    )

    def answers(of: Store) -> tuple[object, ...]:
        return (
            of.buffer("s"), of.pins("s"), of.decisions("s"), of.decision(left.ref), of.original(left.ref), of.sessions(),
            of.operations("s"), of.find("fox"), of.last_seq("s"),
        )  # fmt: skip

    before = answers(store)
    store.close()
    with open_store(home) as again:
        assert answers(again) == before
        again.rebuild_search()
        while again.pack(100):
            pass
        assert answers(again) == before
        assert again.integrity() == ()


def test_the_same_original_again_is_a_no_op(store: Store):
    first = original("e", "content", source="buffer", timestamp=4)
    add(store, first)
    add(store, replace(first, entry=replace(first.entry, token_count=99)))
    add(store, first, first)
    assert store.original(first.ref) == first
    assert len(store.buffer("s")) == 1


@pytest.mark.parametrize(
    "other",
    [
        original("e", "other content"),
        original("e", "text", source="pin"),
        Original(original("e").ref, "s", "window", entry("f")),
    ],
)
def test_another_original_under_the_same_reference_is_refused(store: Store, other: Original):
    add(store, original("e"))
    with pytest.raises(StoreError, match=other.ref):
        commit(store, "s", "add", at_ms=1, originals=[original("new"), other])
    with pytest.raises(RecallError):
        store.original(original("new").ref)
    assert store.original(original("e").ref) == original("e")
    assert len(store.operations("s")) == 1


def test_a_reference_of_another_session_is_refused(store: Store):
    add(store, original("e"))
    stolen = Original(original("e").ref, "t", "window", entry("e"))
    with pytest.raises(StoreError, match=stolen.ref):
        add(store, stolen)


def test_two_contents_under_one_reference_in_one_commit_are_refused(store: Store):
    with pytest.raises(StoreError, match="another original"):
        add(store, original("e", "one"), original("e", "two"))
    assert store.sessions() == ()


def test_a_buffer_holds_an_entry_id_once(store: Store):
    add(store, original("e", source="buffer"))
    with pytest.raises(StoreError):
        add(store, Original("f" * 16, "s", "buffer", entry("e")))
    assert [kept.id for kept in store.buffer("s")] == ["e"]


def test_the_same_decision_again_is_a_no_op(store: Store):
    one = original("e")
    decision = prune(one, detail={"b": 1, "a": [2]})
    commit(store, "s", "prune", at_ms=1, originals=[one], decisions=[decision])
    commit(store, "s", "prune", at_ms=2, originals=[one], decisions=[replace(decision, detail={"a": (2,), "b": 1})])
    assert store.decisions("s") == {"e": decision}


@pytest.mark.parametrize(
    "change", [{"kind": "cut"}, {"reason": "other"}, {"tokens_saved": 2}, {"ref": ""}, {"detail": {"a": 1}}]
)
def test_another_decision_about_the_same_entry_is_refused(store: Store, change: dict[str, object]):
    one, two = original("e"), original("f")
    add(store, one, prune_them=True)
    with pytest.raises(StoreError, match="'e'"):
        commit(store, "s", "prune", at_ms=2, originals=[two], decisions=[prune(two), prune(one, **change)])
    assert store.decisions("s") == {"e": prune(one)}
    assert store.find("text") == store.find("text", session_id="s")
    assert len(store.find("text")) == 1


def test_two_decisions_about_one_entry_in_one_commit_are_refused(store: Store):
    one = original("e")
    with pytest.raises(StoreError, match="another decision"):
        commit(store, "s", "prune", at_ms=1, originals=[one], decisions=[prune(one), prune(one, reason="other")])
    assert store.sessions() == ()


@pytest.mark.parametrize("ref", ["f" * 16, original("e", session="t").ref])
def test_a_decision_needs_an_original_of_its_session(store: Store, ref: str):
    add(store, original("e", session="t"))
    with pytest.raises(StoreError, match="no original"):
        commit(store, "s", "prune", at_ms=1, decisions=[Decision("e", "pruned", "why", 1, ref)])
    assert store.decisions("s") == {}
    assert store.operations("s") == ()


def test_decisions_come_in_the_order_they_were_made(store: Store):
    for name in ("z", "a", "m"):
        add(store, original(name), prune_them=True)
    assert list(store.decisions("s")) == ["z", "a", "m"]
    assert store.decisions("other") == {}


def test_a_decision_is_found_by_its_reference(store: Store):
    pin = original("p", source="pin")
    places = [Decision(f"{place}:{pin.ref}", "pinned", "why", -1, pin.ref) for place in (1, 2)]
    for place in places:
        commit(store, "s", "place", at_ms=1, originals=[pin], decisions=[place])
    assert store.decision(pin.ref) == places[1]
    assert store.decision("unknown") is None


def test_a_buffer_keeps_its_order_and_loses_only_what_was_pruned(store: Store):
    names = ["c", "a", "d", "b"]
    entries = [original(name, source="buffer", timestamp=9 - i) for i, name in enumerate(names)]
    add(store, *entries[:2])
    add(store, *entries[2:])
    commit(store, "s", "x", at_ms=1, decisions=[prune(entries[1]), prune(entries[2], kind="cut")])
    buffer = store.buffer("s")
    assert [kept.id for kept in buffer] == ["c", "d", "b"]
    assert [kept.seq for kept in buffer] == sorted({kept.seq for kept in buffer})
    assert buffer[0] == replace(entries[0].entry, seq=buffer[0].seq)
    assert store.original(entries[1].ref) == entries[1]


def test_the_numbers_of_a_buffer_stay_when_entries_leave(store: Store):
    entries = [original(name, source="buffer") for name in "abc"]
    add(store, *entries)
    before = {kept.id: kept.seq for kept in store.buffer("s")}
    commit(store, "s", "x", at_ms=1, decisions=[prune(entries[2])])
    add(store, original("d", source="buffer"))
    after = {kept.id: kept.seq for kept in store.buffer("s")}
    assert after["a"] == before["a"]
    assert after["d"] > before["c"]


def test_a_decision_about_a_window_leaves_a_buffer_entry_of_the_same_id_alone(store: Store):
    window = Original("1" * 16, "s", "window", entry("e", "of the window"))
    buffered = Original("2" * 16, "s", "buffer", entry("e", "of the buffer"))
    add(store, window, buffered)
    commit(store, "s", "prune", at_ms=1, decisions=[prune(window)])
    assert [kept.content for kept in store.buffer("s")] == ["of the buffer"]


def test_pins_and_windows_are_not_in_the_buffer(store: Store):
    pins = [original(name, source="pin", type="spec") for name in "ba"]
    add(store, *pins, original("w"), original("e", source="buffer"))
    assert store.pins("s") == tuple(pins)
    assert [kept.id for kept in store.buffer("s")] == ["e"]
    assert store.pins("other") == ()


def test_the_newest_original_of_an_entry_is_given(store: Store):
    first, second = Original("1" * 16, "s", "pin", entry("e", "one")), Original("2" * 16, "s", "pin", entry("e", "two"))
    add(store, first)
    add(store, second)
    assert store.by_entry("s", "e") == second
    assert store.original(first.ref) == first


def test_what_is_unknown_is_a_recall_error(store: Store):
    add(store, original("e"))
    for ref in ("", "unknown", "\0", "\ud800", "x" * 100_000):
        with pytest.raises(RecallError, match="no original"):
            store.original(ref)
    with pytest.raises(RecallError, match="no original"):
        store.by_entry("t", "e")


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_ids_are_only_names(store: Store, hostile: str):
    mine = Original(hostile, hostile, "buffer", entry(hostile, f"word {hostile}", metadata={hostile: hostile}))
    commit(
        store,
        hostile,
        hostile,
        at_ms=1,
        originals=[mine],
        decisions=[prune(mine, reason=hostile)],
        payload={"k": hostile},
    )
    assert store.original(hostile) == mine
    assert store.by_entry(hostile, hostile) == mine
    assert store.decisions(hostile) == {hostile: prune(mine, reason=hostile)}
    assert store.decision(hostile) == prune(mine, reason=hostile)
    assert store.operations(hostile)[0].kind == hostile
    assert store.sessions()[0].session_id == hostile
    assert [(hit.ref, hit.session_id, hit.entry_id) for hit in store.find("word", session_id=hostile)] == [
        (hostile,) * 3
    ]
    assert store.integrity() == ()


def test_entries_that_cannot_be_stored_are_the_callers_mistake(store: Store):
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for bad in ({"metadata": {"x": {1, 2}}}, {"timestamp": 2**64}, {"metadata": {"x": deep}}):
        with pytest.raises(InputError, match="'e'"):
            add(store, original("e", **bad))
    with pytest.raises(InputError, match="detail"):
        commit(store, "s", "x", at_ms=1, decisions=[Decision("e", "pruned", "why", 1, "", {"x": b""})])
    with pytest.raises(InputError, match="session"):
        commit(store, "s", "x", at_ms=1, originals=[original("e", session="t")])
    with pytest.raises(InputError, match="empty"):
        commit(store, "", "x", at_ms=1)
    with pytest.raises(InputError, match="empty"):
        store.add_marks("", [])
    assert store.sessions() == ()


def test_an_original_without_a_word_stops_no_search(store: Store):
    add(store, original("dashes", "---"), original("empty", ""), original("f", "word"), prune_them=True)
    assert [hit.entry_id for hit in store.find("word")] == ["f"]
    assert store.find("---") == ()


def test_an_entry_of_a_buffer_is_found_from_the_decision_on_that_removes_it(store: Store):
    held = original("held", "needle in a buffer", source="buffer")
    add(store, held, original("other", "another needle"))
    assert [hit.entry_id for hit in store.find("needle")] == ["other"]
    commit(store, "s", "prune", at_ms=2, decisions=[prune(held)])
    assert {hit.entry_id for hit in store.find("needle")} == {"held", "other"}
