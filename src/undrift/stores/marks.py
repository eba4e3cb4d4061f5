"""Marks: short texts, such as hashes of messages, by which a conversation without an id is recognised.

Law: knows only its own table; runs inside a transaction that the caller opened. A damaged mark is skipped like an unknown
one, because an older mark says the same; `integrity` names it.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import KnownMark, Mark
from undrift.stores.table import Table

__all__ = ["MARK_COLUMNS", "MOST_MARKS", "TABLE", "add", "create", "find", "mark_from", "mark_row"]

MARK_COLUMNS = "number, record_sha256, CAST(session_id AS BLOB), CAST(mark AS BLOB), CAST(kind AS BLOB)"

MOST_MARKS = 1_024
"""Kept of one session, the newest, and its birth: a turn makes two or three. An older fork is a new session."""

_CREATE = """
CREATE TABLE marks(
    number INTEGER PRIMARY KEY,  -- the oldest of a session are deleted, never the newest, so it only grows
    mark TEXT NOT NULL,
    kind TEXT NOT NULL,
    session_id TEXT NOT NULL,
    record_sha256 BLOB NOT NULL
);
CREATE UNIQUE INDEX marks_by_text ON marks(mark, session_id);
CREATE INDEX marks_of_session ON marks(session_id);  -- and number, which is the rowid
"""
_FIND = f"""SELECT {MARK_COLUMNS}, sessions,
    EXISTS(SELECT 1 FROM marks t WHERE t.session_id = m.session_id AND t.kind = 'turn')
    FROM (SELECT max(number) AS newest, count(*) AS sessions FROM marks
        WHERE mark IN (SELECT value FROM json_each(?)) GROUP BY mark, kind)
    JOIN marks m ON m.number = newest ORDER BY number"""  # noqa: S608 - constants of ours
_HAS_TURNS = "SELECT 1 FROM marks WHERE session_id = ? AND kind = 'turn' LIMIT 1"
_ADD = """INSERT INTO marks(mark, kind, session_id, record_sha256) VALUES(?, ?, ?, ?)
    ON CONFLICT(mark, session_id) DO NOTHING"""
_THIN = """DELETE FROM marks WHERE session_id = ? AND kind <> 'birth' AND number <= (
    SELECT number FROM marks WHERE session_id = ? ORDER BY number DESC LIMIT 1 OFFSET ?)"""


def create(connection: apsw.Connection) -> None:
    """Make the table."""
    connection.execute(_CREATE)


def find(connection: apsw.Connection, texts: Iterable[str]) -> list[KnownMark]:
    """Return the stored mark for each text and kind."""
    found = []
    for *row, sessions, has_turns in connection.execute(_FIND, (json.dumps(list(texts)),)):
        try:
            mark, session_id = mark_from(tuple(row))
        except StoreCorrupt:
            continue
        found.append(KnownMark(mark, session_id, sessions, bool(has_turns)))
    return found


def add(connection: apsw.Connection, session_id: str, marks: Sequence[Mark], *, is_claim: bool) -> bool:
    """Insert new marks and drop the session's oldest beyond `MOST_MARKS`; False means: a claim came too late."""
    key = rows.key(session_id)
    if is_claim and connection.execute(_HAS_TURNS, (key,)).fetchall():
        return False
    connection.executemany(_ADD, [mark_row(session_id, mark) for mark in marks])
    connection.execute(_THIN, (key, key, MOST_MARKS))
    return True


def mark_row(session_id: str, mark: Mark) -> rows.Row:
    """Return the values of a new mark, in the order mark, kind, session_id, record_sha256."""
    digest = rows.digest(rows.raw(session_id), rows.raw(mark.text), rows.raw(mark.kind))
    return rows.key(mark.text), mark.kind, rows.key(session_id), digest


def mark_from(row: rows.Row) -> tuple[Mark, str]:
    """Read a mark and the id of its session from a row. Raises StoreCorrupt."""
    number, digest, session_id, text, kind = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"mark {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        kind_: Any = rows.text_from(kind)
        return Mark(rows.text_from(text), kind_), rows.text_from(session_id)
    except rows.FORGED as error:
        raise StoreCorrupt(f"mark {number} was not written by undrift: {error}; {rows.REMEDY}") from error


TABLE = Table("marks", MARK_COLUMNS, mark_from, of_session=False, seq="")
