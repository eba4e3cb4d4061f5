"""Going back closes rows and opens others, deletes none, and touches nothing of another session."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.builders import commit, database, original, prune, raw, written_at_first
from undrift.errors import StoreError
from undrift.stores import timeline
from undrift.stores.base import Context
from undrift.stores.memories import seen
from undrift.stores.memory_values import MemoryUpdate, Viewer
from undrift.stores.migrations import MIGRATIONS, migrate
from undrift.stores.sqlite import SqliteStore
from undrift.stores.timeline import Stretch, stretches
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope
from undrift.values.window import Tag, Task, TaskUpdate


def rewind(store: SqliteStore, to: int, session: str = "s", kind: str = "rewind") -> int:
    seq, *_ = store.rewind(Context(Scope(session), 1), to, kind, payload={"to": to})
    return seq


def remember(store: SqliteStore, *updates: MemoryUpdate, session: str = "s") -> int:
    return commit(store, session, "remember", at_ms=1, memories=updates)


def memory(name: str, content: str = "words", **fields: Any) -> MemoryEntry:
    return MemoryEntry(name, content, **fields)


def contents(store: SqliteStore, session: str = "s", seq: int | None = None) -> list[str]:
    with store._database.using() as connection:
        return [entry.content for entry in seen(connection, Viewer("main", session, seq))]


def count(store: SqliteStore, table: str) -> Any:
    with store._database.using() as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]


def fill(store: SqliteStore) -> list[int]:
    """Write a bit of everything."""
    kept, pin = original("e"), original("p", source="pin")
    before = Task("a", "do a")
    return [
        commit(store, "s", "pin", at_ms=1, originals=[pin]),
        commit(store, "s", "task", at_ms=2, tasks=[TaskUpdate(None, before)], tags=[Tag("c1", "a", 0)]),
        commit(store, "s", "turn", at_ms=3, originals=[kept], decisions=[prune(kept)]),
        commit(store, "s", "task", at_ms=4, tasks=[TaskUpdate(before, Task("a", "do a better"))]),
        remember(store, MemoryUpdate(None, memory("m"))),
    ]


def test_everything_is_as_right_after_each_operation(home: Path):
    with SqliteStore.open(home) as store:
        seqs = fill(store)
        states = {seq: store.state("s", seq) for seq in (0, *seqs)}
        assert states[seqs[-1]] == store.state("s", None)
        for to in (0, *reversed(seqs), 0, *seqs):
            rewind(store, to)
            assert store.state("s", None) == states[to]
        assert {seq: store.state("s", seq) for seq in (0, *seqs)} == states
        assert store.integrity() == ()


def test_nothing_is_deleted_and_an_archived_original_is_no_state(home: Path):
    with SqliteStore.open(home) as store:
        fill(store)
        counts = {table: count(store, table) for table in ("originals", "decisions", "tasks", "tags", "memories")}
        rewind(store, 0)
        assert {table: count(store, table) for table in counts} == counts
        assert store.original(original("e").ref) == original("e")
        assert [hit.entry_id for hit in store.find("text")] == ["e"]
        assert (store.pins("s"), store.decided("s"), store.tasks("s").by_id) == ((), (), {})


def test_what_was_made_again_after_going_back_stays_when_going_back_further(home: Path):
    pin = original("p", source="pin")
    with SqliteStore.open(home) as store:
        first = commit(store, "s", "pin", at_ms=1, originals=[pin])
        rewind(store, 0)
        between = store.next_memory_seq() - 1
        again = commit(store, "s", "pin", at_ms=1, originals=[pin])
        for to, there in ((between, 0), (again, 1), (0, 0), (first, 1), (between, 0)):
            rewind(store, to)
            assert len(store.pins("s")) == there


def test_another_sessions_records_stay(home: Path):
    with SqliteStore.open(home) as store:
        fill(store)
        theirs = original("q", session="t", source="pin")
        commit(store, "t", "pin", at_ms=1, originals=[theirs])
        remember(store, MemoryUpdate(None, memory("n", "theirs", seq=9)), session="t")
        rewind(store, 0)
        assert store.pins("t") == (theirs,)
        assert contents(store) == ["theirs"]


def test_a_version_that_another_session_took_the_place_of_comes_back_with_its_own_rewinding(home: Path):
    one, two, three = (memory("m", text) for text in ("one", "two", "three"))
    with SqliteStore.open(home) as store:
        remember(store, MemoryUpdate(None, one))
        before = commit(store, "t", "checkpoint", at_ms=1)
        remember(store, MemoryUpdate(one, two), session="t")
        rewind(store, before, "t")
        assert contents(store) == ["one"]
        rewind(store, before + 1, "t")
        assert contents(store) == ["two"]
        remember(store, MemoryUpdate(two, three))
        rewind(store, before, "t")  # the newest that counts is of the first session
        assert contents(store) == ["three"]
        rewind(store, before)
        assert contents(store) == ["one"]
        assert contents(store, seq=before + 1) == ["two"]


def test_what_another_session_wrote_over_is_not_opened_twice(home: Path):
    one, two, three = (memory("m", text) for text in ("one", "two", "three"))
    with SqliteStore.open(home) as store:
        first = remember(store, MemoryUpdate(None, one))
        remember(store, MemoryUpdate(one, two))
        remember(store, MemoryUpdate(two, three), session="t")
        rewind(store, first)
        assert contents(store) == ["three"]
        rewind(store, 0)
        assert contents(store) == ["three"]
        rewind(store, 0, "t")
        assert contents(store) == []


def test_a_memory_that_another_session_took_out_of_sight_stays_out(home: Path):
    one, two = memory("m", "one"), memory("m", "two")
    with SqliteStore.open(home) as store:
        first = remember(store, MemoryUpdate(None, one))
        remember(store, MemoryUpdate(one, two))
        remember(store, MemoryUpdate(two, None), session="t")
        rewind(store, first)
        assert contents(store) == []
        rewind(store, 0, "t")
        assert contents(store) == ["one"]


@pytest.mark.parametrize("name", ["\x00", "a\nb", "\ud800", "x" * 100_000, "'; DROP TABLE tasks; --"])
def test_names_may_hold_anything(home: Path, name: str):
    with SqliteStore.open(home) as store:
        commit(store, name, "task", at_ms=1, tasks=[TaskUpdate(None, Task(name, "do"))], tags=[Tag(name, name, 0)])
        assert list(store.state(name, None)["tasks"]) == [name]
        rewind(store, 0, name)
        assert store.state(name, None)["tasks"] == {}
        assert list(store.state(name, 1)["tags"]) == [name]


def test_a_buffer_entry_that_comes_back_is_searched_no_more(home: Path):
    kept = original("e", "the quick fox", source="buffer")
    with SqliteStore.open(home) as store:
        first = commit(store, "s", "add", at_ms=1, originals=[kept])
        commit(store, "s", "prune", at_ms=1, decisions=[prune(kept)])
        assert store.find("fox")
        rewind(store, first)
        assert not store.find("fox")
        assert store.buffer("s") == (replace(kept.entry, seq=1),)


def test_a_process_that_does_not_know_of_a_rewinding_is_refused(home: Path):
    with SqliteStore.open(home) as store:
        known = commit(store, "s", "checkpoint", at_ms=1)
        rewind(store, 0)
        with pytest.raises(StoreError, match="was rewound"):
            commit(store, "s", "checkpoint", at_ms=1, based_on=known)
        commit(store, "t", "checkpoint", at_ms=1, based_on=known)


@given(st.lists(st.integers(0, 1), max_size=30), st.data())
def test_the_stretches_are_the_operations_that_count(kinds: list[int], data: st.DataObject):
    counted: dict[int, tuple[int, ...]] = {0: (0,)}
    moves = []
    for seq, is_move in enumerate(kinds, start=1):
        if is_move:
            to = data.draw(st.integers(0, seq - 1))
            moves.append((seq, to))
            counted[seq] = (*counted[to], seq)
        else:
            counted[seq] = (*counted[seq - 1], seq)
    for seq, expected in counted.items():
        found = stretches([move for move in moves if move[0] <= seq], seq)
        assert tuple(one for stretch in found for one in range(stretch.first, stretch.last + 1)) == expected


def test_many_rewindings_in_a_row_are_no_deep_recursion():
    moves = [(2 * n, 2 * n - 1) for n in range(1, 5_000)]
    assert stretches(moves, 10_000)[0] == Stretch(0, 1)


@pytest.mark.parametrize("version", [5, 6])
def test_an_older_file_can_be_taken_back_too(home: Path, version: int):
    home.mkdir(mode=0o700)
    connection = apsw.Connection(str(database(home)))
    migrate(connection, MIGRATIONS[:version])
    kept = original("e")
    written_at_first(connection, kept)
    with SqliteStore.open(home) as store:
        seq = remember(store, MemoryUpdate(None, memory("m")))
        rewind(store, 1)
        assert contents(store) == []
        rewind(store, seq)
        assert contents(store) == ["words"]
        assert store.original(kept.ref) == kept
        assert store.integrity() == ()
    assert (home / f"undrift.db.of-version-{version}").exists()
    again = raw(home)
    assert again.pragma("user_version") == len(MIGRATIONS)
    again.close()


def test_the_newest_rewinding_and_the_newest_operation(home: Path):
    with SqliteStore.open(home) as store:
        commit(store, "s", "checkpoint", at_ms=1)
        with store._database.using() as connection:
            assert (timeline.newest(connection), timeline.last(connection, "s", 99)) == (0, 1)
        seq = rewind(store, 0, "t")
        with store._database.using() as connection:
            assert (timeline.newest(connection), timeline.last(connection, "s", 99)) == (seq, 1)
