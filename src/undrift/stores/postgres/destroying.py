"""The rows that a purge writes: operations again without the data, segments without its texts, and its own operation.

Law: runs in a transaction that holds the rows of the sessions. If a session goes as a whole, the rest of its log is sealed
with a new key, and no row has the old one afterwards.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Operation
from undrift.stores.packing import FORGED, PackedOriginal, framed, record
from undrift.stores.postgres.connection import Caller, DatabaseServer, Rows, Statement
from undrift.stores.postgres.doomed import NOTHING, DoomedRecords, Packed, rewritten
from undrift.stores.postgres.events import ORIGINALS, Kind, packed_events
from undrift.stores.postgres.log import NEW_SESSION, Home, events_place, original_place, payload_place
from undrift.stores.postgres.originals import segments_of
from undrift.stores.postgres.sealing import Seal, new_key
from undrift.stores.postgres.session_state import LoggedOperation, SessionState
from undrift.values.window import Decision

__all__ = ["Ending", "ended", "holding", "packed_of", "rewrite", "sealed_operation"]

_HOLD = "SELECT number FROM sessions WHERE project = %s AND person = %s AND name = ANY(%s) ORDER BY number FOR UPDATE"
_HOLD_PROJECT = "SELECT clock FROM projects WHERE number = %s FOR UPDATE"
_CLOCK = "SELECT clock FROM projects WHERE number = %s"
_HOLD_ORIGINALS = """SELECT 1 FROM originals WHERE month = %s AND session = %s AND seq = ANY(%s)
    ORDER BY seq, place FOR UPDATE"""
_OPERATION = """UPDATE operations SET record_sha256 = %s, payload = %s, events = %s
    WHERE month = %s AND session = %s AND seq = %s"""
_ADD = """INSERT INTO operations(month, session, seq, organisation, person, kind, at_ms, clock, token, record_sha256, payload, events)
    VALUES(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"""
_SEGMENT = "UPDATE segments SET raw_bytes = %s, content = %s WHERE month = %s AND session = %s AND seq = %s"
_NO_SEGMENT = "DELETE FROM segments WHERE month = %s AND session = %s AND seq = ANY(%s)"
_NO_ORIGINALS = """DELETE FROM originals o USING unnest(%s::bigint[], %s::int[]) AS x(seq, place)
    WHERE o.month = %s AND o.session = %s AND o.seq = x.seq AND o.place = x.place"""
_NO_WORDS = """UPDATE originals o SET words = '{}' FROM unnest(%s::bigint[], %s::int[]) AS x(seq, place)
    WHERE o.month = %s AND o.session = %s AND o.seq = x.seq AND o.place = x.place"""
_NO_READINGS = "DELETE FROM readings WHERE session = %s"
_NO_MARKS = "DELETE FROM marks WHERE project = %s AND person = %s AND session = %s"
_SESSION = """UPDATE sessions SET epoch = epoch + 1, key = %s, originals = %s, decisions = %s, documents = %s, archived = %s,
    archived_bytes = %s WHERE month = %s AND number = %s"""
_APPENDED = """UPDATE sessions SET last_seq = %s, written = nextval('written'), last_at_ms = greatest(last_at_ms, %s),
    first_at_ms = least(first_at_ms, %s) WHERE month = %s AND number = %s"""
_ENDED = """SELECT 1 FROM sessions s JOIN operations o ON o.month = s.month AND o.session = s.number
    WHERE s.project = %s AND s.person = %s AND s.name = %s AND o.token = %s"""


@dataclass(frozen=True, slots=True)
class Ending:
    """The operation that says what was destroyed.

    Args:
        names: What no payload of the log may name afterwards.
        forgets_readings: True: the readings of its session go as well.
        token: Tells whether it was written, if the connection ended before the answer.
    """

    kind: str
    at_ms: int
    payload: Mapping[str, Any]
    names: Collection[str] = ()
    forgets_readings: bool = True
    token: bytes = b""


class _Held(DatabaseServer):
    """The server as one transaction sees it, which holds what it has locked."""

    def __init__(self, home: Home, connection: psycopg.Connection[Any]) -> None:
        self.address = home.server.address
        self._caller = home.caller
        self._held = connection

    def read(self, caller: Caller, *statements: Statement) -> list[Rows]:
        """Run statements in the transaction, which has a caller already."""
        assert caller == self._caller
        return [self._held.execute(text, values, binary=True).fetchall() for text, values in statements]


@contextmanager
def holding(
    home: Home, session_id: str, sessions: Collection[str], at_ms: int, *, with_memories: bool
) -> Iterator[tuple[psycopg.Connection[Any], Home]]:
    """Begin a transaction and lock sessions, and the project's memories; its end commits.

    Args:
        session_id: The session that gets an operation; it is made if there is none.
        sessions: Other sessions that are written.

    Yields the connection, and the home as the transaction sees it.
    """
    with home.server.transaction(home.caller) as connection:
        whose = (home.project, home.caller.person)
        key = home.seal.close(new_key(), b"session")
        name = rows.raw(session_id)
        connection.execute(NEW_SESSION, (home.caller.organisation, whose[1], whose[0], name, at_ms, at_ms, key))
        connection.execute(_HOLD, (*whose, [name, *map(rows.raw, sessions)]))
        if with_memories:
            connection.execute(_HOLD_PROJECT, (home.project,))
        yield connection, replace(home, server=_Held(home, connection))


def ended(home: Home, session_id: str, token: bytes) -> bool:
    """Tell whether an operation was written whose connection ended before the answer."""
    (found,) = home.server.read(home.caller, (_ENDED, (home.project, home.caller.person, rows.raw(session_id), token)))
    return bool(found)


def packed_of(home: Home, state: SessionState, refs: Collection[bytes] | None = None) -> Packed:
    """Return a reader of a session's segments, to be asked in their order; a damaged one is empty.

    `refs`: the originals that are asked for; None: any.
    """
    originals = (one for one in state.versions() if one.event.kind == Kind.ORIGINAL)
    segment = segments_of(home, state, (one.seq for one in originals if refs is None or one.event.key[0] in refs))

    def packed(seq: int) -> list[PackedOriginal]:
        try:
            return segment(seq)
        except (*FORGED, StoreCorrupt):
            return []

    return packed


def rewrite(
    connection: psycopg.Connection[Any],
    held: Home,
    state: SessionState,
    found: DoomedRecords,
    ending: Ending,
    blank: Callable[[Decision], Decision],
) -> None:
    """Write a session without the data; its own session gets the operation that says so.

    `held`: as `holding` yields it. `state`: as the server has it, under the lock.
    """
    is_own = state.name == found.aim.session_id
    is_whole = state.name == found.whole_session
    log = rewritten(state, found, ending.names, blank)
    changed = [now for now, before in zip(log, state.log, strict=True) if now is not before]
    places = _places(state, log)
    key = new_key() if is_whole else state.seal_key
    if changed or is_whole:
        _write_segments(connection, held, state, log, places)
        _forget_originals(connection, state, places, _still_named(log))
        with connection.cursor() as cursor:
            cursor.executemany(_OPERATION, [_row(state, key, one) for one in (log if is_whole else changed)])
        _count(connection, held, state.rebuilt(log, state.epoch + 1), key)
    if is_own:
        if ending.forgets_readings:
            connection.execute(_NO_READINGS, (state.number,))
        if is_whole:
            connection.execute(_NO_MARKS, (held.project, held.caller.person, rows.raw(state.name)))
        _append(connection, held, state, key, ending)


def _places(state: SessionState, log: Sequence[LoggedOperation]) -> dict[int, list[int]]:
    """Return the places of the originals that went, by operation."""
    found: dict[int, list[int]] = {}
    for before, now in zip(state.log, log, strict=True):
        for place, event in enumerate(before.events):
            stays = place < len(now.events) and now.events[place].kind == event.kind
            if event.kind in ORIGINALS and not stays:
                found.setdefault(before.operation.seq, []).append(place)
    return found


def _write_segments(
    connection: psycopg.Connection[Any],
    held: Home,
    state: SessionState,
    log: Sequence[LoggedOperation],
    destroyed: Mapping[int, Sequence[int]],
) -> None:
    """Write segments without the texts that went; a session's new key is never needed here: then none is left."""
    empty, changed = [], {}
    for before, now in zip(state.log, log, strict=True):
        seq = before.operation.seq
        leaving = [row[2] for place in destroyed.get(seq, ()) if (row := _packed_row(before, place)) is not None]
        if not leaving:
            continue
        if not any(event.kind == Kind.ORIGINAL for event in now.events):
            empty.append(seq)
        else:
            changed[seq] = leaving
    segment = segments_of(held, state, changed)
    for seq, leaving in changed.items():
        texts = list(segment(seq))
        for place in leaving:
            texts[place] = NOTHING._replace(number=place)
        raw = b"".join(map(record, texts))
        sealed = held.session_seal(state).close(framed(raw), original_place(seq))
        connection.execute(_SEGMENT, (len(raw), sealed, state.month, state.number, seq))
    connection.execute(_NO_SEGMENT, (state.month, state.number, empty))


def _packed_row(logged: LoggedOperation, place: int) -> tuple[Any, ...] | None:
    event = logged.events[place]
    return event.row if event.kind == Kind.ORIGINAL else None


def _still_named(log: Sequence[LoggedOperation]) -> set[bytes]:
    """Return the references that decisions still name: who asks for one learns that it is gone."""
    details = [
        event.row[7] for one in log for event in one.events if event.kind == Kind.DECISION and event.row is not None
    ]
    named = [rows.load(one).get("gone_ref") for one in details if b'"gone_ref"' in one]
    return {rows.raw(one) for one in named if isinstance(one, str)}


def _forget_originals(
    connection: psycopg.Connection[Any],
    state: SessionState,
    destroyed: Mapping[int, Sequence[int]],
    named: Collection[bytes],
) -> None:
    """Delete the rows of originals with their words; of those that are still named, only the words go."""
    by_seq = {one.operation.seq: one for one in state.log}
    stay: tuple[list[int], list[int]] = ([], [])
    go: tuple[list[int], list[int]] = ([], [])
    for seq, places in destroyed.items():
        for place in places:
            seqs, own = stay if by_seq[seq].events[place].key[-1] in named else go
            seqs.append(seq)
            own.append(place)
    # In this order, because a search that indexes them locks them so.
    connection.execute(_HOLD_ORIGINALS, (state.month, state.number, list(destroyed)))
    connection.execute(_NO_ORIGINALS, (*go, state.month, state.number))
    connection.execute(_NO_WORDS, (*stay, state.month, state.number))


def _row(state: SessionState, key: bytes, one: LoggedOperation) -> tuple[Any, ...]:
    """Return an operation's values: SHA-256, payload, events, and where it is."""
    return (*sealed_operation(state.name, Seal(key), one), state.month, state.number, one.operation.seq)


def sealed_operation(name: str, seal: Seal, one: LoggedOperation) -> tuple[bytes, bytes | None, bytes]:
    """Return the SHA-256 of an operation, and its payload and its events, sealed for their places.

    `name`, `seal`: those of its session.
    """
    operation = one.operation
    packed = packed_events(one.events)
    text = rows.dump(operation.payload, "payload")
    payload = None if text is None else text.encode()
    digest = rows.digest(rows.raw(name), rows.raw(operation.kind), operation.at_ms, payload, packed)
    sealed = None if payload is None else seal.close(payload, payload_place(operation.seq))
    return digest, sealed, seal.close(framed(packed), events_place(operation.seq))


def _count(connection: psycopg.Connection[Any], held: Home, after: SessionState, key: bytes) -> None:
    """Write what the list of sessions shows of a session, and let every process read its log again."""
    sizes = [
        one.event.row[3] for one in after.versions() if one.event.kind == Kind.ORIGINAL and one.event.row is not None
    ]
    kinds = sorted({one.event.key[0].hex() for one in after.active(Kind.DOCUMENT)})
    counts = len(after.active(Kind.KEPT)), len(after.active(Kind.DECISION)), kinds, len(sizes), sum(sizes)
    connection.execute(_SESSION, (held.seal.close(key, b"session"), *counts, after.month, after.number))


def _append(connection: psycopg.Connection[Any], held: Home, state: SessionState, key: bytes, ending: Ending) -> None:
    seq = state.last_seq + 1
    one = LoggedOperation(Operation(seq, ending.kind, ending.at_ms, ending.payload))
    ((clock,),) = connection.execute(_CLOCK, (held.project,)).fetchall()
    owner = (held.caller.organisation, held.caller.person)
    values = (state.month, state.number, seq, *owner, rows.raw(ending.kind), ending.at_ms, clock, ending.token)
    connection.execute(_ADD, (*values, *sealed_operation(state.name, Seal(key), one)))
    connection.execute(_APPENDED, (seq, ending.at_ms, ending.at_ms, state.month, state.number))
