"""Writes a session of a file in the place of another one, and destroys memories that another home has purged.

Law: one transaction each; what was there is overwritten on disk. An operation keeps its number.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from undrift.stores import readings, rows, segments
from undrift.stores.base import Aim
from undrift.stores.cleaning import securely
from undrift.stores.memories import memory_from, memory_row
from undrift.stores.mentions import forget_evidence, mentions, thin_log
from undrift.stores.migrations import transaction
from undrift.stores.moving.file_sessions import write_session
from undrift.stores.moving.values import MovedOperation, MovedReading
from undrift.stores.purge import delete_records, destroy_memories, destroy_originals
from undrift.stores.tables import TABLES

__all__ = ["NewSession", "forget_memories", "replace_session"]

_REFS = "SELECT CAST(ref AS BLOB) FROM originals WHERE number IN (SELECT value FROM json_each(?))"
_NO_OPERATIONS = "DELETE FROM operations WHERE session_id = ?"
_OF_OPERATIONS = """SELECT number, record_sha256, CAST(session_id AS BLOB), CAST(memory_id AS BLOB), CAST(scope AS BLOB),
    CAST(owner AS BLOB), CAST(record AS BLOB) FROM memories WHERE session_id = ? AND from_seq IN (SELECT value FROM json_each(?))"""
_RENAME = "UPDATE memories SET session_id = ?, record_sha256 = ? WHERE number = ?"


class NewSession(NamedTuple):
    """A session to be written: its operations with the numbers that they get, and its readings."""

    name: str
    operations: Sequence[MovedOperation]
    readings: Sequence[MovedReading] = ()


def replace_session(
    connection: apsw.Connection, name: str, new: Sequence[NewSession], goes: Mapping[str, Collection[int]] | None = None
) -> None:
    """Write sessions in the place of one.

    Args:
        goes: Operations of it that another session has now, with the memories that they wrote; by that session.
    """
    key = rows.key(name)
    with securely(connection), transaction(connection):
        connection.execute("PRAGMA defer_foreign_keys = ON")  # memories name operations, which are written again
        for table in reversed([one.name for one in TABLES if one.of_session]):
            delete_records(connection, Aim("session", name), table)
        numbers = segments.numbers_of(connection, key)
        found: list[Any] = connection.execute(_REFS, (str(numbers),)).fetchall()
        destroy_originals(connection, [rows.text_from(bytes(ref)) for (ref,) in found], lambda decision: decision)
        readings.forget(connection, name)
        connection.execute(_NO_OPERATIONS, (key,))
        for one in new:
            write_session(connection, one.name, one.operations, one.readings)
        for other, seqs in (goes or {}).items():
            _rename(connection, name, other, seqs)


def forget_memories(connection: apsw.Connection, ids: Collection[str]) -> None:
    """Destroy memories, and what other records hold of them."""
    with securely(connection), transaction(connection):
        known = mentions(connection, (), ids, None)
        destroy_memories(connection, ids)
        forget_evidence(connection, ids, known)
        thin_log(connection, ids, known, None)


def _rename(connection: apsw.Connection, name: str, other: str, seqs: Collection[int]) -> None:
    """Give the memories that some operations wrote to another session."""
    found: list[Any] = connection.execute(_OF_OPERATIONS, (rows.key(name), str(sorted(seqs)))).fetchall()
    for row in found:
        new = memory_row(other, memory_from(row))
        connection.execute(_RENAME, (rows.key(other), new[4], row[0]))
