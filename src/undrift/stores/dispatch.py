"""Runs of plans: the dispatcher's records of each run and its tasks, by name, in every version.

Law: knows only its own table, and that a record is JSON; runs inside a transaction that the caller opened. A version is
never changed: a change closes it and adds another. If another process has changed a record meanwhile, StoreError is
raised and the caller rolls back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import rows
from undrift.stores.base import RunChange
from undrift.stores.table import Table, Writing

__all__ = ["PreparedRuns", "RUN_COLUMNS", "RUN_SESSION", "TABLE", "create", "find", "run_from", "run_row"]

RUN_COLUMNS = "number, record_sha256, CAST(session_id AS BLOB), CAST(name AS BLOB), CAST(record AS BLOB)"
RUN_SESSION = 2
"""The session's index in the columns."""

_CREATE = """
CREATE TABLE run_records(
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,  -- of the run
    name TEXT NOT NULL,
    from_seq INTEGER NOT NULL REFERENCES operations(seq),
    to_seq INTEGER REFERENCES operations(seq),
    record_sha256 BLOB NOT NULL,
    record TEXT NOT NULL
);
CREATE UNIQUE INDEX run_records_now ON run_records(session_id, name) WHERE to_seq IS NULL;
"""
_RECORDS = f"SELECT {RUN_COLUMNS} FROM run_records WHERE session_id = ? AND to_seq IS NULL"  # noqa: S608
_ONE = _RECORDS + " AND name = ?"
_CLOSE = "UPDATE run_records SET to_seq = ? WHERE number = ?"
_ADD = "INSERT INTO run_records(session_id, name, record_sha256, record, from_seq) VALUES(?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class PreparedRuns:
    """The changes of one run to write: the rows before and after each change, hashed."""

    session_id: str
    changes: Sequence[tuple[rows.Row | None, rows.Row]]


def create(connection: apsw.Connection) -> None:
    """Make the table."""
    connection.execute(_CREATE)


def _prepared(session_id: str, changes: Sequence[RunChange]) -> PreparedRuns:
    """Check the changes. Raises InputError: two changes under one name, or values that JSON cannot hold."""
    names = [change.name for change in changes]
    if len(set(names)) < len(names):
        raise InputError(f"run {session_id[:64]!r}: a commit takes one change for each name")
    made = []
    for change in changes:
        before = None if change.before is None else run_row(session_id, change.name, change.before)
        made.append((before, run_row(session_id, change.name, change.after)))
    return PreparedRuns(session_id, made)


def find(
    connection: apsw.Connection, session_id: str, names: Sequence[str] | None = None
) -> dict[str, Mapping[str, Any]]:
    """Return the newest records of a run by name, all or only some names.

    Raises StoreCorrupt: a record does not match its SHA-256, or an index leads elsewhere.
    """
    session = rows.key(session_id)
    if names is None:
        found: list[rows.Row] = connection.execute(_RECORDS + " ORDER BY number", (session,)).fetchall()
    else:
        found = [row for name in names for row in connection.execute(_ONE, (session, rows.key(name)))]
    if any(row[RUN_SESSION] != rows.raw(session_id) for row in found):
        raise StoreCorrupt(f"run {session_id[:64]!r}: an index of the file is damaged; {rows.REMEDY}")
    return dict(map(run_from, found))


def _write(writing: Writing, new: PreparedRuns) -> None:
    """Write the changes that are not written yet.

    Raises StoreError: a stored record equals neither the one before the change nor the one after it.
    """
    connection, seq = writing.connection, writing.seq
    for before, after in new.changes:
        session, name, digest = after[:3]
        found: list[rows.Row] = connection.execute(_ONE, (session, name)).fetchall()
        for row in found:
            run_from(row)  # a damaged record is not overwritten
        now = found[0][1] if found else None
        if now == digest:
            continue
        if now != (None if before is None else before[2]):
            raise StoreError(
                f"run {new.session_id[:64]!r}: another process has continued it meanwhile; nothing was written. "
                "Let that process finish, or end it, and resume the run"
            )
        if found:
            connection.execute(_CLOSE, (seq, found[0][0]))
        connection.execute(_ADD, (*after, seq))


def run_row(session_id: str, name: str, record: Mapping[str, Any]) -> rows.Row:
    """Return the values of a version of a run's record: session_id, name, record_sha256, record."""
    text = rows.dump(record, "run %r", session_id, encode=rows.ENCODE_SORTED)
    return rows.key(session_id), rows.key(name), rows.digest(rows.raw(session_id), rows.raw(name), text), text


def run_from(row: rows.Row) -> tuple[str, Mapping[str, Any]]:
    """Read the name and content of a run's record from a row. Raises StoreCorrupt."""
    number, digest, _, name, record = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"run record {number} does not match its SHA-256; {rows.REMEDY}")
    try:
        return rows.text_from(name), rows.load(record)
    except rows.FORGED as error:
        raise StoreCorrupt(f"run record {number} was not written by undrift: {error}; {rows.REMEDY}") from error


TABLE = Table("run_records", RUN_COLUMNS, run_from, changes=(RunChange,), prepare=_prepared, write=_write)
