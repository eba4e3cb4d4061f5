"""What deleted records left in the file is overwritten, in steps that may end at any point."""

from pathlib import Path

import pytest

from tests.stores.builders import add, database, noise, original
from tests.stores.test_purge_steps import blank
from undrift.stores import cleaning
from undrift.stores.base import Aim
from undrift.stores.sqlite import SqliteStore

CANARY = "zqx9canary7qxz"


@pytest.mark.parametrize("most_at_once_bytes", [0, 1 << 30])
def test_free_pages_hold_nothing_of_what_was_deleted_without_care(
    home: Path, monkeypatch: pytest.MonkeyPatch, most_at_once_bytes: int
):
    monkeypatch.setattr(cleaning, "_MOST_AT_ONCE_BYTES", most_at_once_bytes)
    with SqliteStore.open(home) as store:
        add(store, *(original(f"{number}", f"kept text {number} " * 500) for number in range(20)))
        with store._database.using() as connection:
            connection.execute("CREATE TABLE other(content TEXT)")
            rows = [(f"{CANARY} {number} " * 2_000,) for number in range(40)]
            connection.executemany("INSERT INTO other VALUES(?)", rows)
            connection.execute("DROP TABLE other")
            connection.execute("CREATE TABLE purge_blank(content BLOB)")  # as of a cleaning that was killed
            connection.execute("INSERT INTO purge_blank VALUES(zeroblob(9000))")
            connection.wal_checkpoint()
        assert CANARY.encode() in database(home).read_bytes()
        size_bytes = cleaning.clean(store._database.using, store._database.busy_timeout_ms)
        assert bool(size_bytes) is (most_at_once_bytes == 0)
        assert CANARY.encode() not in database(home).read_bytes()
        assert database(home).with_name("undrift.db-wal").stat().st_size == 0
        assert store.integrity() == ()
        assert len(store.find("kept", limit=50)) == 20
    with SqliteStore.open(home) as store, store._database.using() as connection:
        left = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'purge_blank'").fetchall()
        assert left == []


def test_a_purge_leaves_no_row_that_was_packed_between_those_of_other_sessions(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cleaning, "_MOST_AT_ONCE_BYTES", 0)
    with SqliteStore.open(home) as store:
        for number in range(60):
            add(store, original(f"{number}", f"{CANARY}{number:02} {noise(600)}", session=f"s{number % 12}"))
        for number in range(0, 60, 12):
            add(store, original(f"last {number}", noise(40_000 + number), session="s0"))
        done = [store.purge([Aim("original", "s0", f"{number}")], blank, at_ms=7) for number in range(0, 60, 12)]
        for one in done:
            assert one is not None
            store.clean(one)
        whole = database(home).read_bytes()
        assert [number for number in range(0, 60, 12) if f"{CANARY}{number:02}".encode() in whole] == []
