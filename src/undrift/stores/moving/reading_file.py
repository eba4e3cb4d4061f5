"""Reads the records of a folder's file as a move carries them.

Law: reads only, all at one moment. The active records that a session's log gives are compared with the rows that are active.
If they differ, StoreCorrupt is raised, and the session does not leave.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import apsw

from undrift.stores import faults, marks, rows
from undrift.stores.checkpoints import KEY
from undrift.stores.connection import connect, prepare_file
from undrift.stores.moving.file_memories import lines_of, memories_of, moments_of, other_embedders
from undrift.stores.moving.file_rows import check_active, events_of, original_event, originals_of
from undrift.stores.moving.values import (
    LogPlace,
    MovedLine,
    MovedMark,
    MovedMemory,
    MovedOperation,
    MovedReading,
    Numbered,
    SessionHead,
)
from undrift.stores.operations import OPERATION_COLUMNS, operation_from
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.session_state import LoggedOperation, SessionState
from undrift.stores.readings import READING_COLUMNS, reading_from

__all__ = ["FileSource", "origin_of"]

_BUSY_MS = 5_000
_HEADS = """SELECT CAST(p.session_id AS BLOB), max(p.seq),
    coalesce((SELECT sum(octet_length(g.content)) FROM segments g WHERE g.session_id = p.session_id), 0)
    FROM operations p GROUP BY p.session_id ORDER BY max(p.seq)"""
_OPERATIONS = f"SELECT {OPERATION_COLUMNS} FROM operations WHERE session_id = ? ORDER BY seq"  # noqa: S608 - constants of ours
_NUMBERED = "SELECT CAST(session_id AS BLOB), seq, at_ms, CAST(kind AS BLOB) FROM operations"
_PURGES = "SELECT count(*) FROM operations WHERE kind IN ('purge', 'sweep')"
_REWINDS = """SELECT CAST(session_id AS BLOB), seq, json_extract(payload, '$.to') FROM operations
    WHERE kind IN ('rewind', 'undo') ORDER BY seq"""
_READINGS = f"SELECT {READING_COLUMNS} FROM readings WHERE session_id = ? AND key <> ? ORDER BY number"  # noqa: S608
_MEMORY_IDS = "SELECT DISTINCT CAST(memory_id AS BLOB) FROM memories"
_MARKS = f"SELECT {marks.MARK_COLUMNS} FROM marks ORDER BY number"  # noqa: S608
_FIRST = "SELECT CAST(session_id AS BLOB), CAST(kind AS BLOB), at_ms FROM operations ORDER BY seq LIMIT 1"
_ORIGIN_BYTES = 8


class FileSource:
    """`Source` of a folder; use `open` to get one."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection: apsw.Connection | None = connection
        self._path = path
        self._moments = moments_of(connection)
        self._origin = origin_of(connection)

    @classmethod
    def open(cls, folder: Path) -> "FileSource":
        """Open the file of a folder at its present state. Raises StoreError: there is none, or it cannot be read."""
        try:
            path = prepare_file(folder, create=False)
            connection = connect(path, _BUSY_MS)
            connection.execute("BEGIN")
            return cls(connection, path)
        except apsw.Error as error:
            raise faults.from_driver(error, folder) from error
        except OSError as error:
            raise faults.from_system(error, folder) from error

    def heads(self) -> list[SessionHead]:
        ((epoch,),) = self._read(_PURGES)
        return [SessionHead(rows.text_from(bytes(name)), seq, size, epoch) for name, seq, size in self._read(_HEADS)]

    def operations(self, name: str) -> Iterator[MovedOperation]:
        key, state = rows.key(name), SessionState(name)
        log = [operation_from(row) for row in self._read(_OPERATIONS, key)]
        events, active = events_of(self._open, key, {one.seq: one.kind for one in log})
        leaving = groupby(originals_of(self._open, key), key=lambda one: one[0])
        seq, packed = _next(leaving)
        for one in log:
            own: Sequence[PackedOriginal] = ()
            if seq == one.seq:
                own = packed
                seq, packed = _next(leaving)
            made = [original_event(place, original) for place, original in enumerate(own)]
            logged = LoggedOperation(one, (*made, *events.get(one.seq, ())), self._clock(one.seq))
            state.extend(logged)
            yield MovedOperation(logged, own, self._origin)
        check_active(state, active)

    def readings(self, name: str) -> list[MovedReading]:
        found = []
        for row in self._read(_READINGS, rows.key(name), KEY):
            reading_from(row)
            _, digest, _, key, before, sha256, length, record = row
            found.append(MovedReading(key, before, sha256, length, digest, bytes(record)))
        return found

    def numbered(self) -> list[Numbered]:
        found = self._read(_NUMBERED)
        return [
            Numbered(rows.text_from(bytes(name)), seq, self._clock(seq), at, rows.text_from(bytes(kind)), self._origin)
            for name, seq, at, kind in found
        ]

    def moments(self) -> Sequence[LogPlace]:
        return self._moments

    def rewinds(self) -> list[tuple[LogPlace, int]]:
        found = self._read(_REWINDS)
        return [
            (LogPlace(rows.text_from(bytes(name)), seq), to if isinstance(to, int) else 0) for name, seq, to in found
        ]

    def memories(self) -> Iterator[MovedMemory]:
        return iter(memories_of(self._open))

    def memory_ids(self) -> set[str]:
        return {rows.text_from(bytes(name)) for (name,) in self._read(_MEMORY_IDS)}

    def lines(self) -> Iterator[MovedLine]:
        return lines_of(self._open)

    def marks(self) -> Iterator[MovedMark]:
        for row in self._read(_MARKS):
            marks.mark_from(row)
            yield MovedMark(row[2], row[3], rows.text_from(row[4]), row[1])

    def left_behind(self) -> list[str]:
        return other_embedders(self._open)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(True)

    @property
    def _open(self) -> apsw.Connection:
        assert self._connection is not None
        return self._connection

    def _clock(self, seq: int) -> int:
        return bisect_right(self._moments, seq, key=lambda one: one.seq)

    def _read(self, sql: str, *values: Any) -> list[Any]:
        try:
            return self._open.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise faults.from_driver(error, self._path) from error


def origin_of(connection: apsw.Connection) -> bytes:
    """Return bytes that name a file: those of its first operation, which no purge changes."""
    found: list[Any] = connection.execute(_FIRST).fetchall()
    return rows.digest(*found[0])[:_ORIGIN_BYTES] if found else b""


def _next(leaving: Any) -> tuple[int, list[PackedOriginal]]:
    """Return the next operation with originals that left a window, and these; 0 if there is none."""
    for seq, some in leaving:
        return seq, [one for _, one in some]
    return 0, []
