"""The findings of autopsies, by recording: derived data in a database of its own, safe to delete.

Law: no row is worth an error that a new reading does not repair. A damaged file is replaced, and a damaged row does not
count. No power cut is waited for; a killed process loses nothing that was kept.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import apsw

from undrift.stores import files
from undrift.stores.connection import Patience
from undrift.stores.faults import from_driver, from_system
from undrift.stores.migrations import transaction

__all__ = ["AutopsyRow", "AutopsyRows", "FOLDER"]

FOLDER = "autopsies"
"""The folder in a home; all of it may be deleted."""

_NAME = "index.db"
_VERSION = 1
_BUSY_TIMEOUT_MS = 10_000
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError, apsw.ConstraintError)
_SETTINGS = "PRAGMA synchronous = OFF; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
_TABLE = """
CREATE TABLE found(
    path BLOB NOT NULL, budget INTEGER NOT NULL, rules TEXT NOT NULL, stamp TEXT NOT NULL, content BLOB NOT NULL,
    hash BLOB NOT NULL, UNIQUE(path, budget)
);
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AutopsyRow:
    """The findings in one recording.

    Args:
        path: Of the recording, absolute.
        stamp: Its identity, size and time, as the reader of the recording writes them.
    """

    path: str
    stamp: str
    content: bytes


class AutopsyRows:
    """The rows of one home, for one budget and one version of the rules; other budgets keep rows of their own."""

    def __init__(self, home: Path, *, budget_tokens: int, rules: str) -> None:
        self._path = home / FOLDER / _NAME
        self._budget = budget_tokens
        self._rules = rules
        self._connection: apsw.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def load(self) -> tuple[AutopsyRow, ...]:
        """Return the rows that are whole; nothing is created.

        Raises StoreError: the file cannot be opened; the message says why.
        """
        if not os.path.lexists(self._path):
            return ()
        return self._done(self._load)

    def keep(self, row: AutopsyRow) -> None:
        """Write one row; it replaces the row of the same path and budget.

        Raises StoreError: it cannot be written; the message says why.
        """
        self._done(lambda connection: self._keep(connection, row))

    def forget(self, paths: Iterable[str]) -> None:
        """Delete the rows of some recordings, for every budget. Raises StoreError: they cannot be deleted."""
        gone = [(os.fsencode(path),) for path in paths]
        if gone:
            self._done(lambda connection: connection.executemany("DELETE FROM found WHERE path = ?", gone).fetchall())

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(True)

    def _load(self, connection: apsw.Connection) -> tuple[AutopsyRow, ...]:
        found = connection.execute(
            "SELECT path, stamp, content, hash FROM found WHERE budget = ? AND rules = ?", (self._budget, self._rules)
        )
        return tuple(
            AutopsyRow(os.fsdecode(path), stamp, content)
            for path, stamp, content, digest in found
            if isinstance(path, bytes) and isinstance(stamp, str) and isinstance(content, bytes)
            if _digest(path, stamp, content) == digest
        )

    def _keep(self, connection: apsw.Connection, row: AutopsyRow) -> None:
        path = os.fsencode(row.path)
        connection.execute(
            "INSERT OR REPLACE INTO found(path, budget, rules, stamp, content, hash) VALUES (?, ?, ?, ?, ?, ?)",
            (path, self._budget, self._rules, row.stamp, row.content, _digest(path, row.stamp, row.content)),
        )

    def _done(self, work: Callable[[apsw.Connection], T]) -> T:
        """Do one thing with the file; if it is damaged, replace it and do the thing with a new one."""
        try:
            try:
                return work(self._opened())
            except _DAMAGED:
                self._remove()
                return work(self._opened())
        except apsw.Error as error:
            self.close()
            raise from_driver(error, self._path) from error
        except (OSError, ValueError) as error:
            raise from_system(error, self._path) from error

    def _remove(self) -> None:
        """Delete a damaged file, unless another process has replaced it in the meantime."""
        damaged = self._identity
        self.close()
        if files.identity(self._path) == damaged:
            for suffix in ("-journal", ""):
                self._path.with_name(f"{_NAME}{suffix}").unlink(missing_ok=True)

    def _opened(self) -> apsw.Connection:
        """Open the file, and again if another process has replaced it; create it if it is absent."""
        identity = files.identity(self._path)
        if self._connection is not None and identity is not None and identity == self._identity:
            return self._connection
        self.close()
        files.make_folder(self._path.parent)
        files.create_file(self._path)
        for suffix in ("", "-journal"):
            files.check_regular(self._path.with_name(f"{_NAME}{suffix}"))
        self._identity = files.identity(self._path)
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
        try:
            connection.set_busy_handler(Patience(_BUSY_TIMEOUT_MS))
            connection.execute(_SETTINGS)
            if connection.pragma("user_version") != _VERSION:
                _create(connection)
        except BaseException:
            connection.close(True)
            raise
        self._connection = connection
        return connection


def _create(connection: apsw.Connection) -> None:
    """Make the table; rows of another version of undrift go, because they can be read again."""
    with transaction(connection):
        if connection.pragma("user_version") != _VERSION:  # no other process was first
            connection.execute(f"DROP TABLE IF EXISTS found; {_TABLE} PRAGMA user_version = {_VERSION};")


def _digest(path: bytes, stamp: str, content: bytes) -> bytes:
    return hashlib.blake2b(b"\0".join((path, stamp.encode(), content)), digest_size=16).digest()
