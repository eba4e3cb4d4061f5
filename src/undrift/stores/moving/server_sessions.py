"""Writes the operations of a session to a server, with all that they made, in parts of some MB.

Law: the caller holds a transaction and the session's row. All that leaves this process is sealed with the session's key.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from undrift.errors import StoreConflict
from undrift.stores import rows
from undrift.stores.moving.reading_server import FROM_FILE
from undrift.stores.moving.values import MovedOperation, MovedReading
from undrift.stores.packing import framed, record
from undrift.stores.postgres.destroying import sealed_operation
from undrift.stores.postgres.events import ORIGINALS, Kind
from undrift.stores.postgres.log import Home, original_place
from undrift.stores.postgres.sealing import Seal, new_key
from undrift.stores.postgres.session_state import BACK, QUIET, LoggedOperation, SessionState

__all__ = ["replace_session", "write_session"]

_OPERATIONS = """INSERT INTO operations(month, session, seq, organisation, person, kind, at_ms, clock, token, record_sha256, payload, events)
    SELECT %b::date, %b, x.seq, %b, %b, x.kind, x.at_ms, x.clock, x.token, x.sha, x.payload, x.events
    FROM unnest(%b::bigint[], %b::bytea[], %b::bigint[], %b::bigint[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[])
        AS x(seq, kind, at_ms, clock, token, sha, payload, events)"""
_SEGMENTS = """INSERT INTO segments(month, session, seq, organisation, person, raw_bytes, content)
    SELECT %b::date, %b, x.seq, %b, %b, x.raw_bytes, x.content FROM unnest(%b::bigint[], %b::bigint[], %b::bytea[])
        AS x(seq, raw_bytes, content)"""
_TAKEN = """SELECT o.ref, s.name FROM originals o JOIN sessions s ON s.month = o.month AND s.number = o.session
    WHERE o.ref = ANY(%b::bytea[]) AND s.project = %b AND s.person = %b AND s.number <> %b LIMIT 1"""
_ORIGINALS = """INSERT INTO originals(month, session, seq, place, organisation, person, ref)
    SELECT %b::date, %b, x.seq, x.place, %b, %b, x.ref FROM unnest(%b::bigint[], %b::int[], %b::bytea[]) AS x(seq, place, ref)"""
_MOVE = """INSERT INTO moves(project, session, seq, target, clock, organisation) VALUES(%s, %s, %s, %s, %s, %s)
    ON CONFLICT DO NOTHING"""
_WRITTEN = """UPDATE sessions SET last_seq = %s, written = nextval('written'), first_at_ms = least(first_at_ms, %s),
    last_at_ms = greatest(last_at_ms, %s), used_at_ms = greatest(used_at_ms, %s), originals = %s, decisions = %s, documents = %s,
    archived = %s, archived_bytes = %s WHERE month = %s AND number = %s"""
_READING = """INSERT INTO readings(session, organisation, person, key, before, sha256, length, record_sha256, record)
    VALUES(%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (session, record_sha256) DO NOTHING"""
_AT_ONCE_BYTES = 4 << 20
_AT_ONCE = 1_000
_EMPTY = (
    "DELETE FROM operations WHERE month = %s AND session = %s",
    "DELETE FROM segments WHERE month = %s AND session = %s",
    "DELETE FROM originals WHERE month = %s AND session = %s",
)
_NO_READINGS = "DELETE FROM readings WHERE session = %s"
_NO_MOVES = "DELETE FROM moves WHERE project = %s AND session = %s"
_NEW_KEY = "UPDATE sessions SET key = %s, epoch = epoch + 1 WHERE month = %s AND number = %s"


def write_session(
    connection: psycopg.Connection[Any],
    home: Home,
    state: SessionState,
    operations: Iterable[MovedOperation],
    readings: Sequence[MovedReading],
    clocks: Sequence[int],
) -> None:
    """Write operations behind those of a state.

    Args:
        clocks: The project's clock after each number of moments.
    """
    writer = _ServerWriter(connection, home, state, clocks)
    for one in operations:
        writer.add(one)
    writer.end()
    who = (state.number, home.caller.organisation, home.caller.person)
    with connection.cursor() as cursor:
        cursor.executemany(_READING, [(*who, *one) for one in readings])


def replace_session(
    connection: psycopg.Connection[Any], home: Home, state: SessionState, operations: Sequence[MovedOperation]
) -> None:
    """Rewrite a session with a new key, so that nothing opens what it held before; its readings go.

    Args:
        operations: Those of the state, with less in them.
    """
    clocks = {one.operation.seq: one.clock for one in state.log}
    key = new_key()
    for sql in _EMPTY:
        connection.execute(sql, (state.month, state.number))
    connection.execute(_NO_READINGS, (state.number,))
    connection.execute(_NO_MOVES, (home.project, state.number))
    connection.execute(_NEW_KEY, (home.seal.close(key, b"session"), state.month, state.number))
    new = SessionState(state.name, state.number, state.month, key)
    placed = [one._replace(logged=one.logged._replace(clock=number)) for number, one in enumerate(operations, 1)]
    times = [0, *(clocks[one.logged.operation.seq] for one in operations)]
    write_session(connection, home, new, placed, (), times)


class _ServerWriter:
    """Writes the operations of one session in parts of some MB."""

    def __init__(
        self, connection: psycopg.Connection[Any], home: Home, state: SessionState, clocks: Sequence[int]
    ) -> None:
        self._connection = connection
        self._home = home
        self._state = state
        self._clocks = clocks
        self._seal = Seal(state.seal_key)
        self._used_ms: int | None = None
        self._clear()

    def add(self, one: MovedOperation) -> None:
        """Add the next operation."""
        operation = one.logged.operation
        seq = operation.seq
        before = self._state.log[-1].clock if self._state.log else 0
        clock = max(self._clocks[one.logged.clock], before)
        logged = LoggedOperation(operation, one.logged.events, clock)
        self._state.extend(logged)
        digest, payload, events = sealed_operation(self._state.name, self._seal, logged)
        token = FROM_FILE + one.origin if one.origin else new_key()[:12]
        kind = rows.raw(operation.kind)
        self._operations.append((seq, kind, operation.at_ms, clock, token, digest, payload, events))
        self._bytes += len(events) + len(payload or b"")
        if one.packed:
            raw = b"".join(record(part._replace(number=place)) for place, part in enumerate(one.packed))
            content = self._seal.close(framed(raw), original_place(seq))
            self._segments.append((seq, len(raw), content))
            self._bytes += len(content)
        self._originals += [
            (seq, place, event.key[-1])
            for place, event in enumerate(logged.events)
            if event.kind in ORIGINALS and event.row is not None
        ]
        if operation.kind in BACK:
            target = (operation.payload or {}).get("to", 0)
            self._moves.append(
                (self._home.project, self._state.number, seq, target, clock, self._home.caller.organisation)
            )
        if operation.kind not in QUIET:
            self._used_ms = max(self._used_ms or operation.at_ms, operation.at_ms)
        if self._bytes >= _AT_ONCE_BYTES or len(self._operations) >= _AT_ONCE:
            self._write()

    def end(self) -> None:
        """Write the rest, and what the list of sessions shows."""
        self._write()
        state = self._state
        archive = [one.event.row[3] for one in state.archive() if one.event.row is not None]
        kinds = sorted({one.event.key[0].hex() for one in state.active(Kind.DOCUMENT)})
        times = [one.operation.at_ms for one in state.log] or [0]
        counts = (len(state.active(Kind.KEPT)), len(state.active(Kind.DECISION)), kinds, len(archive), sum(archive))
        values = (state.last_seq, min(times), max(times), self._used_ms, *counts, state.month, state.number)
        self._connection.execute(_WRITTEN, values)

    def _write(self) -> None:
        who = (self._state.month, self._state.number, self._home.caller.organisation, self._home.caller.person)
        if self._operations:
            self._connection.execute(_OPERATIONS, (*who, *_columns(self._operations)))
        if self._segments:
            self._connection.execute(_SEGMENTS, (*who, *_columns(self._segments)))
        if self._originals:
            refs = [ref for _, _, ref in self._originals]
            whose = (self._home.project, self._home.caller.person, self._state.number)
            for ref, other in self._connection.execute(_TAKEN, (refs, *whose)).fetchall():
                raise StoreConflict(
                    f"session {self._state.name[:64]!r}: session {rows.shown(bytes(other))[:64]} has its reference "
                    f"{rows.shown(bytes(ref))}; nothing of it was written"
                )
            self._connection.execute(_ORIGINALS, (*who, *_columns(self._originals)))
        with self._connection.cursor() as cursor:
            cursor.executemany(_MOVE, self._moves)
        self._clear()

    def _clear(self) -> None:
        self._operations: list[tuple[Any, ...]] = []
        self._segments: list[tuple[Any, ...]] = []
        self._originals: list[tuple[int, int, bytes]] = []
        self._moves: list[tuple[Any, ...]] = []
        self._bytes = 0


def _columns(values: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*values, strict=True)]
