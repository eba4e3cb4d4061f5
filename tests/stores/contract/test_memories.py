"""Memories: every version by who may see it, written where they are still what they were."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import Opener, commit, memory, remember
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import InputError, StoreConflict
from undrift.stores.base import Context
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Unchanged, Viewer, content_digest
from undrift.values.memory import MemoryEntry, Slot
from undrift.values.scope import Scope

ME = Viewer("main", "s")


def change(store: Any, before: MemoryEntry, after: MemoryEntry | None, session: str = "s") -> int:
    return commit(store, session, "remember", at_ms=1, memories=[MemoryUpdate(before, after)])


def seen(store: Any, viewer: Viewer = ME) -> list[str]:
    return [one.id for one in store.memories.seen(viewer)]


def test_a_memory_comes_back_as_it_was_given(open_store: Opener, store: Any, home: Path):
    one = memory(
        "m", "a \x00 b \ud800 c\n", speaker="Ada", source="plan", trust="user", valid_from_ms=5, valid_to_ms=9, seq=3,
        slots=(Slot("bill", "database", "", "sqlite"),), metadata={"a": [1, None, "\ud800"]}, session_id="s", agent="main",
    )  # fmt: skip
    remember(store, one)
    store.close()
    with open_store(home) as again:
        found: Any = again
        assert found.memories.by_id(["m", "n"]) == {"m": one}
        assert found.memories.by_slot([("database", "bill")], ME) == [one]
        assert found.memories.by_slot([("database", "other")], ME) == []
        assert found.memories.by_relation(["database"], ME) == [one]
        assert found.memories.by_relation(["framework"], ME) == []
        assert found.memories.by_digest(content_digest("A \x00 b \ud800   C"), ME) == [one]
        assert found.integrity() == ()


def test_a_changed_memory_keeps_its_place_and_a_closed_one_is_out_of_sight(store: Any):
    one, two = memory("m1", "one", seq=1), memory("m2", "two", seq=2)
    remember(store, one)
    remember(store, two)
    change(store, one, replace(one, contradicted_by_entry_id="m2"))
    assert seen(store) == ["m1", "m2"]
    assert store.memories.by_id(["m1"])["m1"].is_contradicted
    change(store, two, None)
    assert seen(store) == ["m1"]
    assert store.memories.by_id(["m2"], ME) == {}
    assert store.memories.by_digest(content_digest("two"), ME) == []


def test_words_are_forgotten_if_a_forget_is_their_last_change(store: Any):
    one, two, digest = memory("m1", "words", seq=1), memory("m2", "Words", seq=2), content_digest("words")
    first = remember(store, one)
    assert not store.memories.is_forgotten(digest)
    forgot = commit(store, "s", "forget", at_ms=2, memories=[MemoryUpdate(one, None)])
    assert store.memories.is_forgotten(digest)
    assert not store.memories.is_forgotten(content_digest("others"))
    remember(store, two)
    assert not store.memories.is_forgotten(digest)
    store.rewind(Context(Scope("s"), 3), forgot, "rewind", payload={"to": forgot})
    assert store.memories.is_forgotten(digest)
    store.rewind(Context(Scope("s"), 4), first, "rewind", payload={"to": first})
    assert not store.memories.is_forgotten(digest)
    change(store, one, None)
    assert not store.memories.is_forgotten(digest)


def test_learned_memories_are_counted_by_the_beginning_of_their_source(store: Any):
    sources = ("session:a:1", "session:a:2", "session:b", "", "session:a:3")
    new = [
        memory(
            f"m{seq}",
            f'"learned": {seq}',
            seq=seq,
            source=source,
            metadata={"learned": {"by": "never"}} if seq < 4 else {},
        )
        for seq, source in enumerate(sources)
    ]
    lines = [MemoryLines([MemoryLine(one.id, one.content, source=one.source)]) for one in new]
    updates = [MemoryUpdate(None, one) for one in new]
    commit(store, "s", "remember", at_ms=1, memories=updates, lines=lines)
    assert [store.memories.count_learned(start) for start in ("session:", "session:a", "other")] == [3, 2, 0]
    change(store, new[0], None)
    assert store.memories.count_learned("session:") == 2


def test_the_past_is_read_by_operation(store: Any):
    one, two = memory("m", "one"), memory("m", "two")
    first = remember(store, one)
    second = change(store, one, two)
    third = change(store, two, None)
    for seq, there in ((0, []), (first, [one]), (second, [two]), (third, []), (None, [])):
        viewer = Viewer("main", "s", seq)
        assert store.memories.seen(viewer) == there
        assert list(store.memories.by_id(["m"], viewer).values()) == there


def test_memories_that_record_conflicts_are_found_now_and_then(store: Any):
    open_one = {"conflicts": [{"with": "m0", "reason": "trust"}]}
    remember(store, memory("m0", 'a text about "conflicts"'))
    mine = memory("m1", metadata=open_one, seq=2)
    private = memory("m2", "\ud800", metadata=open_one, scope="agent", agent="other", seq=1)
    first = remember(store, mine, private)
    second = change(store, mine, replace(mine, metadata={}))
    assert store.memories.disputing(ME) == []
    assert store.memories.disputing(Viewer("other", "s")) == [private]
    assert store.memories.disputing(Viewer("other", "s", first)) == [private, mine]
    assert store.memories.disputing(Viewer("main", "s", second)) == []


def test_a_closed_memory_can_be_made_again(store: Any):
    one = memory("m", "one")
    remember(store, one)
    change(store, one, None)
    remember(store, one)
    assert store.memories.seen(ME) == [one]


def test_who_sees_what(store: Any):
    given = [
        memory("project"),
        memory("agent", scope="agent", agent="main", seq=1),
        memory("other agent", scope="agent", agent="other", seq=2),
        memory("session", scope="session", session_id="s", seq=3),
        memory("other session", scope="session", session_id="t", seq=4),
    ]
    remember(store, *given)
    assert seen(store) == ["project", "agent", "session"]
    assert seen(store, Viewer("other", "t")) == ["project", "other agent", "other session"]
    assert seen(store, Viewer("", "")) == ["project"]
    every = [one.id for one in given]
    assert len(store.memories.by_digest(content_digest("words"), ME)) == 3
    assert set(store.memories.by_id(every, ME)) == {"project", "agent", "session"}
    assert set(store.memories.by_id(every)) == set(every)


def test_what_was_changed_meanwhile_is_a_conflict_and_what_is_written_already_is_not(
    open_store: Opener, store: Any, home: Path
):
    one, two, three = memory("m", "one"), memory("m", "two"), memory("m", "three")
    remember(store, one)
    with open_store(home) as other:
        change(other, one, two, "t")
    with pytest.raises(StoreConflict, match="changed meanwhile"):
        change(store, one, three)
    with pytest.raises(StoreConflict, match="changed meanwhile"):
        remember(store, memory("n"), three)
    change(store, one, two)
    change(store, two, None)
    change(store, two, None)
    assert store.memories.by_id(["m", "n"]) == {}
    assert len(store.operations("s")) == 4  # the refused ones left no trace


def test_what_a_memory_rests_on_must_not_change_before_it_is_written(open_store: Opener, store: Any, home: Path):
    slot = Slot("bill", "database", "", "sqlite")
    mine, same, alike = (
        memory("mine", "it is SQLite", slots=(slot,)),
        memory("same", "IT is  sqlite"),
        memory("alike", "other words", slots=(replace(slot, value="mysql"),)),
    )
    rests_on = Unchanged(content_digest(mine.content), ["mine"], [("database", "bill")], ["mine"], ME)
    for theirs in (same, alike):
        with open_store(home) as other:
            remember(other, theirs, session="t")
        with pytest.raises(StoreConflict):
            commit(store, "s", "remember", at_ms=1, memories=[MemoryUpdate(None, mine)], unless=[rests_on])
        assert store.operations("s") == ()
        change(store, theirs, None, "t")
    commit(store, "s", "remember", at_ms=1, memories=[MemoryUpdate(None, mine)], unless=[rests_on])
    assert seen(store) == ["mine"]


def test_a_commit_is_checked_before_it_is_written(store: Any):
    one = memory("m")
    for updates in (
        [MemoryUpdate(None, one), MemoryUpdate(None, one)],
        [MemoryUpdate(one, memory("n"))],
        [MemoryUpdate(None, None)],
        [MemoryUpdate(None, replace(one, metadata={"a": object()}))],
    ):
        with pytest.raises(InputError):
            commit(store, "s", "remember", at_ms=1, memories=updates)
    assert store.operations("s") == ()


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_names_are_only_names(store: Any, hostile: str):
    mine = memory(
        f"m{hostile}",
        f"is {hostile}",
        scope="session",
        session_id=hostile,
        agent=hostile,
        slots=(Slot(hostile, "r", "", hostile),),
    )
    remember(store, mine, memory("other", scope="session", session_id="other"), session=hostile)
    viewer = Viewer(hostile, hostile)
    assert store.memories.seen(viewer) == [mine]
    assert store.memories.by_slot([("r", hostile)], viewer) == [mine]
    assert store.memories.by_id([f"m{hostile}"], viewer) == {f"m{hostile}": mine}
    assert store.memories.by_digest(content_digest(mine.content), viewer) == [mine]


def test_ratings_come_newest_first(store: Any):
    for returned, useful in ((5, 1), (0, 0), (3, 2)):
        commit(store, "s", "rate_search", at_ms=1, payload={"returned": returned, "useful": useful})
    assert store.ratings(9) == [(3, 2), (5, 1)]
    assert store.ratings(1) == [(3, 2)]
