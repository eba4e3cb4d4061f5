"""Writes the records of a project into a folder's file: each session in one transaction, and all memories in one.

Law: a session is there as a whole or not at all, and what is there is never changed: a log is only continued. The index of
words follows later, as after an update.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw

from undrift.errors import StoreConflict
from undrift.stores import (
    faults,
    indexing,
    memory_moves,
    memory_search,
    newest,
    rows,
    timeline,
)
from undrift.stores.connection import connect, prepare_file
from undrift.stores.memories import add_slots
from undrift.stores.memory_values import MemoryLine, content_digest
from undrift.stores.migrations import transaction
from undrift.stores.moving.file_sessions import kept_text, write_session
from undrift.stores.moving.numbers import numbers_in_file
from undrift.stores.moving.reading_file import FileSource
from undrift.stores.moving.replacing import NewSession, forget_memories, replace_session
from undrift.stores.moving.values import (
    LogPlace,
    MovedLine,
    MovedMark,
    MovedMemory,
    MovedOperation,
    MovedReading,
    MovedVersion,
    Numbered,
)

__all__ = ["FileTarget"]

_BUSY_MS = 5_000
_LAST = "SELECT coalesce(max(seq), 0) FROM operations WHERE session_id = ?"
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
        moments: Sequence[LogPlace],
        known: Mapping[LogPlace, int],
        in_use: Collection[int],
        least: int,
    ) -> Mapping[str, Mapping[int, int]]:
        return numbers_in_file(operations, moments, known, in_use, least)

    def prepare(self, moments: Sequence[LogPlace | None], base: int | None) -> int | None:  # noqa: ARG002
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
            found: list[Any] = connection.execute(_LAST, (key,)).fetchall()
            last = int(found[0][0])
            if last != after:
                raise StoreConflict(
                    f"session {name[:64]!r}: another process has written to it; nothing of it was written"
                )
            write_session(connection, name, operations, readings, last)
        self._note()

    def order(self, moment: LogPlace) -> int:
        return moment.seq

    def put_memories(
        self,
        memories: Sequence[MovedMemory],
        lines: Iterable[MovedLine],
        known: Mapping[str, Collection[LogPlace]],  # noqa: ARG002 - a memory is written again as a whole
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
        values = [(kept_text(one.session), kept_text(one.mark), one.kind, one.digest) for one in marks]
        with self._as_ours("the marks"), transaction(self._connection):
            self._connection.executemany(_MARK, values)

    def replace(self, name: str, new: Sequence[NewSession], goes: Mapping[str, Collection[int]] | None = None) -> None:
        """Write sessions in the place of one; see `replace_session`."""
        with self._as_ours(name):
            replace_session(self._connection, name, new, goes)
        self._note()

    def forget(self, ids: Collection[str]) -> None:
        """Destroy memories that another home has purged."""
        with self._as_ours("the memories"):
            forget_memories(self._connection, ids)

    def next_number(self) -> int:
        """Return the number of the file's next operation."""
        return newest.held(self._connection) + 1

    def close(self) -> None:
        """Complete the index of words of a small file, and close it."""
        with suppress(apsw.Error):
            indexing.catch_up_if_small(self._connection)
        with suppress(apsw.Error):
            self._connection.close(True)

    def _put_version(self, version: MovedVersion) -> None:
        entry = version.entry()
        assert version.row is not None
        assert entry is not None
        session, name, scope, owner, digest, record = version.row
        start = version.at.seq
        spans = [(one.start.seq, None if one.end is None else one.end.seq) for one in version.spans]
        end = spans[-1][1] if spans else start
        texts = (*map(kept_text, (session, name, scope, owner)), digest, kept_text(record))
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


def _is_active(memory: MovedMemory) -> bool:
    return any(span.end is None for version in memory.versions for span in version.spans)
