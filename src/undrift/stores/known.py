"""Records of a session that its reader has read before: what is known by its SHA-256 is not read again.

Law: a record has one SHA-256 for good, so a known one is what a reading would give; what is in force no more is known no
more. Runs on a connection that the caller holds.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.decisions import DECISION_COLUMNS, DECISION_SESSION, decision_from
from undrift.stores.originals import ORIGINAL_COLUMNS, ORIGINAL_SESSION, original_from
from undrift.values.detail import Shared
from undrift.values.window import Decision

__all__ = ["DECISIONS", "PINS", "Reading", "read"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """How the records of one table that are in force in a session are read.

    Args:
        sql: ``SELECT {columns} ... WHERE session_id = ? ...{more} ORDER BY ...``, of a table of `rows`.
        columns: Those that `make` takes; the first are ``number, record_sha256``.
        session: Which of them is the session.
        make: Row to record; raises StoreCorrupt.
        slim: A record, and what the others of a reading have in common, to the record that takes less memory.
    """

    sql: str
    columns: str
    session: int
    make: Callable[[rows.Row], T]
    slim: Callable[[T, Shared], T] = lambda record, _: record


def _slim(decision: Decision, shared: Shared) -> Decision:
    """A session has tens of thousands of decisions, and those of one prune differ in two figures."""
    kind, reason = shared.one(decision.kind), shared.one(decision.reason)
    detail = shared.detail(decision.detail)
    return Decision(decision.entry_id, kind, reason, decision.tokens_saved, decision.ref, detail)


DECISIONS = Reading(
    "SELECT {columns} FROM decisions WHERE session_id = ? AND to_seq IS NULL{more} ORDER BY number",
    DECISION_COLUMNS,
    DECISION_SESSION,
    decision_from,
    _slim,
)
PINS = Reading(
    "SELECT {columns} FROM originals WHERE session_id = ? AND source = 'pin' AND to_seq IS NULL{more} ORDER BY number",
    ORIGINAL_COLUMNS,
    ORIGINAL_SESSION,
    lambda row: original_from(row).original,
)


def read(
    connection: apsw.Connection, session_id: str, reading: Reading[T], known: dict[bytes, T] | None = None
) -> list[T]:
    """Return the records of a session that are in force, in their order.

    Args:
        connection: Of the store.
        session_id: Whose.
        reading: How.
        known: SHA-256 to record, of what was read before; afterwards of what is returned.

    Raises:
        StoreCorrupt: A record does not match its SHA-256, or an index leads astray.
    """
    if known:
        key, sql = rows.key(session_id), reading.sql
        listed: list[Any] = connection.execute(sql.format(columns="number, record_sha256", more=""), (key,)).fetchall()
        new = [number for number, digest in listed if digest not in known]
        found = {**known, **_made(connection, session_id, reading, new)} if new else known
        if all(digest in found for _, digest in listed):  # else another process has written in between
            records = {digest: found[digest] for _, digest in listed}
            known.clear()
            known.update(records)
            return list(records.values())
    made = _made(connection, session_id, reading, None)
    if known is not None:
        known.clear()
        known.update(made)
    return list(made.values())


def _made(
    connection: apsw.Connection, session_id: str, reading: Reading[T], numbers: list[int] | None
) -> dict[bytes, T]:
    """Read records, all of them or those with these numbers; a damaged index may lead to those of another session."""
    more = "" if numbers is None else " AND number IN (SELECT value FROM json_each(?))"
    listed = () if numbers is None else (json.dumps(numbers),)
    sql = reading.sql.format(columns=reading.columns, more=more)
    found: list[rows.Row] = connection.execute(sql, (rows.key(session_id), *listed)).fetchall()
    if any(row[reading.session] != rows.raw(session_id) for row in found):
        raise StoreCorrupt(f"session {session_id[:64]!r}: an index of the file is damaged; {rows.REMEDY}")
    shared = Shared()
    return {row[1]: reading.slim(reading.make(row), shared) for row in found}
