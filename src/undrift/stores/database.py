"""One open SQLite file: one connection with a lock; one thread uses it at a time.

Law: after a fault of the disk the next user gets a new connection. A file that was moved, or a process that was forked,
is refused. Fork is not supported: a process opens its own store after the fork.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import apsw

from undrift.errors import StoreCorrupt, StoreError
from undrift.stores import faults, files, holders, newest, read_only, rows
from undrift.stores.connection import connect, connect_to_read, is_without_room, prepare_file
from undrift.values.closing import check_process

__all__ = ["Database"]

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("undrift.stores")

_OPENING: dict[Path, threading.Lock] = {}
"""One lock per file: the descriptor that creates a file is closed before another thread opens the file.

Closing any descriptor of a file drops the POSIX locks that SQLite holds on it in this process.
"""


class Database:
    """The file ``undrift.db`` of a home folder; use `open` to get one."""

    def __init__(self, path: Path, connection: apsw.Connection | None, busy_timeout_ms: int) -> None:
        self.path = path
        self.busy_timeout_ms = busy_timeout_ms
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        self._connection = connection
        self._is_makeshift = False
        self._frozen: read_only.FileState | None = None  # of a store that cannot be written, at the time of the reading
        self._identity = files.identity(path)

    @classmethod
    def open(cls, home: str | os.PathLike[str], *, create: bool = True, busy_timeout_ms: int = 5_000) -> Self:
        """Open the database of a home folder; see `SqliteStore.open`."""
        if not os.fspath(home):
            raise StoreError("the home folder has an empty name; choose another --home")
        with _as_store_errors(home):
            folder = Path(os.path.realpath(home))  # the user's own links count, a planted link does not
            with _OPENING.setdefault(folder, threading.Lock()):
                path = prepare_file(folder, create=create)
                known = newest.noted(folder)
                with _as_store_errors(path):
                    opened = cls(path, None, busy_timeout_ms)
                    opened._connection = opened._reconnected()
                    if opened._is_makeshift:
                        opened._drop()  # the file can be read; each use tries again
                    elif (lost := newest.loss(folder, opened._connection, known)) and newest.accept(folder, lost):
                        _log.warning("%s: %s. `undrift doctor` says what to do", path, lost)
                    return opened

    def using(self, ref: str = "") -> "_Use":
        """Lock and yield the connection; disk faults are raised as `StoreError`.

        `ref`: the reference of the original that is read, for the message.
        """
        return _Use(self, ref)

    def ask(self, read: Callable[Concatenate[apsw.Connection, P], R], *given: P.args, **named: P.kwargs) -> R:
        """Call a function with the connection as its first argument, and return its result."""
        with self.using() as connection:
            return read(connection, *given, **named)

    def close(self) -> None:
        """Close the file; a second call does nothing, and neither does one of a forked process."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._closed = True
            self._drop()

    def forsake(self) -> None:
        """Close the connection after a fault, unless it is a read-only copy; the caller holds the lock."""
        if self._frozen is None:
            self._drop()

    def _connected(self) -> apsw.Connection:
        if self._closed:
            raise StoreError(f"{self.path}: the store is closed; open it again")
        if self._frozen is not None and self._frozen != read_only.state(self.path):
            self._drop()
        if self._connection is None:
            with _as_store_errors(self.path):
                self._connection = self._reconnected()
        elif self._identity != files.identity(self.path):
            # A write to a file without a name is lost with the process, so nothing may be acknowledged.
            self._drop()
            raise StoreError(f"{self.path}: the file was moved or deleted while it was in use; put it back or restart")
        return self._connection

    def _reconnected(self) -> apsw.Connection:
        self._is_makeshift, self._frozen = False, None
        try:
            connection = connect(self.path, self.busy_timeout_ms)
        except (apsw.Error, OSError) as error:
            unwritable = read_only.is_unwritable(self.path)
            if not unwritable and not (isinstance(error, apsw.Error) and is_without_room(error)):
                raise
            self._frozen = read_only.state(self.path) if unwritable else None
            self._is_makeshift = not unwritable
            connection = _makeshift(self.path, self.busy_timeout_ms, error, is_unwritable=unwritable)
        self._identity = files.identity(self.path)
        return connection

    def _drop(self) -> None:
        connection, self._connection, self._frozen = self._connection, None, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(True)


class _Use:
    """One use of the connection under the lock; after a disk fault, the next use opens a new connection.

    It is a class because every read comes through here, and a generator makes a read 10% slower.
    """

    __slots__ = ("_database", "_ref")

    def __init__(self, database: Database, ref: str = "") -> None:
        self._database, self._ref = database, ref

    def __enter__(self) -> apsw.Connection:
        check_process(
            self._database._process, f"{self._database.path}: the store"
        )  # a parent may hold the lock for ever
        self._database._lock.acquire()
        try:
            return self._database._connected()
        except BaseException:
            self._database._lock.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database = self._database
        try:
            if isinstance(error, apsw.Error):
                raise self._translated(error) from error
            if isinstance(error, UnicodeDecodeError):  # a flipped bit has damaged a text
                raise StoreCorrupt(f"{database.path}: a record cannot be read: {error}; {rows.REMEDY}") from error
        finally:
            connection = database._connection
            if connection is not None and (database._is_makeshift or connection.in_transaction):
                database._drop()  # other processes wait for it; or the roll-back failed as well
            database._lock.release()

    def _translated(self, error: apsw.Error) -> StoreError:
        database = self._database
        if faults.fault_of(error).reopen and not (database._frozen and isinstance(error, apsw.ReadOnlyError)):
            database._drop()  # a refused write of a read-only store is no fault: another copy would be as good
        about = f"original {self._ref[:64]!r}: " if self._ref else ""
        if isinstance(error, apsw.BusyError) and (pids := holders.holders(database.path, writer=True)):
            about = f"{about}{holders.named(pids)} holds it: "
        return faults.from_driver(error, database.path, about)


def _makeshift(
    path: Path, busy_timeout_ms: int, error: apsw.Error | OSError, *, is_unwritable: bool
) -> apsw.Connection:
    """Open a store read-only because nothing can be written; if that fails too, raise the first error."""
    try:
        return read_only.connect_as_it_is(path) if is_unwritable else connect_to_read(path, busy_timeout_ms)
    except (apsw.Error, OSError):
        raise error from None


@contextmanager
def _as_store_errors(place: object) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise faults.from_driver(error, place) from error
    except (OSError, ValueError) as error:
        raise faults.from_system(error, place) from error
