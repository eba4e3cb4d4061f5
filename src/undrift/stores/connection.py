"""Open the database file, with the settings on which durability stands.

Law: a connection that leaves this module has WAL, synchronous=FULL, foreign keys, no memory map and today's schema.
WAL with FULL lost nothing in 1,500 simulated power cuts, with NORMAL acknowledged commits in 902 (RELIABILITY 0).
"""

import time
from contextlib import suppress
from pathlib import Path

import apsw

from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import copies, files, newest, search
from undrift.stores.migrations import MIGRATIONS, identify, migrate, transaction

__all__ = ["NAME", "Patience", "SIDE_FILES", "connect", "connect_to_read", "is_without_room", "prepare_file"]

NAME = "undrift.db"
"""The file in the home folder; SQLite puts ``-wal`` and ``-shm`` beside it and gives them its permissions."""

_NO_ROOM = frozenset({apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP, apsw.SQLITE_IOERR_SHMOPEN})
_NAPS_S = (0.001, 0.002, 0.003, 0.005, 0.007)
SIDE_FILES = ("", "-wal", "-shm", "-journal")
_SETTINGS = """
PRAGMA foreign_keys = ON;
PRAGMA synchronous = FULL;
PRAGMA mmap_size = 0;
PRAGMA cell_size_check = ON;
PRAGMA trusted_schema = OFF;
PRAGMA journal_size_limit = 67108864;
"""


def prepare_file(home: Path, *, create: bool) -> Path:
    """Return the path of the database, made with 0700 and 0600 where it is absent; nothing is followed or overwritten.

    Raises:
        StoreError: It is absent and is not to be created.
        StoreCorrupt: It is empty or gone, though its ``-wal`` is not; neither was changed.
        OSError: The system refuses, or something else stands in its place.
    """
    path = home / NAME
    _refuse_orphan(path)
    if create:
        files.make_folder(home)
        if files.create_file(path):
            newest.forget(home)  # it is about a store that somebody took away
    elif not path.exists() and not path.is_symlink():
        raise StoreError(f"no store in {home}: nothing was recorded there yet, or it is another --home")
    for suffix in SIDE_FILES:
        files.check_regular(home / f"{NAME}{suffix}")
    return path


def connect(path: Path, busy_timeout_ms: int) -> apsw.Connection:
    """Open a file that exists, check whose it is, bring it up to date.

    Raises:
        StoreVersionError: It was written by a newer undrift; it was not changed.
        StoreError: It belongs to another program, or stands where WAL does not work; it was not changed.
        apsw.Error: SQLite refuses.
    """
    before = files.identity(path)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        connection.set_busy_handler(Patience(busy_timeout_ms))
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # a file that is not ours stays as it is
        version = identify(connection)
        if files.identity(path) != before:
            raise StoreError(f"{path}: another file was put in its place while it was opened; try again")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        connection.execute(_SETTINGS)
        _use_wal(connection, busy_timeout_ms)
        if 0 < version < len(MIGRATIONS):
            _keep_copy(connection, path, version)
        migrate(connection)
        if not search.complete(connection):
            with transaction(connection):
                search.rebuild(connection)
    except BaseException:
        connection.close(True)
        raise
    return connection


def is_without_room(error: apsw.Error) -> bool:
    """Tell whether an opening failed because the ``-shm`` could not be made: on a full disk even reading needs 32 KB."""
    return isinstance(error, apsw.CantOpenError) or getattr(error, "extendedresult", 0) in _NO_ROOM


def connect_to_read(path: Path, busy_timeout_ms: int) -> apsw.Connection:
    """Open a file to read it alone, which needs no room on the disk; for a moment, as others have to wait meanwhile.

    Raises:
        apsw.Error: It cannot be read, another process has it open, or it is not of today's version.
    """
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        connection.set_busy_timeout(busy_timeout_ms)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON")
        if identify(connection) != len(MIGRATIONS):
            raise apsw.ReadOnlyError(f"version {identify(connection)} has to be brought up to date first")
        connection.execute(_SETTINGS)
    except BaseException:
        connection.close(True)
        raise
    return connection


def _refuse_orphan(path: Path) -> None:
    """SQLite deletes the log of an empty database; a store that is whole never has one, so it is all that is left."""
    log = path.with_name(f"{path.name}-wal")
    with suppress(FileNotFoundError):
        lost = log.stat().st_size > 0 and not (path.is_symlink() or (path.exists() and path.stat().st_size > 0))
        if lost:
            raise StoreCorrupt(
                f"{path}: it is empty or gone, but {log.name} beside it is not; nothing was changed. "
                "Put the file back, or a backup with `undrift store restore`, or move both away to begin anew"
            )


def _keep_copy(connection: apsw.Connection, path: Path, version: int) -> None:
    """Copy a file that is about to be migrated (R13); where another process has migrated it meanwhile, there is no need."""
    with suppress(StoreError):
        if identify(connection) > version:
            return
    try:
        copies.copy(connection, path.with_name(f"{path.name}.of-version-{version}"), copies.structure)
    except InputError as error:
        raise StoreError(f"{error}; nothing is migrated without a copy of what was there") from error


class Patience:
    """Wait for a lock in short naps of differing length, up to the time-out.

    SQLite's own naps grow to 100 ms, so that who waits longest looks least often: among 12 busy writers the longest wait
    was 1.7 to 3.2 s, with these naps 0.3 to 0.6 s (`make contention`).
    """

    def __init__(self, busy_timeout_ms: int) -> None:
        self._timeout_s = busy_timeout_ms / 1000
        self._until = 0.0

    def __call__(self, calls: int) -> bool:
        now = time.monotonic()
        if calls == 0:
            self._until = now + self._timeout_s
        if now >= self._until:
            return False
        time.sleep(_NAPS_S[time.monotonic_ns() // 1_000 % len(_NAPS_S)])
        return True


def _use_wal(connection: apsw.Connection, busy_timeout_ms: int) -> None:
    """Switch a new file to WAL, once in its life; SQLite does not wait for other openers here, so this does."""
    deadline = time.monotonic() + busy_timeout_ms / 1000
    while connection.pragma("journal_mode") != "wal":
        try:
            mode = connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            if mode != "wal":
                raise StoreError(f"{connection.filename}: WAL does not work there; choose a --home on a local disk")
