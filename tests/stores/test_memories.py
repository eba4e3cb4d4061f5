"""Each version of a memory stays; who may see one is asked of every reading; what somebody else changed is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import commit, raw
from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import memories
from undrift.stores.memories import MemoryUpdate, Viewer, content_digest
from undrift.stores.sqlite import SqliteStore
from undrift.values.memory import MemoryEntry, Slot

ME = Viewer("main", "s")


def memory(name: str, content: str = "words", **fields: Any) -> MemoryEntry:
    return MemoryEntry(name, content, **fields)


def put(store: SqliteStore, *new: MemoryEntry, session: str = "s") -> int:
    return commit(store, session, "remember", at_ms=1, memories=[MemoryUpdate(None, one) for one in new])


def change(store: SqliteStore, before: MemoryEntry, after: MemoryEntry | None, session: str = "s") -> int:
    return commit(store, session, "remember", at_ms=1, memories=[MemoryUpdate(before, after)])


def names(store: SqliteStore, viewer: Viewer) -> list[str]:
    with store._database.using() as connection:
        return [entry.id for entry in memories.seen(connection, viewer)]


def test_a_memory_comes_back_as_it_was_given(home: Path):
    one = memory(
        "m", "a \x00 b \ud800 c\n", speaker="Ada", source="plan", trust="user", valid_from_ms=5, valid_to_ms=9, seq=3,
        slots=(Slot("bill", "database", "", "sqlite"),), metadata={"a": [1, None, "\ud800"]}, session_id="s", agent="main",
    )  # fmt: skip
    with SqliteStore.open(home) as store:
        put(store, one)
    with SqliteStore.open(home) as store, store._database.using() as connection:
        assert memories.by_id(connection, ["m"]) == {"m": one}
        assert memories.by_slot(connection, [("database", "bill")], ME) == [one]
        assert memories.by_slot(connection, [("database", "other")], ME) == []
        assert memories.by_digest(connection, content_digest("A \x00 b \ud800   C"), ME) == [one]


def test_every_version_stays_and_the_past_is_read_by_operation(home: Path):
    one, two = memory("m", "one"), memory("m", "two")
    with SqliteStore.open(home) as store:
        first = put(store, one)
        second = change(store, one, two)
        third = change(store, two, None)
        with store._database.using() as connection:
            assert memories.history(connection, "m") == [one, two]
            assert memories.seen(connection, ME) == memories.every(connection) == []
            assert memories.ever(connection) == [two]
            for seq, there in ((0, []), (first, [one]), (second, [two]), (third, [])):
                assert memories.seen(connection, Viewer("main", "s", seq)) == there
                assert list(memories.by_id(connection, ["m"], Viewer("main", "s", seq)).values()) == there
                assert memories.visible(connection, ["m", "n"], Viewer("main", "s", seq)) == {e.id for e in there}


def test_who_sees_what(home: Path):
    given = [
        memory("project"),
        memory("agent", scope="agent", agent="main", seq=1),
        memory("other agent", scope="agent", agent="other", seq=2),
        memory("session", scope="session", session_id="s", seq=3),
        memory("other session", scope="session", session_id="t", seq=4),
    ]
    with SqliteStore.open(home) as store:
        put(store, *given)
        assert names(store, ME) == ["project", "agent", "session"]
        assert names(store, Viewer("other", "t")) == ["project", "other agent", "other session"]
        assert names(store, Viewer("", "")) == ["project"]
        with store._database.using() as connection:
            every = [one.id for one in given]
            assert memories.visible(connection, every, ME) == {"project", "agent", "session"}
            assert len(memories.by_digest(connection, content_digest("words"), ME)) == 3
            assert set(memories.by_id(connection, every, ME)) == {"project", "agent", "session"}
            assert set(memories.by_id(connection, every)) == set(every)


def test_a_changed_memory_keeps_its_place(home: Path):
    one, two = memory("m1", seq=1), memory("m2", seq=2)
    with SqliteStore.open(home) as store:
        put(store, one)
        put(store, two)
        change(store, one, replace(one, contradicted_by_entry_id="m2"))
        assert names(store, ME) == ["m1", "m2"]
        with store._database.using() as connection:
            assert [entry.id for entry in memories.ever(connection)] == ["m1", "m2"]


def test_what_was_changed_meanwhile_is_refused_and_what_is_written_already_is_not(home: Path):
    one, two, three = memory("m", "one"), memory("m", "two"), memory("m", "three")
    with SqliteStore.open(home) as store, SqliteStore.open(home) as other:
        put(store, one)
        change(other, one, two, "t")
        with pytest.raises(StoreError, match="changed meanwhile"):
            change(store, one, three)
        with pytest.raises(StoreError, match="changed meanwhile"):
            put(store, three)
        change(store, one, two)
        change(store, two, None)
        change(store, two, None)
        with store._database.using() as connection:
            assert memories.history(connection, "m") == [one, two]
        assert len(store.operations("s")) == 4  # the refused ones left no trace


def test_a_commit_is_checked_before_it_is_written(home: Path):
    one = memory("m")
    wrong = [
        [MemoryUpdate(None, one), MemoryUpdate(None, one)],
        [MemoryUpdate(one, memory("n"))],
        [MemoryUpdate(None, None)],
        [MemoryUpdate(None, replace(one, metadata={"a": object()}))],
    ]
    with SqliteStore.open(home) as store:
        for updates in wrong:
            with pytest.raises(InputError):
                commit(store, "s", "remember", at_ms=1, memories=updates)
        assert store.operations("s") == ()


def test_a_flipped_record_is_told(home: Path):
    with SqliteStore.open(home) as store:
        put(store, memory("m", "PostgreSQL"))
    connection = raw(home)
    connection.execute("UPDATE memories SET record = replace(record, 'PostgreSQL', 'MySQL')")
    connection.close()
    with SqliteStore.open(home) as store:
        with pytest.raises(StoreCorrupt), store._database.using() as connection:
            memories.seen(connection, ME)
        assert store.integrity()


def test_many_ids_at_once(home: Path):
    with SqliteStore.open(home) as store:
        put(store, *(memory(f"m{number}", f"words {number}", seq=number) for number in range(3_000)))
        with store._database.using() as connection:
            assert len(memories.by_id(connection, [f"m{number}" for number in range(3_000)], ME)) == 3_000
            assert json.dumps(sorted(memories.by_id(connection, ["\ud800", "m1", "\x00"], ME))) == '["m1"]'
