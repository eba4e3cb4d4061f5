"""Writes the records of a project to a server: each session in one transaction, and all memories in one.

Law: a session is there as a whole or not at all, and what is there is never changed: a log is only continued. Numbers of
operations stay as they are; the log of a session may have gaps here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import accumulate
from typing import Any

import psycopg

from undrift.errors import StoreConflict
from undrift.stores import rows
from undrift.stores.memories import memory_from
from undrift.stores.memory_values import content_digest
from undrift.stores.moving.proof import GOES_BACK
from undrift.stores.moving.reading_server import FROM_FILE, ServerSource
from undrift.stores.moving.values import (
    Moment,
    MovedLine,
    MovedMark,
    MovedMemory,
    MovedOperation,
    MovedReading,
    Numbered,
)
from undrift.stores.packing import framed, record
from undrift.stores.postgres.log import Home, events_place, loaded, original_place, payload_place
from undrift.stores.postgres.memory_log import digest_number, is_shared, sealed_record, slot_numbers
from undrift.stores.postgres.sealing import Seal, new_key
from undrift.stores.postgres.session_state import Kind, LoggedOperation, SessionState, packed_events
from undrift.values.memory import MemoryEntry

__all__ = ["ServerTarget"]

_RESERVE = "UPDATE projects SET clock = clock + %s WHERE number = %s RETURNING clock"
_NEW = """INSERT INTO sessions(organisation, person, project, name, month, first_at_ms, last_at_ms, key)
    VALUES(%s, %s, %s, %s, ensure_month(%s), %s, %s, %s) ON CONFLICT (project, person, name) DO NOTHING"""
_HELD = """SELECT number, month::text, last_seq, key FROM sessions WHERE project = %s AND person = %s AND name = %s FOR UPDATE"""
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
_READING = """INSERT INTO readings(session, organisation, person, key, before, sha256, length, record_sha256, record)
    VALUES(%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (session, record_sha256) DO NOTHING"""
_MOVE = """INSERT INTO moves(project, session, seq, target, clock, organisation) VALUES(%s, %s, %s, %s, %s, %s)
    ON CONFLICT DO NOTHING"""
_WRITTEN = """UPDATE sessions SET last_seq = %s, written = nextval('written'), first_at_ms = least(first_at_ms, %s),
    last_at_ms = greatest(last_at_ms, %s), used_at_ms = greatest(used_at_ms, %s), originals = %s, decisions = %s, documents = %s,
    archived = %s, archived_bytes = %s WHERE month = %s AND number = %s"""
_SESSIONS = "SELECT name, number FROM sessions WHERE project = %s AND person = %s"
_EVENT = """INSERT INTO memory_events(project, clock, part, organisation, person, is_shared, session, seq, act, name, visibility, owner,
    digest, is_learned, has_conflicts, record) VALUES(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
_FORGET_SPANS = "DELETE FROM memory_spans WHERE project = %s AND person = %s AND name = ANY(%s)"
_PLACES = "SELECT name, clock, part FROM memory_events WHERE project = %s AND person = %s AND name = ANY(%s)"
_PARTS = "SELECT clock, max(part) FROM memory_events WHERE project = %s AND clock = ANY(%s) GROUP BY clock"
_SPAN = """INSERT INTO memory_spans(project, name, clock, part, organisation, person, is_shared, from_clock, to_clock)
    VALUES(%s, %s, %s, %s, %s, %s, %s, %s, %s)"""
_SLOT = """INSERT INTO memory_slots(project, relation, entity, name, organisation, person, is_shared)
    VALUES(%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"""
_LINE = """INSERT INTO memory_lines(project, name, organisation, person, is_shared, line, embedder, dimension, vectors)
    VALUES(%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (project, person, name) DO NOTHING"""
_MOVED = "UPDATE projects SET clock = clock + 1, epoch = epoch + 1, top_seq = greatest(top_seq, %s) WHERE number = %s"
_MARK = """INSERT INTO marks(organisation, person, project, session, mark, kind, record_sha256)
    VALUES(%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (project, person, mark, session) DO NOTHING"""
_AT_ONCE_BYTES = 4 << 20
_AT_ONCE = 1_000
_OF_RECORDS = (Kind.ORIGINAL, Kind.KEPT)
_NO_USE = ("sweep", "purge")
_OLDEST_MONTHS = 36
"""A session that says it is older, as one with a wrong clock, lies in this month's partition."""


class ServerTarget:
    """`Target` of one scope on a server."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._clocks: Sequence[int] = (0,)  # after each number of moments
        self._clock_of: Mapping[Moment, int] = {}

    def source(self) -> ServerSource:
        """Return the same scope to be read."""
        return ServerSource(self._home)

    def numbers(
        self,
        operations: Sequence[Numbered],
        moments: Sequence[Moment],  # noqa: ARG002 - a session has its own row of numbers here, as below
        known: Mapping[Moment, int],
        taken: Collection[int],  # noqa: ARG002
        least: int,  # noqa: ARG002
    ) -> dict[str, dict[int, int]]:
        found: dict[str, dict[int, int]] = defaultdict(dict)
        last: dict[str, int] = defaultdict(int)
        for one in sorted(operations, key=lambda operation: operation.seq):
            number = known.get(Moment(one.session, one.seq)) or max(one.seq, last[one.session] + 1)
            found[one.session][one.seq] = last[one.session] = number
        return found

    def prepare(self, moments: Sequence[Moment | None], base: int | None) -> int | None:
        """Move the project's clock past the moments that are new, so that nobody else takes their places."""
        there = {one: clock for clock, one in self.source().clocks.items()}
        if base is None and any(one not in there for one in moments if one is not None):
            base = self._reserved(len(moments))
        start = base or 0
        clocks = [there.get(one, start + number) if one else start + number for number, one in enumerate(moments, 1)]
        self._clocks = list(accumulate([min(clocks, default=1) - 1, *clocks], max))
        self._clock_of = {one: clock for one, clock in zip(moments, clocks, strict=True) if one is not None}
        return base

    def _reserved(self, moments: int) -> int:
        """Move the clock past so many moments; return it as it was before."""
        with self._home.server.transaction(self._home.caller) as connection:
            ((clock,),) = connection.execute(_RESERVE, (moments + 1, self._home.project)).fetchall()
        return int(clock) - moments - 1

    def put_session(
        self, name: str, operations: Iterable[MovedOperation], readings: Sequence[MovedReading], after: int = 0
    ) -> None:
        """Write a session, or continue it, in one transaction.

        `after`: the operation that the given ones follow; 0: there is none.

        Raises StoreConflict: it has other operations by now, or another session has one of its references.
        """
        home = self._home
        with home.server.transaction(home.caller) as connection:
            stream = iter(operations)
            first = next(stream, None)
            at_ms = 0 if first is None else first.logged.operation.at_ms
            state = self._held(connection, name, at_ms, after)
            writer = _Writer(connection, home, state, self._clocks)
            for one in (first, *stream) if first is not None else ():
                writer.add(one)
            writer.end()
            who = (state.number, home.caller.organisation, home.caller.person)
            with connection.cursor() as cursor:
                cursor.executemany(_READING, [(*who, *one) for one in readings])

    def put_memories(
        self, memories: Sequence[MovedMemory], lines: Iterable[MovedLine], known: Mapping[str, int]
    ) -> None:
        home, ids = self._home, [rows.raw(one.id) for one in memories]
        with home.server.transaction(home.caller) as connection:
            found = connection.execute(_SESSIONS, (home.project, home.caller.person)).fetchall()
            sessions = {rows.text_from(bytes(name)): number for name, number in found}
            connection.execute(_FORGET_SPANS, (home.project, home.caller.person, ids))
            top = _Versions(connection, home, self._clock_of, sessions).put(memories, known)
            shared = {one.id: _is_shared(home, one) for one in memories}
            values = (_line_row(home, one, is_shared=shared[one.id]) for one in lines if one.id in shared)
            with connection.cursor() as cursor:
                cursor.executemany(_LINE, values)
            connection.execute(_MOVED, (top, home.project))

    def put_marks(self, marks: Iterable[MovedMark]) -> None:
        """Write marks that are not there yet."""
        home = self._home
        who = (home.caller.organisation, home.caller.person, home.project)
        with home.server.transaction(home.caller) as connection, connection.cursor() as cursor:
            cursor.executemany(_MARK, [(*who, *one) for one in marks])

    def close(self) -> None:
        """Do nothing: who gave the home closes it."""

    def _held(self, connection: psycopg.Connection[Any], name: str, at_ms: int, after: int) -> SessionState:
        """Lock a session that ends with an operation, or make it."""
        home, whose = self._home, (self._home.project, self._home.caller.person)
        key = home.seal.close(new_key(), b"session")
        values = (home.caller.organisation, whose[1], whose[0], rows.raw(name), _month(at_ms), at_ms, at_ms, key)
        connection.execute(_NEW, values)
        ((number, month, last, wrapped),) = connection.execute(_HELD, (*whose, rows.raw(name))).fetchall()
        if last != after:
            raise StoreConflict(f"session {name[:64]!r}: another process has written to it; nothing of it was written")
        if after:
            return loaded(home, name)
        return SessionState(name, number, month, home.seal.open(bytes(wrapped), b"session"))


class _Writer:
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
        seq, clock = operation.seq, self._clocks[one.logged.clock]
        logged = LoggedOperation(operation, one.logged.events, clock)
        self._state.extend(logged)
        packed = packed_events(logged.events)
        text = rows.dump(operation.payload, "payload")
        payload = None if text is None else text.encode()
        name, kind = rows.raw(self._state.name), rows.raw(operation.kind)
        digest = rows.digest(name, kind, operation.at_ms, payload, packed)
        sealed = None if payload is None else self._seal.close(payload, payload_place(seq))
        events = self._seal.close(framed(packed), events_place(seq))
        token = FROM_FILE + one.origin if one.origin else new_key()[:12]
        self._operations.append((seq, kind, operation.at_ms, clock, token, digest, sealed, events))
        self._bytes += len(events) + len(sealed or b"")
        if one.packed:
            raw = b"".join(record(part._replace(number=place)) for place, part in enumerate(one.packed))
            content = self._seal.close(framed(raw), original_place(seq))
            self._segments.append((seq, len(raw), content))
            self._bytes += len(content)
        self._originals += [
            (seq, place, event.key[-1])
            for place, event in enumerate(logged.events)
            if event.kind in _OF_RECORDS and event.row is not None
        ]
        if operation.kind in GOES_BACK - {"rewind-facts"}:
            target = (operation.payload or {}).get("to", 0)
            self._moves.append(
                (self._home.project, self._state.number, seq, target, clock, self._home.caller.organisation)
            )
        if operation.kind not in _NO_USE:
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


class _Versions:
    """Writes versions of memories; its caller holds the transaction.

    Args:
        sessions: The server's numbers of sessions.
    """

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        home: Home,
        clocks: Mapping[Moment, int],
        sessions: Mapping[str, int],
    ) -> None:
        self._connection = connection
        self._home = home
        self._clocks = clocks
        self._sessions = sessions

    def put(self, memories: Sequence[MovedMemory], known: Mapping[str, int]) -> int:
        """Write the versions that are not known, and all spans; return the greatest `seq` of a memory."""
        home, who = self._home, (self._home.caller.organisation, self._home.caller.person)
        events: list[tuple[Any, ...]] = []
        spans: list[tuple[Any, ...]] = []
        slots: set[tuple[Any, ...]] = set()
        places, parts, top = self._places(memories), self._parts(memories), 0
        for one in memories:
            name, shared = rows.raw(one.id), _is_shared(home, one)
            for number, (version, entry) in enumerate(_entries(one)):
                clock, top = self._clocks[version.at], max(top, entry.seq)
                part = places.get((name, clock))
                if number >= known.get(one.id, 0) or part is None:
                    part = parts[clock] = parts.get(clock, -1) + 1
                    record_ = None if version.row is None else sealed_record(home, version.row)
                    where = (self._sessions[version.at.session], version.at.seq, version.act, name)
                    events.append((home.project, clock, part, *who, shared, *where, *_searched(home, entry), record_))
                for span in version.spans:
                    end = None if span.end is None else self._clocks[span.end]
                    spans.append((home.project, name, clock, part, *who, shared, self._clocks[span.start], end))
                keys = (slot_numbers(home, slot.relation, slot.entity) for slot in entry.slots)
                slots |= {(home.project, *key, name, *who, shared) for key in keys}
        with self._connection.cursor() as cursor:
            cursor.executemany(_EVENT, events)
            cursor.executemany(_SPAN, spans)
            cursor.executemany(_SLOT, sorted(slots))
        return top

    def _places(self, memories: Sequence[MovedMemory]) -> dict[tuple[bytes, int], int]:
        """Return the parts of the versions that are there, by name and clock."""
        values = (self._home.project, self._home.caller.person, [rows.raw(one.id) for one in memories])
        found = self._connection.execute(_PLACES, values).fetchall()
        return {(bytes(name), clock): part for name, clock, part in found}

    def _parts(self, memories: Sequence[MovedMemory]) -> dict[int, int]:
        """Return the last part in use of each clock."""
        clocks = sorted({self._clocks[version.at] for one in memories for version in one.versions})
        return dict(self._connection.execute(_PARTS, (self._home.project, clocks)).fetchall())


def _entries(memory: MovedMemory) -> Iterator[tuple[Any, MemoryEntry]]:
    """Yield each version with its entry, or with that of the version before if it takes the memory out of sight."""
    entry: MemoryEntry | None = None
    for version in memory.versions:
        if version.row is not None:
            session, name, scope, owner, digest, text = version.row
            entry = memory_from((0, digest, session, name, scope, owner, text))
        if entry is not None:
            yield version, entry


def _searched(home: Home, entry: MemoryEntry) -> tuple[Any, ...]:
    owner = {"agent": entry.agent, "session": entry.session_id}.get(entry.scope, "")
    digest = digest_number(home, content_digest(entry.content))
    return entry.scope, rows.raw(owner), digest, "learned" in entry.metadata, "conflicts" in entry.metadata


def _is_shared(home: Home, memory: MovedMemory) -> bool:
    *_, (_, entry) = _entries(memory)
    return is_shared(home, entry.scope)


def _line_row(home: Home, one: MovedLine, *, is_shared: bool) -> tuple[Any, ...]:
    name = rows.raw(one.id)
    sealed = home.seal.close((rows.dump(one.fields, "line") or "").encode(), b"line " + name)
    vectors = _floats(one.vectors, one.dimension) if one.vectors else None
    who = (home.caller.organisation, home.caller.person)
    return home.project, name, *who, is_shared, sealed, one.embedder, one.dimension, vectors


def _floats(stored: bytes, dimension: int) -> bytes:
    """Return the vectors of a memory as a server keeps them: all of them float32."""
    import numpy as np

    whole = np.frombuffer(stored[: 4 * dimension], "<f4")
    passages = np.frombuffer(stored[4 * dimension :], np.int8).astype("<f4")
    return bytes(np.concatenate([whole, passages]).tobytes())


def _columns(values: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*values, strict=True)]


def _month(at_ms: int) -> date:
    """Return the first day of the month of a time; this month's if it lies far in the past, or in the future."""
    now = datetime.now(UTC).date().replace(day=1)
    try:
        found = datetime.fromtimestamp(at_ms / 1000, UTC).date().replace(day=1)
    except (OverflowError, OSError, ValueError):
        return now
    age = (now.year - found.year) * 12 + now.month - found.month
    return found if 0 <= age < _OLDEST_MONTHS else now
