"""A file is brought up to date in whole steps; what is newer, or not ours, is refused and stays as it is."""

import signal
from pathlib import Path

import apsw
import pytest

from tests.stores.builders import add, commit, database, original, python, raw, written_at_first
from undrift.errors import StoreCorrupt, StoreError, StoreVersionError
from undrift.memory.repository import MemoryRepository
from undrift.stores.base import KnownMark, Mark
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.migrations import APPLICATION_ID, MIGRATIONS, identify, migrate, transaction
from undrift.stores.sqlite import SqliteStore
from undrift.stores.tables import TABLES
from undrift.values.memory import MemoryEntry
from undrift.values.window import Task, Tasks, TaskUpdate

NEWEST = len(MIGRATIONS)


def new_file(home: Path) -> apsw.Connection:
    home.mkdir(mode=0o700)
    return apsw.Connection(str(database(home)))


def tables(connection: apsw.Connection) -> set[object]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}


def without_scopes(connection: apsw.Connection) -> None:
    """Take back the steps from 13 on, but for that of the search."""
    connection.execute("DROP TABLE readings; DROP TABLE figures; DROP TABLE segments; DROP INDEX decisions_in_force")
    connection.execute("DROP INDEX decisions_noted; DROP INDEX memories_disputing; DROP INDEX memory_lines_taken_back")
    connection.execute("DROP INDEX memory_lines_of_tier")
    connection.execute("ALTER TABLE memory_settled DROP COLUMN moves")
    for table, column in (
        ("decisions", "place"), ("decisions", "figures_number"), ("originals", "segment"), ("originals", "place"),
    ):  # fmt: skip
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.execute("CREATE INDEX decisions_in_force ON decisions(session_id)")  # the step only drops it by name
    for table in (one.name for one in TABLES if one.columns and one.name not in ("readings", "segments")):
        connection.execute(f"ALTER TABLE {table} DROP COLUMN scope_number")
    connection.execute("DROP TABLE scopes")


def test_a_new_store_has_the_newest_version_and_our_mark(home: Path):
    SqliteStore.open(home).close()
    connection = raw(home)
    assert (connection.pragma("user_version"), connection.pragma("application_id")) == (NEWEST, APPLICATION_ID)
    connection.close()
    assert database(home).read_bytes()[68:72] == b"undr"


def test_a_store_of_version_1_is_brought_up_to_date(home: Path):
    connection = new_file(home)
    migrate(connection, MIGRATIONS[:1])
    assert "search" not in tables(connection)
    kept = original("e", "the quick fox")
    written_at_first(connection, kept)
    with SqliteStore.open(home) as store:
        assert store.original(kept.ref) == kept
        assert [hit.entry_id for hit in store.find("fox")] == ["e"]
        assert store.integrity() == ()
    assert raw(home).pragma("user_version") == NEWEST


def test_a_store_of_version_3_takes_marks_and_keeps_what_it_held(home: Path):
    connection = new_file(home)
    migrate(connection, MIGRATIONS[:3])
    kept = original("e", "the quick fox")
    written_at_first(connection, kept)
    with SqliteStore.open(home) as store:
        assert store.find_marks(["m"]) == ()
        assert store.add_marks("s", [Mark("m", "birth")])
        assert store.find_marks(["m"]) == (KnownMark(Mark("m", "birth"), "s", 1, False),)
        assert store.original(kept.ref) == kept
        assert store.integrity() == ()
    assert (home / "undrift.db.of-version-3").exists()


def test_a_store_of_version_4_takes_tasks_and_keeps_what_it_held(home: Path):
    connection = new_file(home)
    migrate(connection, MIGRATIONS[:4])
    kept = original("e", "the quick fox")
    written_at_first(connection, kept)
    with SqliteStore.open(home) as store:
        assert store.tasks("s") == Tasks()
        commit(store, "s", "task", at_ms=2, tasks=[TaskUpdate(None, Task("a", "do a"))])
        assert store.tasks("s") == Tasks({"a": Task("a", "do a")})
        assert store.original(kept.ref) == kept
        assert store.integrity() == ()
    assert (home / "undrift.db.of-version-4").exists()


def test_a_store_of_version_10_learns_how_long_its_memories_are(home: Path):
    said = {"short": "x" * 7, "long": "y" * 5_000, "\ud800": "\ud800 odd"}
    with SqliteStore.open(home) as store:
        for id_, content in said.items():
            repository = MemoryRepository(store)
            repository.write("s", "remember", [MemoryUpdate(None, MemoryEntry(id_, content))], at_ms=1, payload={})
    connection = raw(home)
    lengths = connection.execute("SELECT number, length FROM memory_lines").fetchall()
    assert [length for _, length in lengths] == [7, 5_000, 5]
    without_scopes(connection)
    connection.execute("ALTER TABLE memory_lines DROP COLUMN length; PRAGMA user_version = 10")
    connection.execute("ALTER TABLE memory_lines DROP COLUMN tier")
    connection.execute(
        "UPDATE memories SET record = '{' WHERE memory_id = 'short'"
    )  # damaged: it does not stand in the way
    connection.close()
    SqliteStore.open(home).close()
    connection = raw(home)
    assert connection.execute("SELECT length FROM memory_lines").fetchall() == [(0,), (5_000,), (5,)]
    connection.close()


def test_a_store_of_version_11_learns_for_which_memories_nobody_vouches(home: Path):
    with SqliteStore.open(home) as store:
        for id_, trust in (("t", "tool"), ("u", "user"), ("a", "assistant")):
            entry = MemoryEntry(id_, "words", trust=trust)  # type: ignore[arg-type]
            MemoryRepository(store).write("s", "remember", [MemoryUpdate(None, entry)], at_ms=1, payload={})
    connection = raw(home)
    tiers = "SELECT CAST(id AS TEXT), tier FROM memory_lines ORDER BY number"
    assert connection.execute(tiers).fetchall() == [("t", 0), ("u", 3), ("a", 1)]
    without_scopes(connection)
    connection.execute("ALTER TABLE memory_lines DROP COLUMN tier; PRAGMA user_version = 11")
    connection.close()
    SqliteStore.open(home).close()
    connection = raw(home)
    assert connection.execute(tiers).fetchall() == [("t", 0), ("u", 1), ("a", 1)]
    with SqliteStore.open(home) as store:
        MemoryRepository(store).rebuild()
    assert {*connection.execute(tiers)} == {("t", 0), ("u", 3), ("a", 1)}  # the index is derived: it can be rebuilt
    connection.close()


def test_a_file_is_copied_before_it_is_migrated(home: Path):
    connection = new_file(home)
    migrate(connection, MIGRATIONS[:1])
    with transaction(connection):
        connection.execute("INSERT INTO operations VALUES(1, 's', 'add', 1, x'00', NULL)")
    connection.close()
    SqliteStore.open(home).close()
    kept = home / "undrift.db.of-version-1"
    assert kept.stat().st_mode & 0o777 == 0o600
    copy = apsw.Connection(str(kept))
    assert identify(copy) == 1
    assert copy.execute("SELECT seq FROM operations").fetchall() == [(1,)]
    copy.close()
    before = kept.read_bytes()
    SqliteStore.open(home).close()
    assert kept.read_bytes() == before
    assert sorted(path.name for path in home.iterdir()) == ["undrift.db", kept.name]


def test_what_cannot_be_copied_first_is_not_migrated(home: Path):
    connection = new_file(home)
    migrate(connection, MIGRATIONS[:1])
    connection.close()
    (home / "undrift.db.of-version-1").write_text("mine")
    with pytest.raises(StoreError, match="of-version-1"):
        SqliteStore.open(home)
    assert (home / "undrift.db.of-version-1").read_text() == "mine"
    connection = raw(home)
    assert identify(connection) == 1
    connection.close()


def test_a_step_that_fails_leaves_the_version_before_it(home: Path):
    def fails(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE half(x)")
        connection.execute("DELETE FROM operations")
        raise ZeroDivisionError

    with SqliteStore.open(home) as store:
        add(store, original("e"))
    connection = raw(home)
    with pytest.raises(ZeroDivisionError):
        migrate(connection, (*MIGRATIONS, fails))
    assert not connection.in_transaction
    assert identify(connection) == NEWEST
    assert "half" not in tables(connection)
    connection.close()
    with SqliteStore.open(home) as store:
        assert store.original(original("e").ref) == original("e")
        assert store.integrity() == ()


KILLED = """
import os, signal, sys
import apsw
from undrift.stores.migrations import MIGRATIONS, migrate

def dies(connection):
    connection.execute("CREATE TABLE half(x)")
    connection.executemany("INSERT INTO half VALUES(?)", [(b"x" * 1000,) for _ in range(5000)])  # spills to disk
    connection.execute("DELETE FROM operations")
    connection.cache_flush()
    os.kill(os.getpid(), signal.SIGKILL)

connection = apsw.Connection(sys.argv[1])
migrate(connection, (*MIGRATIONS, dies))
"""


def test_a_step_that_is_killed_leaves_the_version_before_it(home: Path):
    with SqliteStore.open(home) as store:
        add(store, original("e"))
    killed = python(KILLED, database(home))
    _, errors = killed.communicate()
    assert killed.returncode == -signal.SIGKILL, errors
    assert (
        database(home).with_name("undrift.db-wal").stat().st_size > 1_000_000
    )  # it did write, and that is what is taken back
    with SqliteStore.open(home) as store:
        assert store.original(original("e").ref) == original("e")
        assert store.integrity() == ()
    connection = raw(home)
    assert identify(connection) == NEWEST
    assert "half" not in tables(connection)
    connection.close()


def test_each_step_is_a_transaction_of_its_own(home: Path):
    seen = []

    def looks(connection: apsw.Connection) -> None:
        seen.append((connection.in_transaction, connection.pragma("user_version")))

    connection = new_file(home)
    migrate(connection, (looks,))
    migrate(connection, (looks, looks, looks))
    migrate(connection, (looks, looks, looks))
    assert seen == [(True, 0), (True, 1), (True, 2)]
    connection.close()


def test_a_new_file_takes_all_steps_in_one_transaction_or_stays_empty(home: Path):
    connection = new_file(home)
    ended: list[int] = []

    def ends() -> bool:
        ended.append(1)
        return False

    connection.set_commit_hook(ends)

    def fails(_: apsw.Connection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        migrate(connection, (*MIGRATIONS, fails))
    assert (identify(connection), tables(connection)) == (0, set())
    migrate(connection)
    assert (identify(connection), len(ended)) == (NEWEST, 1)
    connection.close()


@pytest.mark.parametrize("create", [True, False])
def test_a_newer_file_is_refused_and_never_touched(home: Path, create: bool):
    SqliteStore.open(home).close()
    connection = raw(home)
    connection.pragma("user_version", 7_000)
    connection.close()
    before = database(home).read_bytes()
    with pytest.raises(StoreVersionError, match=rf"version 7000.*version {NEWEST};") as raised:
        SqliteStore.open(home, create=create)
    assert str(database(home)) in str(raised.value)
    assert database(home).read_bytes() == before


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_no_undrift_writes_is_damage_and_is_not_migrated_without_end(home: Path, version: int):
    SqliteStore.open(home).close()
    connection = raw(home)
    connection.pragma("user_version", version)
    connection.close()
    before = database(home).read_bytes()
    with pytest.raises(StoreCorrupt, match=rf"version {version}, .*undrift store restore"):
        SqliteStore.open(home)
    assert database(home).read_bytes() == before


@pytest.mark.parametrize("sql", ["CREATE TABLE mine(x)", "PRAGMA user_version = 3", "PRAGMA application_id = 5"])
def test_a_file_of_another_program_is_refused_and_never_touched(home: Path, sql: str):
    connection = new_file(home)
    connection.execute(sql)
    connection.close()
    before = database(home).read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore.open(home)
    assert database(home).read_bytes() == before


def test_an_empty_file_is_a_creation_that_was_cut_short(home: Path):
    home.mkdir()
    database(home).touch(0o600)
    with SqliteStore.open(home) as store:
        add(store, original("e"))
        assert store.integrity() == ()
