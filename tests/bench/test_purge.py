"""A purge beside one who writes, as `make purge` measures it on a large home, here on a small one."""

from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from bench.purge import fill, holders, purged
from undrift.stores import cleaning
from undrift.stores.sqlite import SqliteStore


@pytest.mark.parametrize("most_at_once_bytes", [0, 1 << 30])
def test_a_purge_beside_a_writer_succeeds_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_at_once_bytes: int
):
    home = tmp_path / "home"
    ref = fill(home, 1.0)
    assert holders(home) == ["undrift.db"]
    monkeypatch.setattr(cleaning, "_MOST_AT_ONCE_BYTES", most_at_once_bytes)
    figures = purged(home, ref)
    assert (figures["removed"], figures["traces"], figures["copies"]) == ({"originals": 1}, [], [])
    assert figures["written_beside"]
    assert holders(home) == []
    with SqliteStore.open(home) as store:
        assert store.integrity() == ()
        with store._database.using() as connection:
            assert connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'purge_blank'").fetchall() == []


def test_no_step_of_a_purge_of_a_large_home_is_about_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, logged = tmp_path / "home", [0]
    ref = fill(home, 8.0)

    def counted(connection: apsw.Connection, database: str, pages: int) -> int:
        logged.append(pages)
        return apsw.SQLITE_OK

    def watched(connection: apsw.Connection) -> None:
        connection.set_wal_hook(counted)

    monkeypatch.setattr(cleaning, "_MOST_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watched])
    figures = purged(home, ref)
    assert figures["removed"] == {"originals": 1}
    steps = [now - before for before, now in pairwise(logged)]
    assert 0 < max(steps) < 1_000, "pages in one transaction, of 2,000 and more"
