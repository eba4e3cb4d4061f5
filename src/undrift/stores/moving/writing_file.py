"""Writes the records of a project into a folder's file: each session in one transaction, and all memories in one.

Law: a session is there as a whole or not at all, and what is there is never changed: a log is only continued. The index of
words follows later, as after an update.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw

from undrift.errors import StoreConflict, StoreCorrupt
from undrift.stores import (
    decisions,
    facts,
    faults,
    figures,
    indexing,
    memory_moves,
    memory_search,
    newest,
    originals,
    rows,
    timeline,
)
from undrift.stores.connection import connect, prepare_file
from undrift.stores.memories import add_slots, memory_from
from undrift.stores.memory_values import MemoryLine, content_digest
from undrift.stores.migrations import transaction
from undrift.stores.moving.numbers import numbers_in_file
from undrift.stores.moving.proof import GOES_BACK
from undrift.stores.moving.reading_file import FileSource
from undrift.stores.moving.values import (
    Moment,
    MovedLine,
    MovedMark,
    MovedMemory,
    MovedOperation,
    MovedReading,
    MovedVersion,
    Numbered,
)
from undrift.stores.operations import operation_row
from undrift.stores.pack import pack_session
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.session_state import Event, Kind
from undrift.stores.rewinding import change
from undrift.stores.table import Writing

__all__ = ["FileTarget"]

_BUSY_MS = 5_000
_LAST = "SELECT coalesce(max(seq), 0) FROM operations WHERE session_id = ?"
_OPERATION = """INSERT INTO operations(seq, session_id, kind, at_ms, record_sha256, payload) VALUES(?, ?, ?, ?, ?, ?)"""
_CLOSE = "UPDATE {table} SET to_seq = ? WHERE session_id = ? AND {key} AND to_seq IS NULL"
_ADD = "INSERT INTO {table}({columns}, from_seq) VALUES({values})"
_BEHIND = "UPDATE search_behind SET number = (SELECT coalesce(max(number), -1) + 1 FROM originals)"
_READING = """INSERT INTO readings(session_id, key, before, sha256, length, record_sha256, record, from_seq)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM readings WHERE session_id = ?1 AND record_sha256 = ?6)"""
_FORGET_GAPS = (
    "DELETE FROM gaps WHERE of_table = 'memories' AND of_number IN (SELECT number FROM memories WHERE memory_id = ?)"
)
_FORGET = "DELETE FROM memories WHERE memory_id = ?"
_MEMORY = """INSERT INTO memories(session_id, memory_id, scope, owner, record_sha256, record, digest, from_seq, to_seq)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number"""
_GAP = "INSERT INTO gaps(of_table, of_number, from_seq, to_seq) VALUES('memories', ?, ?, ?)"
_EMBEDDER = "INSERT INTO memory_embedders(id, dimension) VALUES(?, ?) ON CONFLICT(id) DO NOTHING"
_VECTOR = """INSERT INTO memory_vectors(embedder, number, vector) VALUES((SELECT key FROM memory_embedders WHERE id = ?), ?, ?)
    ON CONFLICT(embedder, number) DO NOTHING"""
_MARK = """INSERT INTO marks(session_id, mark, kind, record_sha256) VALUES(?, ?, ?, ?) ON CONFLICT(mark, session_id) DO NOTHING"""


class _Columns:
    """How the events of one kind become rows.

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

    def row(self, event: Event) -> tuple[Any, ...]:
        """Return the values of an event's row as SQLite keeps them."""
        assert event.row is not None
        pairs = zip(event.row, self.is_text, strict=True)
        return tuple(_text(one) if is_text and isinstance(one, bytes) else one for one, is_text in pairs)


_TABLES: Mapping[int, _Columns] = {
    Kind.TASK: _Columns("tasks", "session_id, task_id, agent, ordinal, is_worked_on, record_sha256, record", ("task_id",)),
    Kind.TAG: _Columns("tags", "session_id, call_id, task_id, segment, record_sha256", ("call_id",)),
    Kind.FACT: _Columns("facts", "session_id, sequence, fact_id, is_valid, record_sha256, record", ("sequence",)),
    Kind.RUN: _Columns("run_records", "session_id, name, record_sha256, record", ("name",)),
    Kind.DOCUMENT: _Columns(
        "documents", "session_id, kind, name, sha256, record_sha256, record, content", ("kind", "name"),
        ("sha256", "record_sha256", "content"),
    ),
}  # fmt: skip


class FileTarget:
    """`Target` of a folder; use `open` to get one. The file is made if there is none."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    @classmethod
    def open(cls, folder: Path) -> "FileTarget":
        """Open the file of a folder, or make it. Raises StoreError: it cannot be written."""
        try:
            path = prepare_file(folder, create=True)
            return cls(connect(path, _BUSY_MS), path)
        except apsw.Error as error:
            raise faults.from_driver(error, folder) from error
        except OSError as error:
            raise faults.from_system(error, folder) from error

    def source(self) -> FileSource:
        """Return the same file, to be read at its present state."""
        return FileSource.open(self._path.parent)

    def numbers(
        self,
        operations: Sequence[Numbered],
        moments: Sequence[Moment],
        known: Mapping[Moment, int],
        taken: Collection[int],
        least: int,
    ) -> Mapping[str, Mapping[int, int]]:
        return numbers_in_file(operations, moments, known, taken, least)

    def prepare(self, moments: Sequence[Moment | None], base: int | None) -> int | None:  # noqa: ARG002
        """Do nothing: here an operation's number is its place in time."""
        return base

    def put_session(
        self, name: str, operations: Iterable[MovedOperation], readings: Sequence[MovedReading], after: int = 0
    ) -> None:
        """Write a session, or continue it, in one transaction.

        `after`: the operation of the file that the given ones follow; 0: there is none.

        Raises StoreConflict: it has other operations by now, or another session has one of its references.
        """
        key, connection = rows.key(name), self._connection
        with self._as_ours(name), transaction(connection):
            ((last,),) = connection.execute(_LAST, (key,)).fetchall()
            if last != after:
                raise StoreConflict(
                    f"session {name[:64]!r}: another process has written to it; nothing of it was written"
                )
            writer = _Writer(connection, name)
            for one in operations:
                writer.add(one)
            for reading in readings:
                texts = (reading.key, reading.before, reading.sha256)
                values = (key, *map(_text, texts), reading.length, reading.digest, reading.record, writer.last or last)
                connection.execute(_READING, values)
            connection.execute(_BEHIND)
        self._note()

    def put_memories(
        self,
        memories: Sequence[MovedMemory],
        lines: Iterable[MovedLine],
        known: Mapping[str, int],  # noqa: ARG002 - a memory that goes on is written again as a whole
    ) -> None:
        connection, wanted = self._connection, {one.id: one for one in memories}
        with self._as_ours("the memories"), transaction(connection):
            for id_ in wanted:
                for sql in (_FORGET_GAPS, _FORGET):
                    connection.execute(sql, (rows.key(id_),))
            every = [version for one in memories for version in one.versions if version.row is not None]
            for version in sorted(every, key=lambda version: version.at.seq):
                self._put_version(version)
            self._put_lines([one for one in lines if one.id in wanted], wanted)
            memory_moves.set_settled(connection, timeline.newest(connection))
        self._note()

    def put_marks(self, marks: Iterable[MovedMark]) -> None:
        """Write marks that are not there yet."""
        values = [(_text(one.session), _text(one.mark), one.kind, one.digest) for one in marks]
        with self._as_ours("the marks"), transaction(self._connection):
            self._connection.executemany(_MARK, values)

    def close(self) -> None:
        """Complete the index of words of a small file, and close it."""
        with suppress(apsw.Error):
            indexing.catch_up_if_small(self._connection)
        with suppress(apsw.Error):
            self._connection.close(True)

    def _put_version(self, version: MovedVersion) -> None:
        assert version.row is not None
        session, name, scope, owner, digest, record = version.row
        entry = memory_from((0, digest, session, name, scope, owner, record))
        start = version.at.seq
        spans = [(one.start.seq, None if one.end is None else one.end.seq) for one in version.spans]
        end = spans[-1][1] if spans else start
        texts = (*map(_text, (session, name, scope, owner)), digest, _text(record))
        found: list[Any] = self._connection.execute(
            _MEMORY, (*texts, content_digest(entry.content), start, end)
        ).fetchall()
        for (_, closed), (opened, _) in pairwise(spans):
            self._connection.execute(_GAP, (found[0][0], closed, opened))
        add_slots(self._connection, entry)

    def _put_lines(self, lines: Sequence[MovedLine], memories: Mapping[str, MovedMemory]) -> None:
        connection = self._connection
        added = memory_search.add(connection, [MemoryLine(**one.fields) for one in lines])
        numbers = memory_search.numbers_of(connection, [one.id for one in lines])
        away: dict[int, str] = {}
        back: dict[int, str] = {}
        for one in lines:
            number, is_active = numbers[one.id], _is_active(memories[one.id])
            if one.vectors:
                connection.execute(_EMBEDDER, (rows.key(one.embedder), one.dimension))
                connection.execute(_VECTOR, (rows.key(one.embedder), number, one.vectors))
            if not is_active:
                away[number] = one.fields["text"]
            elif one.id not in added:
                back[number] = one.fields["text"]
        for texts, move in ((away, memory_moves.take_back), (back, memory_moves.bring_back)):
            if texts:
                move(connection, texts)

    def _note(self) -> None:
        newest.note(self._path.parent, newest.held(self._connection))

    @contextmanager
    def _as_ours(self, what: str) -> Iterator[None]:
        try:
            yield
        except apsw.ConstraintError as error:
            raise StoreConflict(
                f"{what[:64]!r}: a record of it is in the file already, of another session: {error}"
            ) from error
        except apsw.Error as error:
            raise faults.from_driver(error, self._path) from error


class _Writer:
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
        if operation.kind in GOES_BACK:
            to = (payload or {}).get("to", 0)
            if operation.kind != "rewind-facts":
                change(self._connection, self._session, to, seq)
            facts.rewind(self._connection, self._name, to, seq)
        self.last = seq

    def _close(self, columns: _Columns, event: Event, seq: int) -> None:
        keys = [int(one) if event.kind == Kind.FACT else _text(one) for one in event.key]
        self._connection.execute(columns.close, (seq, self._session, *keys))

    def _put_originals(self, writing: Writing, one: MovedOperation) -> None:
        made = [self._window_row(part) for part in one.packed]
        for event in one.logged.events:
            if event.kind == Kind.KEPT and event.row is not None:
                texts, numbers, rest = event.row[:5], event.row[5:10], event.row[10:]
                made.append(
                    (*map(_text, texts), *numbers, *(None if x is None else _text(x) for x in rest[:2]), rest[2])
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

    def _put_decisions(self, writing: Writing, events: Sequence[Event]) -> None:
        made, details = [], []
        for event in events:
            if event.row is None:
                raise StoreCorrupt(f"session {self._name[:64]!r}: its log takes a decision back, which no undrift does")
            session, entry, kind, reason, saved, ref, digest, detail = event.row
            texts = map(_text, (session, entry, kind, reason))
            made.append((*texts, saved, None if ref is None else _text(ref), digest, detail.decode()))
            details.append(rows.load(detail))
        if made:
            assert decisions.TABLE.write is not None
            decisions.TABLE.write(writing, figures.shares(made, details))


def _text(stored: bytes) -> str | bytes:
    """Return a text as SQLite can keep it."""
    return rows.key(rows.text_from(stored))


def _is_active(memory: MovedMemory) -> bool:
    return any(span.end is None for version in memory.versions for span in version.spans)
