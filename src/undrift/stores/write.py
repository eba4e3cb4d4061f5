"""Writes one operation with its changes; repeated changes are skipped, contradicting ones refused.

Law: runs inside a transaction that the caller opened; a conflict with stored records raises StoreError, and then the
caller rolls back.
"""

from collections.abc import Sequence
from typing import Any

import apsw

from undrift.errors import InputError, StoreError
from undrift.stores import checkpoints, decisions, rows, search
from undrift.stores.pack import pack_session
from undrift.stores.rows import Row
from undrift.stores.table import Table, Writing
from undrift.stores.tables import TABLES
from undrift.values.scope import Scope

__all__ = ["Prepared", "check_scope", "check_since", "prepared", "write"]

Prepared = Sequence[tuple[Table, Any]]
"""Changes by kind, checked and hashed."""

_ADD_OPERATION = """INSERT INTO operations(session_id, kind, at_ms, record_sha256, payload)
    VALUES(?, ?, ?, ?, ?) RETURNING seq"""
_REWOUND = "SELECT 1 FROM operations WHERE session_id = ? AND seq > ? AND kind IN ('rewind', 'undo', 'purge') LIMIT 1"


def prepared(session_id: str, changes: Sequence[Any]) -> Prepared:
    """Check and hash changes, by kind. Raises InputError: no kind takes one of the changes, or a kind refuses it."""
    given: dict[type, list[Any]] = {}
    for one in changes:
        given.setdefault(type(one), []).append(one)
    ready = []
    for table in TABLES:
        of_it = [one for kind in table.changes for one in given.pop(kind, ())]
        if of_it and table.prepare is not None:
            ready.append((table, table.prepare(session_id, of_it)))
    if given:
        raise InputError(f"a store keeps no {next(iter(given)).__name__}")
    return ready


def write(connection: apsw.Connection, session_id: str, operation: Row, changes: Prepared = ()) -> int:
    """Insert one operation and its changes; return its sequence number.

    Raises:
        StoreError: A change contradicts the stored records; its kind says how.
        apsw.Error: SQLite refuses.
    """
    (row,) = connection.execute(_ADD_OPERATION, operation).fetchall()
    seq: Any = row[0]
    writing = Writing(connection, session_id, seq)
    for table, ready in changes:
        if table.write is not None:
            table.write(writing, ready)
    if any(table is decisions.TABLE for table, _ in changes):
        checkpoints.extend(writing)
    if writing.indexed:
        search.add(connection, writing.indexed)
    if writing.refs:
        pack_session(connection, rows.key(session_id))
    return int(seq)


def check_scope(own: Scope, other: Scope) -> None:
    """Refuse a write for another organisation, person or project, or without a session.

    Raises InputError: the scope is another one than the store's, or has no session.
    """
    if not other.session:
        raise InputError("a session id must not be empty")
    if not own.holds(other):
        raise InputError(f"this store was opened for {own}, not for {other}; nothing was written")


def check_since(connection: apsw.Connection, session_id: str, based_on: int) -> None:
    """Refuse a decision that was made before the session's last rewind or purge.

    Raises StoreError: the session was rewound or purged after the operation on which the decision is based.
    """
    if connection.execute(_REWOUND, (rows.key(session_id), based_on)).fetchall():
        raise StoreError(f"session {session_id[:64]!r} was rewound, or purged, meanwhile; nothing was written")
