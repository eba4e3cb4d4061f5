"""Whatever the driver or the disk raises becomes one of our errors, with the path and a remedy in it."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest

from tests.stores.builders import add, commit, database, noise, original, prune, python, raw
from undrift.errors import RecallError, StoreBusy, StoreCorrupt, StoreError
from undrift.stores.faults import FAULTS, from_driver
from undrift.stores.sqlite import SqliteStore

DRIVER_ERRORS = [kind for kind in vars(apsw).values() if isinstance(kind, type) and issubclass(kind, apsw.Error)]


@pytest.mark.parametrize("kind", DRIVER_ERRORS)
def test_every_error_of_the_driver_is_in_the_table(kind: type[apsw.Error]):
    assert kind in FAULTS
    ours = from_driver(kind("what happened"), "/some/home/undrift.db")
    assert type(ours) is FAULTS[kind].error
    assert str(ours).startswith("/some/home/undrift.db: what happened; ")
    assert len(FAULTS[kind].remedy) > 10


@pytest.mark.parametrize(
    ("kind", "ours", "remedy"),
    [
        (apsw.BusyError, StoreBusy, "another process"),
        (apsw.FullError, StoreError, "free some space"),
        (apsw.IOError, StoreError, "choose another --home"),
        (apsw.ReadOnlyError, StoreError, "permissions"),
        (apsw.CantOpenError, StoreError, "choose another --home"),
        (apsw.CorruptError, StoreCorrupt, "backup"),
        (apsw.NotADBError, StoreCorrupt, "backup"),
    ],
)
def test_the_errors_that_users_meet_say_what_to_do(kind: type[apsw.Error], ours: type[StoreError], remedy: str):
    error = from_driver(kind("x"), "there")
    assert type(error) is ours
    assert remedy in str(error)


def test_an_error_that_the_driver_invents_tomorrow_is_ours_too():
    class NewError(apsw.Error):
        pass

    assert "report it" in str(from_driver(NewError("x"), "there"))


def test_a_lock_that_is_held_is_busy_and_nothing_is_lost(home: Path):
    with SqliteStore.open(home, busy_timeout_ms=30) as store:
        add(store, original("a"))
        other = raw(home)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="another process"):
            add(store, original("b"), prune_them=True)
        assert store.original(original("a").ref) == original("a")  # readers need no lock
        with SqliteStore.open(home, busy_timeout_ms=30) as reader:
            assert reader.decisions("s") == {}
        other.execute("ROLLBACK")
        other.close()
        add(store, original("b"), prune_them=True)
        assert store.integrity() == ()


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[apsw.Connection]:
    """Every connection that is opened from now on."""
    opened: list[apsw.Connection] = []
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, opened.append])
    return opened


def test_a_full_disk_changes_nothing_and_is_over_when_space_is_free(home: Path, connections: list[apsw.Connection]):
    with SqliteStore.open(home) as store:
        add(store, original("a", "old " * 100, source="buffer"))
        buffered = store.buffer("s")
        connections[-1].pragma("max_page_count", connections[-1].pragma("page_count") + 3)
        with pytest.raises(StoreError, match=r"full.*free some space") as raised:
            commit(
                store, "s", "x", at_ms=1, originals=[original("b", noise(200_000))], decisions=[prune(original("a"))]
            )
        assert str(database(home)) in str(raised.value)
        assert store.buffer("s") == buffered
        assert store.decisions("s") == {}
        assert len(store.operations("s")) == 1
        with pytest.raises(RecallError):
            store.original(original("b").ref)
        connections[-1].pragma("max_page_count", 1_000_000)
        add(store, original("b", noise(200_000)))
        assert store.integrity() == ()
        assert len(connections) == 1


FILE_TOO_BIG = """
import resource, sys
import apsw
from tests.stores.builders import add, database, noise, original
from undrift.errors import StoreError
from undrift.stores.sqlite import SqliteStore
from collections.abc import Callable
from pathlib import Path

opened = []
apsw.connection_hooks.append(opened.append)
home = Path(sys.argv[1])
store = SqliteStore.open(home)
add(store, original("a", "old"))
wal = Path(f"{database(home)}-wal").stat().st_size
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (wal + int(sys.argv[2]), hard))
for _ in range(3):
    try:
        add(store, original("b", noise(2_000_000)), prune_them=True)
    except StoreError as error:
        assert "choose another --home" in str(error), error
    else:
        raise AssertionError("the limit did nothing")
    assert store.original(original("a").ref) == original("a", "old")
    assert store.decisions("s") == {} and len(store.operations("s")) == 1 and store.find("new") == ()
assert len(opened) > 1, "the connection was not opened again"
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
add(store, original("b", noise(2_000_000)), prune_them=True)
assert store.original(original("b").ref) == original("b", noise(2_000_000))
assert store.integrity() == ()
print("DONE")
"""


@pytest.mark.parametrize("room_bytes", [0, 100, 4_200, 60_000])
def test_a_write_that_fails_changes_nothing_and_the_store_recovers(home: Path, room_bytes: int):
    out, errors = python(FILE_TOO_BIG, home, room_bytes).communicate()
    assert out == "DONE\n", errors


READ_ONLY = """
import os, sys
from undrift.errors import StoreError
from undrift.stores import faults, integrity, migrations, search, write
from undrift.stores.sqlite import SqliteStore
from tests.stores.builders import commit
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for home, create in ((sys.argv[2], True), (sys.argv[2] + "/below", True)):
    try:
        SqliteStore.open(home, create=create)
    except StoreError as error:
        assert home in str(error) and "--home" in str(error), error
    else:
        raise AssertionError(home)
for create in (True, False):
    with SqliteStore.open(sys.argv[1], create=create) as store:
        assert store.newest_session() == "s"
        try:
            commit(store, "s", "add", at_ms=1)
        except StoreError as error:
            assert sys.argv[1] in str(error) and "--home" in str(error), error
        else:
            raise AssertionError("written")
        assert len(store.operations("s")) == 1
print("DONE")
"""


def test_a_folder_that_cannot_be_written_is_read_and_not_written():
    with TemporaryDirectory() as folder:  # not below tmp_path, whose parents are closed to another user
        home, empty = Path(folder, "home"), Path(folder, "empty")
        with SqliteStore.open(home) as store:
            add(store, original("a"))
        empty.mkdir()
        before = database(home).read_bytes()
        for path, mode in ((Path(folder), 0o755), (home, 0o555), (database(home), 0o444), (empty, 0o555)):
            path.chmod(mode)
        out, errors = python(READ_ONLY, home, empty).communicate()
        assert out == "DONE\n", errors
        assert database(home).read_bytes() == before
        assert list(empty.iterdir()) == []
        for path in (home, empty):
            path.chmod(0o755)


def test_what_stands_in_the_way_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder" / "undrift.db").mkdir(parents=True)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    long = tmp_path / ("x" * 300)
    for home in (
        tmp_path / "file",
        tmp_path / "file" / "below",
        tmp_path / "folder",
        tmp_path / "loop",
        long,
        "nul\0",
        "\ud800",
        "",
    ):
        with pytest.raises(StoreError, match="--home"):
            SqliteStore.open(home)
    assert (tmp_path / "file").read_text() == "mine"


def test_no_store_is_made_for_a_look(home: Path):
    with pytest.raises(StoreError, match="no store in"):
        SqliteStore.open(home, create=False)
    assert not home.exists()
    home.mkdir()
    with pytest.raises(StoreError, match=f"no store in {home}"):
        SqliteStore.open(home, create=False)
    assert list(home.iterdir()) == []
    SqliteStore.open(home).close()
    SqliteStore.open(home, create=False).close()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("create", [True, False])
def test_a_planted_link_is_refused_and_its_target_untouched(home: Path, tmp_path: Path, suffix: str, create: bool):
    if suffix:
        SqliteStore.open(home).close()
    home.mkdir(exist_ok=True)
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    Path(f"{database(home)}{suffix}").symlink_to(target)
    with pytest.raises(StoreError, match="link"):
        SqliteStore.open(home, create=create)
    assert target.read_bytes() == b"mine"


def test_a_planted_link_to_nothing_creates_nothing(home: Path, tmp_path: Path):
    home.mkdir()
    database(home).symlink_to(tmp_path / "target")
    with pytest.raises(StoreError, match="link"):
        SqliteStore.open(home)
    assert not (tmp_path / "target").exists()


def test_a_home_behind_the_users_own_link_is_fine(home: Path, tmp_path: Path):
    (tmp_path / "real").mkdir()
    home.symlink_to(tmp_path / "real")
    with SqliteStore.open(home) as store:
        add(store, original("a"))
    assert database(tmp_path / "real").exists()


@pytest.mark.parametrize(
    "content", [b"xy", b"hello world\n" * 1000, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 8000]
)
def test_a_file_that_is_no_database_is_never_overwritten(home: Path, content: bytes):
    home.mkdir()
    database(home).write_bytes(content)
    with pytest.raises(StoreCorrupt, match="backup") as raised:
        SqliteStore.open(home)
    assert str(database(home)) in str(raised.value)
    assert database(home).read_bytes() == content


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_all_files_are_for_their_owner_alone(tmp_path: Path, umask: int):
    before = os.umask(umask)
    try:
        with SqliteStore.open(tmp_path / "a" / "home") as store:
            add(store, original("a"))
            modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "a").rglob("*")}
    finally:
        os.umask(before)
    names = ("undrift.db", "undrift.db-wal", "undrift.db-shm", "undrift.newest")
    assert modes == {"home": 0o700, **dict.fromkeys(names, 0o600)}


@pytest.mark.parametrize("act", ["delete", "replace"])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(home: Path, tmp_path: Path, act: str):
    with SqliteStore.open(home) as store:
        add(store, original("a"))
        home.rename(tmp_path / "moved")
        if act == "replace":
            SqliteStore.open(home).close()
        with pytest.raises(StoreError, match="moved or deleted"):
            add(store, original("b"))
        if act == "delete":
            with pytest.raises(StoreError, match="--home"):
                add(store, original("b"))
            assert not home.exists()
            (tmp_path / "moved").rename(home)
        add(store, original("b"))
        assert store.original(original("b").ref) == original("b")
        assert store.integrity() == ()


@pytest.mark.parametrize(
    "change",
    ["content = CAST('tExt' AS BLOB)", "content = 'text'", "content = x'ff'", "entry_id = 'other'", "entry_id = CAST(x'ff' AS TEXT)",
     "type = 'spec'", "token_count = 2", "timestamp = 1.5", "entry_seq = 3", "metadata = '{}'", "masked = '[]'", "session_id = 't'",
     "sha256 = x'00'", "record_sha256 = x'00'", "source = 'pin'"],
)  # fmt: skip
def test_a_changed_original_is_never_given_out(home: Path, change: str):
    damaged, sound = original("a"), original("b", "text as well")
    with SqliteStore.open(home) as store:
        add(store, damaged, sound)
        connection = raw(home)
        connection.execute(f"UPDATE originals SET {change} WHERE ref = ?", (damaged.ref,))
        connection.close()
        with pytest.raises(StoreCorrupt, match=damaged.ref):
            store.original(damaged.ref)
        assert store.original(sound.ref) == sound
        assert any(damaged.ref in problem for problem in store.integrity())
        snippets = {hit.ref: hit.snippet for hit in store.find("text")}
        assert snippets[sound.ref] == "text as well"
        assert "damaged" in snippets.get(damaged.ref, "damaged")


@pytest.mark.parametrize(
    ("table", "change", "read"),
    [
        ("decisions", "reason = 'other'", lambda store: store.decisions("s")),
        ("decisions", "detail = '{\"keep_head\": 1}'", lambda store: store.decision(original("a").ref)),
        ("decisions", "tokens_saved = 5", lambda store: store.decisions("s")),
        ("operations", "payload = '{}'", lambda store: store.operations("s")),
        ("operations", "at_ms = 5", lambda store: store.operations("s")),
        ("originals", "content = x'00'", lambda store: store.buffer("s")),
        ("originals", "content = x'00'", lambda store: store.pins("s")),
    ],
)
def test_a_changed_record_is_never_given_out(home: Path, table: str, change: str, read):
    with SqliteStore.open(home) as store:
        add(store, original("a"), prune_them=True)
        add(store, original("b", source="buffer"), original("c", source="pin"))
        assert store.integrity() == ()
        connection = raw(home)
        connection.execute(f"UPDATE {table} SET {change}")
        connection.close()
        with pytest.raises(StoreCorrupt, match="SHA-256"):
            read(store)
        assert any("SHA-256" in problem for problem in store.integrity())


def test_an_original_that_is_missing_is_a_problem(home: Path):
    with SqliteStore.open(home) as store:
        add(store, original("a"), prune_them=True)
        connection = raw(home)
        connection.execute("DELETE FROM originals")
        connection.execute("DELETE FROM operations")
        connection.close()
        assert any("'a'" in problem and "missing" in problem for problem in store.integrity())
        assert any("decisions 1: the operation" in problem for problem in store.integrity())


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("UPDATE decisions SET record_sha256 = CAST(x'db' AS TEXT)", lambda store: store.decisions("s")),
        ("UPDATE originals SET content = CAST(x'db' AS TEXT)", lambda store: store.original(original("e").ref)),
        ("UPDATE operations SET record_sha256 = CAST(x'db' AS TEXT)", lambda store: store.operations("s")),
    ],
)
def test_bytes_that_became_a_text_which_is_none_are_damage(home: Path, damage: str, read: Callable[[SqliteStore], Any]):
    with SqliteStore.open(home) as store:
        add(store, original("e"), prune_them=True)
        connection = raw(home)
        connection.execute(damage)
        connection.close()
        with pytest.raises(StoreCorrupt, match="cannot be read"):
            read(store)
        assert any("cannot be read" in problem for problem in store.integrity())
        assert store.last_seq("s") == 1


def test_no_flipped_bit_gives_a_wrong_content(home: Path, tmp_path: Path):
    truth = {one.ref: one for one in (original(f"e{i}", f"content {i} " * 40) for i in range(30))}
    with SqliteStore.open(home) as store:
        add(store, *truth.values(), prune_them=True)
    whole = database(home).read_bytes()
    random, refused = Random(7), 0
    for trial in range(240):
        damaged = bytearray(whole)
        damaged[random.randrange(len(whole))] ^= 1 << random.randrange(8)
        copy = tmp_path / str(trial)
        copy.mkdir()
        database(copy).write_bytes(damaged)
        try:
            with SqliteStore.open(copy) as store:
                for ref, given in truth.items():
                    try:
                        assert store.original(ref) == given
                    except StoreError:
                        refused += 1
                decisions = store.decisions("s")
                assert all(decision == prune(original(name, "")) for name, decision in decisions.items())
        except StoreError:
            refused += 1
        shutil.rmtree(copy)
    assert refused > 10


def test_a_store_is_not_shared_over_a_fork(home: Path):
    if sys.platform == "win32":
        pytest.skip("Windows has no fork")
    code = """
import os, sys
from undrift.errors import StoreError
from undrift.stores.sqlite import SqliteStore
from tests.stores.builders import commit
store = SqliteStore.open(sys.argv[1])
if (child := os.fork()) == 0:
    try:
        commit(store, "s", "x", at_ms=1)
    except StoreError as error:
        os._exit(7 if "fork" in str(error) else 1)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), commit(store, "s", "x", at_ms=1), store.integrity())
"""
    out, errors = python(code, home).communicate()
    assert out == "7 1 ()\n", errors
