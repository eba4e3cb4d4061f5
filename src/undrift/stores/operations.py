"""The log: the operations of each session, with time and payload; only a purge ever changes it.

Law: knows only its own table.
"""

import json
from collections.abc import Mapping
from typing import Any

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Operation, SessionRow
from undrift.stores.table import Table

__all__ = [
    "OPERATION_COLUMNS",
    "OPERATION_SESSION",
    "SESSIONS",
    "TABLE",
    "operation_from",
    "operation_row",
    "session_from",
]

OPERATION_COLUMNS = "seq, record_sha256, CAST(session_id AS BLOB), CAST(kind AS BLOB), at_ms, CAST(payload AS BLOB)"
OPERATION_SESSION = 2
"""The session's index in the columns."""
SESSIONS = """SELECT CAST(session_id AS BLOB), count(*),
    (SELECT count(*) FROM originals o WHERE o.session_id = p.session_id AND o.to_seq IS NULL)
        + (SELECT coalesce(sum(g.originals), 0) FROM segments g WHERE g.session_id = p.session_id),
    (SELECT count(*) FROM decisions d WHERE d.session_id = p.session_id AND d.to_seq IS NULL),
    min(at_ms), max(at_ms),
    (SELECT CAST(n.payload AS BLOB) FROM operations n WHERE n.session_id = p.session_id AND n.kind = 'named' ORDER BY n.seq LIMIT 1)
    FROM operations p GROUP BY session_id ORDER BY max(seq) DESC"""
"""The rows for `session_from`."""


def operation_row(session_id: str, kind: str, at_ms: int, payload: Mapping[str, Any] | None) -> rows.Row:
    """Return the values of a new operation, in the order session_id, kind, at_ms, record_sha256, payload."""
    text = rows.dump(payload, "payload")
    rows.check_integers("", at_ms=at_ms)
    return (
        rows.key(session_id),
        rows.key(kind),
        at_ms,
        rows.digest(rows.raw(session_id), rows.raw(kind), at_ms, text),
        text,
    )


def operation_from(row: rows.Row) -> Operation:
    """Read an operation from a row. Raises StoreCorrupt."""
    seq, digest, _, kind, at_ms, payload = row
    if digest != rows.digest(*row[2:]):
        raise StoreCorrupt(f"operation {seq} does not match its SHA-256; {rows.REMEDY}")
    try:
        return Operation(seq, rows.text_from(kind), at_ms, rows.load(payload))
    except rows.FORGED as error:
        raise StoreCorrupt(f"operation {seq} was not written by undrift: {error}; {rows.REMEDY}") from error


def session_from(row: Any) -> SessionRow:
    """Read a session for the list; its name is empty if the record with the name is damaged."""
    session_id, operations, originals, decisions, first_at_ms, last_at_ms, named = row
    try:
        name = json.loads(rows.shown_text(named))["name"] if named else ""
    except (ValueError, LookupError, TypeError):
        name = ""
    name = name if isinstance(name, str) else ""
    return SessionRow(rows.shown_text(session_id), operations, originals, decisions, first_at_ms, last_at_ms, name)


TABLE = Table("operations", OPERATION_COLUMNS, operation_from, of_session=False, seq="seq")
