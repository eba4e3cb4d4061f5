"""Writes the operations of a session into a file, with all that they made.

Law: the caller holds a transaction, and gives each operation a number that no other one has. The index of words follows later,
as after an update.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import decisions, facts, figures, originals, rows
from undrift.stores.moving.values import MovedOperation, MovedReading
from undrift.stores.operations import operation_row
from undrift.stores.pack import pack_session
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.events import Kind, LoggedEvent
from undrift.stores.postgres.session_state import BACK, BACK_OF_FACTS
from undrift.stores.rewinding import change
from undrift.stores.table import Writing

__all__ = ["kept_text", "write_session"]

_OPERATION = """INSERT INTO operations(seq, session_id, kind, at_ms, record_sha256, payload) VALUES(?, ?, ?, ?, ?, ?)"""
_CLOSE = "UPDATE {table} SET to_seq = ? WHERE session_id = ? AND {key} AND to_seq IS NULL"
_ADD = "INSERT INTO {table}({columns}, from_seq) VALUES({values})"
_BEHIND = "UPDATE search_behind SET number = (SELECT coalesce(max(number), -1) + 1 FROM originals)"
_READING = """INSERT INTO readings(session_id, key, before, sha256, length, record_sha256, record, from_seq)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM readings WHERE session_id = ?1 AND record_sha256 = ?6)"""


class _RowForm:
    """The form in which events of one kind become rows.

    Args:
        names: The columns, in the order of an event's row.
        key: Those that name a record within its session, in the order of an event's key.
        raw: Those that hold bytes.
    """

    def __init__(self, table: str, names: str, key: Sequence[str], raw: Sequence[str] = ("record_sha256",)) -> None:
        columns = names.split(", ")
        self.is_text = [name not in raw for name in columns]
        self.close = _CLOSE.format(table=table, key=" AND ".join(f"{name} = ?" for name in key))
        self.add = _ADD.format(table=table, columns=names, values=", ".join("?" * (len(columns) + 1)))

    def row(self, event: LoggedEvent) -> tuple[Any, ...]:
        """Return the values of an event's row as SQLite keeps them."""
        assert event.row is not None
        pairs = zip(event.row, self.is_text, strict=True)
        return tuple(kept_text(one) if is_text and isinstance(one, bytes) else one for one, is_text in pairs)


_TABLES: Mapping[int, _RowForm] = {
    Kind.TASK: _RowForm("tasks", "session_id, task_id, agent, ordinal, is_worked_on, record_sha256, record", ("task_id",)),
    Kind.TAG: _RowForm("tags", "session_id, call_id, task_id, segment, record_sha256", ("call_id",)),
    Kind.FACT: _RowForm("facts", "session_id, sequence, fact_id, is_valid, record_sha256, record", ("sequence",)),
    Kind.RUN: _RowForm("run_records", "session_id, name, record_sha256, record", ("name",)),
    Kind.DOCUMENT: _RowForm(
        "documents", "session_id, kind, name, sha256, record_sha256, record, content", ("kind", "name"),
        ("sha256", "record_sha256", "content"),
    ),
}  # fmt: skip


def write_session(
    connection: apsw.Connection,
    name: str,
    operations: Iterable[MovedOperation],
    readings: Sequence[MovedReading],
    last: int = 0,
) -> None:
    """Write operations and readings of a session; the caller holds a transaction. `last`: its newest operation before."""
    writer = _FileWriter(connection, name)
    for one in operations:
        writer.add(one)
    for reading in readings:
        texts = (reading.key, reading.before, reading.sha256)
        values = (
            rows.key(name),
            *map(kept_text, texts),
            reading.length,
            reading.digest,
            reading.record,
            writer.last or last,
        )
        connection.execute(_READING, values)
    connection.execute(_BEHIND)


class _FileWriter:
    """Writes the operations of one session; its caller holds the transaction."""

    def __init__(self, connection: apsw.Connection, name: str) -> None:
        self.last = 0
        self._connection = connection
        self._name = name
        self._session = rows.key(name)

    def add(self, one: MovedOperation) -> None:
        """Write the next operation."""
        operation = one.logged.operation
        seq, payload = operation.seq, operation.payload
        row = operation_row(self._name, operation.kind, operation.at_ms, payload)
        self._connection.execute(_OPERATION, (seq, *row))
        writing = Writing(self._connection, self._name, seq)
        self._put_originals(writing, one)
        self._put_decisions(writing, [event for event in one.logged.events if event.kind == Kind.DECISION])
        for kind, columns in _TABLES.items():
            some = [event for event in one.logged.events if event.kind == kind]
            closing = some if kind == Kind.TASK else ()  # an agent can stop one task and start another
            for event in closing:
                self._close(columns, event, seq)
            for event in some:
                self._close(columns, event, seq)
                if event.row is not None:
                    self._connection.execute(columns.add, (*columns.row(event), seq))
        if operation.kind in BACK_OF_FACTS:
            to = (payload or {}).get("to", 0)
            if operation.kind in BACK:
                change(self._connection, self._session, to, seq, with_shared=False)  # memories follow
            facts.rewind(self._connection, self._name, to, seq)
        self.last = seq

    def _close(self, columns: _RowForm, event: LoggedEvent, seq: int) -> None:
        keys = [int(one) if event.kind == Kind.FACT else kept_text(one) for one in event.key]
        self._connection.execute(columns.close, (seq, self._session, *keys))

    def _put_originals(self, writing: Writing, one: MovedOperation) -> None:
        made = [self._window_row(part) for part in one.packed]
        for event in one.logged.events:
            if event.kind == Kind.KEPT and event.row is not None:
                texts, numbers, rest = event.row[:5], event.row[5:10], event.row[10:]
                made.append(
                    (
                        *map(kept_text, texts),
                        *numbers,
                        *(None if x is None else kept_text(x) for x in rest[:2]),
                        rest[2],
                    )
                )
        if made:
            assert originals.TABLE.write is not None
            originals.TABLE.write(writing, made)
            pack_session(self._connection, self._session)

    def _window_row(self, one: PackedOriginal) -> rows.Row:
        texts = (one.ref, self._name, "window", one.entry_id, one.type)
        numbers = (one.token_count, one.timestamp, one.entry_seq)
        sha256 = hashlib.sha256(one.content).digest()
        parts = [None if part is None else part.decode() for part in (one.metadata, one.masked)]
        digest = rows.digest(*map(rows.raw, texts), *numbers, sha256, *parts)
        return *map(rows.key, texts), *numbers, sha256, digest, *parts, one.content

    def _put_decisions(self, writing: Writing, events: Sequence[LoggedEvent]) -> None:
        made, details = [], []
        for event in events:
            if event.row is None:
                raise StoreCorrupt(f"session {self._name[:64]!r}: its log takes a decision back, which no undrift does")
            session, entry, kind, reason, saved, ref, digest, detail = event.row
            texts = map(kept_text, (session, entry, kind, reason))
            made.append((*texts, saved, None if ref is None else kept_text(ref), digest, detail.decode()))
            details.append(rows.load(detail))
        if made:
            assert decisions.TABLE.write is not None
            decisions.TABLE.write(writing, figures.shares(made, details))


def kept_text(stored: bytes) -> str | bytes:
    """Return a text as SQLite can keep it."""
    return rows.key(rows.text_from(stored))
