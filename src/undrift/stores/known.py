"""Skips records of a session that the caller has already loaded: equal SHA-256, equal record.

Law: a record has one SHA-256 for good, so a known record equals a new reading of it. A record that is no longer active is
dropped. Runs on a connection that the caller holds.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Met
from undrift.stores.checkpoints import kept
from undrift.stores.decisions import DECISION_COLUMNS, DECISION_SESSION, many_decisions
from undrift.stores.originals import ORIGINAL_COLUMNS, ORIGINAL_SESSION, original_from

__all__ = ["DECISIONS", "PINS", "Reading", "read"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """The queries and functions that load a session's active records from one table.

    Args:
        sql: ``SELECT {columns} ... WHERE session_id = ? ...{more} ORDER BY ...``, of a table of `rows`.
        columns: The columns for `maker`; the first are ``number, record_sha256``.
        session: The session's index in the columns.
        maker: Returns the function that makes the records of one reading from rows; it raises StoreCorrupt.
        kept: Returns records of checkpoints, each under its SHA-256. It takes the SHA-256 of each active row by number.
    """

    sql: str
    columns: str
    session: int
    maker: Callable[[], Callable[[rows.Row], T]]
    kept: Callable[[apsw.Connection, str, Mapping[int, bytes]], dict[bytes, T]] | None = None


DECISIONS = Reading(
    "SELECT {columns} FROM decisions WHERE session_id = ? AND to_seq IS NULL{more} ORDER BY number",
    DECISION_COLUMNS,
    DECISION_SESSION,
    many_decisions,
    kept,
)
PINS = Reading(
    "SELECT {columns} FROM originals WHERE session_id = ? AND source = 'pin' AND to_seq IS NULL{more} ORDER BY number",
    ORIGINAL_COLUMNS,
    ORIGINAL_SESSION,
    lambda: lambda row: original_from(row).original,
)


def read(connection: apsw.Connection, session_id: str, reading: Reading[T], known: Met[T] | None = None) -> list[T]:
    """Return the active records of a session, in their order.

    `known`: the records that were read before; afterwards the returned ones. None: read every row. Raises StoreCorrupt:
    a record does not match its SHA-256, or an index leads elsewhere.
    """
    found: dict[bytes, T] = {}
    listed: Any = ()
    former: dict[bytes, T] = {}
    if known or (known is not None and reading.kept):
        sql = reading.sql.format(columns="number, record_sha256", more="")
        listed = connection.execute(sql, (rows.key(session_id),)).fetchall()
        former = known.by_digest()
        if not former and reading.kept:
            former = reading.kept(connection, session_id, dict(listed))
    if former:
        new: list[Any] = [number for number, digest in listed if digest not in former]
        found = {**former, **_records(connection, session_id, reading, new)} if new else former
    if listed and all(digest in found for _, digest in listed):
        found = {digest: found[digest] for _, digest in listed}
    else:  # nothing is known, or another process has written in between
        found = _records(connection, session_id, reading, None)
    if known is not None:
        known.keep(found)
    return list(found.values())


def _records(
    connection: apsw.Connection, session_id: str, reading: Reading[T], numbers: list[int] | None
) -> dict[bytes, T]:
    """Load all records, or those with these numbers; each is checked, because a damaged index may lead elsewhere."""
    more = "" if numbers is None else " AND number IN (SELECT value FROM json_each(?))"
    named = () if numbers is None else (json.dumps(numbers),)
    sql = reading.sql.format(columns=reading.columns, more=more)
    session, column, make = rows.raw(session_id), reading.session, reading.maker()
    found = {}
    cursor = connection.execute(sql, (rows.key(session_id), *named))
    try:  # row by row: all rows as bytes use more memory than the records
        for row in cursor:
            if row[column] != session:
                raise StoreCorrupt(f"session {session_id[:64]!r}: an index of the file is damaged; {rows.REMEDY}")
            found[row[1]] = make(row)
    finally:
        cursor.close(True)
    return found
