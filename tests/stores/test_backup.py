"""A backup holds all of a store that is in use; a restore puts it back and keeps what was there."""

import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.stores.builders import add, database, original, prune, python, raw
from undrift.errors import InputError, StoreBusy, StoreCorrupt, StoreError, StoreVersionError, UndriftError
from undrift.stores import backup, rows
from undrift.stores.backup import back_up, restore_backup
from undrift.stores.look import look
from undrift.stores.originals import ORIGINAL_COLUMNS
from undrift.stores.sqlite import SqliteStore

NO_SIDE_FILES = ["undrift.db"]


def filled(home: Path, count: int = 5) -> list[str]:
    """A store with so many originals that left; returns their references."""
    with SqliteStore.open(home) as store:
        return [ref for ref, _ in (_one(store, number) for number in range(count))]


def _one(store: SqliteStore, number: int) -> tuple[str, int]:
    one = original(f"e{number}", f"text number {number}")
    return one.ref, add(store, one, prune_them=True)


def names(folder: Path) -> list[str]:
    """What stands in a folder, but for the note of the newest operation, which is beside every store in use."""
    return sorted(path.name for path in folder.iterdir() if path.name != "undrift.newest")


def test_a_backup_of_a_store_in_use_holds_all_of_it_and_comes_back_whole(home: Path, tmp_path: Path):
    out = tmp_path / "out.db"
    with SqliteStore.open(home) as store:
        refs = [_one(store, number)[0] for number in range(5)]
        counts = back_up(home, out)
        _one(store, 99)  # later than the backup
        assert store.integrity() == ()
    assert (counts.operations, counts.originals, counts.decisions, counts.kept) == (5, 5, 5, None)
    assert out.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["home", "out.db"]
    restored = restore_backup(out, tmp_path / "other" / "home")
    assert (restored.operations, restored.kept) == (5, None)
    with SqliteStore.open(tmp_path / "other" / "home") as store:
        assert [store.original(ref).entry.content for ref in refs] == [f"text number {n}" for n in range(5)]
        assert store.decisions("s")["e3"] == prune(original("e3"))
        assert [hit.entry_id for hit in store.find("number 3", limit=1)] == ["e3"]
        assert store.integrity() == ()


def test_an_earlier_backup_is_replaced_and_nothing_else(home: Path, tmp_path: Path):
    out = tmp_path / "out.db"
    filled(home)
    back_up(home, out)
    with SqliteStore.open(home) as store:
        _one(store, 7)
    assert back_up(home, out).operations == 6
    foreign = tmp_path / "foreign.db"
    other = apsw.Connection(str(foreign))
    other.execute("CREATE TABLE mine(x)")
    other.close()
    (tmp_path / "text").write_text("mine")
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to(out)
    SqliteStore.open(tmp_path / "second").close()
    for taken in (
        foreign,
        tmp_path / "text",
        tmp_path / "empty",
        tmp_path / "link",
        tmp_path / "second" / "undrift.db",
    ):
        before = taken.read_bytes()
        with pytest.raises(InputError, match="no backup of undrift"):
            back_up(home, taken)
        assert taken.read_bytes() == before
    with pytest.raises(InputError, match="the store itself"):
        back_up(home, database(home))
    with pytest.raises(InputError, match="is no folder"):
        back_up(home, tmp_path / "nowhere" / "out.db")
    with pytest.raises(StoreError, match="no store in"):
        back_up(tmp_path / "nowhere", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_damaged_store_does_not_replace_a_good_backup(home: Path, tmp_path: Path):
    out = tmp_path / "out.db"
    ref = filled(home)[2]
    back_up(home, out)
    before = out.read_bytes()
    connection = raw(home)
    connection.execute("UPDATE originals SET content = x'00' WHERE ref = ?", (ref,))
    connection.close()
    with pytest.raises(StoreCorrupt, match=ref):
        back_up(home, out)
    assert out.read_bytes() == before
    assert names(tmp_path) == ["home", "out.db"]


def test_a_restore_keeps_what_was_there_and_can_be_undone(home: Path, tmp_path: Path):
    out = tmp_path / "out.db"
    filled(home)
    back_up(home, out)
    with SqliteStore.open(home) as store:
        later, _ = _one(store, 7)
    counts = restore_backup(out, home)
    assert counts.kept is not None
    assert names(home) == sorted(["undrift.db", counts.kept.name])
    with SqliteStore.open(home) as store:
        assert store.last_seq("s") == 5
    again = restore_backup(counts.kept, home)
    assert again.operations == 6
    with SqliteStore.open(home) as store:
        assert store.original(later).entry.content == "text number 7"
        assert store.integrity() == ()


@pytest.mark.parametrize("content", [b"hello world\n" * 1_000, b"", b"SQLite format 3\0" + b"\xff" * 8_000])
def test_a_damaged_store_is_replaced_and_kept_as_it_is(home: Path, tmp_path: Path, content: bytes):
    filled(tmp_path / "good")
    back_up(tmp_path / "good", tmp_path / "out.db")
    home.mkdir()
    database(home).write_bytes(content)
    log = database(home).with_name("undrift.db-wal")
    log.write_bytes(b"what is left of it")
    counts = restore_backup(tmp_path / "out.db", home)
    assert counts.kept is not None
    assert counts.kept.read_bytes() == content
    assert Path(f"{counts.kept}-wal").read_bytes() == b"what is left of it"
    with SqliteStore.open(home) as store:
        assert store.last_seq("s") == 5
        assert store.integrity() == ()


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_log_without_its_file_is_never_thrown_away(home: Path, create: bool, is_there: bool):
    home.mkdir()
    if is_there:
        database(home).touch(0o600)
    log = database(home).with_name("undrift.db-wal")
    log.write_bytes(b"all that is left")
    with pytest.raises(StoreCorrupt, match="undrift store restore"):
        SqliteStore.open(home, create=create)
    assert log.read_bytes() == b"all that is left"
    assert database(home).exists() is is_there


def test_a_store_that_is_open_is_not_replaced(home: Path, tmp_path: Path):
    filled(home)
    back_up(home, tmp_path / "out.db")
    holder = python(
        "import sys; from undrift.stores.sqlite import SqliteStore as S\n"
        "import time; store = S.open(sys.argv[1]); print('open', flush=True); time.sleep(60)",
        home,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreBusy, match="has the store open") as raised:
            restore_backup(tmp_path / "out.db", home)
        if Path("/proc/locks").exists() and str(holder.pid) in Path("/proc/locks").read_text():
            assert f"process {holder.pid}" in str(raised.value)
        holder.kill()
    with SqliteStore.open(home) as store:
        assert store.last_seq("s") == 5
    assert names(home) == NO_SIDE_FILES


def test_a_newer_or_foreign_store_or_backup_is_refused(home: Path, tmp_path: Path):
    filled(home)
    back_up(home, tmp_path / "out.db")
    for sql, error in (("PRAGMA user_version = 7000", StoreVersionError), ("PRAGMA application_id = 5", StoreError)):
        place = tmp_path / error.__name__
        filled(place)
        connection = raw(place)
        connection.execute(sql)
        connection.close()
        before = database(place).read_bytes()
        with pytest.raises(error, match="not changed"):
            restore_backup(tmp_path / "out.db", place)
        assert database(place).read_bytes() == before
        assert not [name for name in names(place) if "replaced" in name or "restoring" in name]
    newer = apsw.Connection(str(tmp_path / "out.db"))
    newer.execute("PRAGMA user_version = 7000")
    newer.close()
    with pytest.raises(StoreVersionError):
        restore_backup(tmp_path / "out.db", home)


def test_what_is_no_backup_or_a_damaged_one_changes_nothing(home: Path, tmp_path: Path):
    filled(home)
    back_up(home, tmp_path / "out.db")
    damaged = bytearray((tmp_path / "out.db").read_bytes())
    place = damaged.index(b"text number 3")
    damaged[place] ^= 1
    (tmp_path / "damaged.db").write_bytes(damaged)
    (tmp_path / "text").write_text("mine")
    before = database(home).read_bytes()
    for given in ("damaged.db", "text", "nowhere", "home", "home/undrift.db"):
        with pytest.raises(UndriftError, match=r"damaged|no backup|no such file"):
            restore_backup(tmp_path / given, home)
        assert database(home).read_bytes() == before
        assert names(home) == NO_SIDE_FILES


OF_THE_FIRST_VERSION = (
    "decisions",
    "decisions_in_force",
    "decisions_of_ref",
    "operations",
    "operations_of_session",
    "originals",
    "originals_in_buffer",
    "originals_of_entry",
    "originals_pinned",
)


def test_a_backup_of_an_older_version_is_restored_and_migrated(home: Path, tmp_path: Path):
    filled(home)
    connection = raw(home)
    connection.execute("PRAGMA foreign_keys = OFF; DROP VIEW searchable")
    for kind in ("virtual", ""):  # with a virtual table go those that it is made of
        found: list[Any] = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        for name, sql in found:
            is_virtual = str(sql).startswith("CREATE VIRTUAL")
            if is_virtual == bool(kind) and name not in OF_THE_FIRST_VERSION and not name.startswith("sqlite_"):
                connection.execute(f'DROP TABLE "{name}"')
    found = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    for name, _ in found:
        if name not in OF_THE_FIRST_VERSION:
            connection.execute(f'DROP INDEX "{name}"')
    for table in ("operations", "originals", "decisions"):
        connection.execute(f"ALTER TABLE {table} DROP COLUMN scope_number")
    connection.execute("DROP INDEX decisions_in_force")
    for column in ("place", "figures_number"):
        connection.execute(f"ALTER TABLE decisions DROP COLUMN {column}")
    connection.execute("CREATE UNIQUE INDEX decisions_in_force ON decisions(session_id, entry_id) WHERE to_seq IS NULL")
    connection.execute("ALTER TABLE originals DROP COLUMN segment; ALTER TABLE originals DROP COLUMN place")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert back_up(home, tmp_path / "out.db").operations == 5
    restore_backup(tmp_path / "out.db", home)
    with SqliteStore.open(home) as store:
        assert len(store.find("text")) == 5
        assert store.integrity() == ()


def test_files_of_a_backup_are_for_their_owner_alone_whatever_the_umask(home: Path, tmp_path: Path):
    filled(home)
    before = os.umask(0)
    try:
        back_up(home, tmp_path / "out.db")
        restore_backup(tmp_path / "out.db", home)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out.db", *home.iterdir())}
    assert modes == {0o600}


def test_a_damaged_index_leads_to_no_other_record(home: Path):
    refs = filled(home, 3)
    connection = raw(home)
    page, size = connection.execute(
        "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?",
        ("sqlite_autoindex_originals_1",),
    ).fetchall()[0]
    connection.close()
    assert isinstance(page, int)
    assert isinstance(size, int)
    data = bytearray(database(home).read_bytes())
    of_index = slice((page - 1) * size, page * size)
    key = refs[1].encode()
    place = data.index(key, of_index.start, of_index.stop) + len(key)  # behind it stands the number of its row
    data[place] ^= 1
    database(home).write_bytes(data)
    with SqliteStore.open(home) as store:
        for ref in refs:
            try:
                assert store.original(ref).ref == ref
            except StoreError as error:
                assert (ref, type(error)) == (refs[1], StoreCorrupt)  # noqa: PT017 - the others must come
        with pytest.raises(StoreCorrupt, match=refs[1]):
            store.original(refs[1])
        assert store.integrity() != ()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_backup_is_not_made_under_a_name_that_sqlite_deletes(tmp_path: Path, suffix: str):
    with SqliteStore.open(tmp_path / "home") as store:
        add(store, original("a"))
    with pytest.raises(InputError, match="SQLite deletes a file of this name"):
        back_up(tmp_path / "home", Path(f"{database(tmp_path / 'home')}{suffix}"))


def test_a_damaged_index_is_told_apart_from_damage_whatever_an_entry_is_called(tmp_path: Path):
    home = tmp_path / "home"
    with SqliteStore.open(home) as store:
        add(store, *(original(f"e{number}", f"word{number} thing " * 30) for number in range(50)), prune_them=True)
        add(store, original("the search index"), prune_them=True)
    behind = raw(home)
    behind.execute("DELETE FROM search_data WHERE id > 10")
    assert look(home).damaged == ()
    assert all("search index" in one for one in look(home).index)
    assert look(home).index
    behind.execute("DELETE FROM originals WHERE entry_id = 'the search index'")
    behind.close()
    (damaged,) = look(home).damaged
    assert "its original" in damaged


@pytest.mark.parametrize(
    "change", [{"type": "none of ours"}, {"metadata": "[" * 100_000}, {"masked": "7"}, {"timestamp": -1}]
)
def test_a_record_with_the_right_hash_that_undrift_never_wrote_is_damage(tmp_path: Path, change: dict[str, object]):
    home = tmp_path / "home"
    with SqliteStore.open(home) as store:
        add(store, original("a"))
    behind = raw(home)
    for column, value in change.items():
        behind.execute(f"UPDATE originals SET {column} = ?", (value,))
    row: rows.Row = behind.execute(f"SELECT {ORIGINAL_COLUMNS} FROM originals").fetchall()[0]
    behind.execute("UPDATE originals SET record_sha256 = ?", (rows.digest(*row[2:-1]),))
    behind.close()
    with SqliteStore.open(home) as store:
        with pytest.raises(StoreCorrupt, match="was not written by undrift"):
            store.original(original("a").ref)
        assert any("was not written by undrift" in one for one in store.integrity())


def test_nobody_reads_or_writes_a_store_while_it_is_replaced(home: Path):
    SqliteStore.open(home).close()
    other = raw(home)
    with backup._alone(database(home)) as old:
        assert old is not None
        with pytest.raises(apsw.BusyError):
            other.execute("SELECT count(*) FROM operations").fetchall()
    other.close()
