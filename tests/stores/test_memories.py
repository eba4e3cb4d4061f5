"""Memories in the file: each version a row, damage noticed, many ids at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stores.builders import commit, memory, raw, remember
from undrift.errors import StoreCorrupt
from undrift.stores import memories
from undrift.stores.memory_values import MemoryUpdate, Viewer
from undrift.stores.sqlite import SqliteStore
from undrift.values.memory import MemoryEntry

ME = Viewer("main", "s")


def change(store: SqliteStore, before: MemoryEntry, after: MemoryEntry | None, session: str = "s") -> int:
    return commit(store, session, "remember", at_ms=1, memories=[MemoryUpdate(before, after)])


def test_every_version_stays_and_the_past_is_read_by_operation(home: Path):
    one, two = memory("m", "one"), memory("m", "two")
    with SqliteStore.open(home) as store:
        first = remember(store, one)
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


def test_a_changed_memory_keeps_its_place(home: Path):
    one, two = memory("m1", seq=1), memory("m2", seq=2)
    with SqliteStore.open(home) as store:
        remember(store, one)
        remember(store, two)
        change(store, one, replace(one, contradicted_by_entry_id="m2"))
        with store._database.using() as connection:
            assert [entry.id for entry in memories.ever(connection)] == ["m1", "m2"]


def test_a_flipped_record_is_told(home: Path):
    with SqliteStore.open(home) as store:
        remember(store, memory("m", "PostgreSQL"))
    connection = raw(home)
    connection.execute("UPDATE memories SET record = replace(record, 'PostgreSQL', 'MySQL')")
    connection.close()
    with SqliteStore.open(home) as store:
        with pytest.raises(StoreCorrupt), store._database.using() as connection:
            memories.seen(connection, ME)
        assert store.integrity()


def test_many_ids_at_once(home: Path):
    with SqliteStore.open(home) as store:
        remember(store, *(memory(f"m{number}", f"words {number}", seq=number) for number in range(3_000)))
        with store._database.using() as connection:
            assert len(memories.by_id(connection, [f"m{number}" for number in range(3_000)], ME)) == 3_000
            assert list(memories.by_id(connection, ["\ud800", "m1", "\x00"], ME)) == ["m1"]
