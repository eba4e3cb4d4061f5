"""Checkpoints of decisions: a session reads the same decisions with them as from the rows, damaged or not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.stores.builders import original, raw
from undrift.errors import StoreCorrupt
from undrift.stores import checkpoints, rows
from undrift.stores.base import Aim, Context, Known
from undrift.stores.packing import unframed
from undrift.stores.readings import READING_COLUMNS
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
from undrift.values.window import Decision

LOTS = 6


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch):
    """So that a few decisions make one."""
    monkeypatch.setattr(checkpoints, "_LEAST", 8)
    monkeypatch.setattr(checkpoints, "_MOST", 12)


@pytest.fixture
def store(home: Path):
    with SqliteStore.open(home) as store:
        for lot in range(LOTS):
            add(store, "s", lot)
        yield store


def add(store: SqliteStore, session: str, lot: int, count: int = 10) -> None:
    changes: list[Any] = []
    for number in range(count):
        entry = original(f"{lot}e{number}.0", session=session)
        detail: dict[str, Any] = {"at": f"place{lot}", "stays_tokens": 0, "total_tokens": lot, "unit_tokens": number}
        kind: Any = "pruned"
        if number % 5 == 1:
            kind, detail = "trimmed", {**detail, "rows": [[number, lot]]}
        if number % 5 == 2:
            kind, detail = "evicted", {**detail, "task": "t", "text": "Was read."}
        if number % 5 == 3:
            detail = {"at": "a, b", "odd\ud800": "x,y"} if lot == 3 else {"at": 'a,"b'}
        changes += [entry, Decision(entry.entry.id, kind, f"because {number}, \xe4", number, entry.ref, detail)]
    store.commit(Context(Scope(session), lot), "prune", changes)


def read(store: SqliteStore, session: str = "s") -> list[tuple[Any, ...]]:
    return plain(store.decided(session, Known()))


def plain(found: Any) -> list[tuple[Any, ...]]:
    return [(d.entry_id, d.kind, d.reason, d.tokens_saved, d.ref, dict(d.detail)) for d in found]


def is_right(store: SqliteStore, session: str = "s") -> bool:
    return read(store, session) == plain(store.decided(session))


def held(store: SqliteStore, home: Path) -> int:
    """The number of decisions that checkpoints give."""
    connection = raw(home)
    sql = "SELECT number, record_sha256 FROM decisions WHERE to_seq IS NULL AND session_id = 's'"
    listed: Any = connection.execute(sql).fetchall()
    found = checkpoints.kept(connection, "s", dict(listed))
    connection.close()
    return len(found)


def test_what_is_read_is_what_stands_in_the_rows(store: SqliteStore, home: Path):
    assert held(store, home) > 20
    assert is_right(store)
    known = Known()
    assert plain(store.decided("s", known)) == plain(store.decided("s", known))
    add(store, "s", LOTS)
    assert plain(store.decided("s", known)) == plain(store.decided("s"))


def test_the_values_come_out_of_the_checkpoint_and_no_text_stands_in_it(store: SqliteStore, home: Path):
    changed(home, lambda record: {**record, "tokens_saved": [77] * len(record["tokens_saved"])})
    assert {row[3] for row in read(store)} >= {77}
    connection = raw(home)
    found: list[Any] = connection.execute("SELECT record FROM readings").fetchall()
    assert found
    assert not any(b"Was read." in unframed(record) for (record,) in found)
    connection.close()


def changed(home: Path, change: Callable[[dict[str, Any]], Any], *, is_forged: bool = True) -> None:
    connection = raw(home)
    found: list[Any] = connection.execute(f"SELECT {READING_COLUMNS} FROM readings").fetchall()
    for number, _, *parts, record in found:
        if record:
            new = msgspec.json.encode(change(msgspec.json.decode(unframed(record))))
            digest = rows.digest(*parts, new) if is_forged else b"0" * 32
            sql = "UPDATE readings SET record = ?, record_sha256 = ? WHERE number = ?"
            connection.execute(sql, (new, digest, number))
    connection.close()


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda _: [],
    "a column less": lambda record: {**record, "refs": record["refs"][1:]},
    "rows of others": lambda record: {**record, "numbers": [number + 1 for number in record["numbers"]]},
    "no such row": lambda record: {**record, "numbers": [10**9] * len(record["numbers"])},
    "no such text": lambda record: {**record, "reasons": [10**9] * len(record["reasons"])},
    "a detail that is none": lambda record: {**record, "texts": ["["] * len(record["texts"])},
    "another kind": lambda record: {**record, "kinds": ["noted"] * len(record["kinds"])},
    "words for numbers": lambda record: {**record, "tokens_saved": ["many"] * len(record["tokens_saved"])},
    "rows twice": lambda record: {**record, "numbers": record["numbers"][:1] * len(record["numbers"])},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_checkpoint_that_nobody_of_ours_wrote_is_passed_over(store: SqliteStore, home: Path, name: str):
    changed(home, HOSTILE[name])
    assert held(store, home) == 0
    assert is_right(store)


def test_a_damaged_checkpoint_is_passed_over_and_named(store: SqliteStore, home: Path):
    changed(home, lambda record: {**record, "tokens_saved": [0] * len(record["tokens_saved"])}, is_forged=False)
    assert is_right(store)
    assert any("reading 1 " in one for one in store.integrity())


def test_a_checkpoint_of_another_session_is_passed_over(store: SqliteStore, home: Path):
    add(store, "other", 0)
    connection = raw(home)
    connection.execute("UPDATE readings SET session_id = 'other'")
    connection.close()
    assert is_right(store)
    assert is_right(store, "other")


def test_a_row_that_changed_is_read_and_a_damaged_one_is_not_given_out_where_it_is_asked_for(
    store: SqliteStore, home: Path
):
    connection = raw(home)
    connection.execute("UPDATE decisions SET reason = 'forged' WHERE number = 1")
    connection.close()
    assert "forged" not in {row[2] for row in read(store)}
    with pytest.raises(StoreCorrupt, match="decision 1 "):
        store.decided("s")
    assert any("decision 1 " in one for one in store.integrity())


def test_a_damaged_row_never_reaches_a_checkpoint(home: Path):
    with SqliteStore.open(home) as store:
        add(store, "s", 0, 6)
        connection = raw(home)
        connection.execute("UPDATE decisions SET reason = 'forged' WHERE number = 1")
        connection.close()
        add(store, "s", 1)
        assert held(store, home) == 0
        add(store, "s", 2)
        assert held(store, home) > 0, "the next one begins behind it"
        with pytest.raises(StoreCorrupt, match="decision 1 "):
            read(store)


def test_a_rewinding_and_its_undoing(store: SqliteStore, home: Path):
    whole, all_held = read(store), held(store, home)
    last = store.last_seq("s")
    moved = store.rewind(Context(Scope("s"), 9), last - 3, "rewind", payload={"to": last - 3})
    assert len(read(store)) < len(whole)
    assert 0 < held(store, home) < all_held
    assert is_right(store)
    add(store, "s", 7)
    assert is_right(store)
    store.rewind(Context(Scope("s"), 9), moved.seq - 1, "undo", payload={"to": moved.seq - 1})
    assert is_right(store)


def test_a_purge_takes_them_along_and_the_next_commit_begins_with_the_first_decision(store: SqliteStore, home: Path):
    store.purge(
        [Aim("original", "s", original("0e0.0").ref)], lambda one: replace(one, reason="purged", ref=""), at_ms=9
    )
    assert held(store, home) == 0
    assert is_right(store)
    add(store, "s", 7)
    assert held(store, home) > 0
    assert is_right(store)
