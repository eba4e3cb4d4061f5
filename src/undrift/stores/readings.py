"""Readings (parsed histories), so that a restarted process need not parse them again.

Law: knows only its own table. A reading is derived: it holds no text, and a missing or damaged one costs only time. It
depends only on the bytes, so that a rewind leaves it unchanged.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.packing import FORGED, framed, unframed
from undrift.stores.table import Table, Writing
from undrift.values.readings import Heads, StretchReading

__all__ = ["READING_COLUMNS", "TABLE", "add", "create", "find", "forget", "reading_from"]

READING_COLUMNS = """number, record_sha256, CAST(session_id AS BLOB), CAST(key AS BLOB), CAST(before AS BLOB),
    CAST(sha256 AS BLOB), length, record"""

_CREATE = """
CREATE TABLE readings(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    key TEXT NOT NULL,
    before TEXT NOT NULL,  -- of the bytes before it; empty for the first stretch of a history
    sha256 TEXT NOT NULL,
    length INTEGER NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    scope_number INTEGER NOT NULL DEFAULT 1,
    record_sha256 BLOB NOT NULL,
    record BLOB NOT NULL  -- last, so that nothing else is read across it
);
CREATE INDEX readings_of_session ON readings(session_id);
"""
_ADD = """INSERT INTO readings(session_id, key, before, sha256, length, record_sha256, record, from_seq)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
    WHERE NOT EXISTS (SELECT 1 FROM readings WHERE session_id = ?1 AND record_sha256 = ?6)
    AND (?3 = '' OR EXISTS (SELECT 1 FROM readings WHERE session_id = ?1 AND sha256 = ?3))"""
"""A stretch after a missing one, as after a purge, would never be found."""
_HEADS = """SELECT number, before, sha256, length FROM readings WHERE session_id = ? AND key = ? ORDER BY number"""
_FIND = f"""SELECT {READING_COLUMNS} FROM readings
    WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number"""  # noqa: S608 - constants of ours


def create(connection: apsw.Connection) -> None:
    """Make the table."""
    connection.execute(_CREATE)


def find(
    connection: apsw.Connection, session_id: str, key: str, chosen: Callable[[Heads], Collection[int]]
) -> list[StretchReading]:
    """Return those readings of a session that `chosen` selects, oldest first.

    Raises StoreCorrupt: a reading does not match its SHA-256.
    """
    found: list[Any] = connection.execute(_HEADS, (rows.key(session_id), key)).fetchall()
    heads = [(number, StretchReading(key, before, sha256, length)) for number, before, sha256, length in found]
    numbers = json.dumps(list(chosen(heads))) if heads else "[]"
    return [reading_from(row) for row in connection.execute(_FIND, (numbers,))]


def forget(connection: apsw.Connection, session_id: str) -> None:
    """Delete the readings of a purged session: they contain ids and hashes of the purged data."""
    connection.execute("DELETE FROM readings WHERE session_id = ?", (rows.key(session_id),))


def reading_from(row: rows.Row) -> StretchReading:
    """Read a reading from a row. Raises StoreCorrupt."""
    number, digest, _, key, before, sha256, length, record = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"reading {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        key, before, sha256 = map(rows.text_from, (key, before, sha256))
        return StretchReading(key, before, sha256, length, unframed(bytes(record)))
    except (*rows.FORGED, *FORGED) as error:
        raise StoreCorrupt(f"reading {number} was not written by undrift: {error}; {rows.REMEDY}") from error


def add(writing: Writing, found: Sequence[StretchReading]) -> None:
    """Write readings with an operation."""
    _write(writing, _prepared(writing.session_id, found))


def _prepared(session_id: str, readings: Sequence[StretchReading]) -> list[rows.Row]:
    made = []
    for one in readings:
        texts = (session_id, one.key, one.before, one.sha256)
        record = framed(one.record)
        digest = rows.digest(*map(rows.raw, texts), one.length, record)
        made.append((*map(rows.key, texts), one.length, digest, record))
    return made


def _write(writing: Writing, readings: Sequence[rows.Row]) -> None:
    writing.connection.executemany(_ADD, [(*row, writing.seq) for row in readings])


TABLE = Table(
    "readings",
    READING_COLUMNS,
    reading_from,
    changes=(StretchReading,),
    prepare=_prepared,
    write=_write,
    of_session=False,  # any purge in a session deletes them, by `forget`
)
