"""A store that cannot be written is read, and what was decided is applied: docs/durability.md promises it."""

from pathlib import Path

import apsw
import pytest

from tests.stores.builders import add, database, original
from tests.stores.unwritable import HOMES, in_place, refusal
from undrift.stores import read_only
from undrift.stores.sqlite import SqliteStore


@pytest.mark.parametrize("kind", ["file-system", "folder"])
def test_a_home_that_cannot_be_written_is_read_and_its_decisions_are_applied(tmp_path: Path, kind: str):
    if reason := refusal(kind):
        pytest.skip(reason)
    found = in_place(kind, tmp_path)
    assert found.pop("untouched")
    for name in HOMES:
        home = found[name]
        codes = {one: home[one] for one in ("recall", "sessions", "tasks", "search", "why", "store")}
        assert {one: code for one, (code, _) in codes.items()} == dict.fromkeys(codes, 0), codes
        assert home["recall"][1].startswith(home["recalled"])
        assert "SQLite" in home["search"][1]
        assert "integrity" in home["doctor"][1]
        assert "match their SHA-256" in " ".join(home["doctor"][1].split())  # lines end at 80 columns
        assert home["left"]
        assert home["window"]
        assert home["goes_on"]
        if name == "closed" or kind == "file-system":
            assert "nothing can be written there" in home["refused"]
            assert any("nothing can be written" in one for one in home["warnings"]), home["warnings"]


def test_a_copy_is_read_whose_files_have_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with SqliteStore.open(tmp_path / "home") as store:
        add(store, original("a", "kept text"))
        connection = read_only.connect_as_it_is(database(tmp_path / "home"))  # the log holds it all at this moment
        assert list(folder.iterdir()) == []
        assert connection.execute("SELECT count(*) FROM originals").fetchall() == [(1,)]
        add(store, original("b", "more text"))
        assert connection.execute("SELECT count(*) FROM originals").fetchall() == [(1,)]
        connection.close()


@pytest.mark.parametrize("is_open", [False, True])
def test_where_no_file_can_be_written_at_all_it_is_read_without_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool
):
    """The sandbox of Codex is such a place: there an agent recalls what its hooks have stored."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    store = SqliteStore.open(tmp_path / "home")
    add(store, original("a", "kept text"))
    if not is_open:
        store.close()
    names = sorted(one.name for one in (tmp_path / "home").iterdir())
    connection = read_only.connect_as_it_is(database(tmp_path / "home"))
    assert connection.execute("SELECT count(*) FROM originals").fetchall() == [(1,)]
    with pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM originals")
    connection.close()
    assert sorted(one.name for one in (tmp_path / "home").iterdir()) == names
    store.close()


def test_what_is_seen_of_a_store_changes_with_every_commit(tmp_path: Path):
    with SqliteStore.open(tmp_path / "home") as store:
        before = read_only.state(store.path)
        assert before == read_only.state(store.path)
        assert not before.unwritable
        add(store, original("a"))
        assert before != read_only.state(store.path)
