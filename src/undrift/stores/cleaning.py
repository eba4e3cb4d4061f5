"""Overwrites deleted data in the file, in short steps, so that other processes can write in between.

Law: runs outside of a transaction. No step holds the lock for long; each borrows the connection again. A process that ends
in the middle leaves a whole store: the next cleaning continues.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from undrift.stores.connection import Patience
from undrift.stores.indexing import Use
from undrift.stores.migrations import transaction

__all__ = ["PAUSE_S", "clean", "securely", "wash"]

_MOST_AT_ONCE_BYTES = 4 << 20
"""A file up to this size is rewritten at once; 4 MiB took 0.04 s, 16 took 0.2, and all other processes wait meanwhile."""
_PAGES = 250
PAUSE_S = 0.02
"""Time for other processes to find the lock free: SQLite looks every 1 to 100 ms."""
_REMAINS = (
    "the store has {:,.0f} MB and was not rewritten, so that other processes can write: the purged data and the free pages "
    "are overwritten. Bytes of earlier changes between the records of a page stay until that page is written again, or "
    "until `sqlite3 undrift.db VACUUM` is run in the home while nothing else uses it"
)
_LOG_WAIT_MS = 100
"""While SQLite waits for readers here, it keeps writers out."""


@contextmanager
def securely(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    """Let SQLite overwrite all data that the caller deletes within this block."""
    connection.execute("PRAGMA secure_delete = ON")
    try:
        yield connection
    finally:
        connection.execute("PRAGMA secure_delete = FAST")


def clean(use: Use, busy_timeout_ms: int) -> str:
    """Overwrite the remains of deleted records in the file, and empty its WAL.

    Args:
        use: Lends the connection for one step.
        busy_timeout_ms: How long to wait for readers of the log; it cannot be emptied while they read.

    Returns:
        A sentence about possible remains in a large file, in which only the free pages were overwritten; empty if the
        whole file was rewritten.

    Raises:
        apsw.BusyError: Another process reads, or holds the lock, all the time.
    """
    with use() as connection:
        size_bytes = _number(connection, "page_count") * _number(connection, "page_size")
    if size_bytes <= _MOST_AT_ONCE_BYTES:
        with use() as connection:
            connection.execute("DROP TABLE IF EXISTS purge_blank; VACUUM")
        remains = ""
    else:
        _blank(use)
        remains = _REMAINS.format(size_bytes / 1e6)
    _empty_log(use, busy_timeout_ms)
    return remains


def wash(use: Use, index: str) -> bool:
    """Rewrite an index of words in pieces, so that it contains no removed words.

    Returns:
        True if it was completed. It begins again if other processes add words meanwhile, but not without end.
    """
    with use() as connection:
        found: list[Any] = connection.execute(f"SELECT count(*) FROM {index}_data").fetchall()  # noqa: S608
    for _ in range(3 * found[0][0] // _PAGES + 10):
        with use() as connection, securely(connection), transaction(connection):
            before = connection.total_changes()
            connection.execute(f"INSERT INTO {index}({index}, rank) VALUES('merge', -{_PAGES})")
            if connection.total_changes() - before < 2:  # as FTS5 says that there was nothing to do
                return True
        time.sleep(PAUSE_S)
    return False


def _blank(use: Use) -> None:
    """Overwrite the free pages: fill a temporary table with some at a time, and delete its rows."""
    with use() as connection, transaction(connection):
        connection.execute("CREATE TABLE IF NOT EXISTS purge_blank(content BLOB)")
        steps = _number(connection, "freelist_count") // _PAGES + 2
        room = _number(connection, "page_size") - 4  # in a page of a long value
    for _ in range(steps):  # other processes free pages as well, perhaps without end
        with use() as connection, transaction(connection):
            pages = min(_PAGES, _number(connection, "freelist_count"))
            least = (room - 8) * 32 // 255 - 23  # bytes that stay with the record, by SQLite's file format
            connection.execute("INSERT INTO purge_blank VALUES(zeroblob(?))", (least + pages * room,))
        time.sleep(PAUSE_S)
    found: list[Any] = [True]
    while found:
        with use() as connection, securely(connection), transaction(connection):
            found = connection.execute(
                "DELETE FROM purge_blank WHERE rowid = (SELECT min(rowid) FROM purge_blank) RETURNING 1"
            ).fetchall()
        time.sleep(PAUSE_S)
    with use() as connection, securely(connection), transaction(connection):
        connection.execute("DROP TABLE purge_blank")


def _empty_log(use: Use, busy_timeout_ms: int) -> None:
    until = time.monotonic() + busy_timeout_ms / 1000
    while True:
        with use() as connection:
            connection.set_busy_timeout(min(_LOG_WAIT_MS, busy_timeout_ms))
            try:  # beside another checkpoint, as of another purge, even the first raises at once
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)  # most of it, while others write
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                if time.monotonic() > until:
                    raise
            else:
                return
            finally:
                connection.set_busy_handler(Patience(busy_timeout_ms))
        time.sleep(PAUSE_S)


def _number(connection: apsw.Connection, name: str) -> int:
    return int(connection.pragma(name))
