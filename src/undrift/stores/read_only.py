"""Reads a store in a read-only folder; SQLite itself refuses, because it creates files next to a database.

Law: nothing is written next to the store and none of its locks is taken; a reader sees one whole moment of it.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import apsw

from undrift.stores import indexing, search
from undrift.stores.migrations import MIGRATIONS, identify, migrate, transaction

__all__ = ["FileState", "connect_as_it_is", "is_unwritable", "state"]

_MOUNTS = Path("/proc/self/mountinfo")
_BLOCK_BYTES = 8 << 20
_TRIES = 3
_MOST_IN_MEMORY_BYTES = 1 << 30
_FORMATS_AT = 18
"""The place of two bytes in the head of a database that tell how it may be written and read."""
_OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW


class FileState(NamedTuple):
    """The state of the files; if it differs, the store was written or has become writable."""

    files: tuple[tuple[int, ...], ...]
    unwritable: bool


def is_unwritable(path: Path) -> bool:
    """Tell whether this process cannot write a database or its folder."""
    return not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def state(path: Path) -> FileState:
    """Return the state of a database and its WAL."""
    return FileState(tuple(_status(one) for one in (path, _log(path))), is_unwritable(path))


def connect_as_it_is(path: Path) -> apsw.Connection:
    """Open a store only for reading, from a copy if necessary.

    A file is read in its place only if nothing can change it: its whole file system is read-only, and no log waits to be
    written into it. Else a private copy of file and log is read; it has no name and disappears with the connection. In a
    sandbox that forbids every write, the copy is in memory, or the log is read as its writer's other readers do.

    Raises:
        apsw.Error, OSError: It cannot be read, there is no space for a copy, or another process writes at this moment.
    """
    if not _status(_log(path))[1:2] > (0,) and _is_frozen(path):
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{path.as_uri()}?immutable=1", flags=flags)
        try:
            if identify(connection) == len(MIGRATIONS) and _is_searchable(connection):
                return connection
        except BaseException:
            connection.close(True)
            raise
        connection.close()
    return _copied(path)


def _is_searchable(connection: apsw.Connection) -> bool:
    return search.complete(connection) and not search.is_behind(connection)


def _copied(path: Path) -> apsw.Connection:
    """Open a private, current copy; its file names are deleted at once, so that no copy ever remains."""
    if os.name == "nt":
        raise apsw.CantOpenError("a file that is open keeps its name on Windows")
    try:
        folder = Path(tempfile.mkdtemp(prefix="undrift-"))  # for its owner alone
    except FileNotFoundError:  # no folder for temporary files can be written
        return _without_files(path)
    try:
        copy = folder / path.name
        _copy(path, copy)
        connection = apsw.Connection(str(copy), flags=_OPEN)
        try:
            connection.execute(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE"
            ).fetchall()  # reads the log in
            migrate(connection)
            if not search.complete(connection):
                with transaction(connection):
                    search.reset(connection)
            indexing.catch_up(lambda: nullcontext(connection))
            connection.execute("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        except BaseException:
            connection.close(True)
            raise
        return connection
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _without_files(path: Path) -> apsw.Connection:
    """Open a store only for reading where no file at all can be written."""
    if _status(_log(path))[1:2] > (0,):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
    else:
        connection = _in_memory(path)
    try:
        if identify(connection) != len(MIGRATIONS) or not _is_searchable(connection):
            raise apsw.ReadOnlyError("it has to be brought up to date first")
        connection.execute("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close(True)
        raise
    return connection


def _in_memory(path: Path) -> apsw.Connection:
    """Read a database without a log into memory."""
    before = state(path)
    if path.stat().st_size > _MOST_IN_MEMORY_BYTES:
        raise apsw.CantOpenError("it is too large to be read without a folder for temporary files")
    content = bytearray().join(_blocks(path, is_log=False))
    if state(path) != before:
        raise apsw.BusyError("it is written at this moment, and cannot be locked from here")
    content[_FORMATS_AT : _FORMATS_AT + 2] = b"\1\1"  # not the formats with a log, which memory has not
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", bytes(content))
    return connection


def _copy(path: Path, copy: Path) -> None:
    for _ in range(_TRIES):
        before = state(path)
        for source, target in ((path, copy), (_log(path), _log(copy))):
            target.unlink(missing_ok=True)
            if source.exists():
                with target.open("xb") as file:
                    file.writelines(_blocks(source, is_log=source != path))
        if state(path) == before:
            return
    raise apsw.BusyError("it is written at this moment, and cannot be locked from here")


def _blocks(path: Path, *, is_log: bool) -> Iterator[bytes]:
    """Read a file through SQLite: to close a descriptor of our own would release this process's locks on the file."""
    kind = apsw.SQLITE_OPEN_WAL if is_log else apsw.SQLITE_OPEN_MAIN_DB
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_READONLY | kind, 0])
    try:
        size_bytes, offset = file.xFileSize(), 0
        while offset < size_bytes:
            yield file.xRead(min(_BLOCK_BYTES, size_bytes - offset), offset)
            offset += _BLOCK_BYTES
    finally:
        file.xClose()


def _is_frozen(path: Path) -> bool:
    """Tell if the whole file system is read-only, as far as the system says so (Linux).

    A place that is mounted read-only here may be written elsewhere.
    """
    if sys.platform == "win32":
        return False
    try:
        device = path.stat().st_dev
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    name = f"{os.major(device)}:{os.minor(device)}"
    halves = [line.partition(" - ") for line in lines]
    own = [after.split() for before, _, after in halves if before.split()[2:3] == [name]]
    return bool(own) and all("ro" in words[-1].split(",") for words in own if words)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _status(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
