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
from undrift.stores.memory_values import MemoryLine, content_digest
from undrift.stores.moving.reading_server import ServerSource
from undrift.stores.moving.server_sessions import replace_session, write_session
from undrift.stores.moving.values import (
    LogPlace,
    MovedLine,
    MovedMark,
    MovedMemory,
    MovedOperation,
    MovedReading,
    Numbered,
)
from undrift.stores.postgres.log import Home, loaded
from undrift.stores.postgres.memory_log import (
    digest_number,
    is_shared,
    sealed_line,
    sealed_record,
    slot_numbers,
    vectors_place,
)
from undrift.stores.postgres.sealing import new_key
from undrift.stores.postgres.session_state import SessionState
from undrift.values.memory import MemoryEntry

__all__ = ["ServerTarget"]

_RESERVE = "UPDATE projects SET clock = clock + %s WHERE number = %s RETURNING clock"
_NEW = """INSERT INTO sessions(organisation, person, project, name, month, first_at_ms, last_at_ms, key)
    VALUES(%s, %s, %s, %s, ensure_month(%s), %s, %s, %s) ON CONFLICT (project, person, name) DO NOTHING"""
_HELD = """SELECT number, month::text, last_seq, key FROM sessions WHERE project = %s AND person = %s AND name = %s FOR UPDATE"""
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
_FORGET = (
    "DELETE FROM memory_events WHERE project = %s AND person = %s AND name = ANY(%s)",  # its spans go with it
    "DELETE FROM memory_slots WHERE project = %s AND person = %s AND name = ANY(%s)",
    "DELETE FROM memory_lines WHERE project = %s AND person = %s AND name = ANY(%s)",
)
_MOVED = "UPDATE projects SET clock = clock + 1, epoch = epoch + 1, top_seq = greatest(top_seq, %s) WHERE number = %s"
_MARK = """INSERT INTO marks(organisation, person, project, session, mark, kind, record_sha256)
    VALUES(%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (project, person, mark, session) DO NOTHING"""
_OLDEST_MONTHS = 36
"""A session that says it is older, as one with a wrong clock, lies in this month's partition."""


class ServerTarget:
    """`Target` of one scope on a server."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._clocks: Sequence[int] = (0,)  # after each number of moments
        self._clock_of: Mapping[LogPlace, int] = {}

    def source(self) -> ServerSource:
        """Return the same scope to be read."""
        return ServerSource(self._home)

    def numbers(
        self,
        operations: Sequence[Numbered],
        moments: Sequence[LogPlace],  # noqa: ARG002 - a session has its own row of numbers here, as below
        known: Mapping[LogPlace, int],
        in_use: Collection[int],  # noqa: ARG002
        least: int,  # noqa: ARG002
    ) -> dict[str, dict[int, int]]:
        found: dict[str, dict[int, int]] = defaultdict(dict)
        last: dict[str, int] = defaultdict(int)
        last |= {one.name: one.last_seq for one in self.source().heads()}
        for moment, number in known.items():
            found[moment.session][moment.seq] = number
        for one in sorted(operations, key=lambda operation: operation.seq):
            if one.seq not in found[one.session]:
                number = max(one.seq, last[one.session] + 1)
                found[one.session][one.seq] = last[one.session] = number
        return found

    def prepare(self, moments: Sequence[LogPlace | None], base: int | None) -> int | None:
        """Move the project's clock past the moments that are new, so that no other process takes their places."""
        there = {one: clock for clock, one in self.source().clocks.items()}
        if base is None and any(one not in there for one in moments if one is not None):
            base = self._reserved(len(moments))
        start = base or 0
        clocks = [there.get(one, start + number) if one else start + number for number, one in enumerate(moments, 1)]
        self._clocks = list(accumulate([min(clocks, default=1) - 1, *clocks], max))
        new = {one: clock for one, clock in zip(moments, clocks, strict=True) if one is not None}
        self._clock_of = {**there, **new}
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
            given = (first, *stream) if first is not None else ()
            write_session(connection, home, state, given, readings, self._clocks)

    def order(self, moment: LogPlace) -> int:
        return self._clock_of[moment]

    def put_memories(
        self, memories: Sequence[MovedMemory], lines: Iterable[MovedLine], known: Mapping[str, Collection[LogPlace]]
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

    def replace(self, name: str, operations: Sequence[MovedOperation]) -> None:
        """Rewrite a session without what another home has purged. Raises StoreConflict: others wrote to it meanwhile."""
        home, last = self._home, operations[-1].logged.operation.seq
        with home.server.transaction(home.caller) as connection:
            replace_session(connection, home, self._held(connection, name, 0, last), operations)

    def forget(self, ids: Collection[str]) -> None:
        """Destroy memories that another home has purged."""
        names = [rows.raw(one) for one in ids]
        with self._home.server.transaction(self._home.caller) as connection:
            for sql in _FORGET:
                connection.execute(sql, (self._home.project, self._home.caller.person, names))
            connection.execute(_MOVED, (0, self._home.project))

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


class _Versions:
    """Writes versions of memories; its caller holds the transaction.

    Args:
        sessions: The server's numbers of sessions.
    """

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        home: Home,
        clocks: Mapping[LogPlace, int],
        sessions: Mapping[str, int],
    ) -> None:
        self._connection = connection
        self._home = home
        self._clocks = clocks
        self._sessions = sessions

    def put(self, memories: Sequence[MovedMemory], known: Mapping[str, Collection[LogPlace]]) -> int:
        """Write the versions that are not known, and all spans; return the greatest `seq` of a memory."""
        home, who = self._home, (self._home.caller.organisation, self._home.caller.person)
        events: list[tuple[Any, ...]] = []
        spans: list[tuple[Any, ...]] = []
        slots: set[tuple[Any, ...]] = set()
        places, parts, top = self._places(memories), self._parts(memories), 0
        for one in memories:
            name, shared = rows.raw(one.id), _is_shared(home, one)
            there = known.get(one.id, ())
            for version, entry in _entries(one):
                clock, top = self._clocks[version.at], max(top, entry.seq)
                part = places.get((name, clock))
                if part is None or version.at not in there:
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
            entry = version.entry()
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
    sealed = sealed_line(home, MemoryLine(**one.fields))
    vectors = home.seal.close(_floats(one.vectors, one.dimension), vectors_place(name)) if one.vectors else None
    who = (home.caller.organisation, home.caller.person)
    return home.project, name, *who, is_shared, sealed, one.embedder, one.dimension, vectors


def _floats(stored: bytes, dimension: int) -> bytes:
    """Return the vectors of a memory as a server keeps them: all of them float32."""
    import numpy as np

    whole = np.frombuffer(stored[: 4 * dimension], "<f4")
    passages = np.frombuffer(stored[4 * dimension :], np.int8).astype("<f4")
    return bytes(np.concatenate([whole, passages]).tobytes())


def _month(at_ms: int) -> date:
    """Return the first day of the month of a time; this month's if it lies far in the past, or in the future."""
    now = datetime.now(UTC).date().replace(day=1)
    try:
        found = datetime.fromtimestamp(at_ms / 1000, UTC).date().replace(day=1)
    except (OverflowError, OSError, ValueError):
        return now
    age = (now.year - found.year) * 12 + now.month - found.month
    return found if 0 <= age < _OLDEST_MONTHS else now
