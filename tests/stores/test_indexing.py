"""The index of words in a large home: it is filled in steps, and one that was stopped leaves no answer out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tests.stores.builders import add, commit, original, prune, raw
from undrift.stores import indexing, search
from undrift.stores.base import Context
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope

LEFT = 150


@pytest.fixture
def large(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that counts as large, with an index that is not there yet, as after the update of its layout."""
    monkeypatch.setattr(indexing, "_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(search, "_STEP_BYTES", 500)
    with SqliteStore.open(home) as store:
        add(store, *(original(f"e{number}", f"needle number {number}") for number in range(LEFT)))
        add(store, *(original(f"b{number}", "needle", source="buffer") for number in range(3)))
    connection = raw(home)
    connection.execute("DROP TABLE search")
    connection.close()
    return home


def rewind(store: SqliteStore, to: int) -> None:
    store.rewind(Context(Scope("s"), 9), to, "rewind", payload={"to": to})


def found(store: SqliteStore, word: str = "needle") -> list[str]:
    return sorted(hit.entry_id for hit in store.find(word, limit=2 * LEFT))


def test_the_opening_does_not_fill_it_and_the_first_search_does(large: Path):
    with SqliteStore.open(large) as store:
        with store._database.using() as connection:
            assert search.is_behind(connection)
        assert store.integrity() == (), "nothing is damaged"
        assert len(found(store)) == LEFT
        assert store.integrity() == ()
    connection = raw(large)
    assert not search.is_behind(connection)
    connection.close()


def test_what_leaves_meanwhile_is_indexed_once(large: Path):
    with SqliteStore.open(large) as store:
        add(store, original("new", "needle"))
        commit(store, "s", "prune", at_ms=1, decisions=[prune(original("b1", source="buffer"))])
        assert len(found(store)) == LEFT + 2
        assert store.integrity() == ()


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_whoever_is_stopped_in_the_middle_is_followed_by_the_next(large: Path, steps: int):
    with SqliteStore.open(large) as store:
        left = [steps]

        @contextmanager
        def use() -> Iterator[apsw.Connection]:
            left[0] -= 1
            with store._database.using() as connection:
                yield connection
                if not left[0]:
                    raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            indexing.catch_up(use)
    with SqliteStore.open(large) as store:
        assert len(found(store)) == LEFT
        assert store.integrity() == ()


def test_a_damaged_index_of_a_large_home_does_not_keep_a_write_waiting(large: Path):
    with SqliteStore.open(large) as store:
        assert len(found(store)) == LEFT
    connection = raw(large)
    connection.execute("DROP TABLE search_config")
    connection.close()
    with SqliteStore.open(large) as store:
        add(store, original("new", "needle"))
        with store._database.using() as connection:
            assert search.is_behind(connection)
        assert len(found(store)) == LEFT + 1
        assert store.integrity() == ()


def test_a_rewinding_lets_the_index_follow_the_buffer(home: Path):
    with SqliteStore.open(home) as store:
        add(store, original("b", "needle", source="buffer"))
        seq = store.last_seq("s")
        commit(store, "s", "prune", at_ms=1, decisions=[prune(original("b", source="buffer"))])
        assert found(store) == ["b"]
        rewind(store, seq)
        assert found(store) == []
        assert store.integrity() == ()
        rewind(store, seq + 1)
        assert found(store) == ["b"]
        assert store.integrity() == ()
