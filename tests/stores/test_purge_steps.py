"""A purge of much goes in short steps; if it is stopped, the store is whole, and the same purge again ends it."""

from pathlib import Path

import apsw
import pytest

from tests.stores.builders import add, commit, database, memory, original, prune
from undrift.stores import purge_steps, search
from undrift.stores.base import Aim, Destroyed
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate
from undrift.stores.sqlite import SqliteStore
from undrift.values.window import Decision, Tag, Task, TaskUpdate

CANARY = "zqx9canary7qxz"
LONG = " ".join(f"word{number} {CANARY}{number % 7}" for number in range(600))
AVERAGES = "SELECT block FROM search_data WHERE id = 1"


def blank(decision: Decision) -> Decision:
    return Decision(decision.entry_id, decision.kind, "purged", decision.tokens_saved, "", {})


def purge(store: SqliteStore, aim: Aim) -> Destroyed:
    done = store.purge([aim], blank, at_ms=7)
    assert done is not None
    return done


def holds_the_canary(home: Path) -> list[str]:
    """Files with any part of it that an index or a page could hold."""
    parts = [CANARY[1:9].encode(), b"anary7qx"]
    return [
        path.name for path in sorted(home.rglob("*")) if path.is_file() and any(p in path.read_bytes() for p in parts)
    ]


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_ROWS": 3, "_PART_BYTES": 300, "_MOST_BYTES": 300, "_LEAST_BYTES": 300}.items():
        monkeypatch.setattr(purge_steps, name, value)
    monkeypatch.setattr(purge_steps, "PAUSE_S", 0)


def transactions(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pages that each transaction from now on writes into the log."""
    seen: list[int] = []

    def counted(connection: apsw.Connection, name: str, pages: int) -> int:
        seen.append(pages)
        return apsw.SQLITE_OK

    with store._database.using() as connection:
        connection.set_wal_hook(counted)
    return seen


def test_the_words_of_a_long_text_leave_in_parts_and_the_index_agrees(
    home: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch
):
    with SqliteStore.open(home) as store:
        add(store, original("other", "stays here word7"))
        with store._database.using() as connection:
            before = connection.execute(AVERAGES).fetchall()
        add(store, original("e", LONG))
        seen = transactions(store, monkeypatch)
        done = purge(store, Aim("original", "s", "e"))
        assert len(seen) > len(LONG) // 400
        assert done.removed == {"originals": 1}
        with store._database.using() as connection:
            assert connection.execute(AVERAGES).fetchall() == before
        assert [hit.entry_id for hit in store.find("word7")] == ["other"]
        assert store.integrity() == ()
        store.clean(done)
        assert holds_the_canary(home) == []


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_whoever_stops_it_leaves_a_store_that_the_same_purge_ends(
    home: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch, steps: int
):
    left, whole = [steps], search.remove_part

    def stops(*given: object, **named: bool) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        whole(*given, **named)  # type: ignore[arg-type]

    with SqliteStore.open(home) as store:
        add(store, original("other", "stays here"))
        add(store, original("e", LONG), prune_them=True)
        monkeypatch.setattr(search, "remove_part", stops)
        with pytest.raises(KeyboardInterrupt):
            purge(store, Aim("original", "s", "e"))
        assert store.original(original("e").ref) == original("e", LONG)
        monkeypatch.setattr(search, "remove_part", whole)
        done = purge(store, Aim("original", "s", "e"))
        assert done.removed == {"originals": 1}
        store.clean(done)
        assert [hit.entry_id for hit in store.find("stays")] == ["other"]
        assert store.integrity() == ()
    assert holds_the_canary(home) == []


def fill(store: SqliteStore, session: str, text: str) -> None:
    for number in range(10):
        kept = original(f"e{number}", f"{text} {number}", session=session)
        one = memory(f"{session}-m{number}", f"{text} {number}", session_id=session)
        lines = MemoryLines([MemoryLine(one.id, one.content)])
        commit(
            store, session, "turn", at_ms=1, payload={"label": text, "id": one.id}, originals=[kept],
            decisions=[prune(kept, detail={"at": text})], tasks=[TaskUpdate(None, Task(f"t{number}", text))],
            tags=[Tag(f"c{number}", f"t{number}", 0)], memories=[MemoryUpdate(None, one)], lines=[lines],
        )  # fmt: skip


def test_of_a_session_everything_goes_in_steps_of_few_rows(
    home: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch
):
    with SqliteStore.open(home) as store:
        fill(store, "s", CANARY)
        fill(store, "t", "stays")
        seen = transactions(store, monkeypatch)
        done = purge(store, Aim("session", "s"))
        assert done.removed == {"originals": 10, "memories": 10, "decisions": 10, "tasks": 10, "tags": 10}
        assert len(seen) >= 12
        assert (store.decided("s"), store.tasks("s").by_id, store.find(CANARY)) == ((), {}, ())
        assert [row.kind for row in store.operations("s")] == ["turn"] * 10 + ["purge"]
        assert {str(row.payload) for row in store.operations("s")[:10]} == {"None"}
        assert (len(store.decided("t")), len(store.tasks("t").by_id), len(store.find("stays"))) == (10, 10, 10)
        assert store.integrity() == ()
        store.search_memories().scour()
        store.clean(done)
    assert holds_the_canary(home) == []
    assert database(home).exists()
