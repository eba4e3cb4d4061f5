"""The log of a session on the server: read from an operation on, and appended to in one statement.

Law: an append names the operation that it follows. If another process has written since, nothing is written, and the
caller reads on and compares again. If the connection ends before the answer, the token of the commit tells what became of it.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Operation
from undrift.stores.packing import FORGED, framed, record, unframed
from undrift.stores.postgres.changes import Additions
from undrift.stores.postgres.connection import Caller, DatabaseServer
from undrift.stores.postgres.events import ORIGINALS, Kind, packed_events, unpacked_events
from undrift.stores.postgres.sealing import Seal, new_key
from undrift.stores.postgres.session_state import QUIET, LoggedOperation, SessionState

__all__ = ["Append", "Home", "NEW_SESSION", "appended", "events_place", "loaded", "original_place", "payload_place"]

_LOAD_TEXT = """SELECT s.number, s.month::text, s.last_seq, s.epoch, s.key, o.seq, o.kind, o.at_ms, o.record_sha256, o.payload,
        o.events, o.clock, o.token
    FROM sessions s LEFT JOIN operations o ON o.month = s.month AND o.session = s.number
        AND o.seq > CASE WHEN s.epoch = %s THEN %s ELSE 0 END{month}
    WHERE s.project = %s AND s.person = %s AND s.name = %s ORDER BY o.seq"""
_LOAD = _LOAD_TEXT.format(month="")
_LOAD_OF_MONTH = _LOAD_TEXT.format(month=" AND o.month = %s::date")
"""With the month as a value the server plans and locks one partition: with 1,200 of them it took 288 ms to plan a read."""
NEW_SESSION = """INSERT INTO sessions(organisation, person, project, name, month, first_at_ms, last_at_ms, key)
    VALUES(%s, %s, %s, %s, ensure_month(date_trunc('month', now() AT TIME ZONE 'utc')::date), %s, %s, %s)
    ON CONFLICT (project, person, name) DO NOTHING"""
_APPEND = """WITH s AS (
    UPDATE sessions SET last_seq = last_seq + 1, written = nextval('written'), last_at_ms = greatest(last_at_ms, %(at)s),
        first_at_ms = least(first_at_ms, %(at)s), used_at_ms = CASE WHEN %(uses)s THEN greatest(used_at_ms, %(at)s) ELSE used_at_ms END,
        originals = %(originals)s, decisions = %(decisions)s, archived = archived + %(archived)s,
        archived_bytes = archived_bytes + %(archived_bytes)s, documents = coalesce(%(documents)s, documents)
    WHERE project = %(project)s AND person = %(person)s AND name = %(name)s AND last_seq = %(based)s AND epoch = %(epoch)s
    AND (%(new_key)s::bytea IS NULL OR key = %(new_key)s)
    AND NOT EXISTS (SELECT 1 FROM originals o JOIN sessions t ON t.number = o.session AND t.month = o.month
        WHERE o.ref = ANY(%(refs)s::bytea[]) AND t.project = sessions.project AND t.number <> sessions.number)
    RETURNING number, month, last_seq, organisation, person, project){project}
, op AS (INSERT INTO operations(month, session, seq, organisation, person, kind, at_ms, clock, token, record_sha256, payload, events)
    SELECT month, number, last_seq, organisation, person, %(kind)s, %(at)s, {clock}, %(token)s, %(sha)s, %(payload)s, %(events)s FROM s)
{parts}
SELECT s.number, s.month::text, s.last_seq, {clock} FROM s"""
_SEGMENT = """, seg AS (INSERT INTO segments(month, session, seq, organisation, person, raw_bytes, content)
    SELECT month, number, last_seq, organisation, person, %(raw_bytes)s, %(segment)s FROM s)"""
_REFS = """, orig AS (INSERT INTO originals(month, session, seq, place, organisation, person, ref)
    SELECT s.month, s.number, s.last_seq, x.place, s.organisation, s.person, x.ref
    FROM s, unnest(%(places)s::int[], %(refs)s::bytea[]) AS x(place, ref))"""
_READINGS = """, read AS (INSERT INTO readings(session, organisation, person, key, before, sha256, length, record_sha256, record)
    SELECT s.number, s.organisation, s.person, x.key, x.before, x.sha256, x.length, x.digest, x.record
    FROM s, unnest(%(r_key)s::bytea[], %(r_before)s::bytea[], %(r_sha)s::bytea[], %(r_length)s::bigint[], %(r_digest)s::bytea[],
        %(r_record)s::bytea[]) WITH ORDINALITY AS x(key, before, sha256, length, digest, record, n)
    WHERE x.before = '' OR EXISTS (SELECT 1 FROM readings r WHERE r.session = s.number AND r.sha256 = x.before)
        OR x.before = ANY(%(r_sha)s)
    ORDER BY x.n ON CONFLICT (session, record_sha256) DO NOTHING)"""
_MOVE = """
, p AS (UPDATE projects SET clock = clock + 1, top_seq = greatest(top_seq, %(top_seq)s)
    WHERE number = (SELECT project FROM s) AND clock = coalesce(%(clock)s, clock) RETURNING clock)"""
_STANDING_CLOCK = "(SELECT clock FROM projects j WHERE j.number = s.project)"


@dataclass(frozen=True, slots=True)
class Home:
    """The owner of records: the caller, the project, and the organisation's seal.

    `is_team`: the organisation has a name; then the memories of a project belong to all people in it.
    """

    server: DatabaseServer
    caller: Caller
    project: int
    seal: Seal
    is_team: bool = False

    def session_seal(self, state: SessionState) -> Seal:
        """Return the seal of a session."""
        return Seal(state.seal_key)


@dataclass
class Append:
    """One operation to append.

    Args:
        more: Statements that are part of the same one, as ``, name AS (…)``, with their values; they see the session as `s`
            and, with `moves_clock`, the project as `p`.
        after: Statements that follow it in the same transaction, with the same values.
        clock: The project's clock that the changes of memories were compared at. None: they do not matter.
    """

    kind: str
    at_ms: int
    payload: str | None
    additions: Additions
    more: Sequence[tuple[str, dict[str, Any]]] = ()
    after: Sequence[str] = ()
    clock: int | None = None
    moves_clock: bool = False
    top_seq: int = 0
    token: bytes = field(default_factory=lambda: os.urandom(12))


def loaded(home: Home, name: str, known: SessionState | None = None) -> SessionState:
    """Return a session as the server has it now; with a known state, only newer operations are read.

    Raises StoreCorrupt: an operation does not match its SHA-256.
    """
    epoch, last, in_month = (known.epoch, known.last_seq, known.month or None) if known is not None else (-1, 0, None)
    values = (epoch, last, home.project, home.caller.person, rows.raw(name))
    sql, more = (_LOAD, ()) if in_month is None else (_LOAD_OF_MONTH, (in_month,))
    (found,) = home.server.read(home.caller, (sql, (*values[:2], *more, *values[2:])))
    if not found:
        return SessionState(name)
    number, month, _, now, key = found[0][:5]
    if known is not None and in_month is not None and (number, month) != (known.number, in_month):
        return loaded(home, name)  # it was dropped with its month, and began again
    if known is None or known.epoch != now or known.number != number:
        known = SessionState(name, number, month, home.seal.open(bytes(key), b"session"), now)
    seal = home.session_seal(known)
    for row in found:
        if row[5] is not None and row[5] > known.last_seq:
            known.extend(_logged(name, row[5:], seal))
    return known


def _logged(name: str, row: tuple[Any, ...], seal: Seal) -> LoggedOperation:
    seq, kind, at_ms, digest, payload, events, clock, token = row
    try:
        text = None if payload is None else seal.open(bytes(payload), _place(seq, b"payload"))
        packed = unframed(seal.open(bytes(events), _place(seq, b"events")))
        if digest != rows.digest(rows.raw(name), bytes(kind), at_ms, text, packed):
            raise StoreCorrupt("it does not match its SHA-256")
        made = unpacked_events(packed)
        return LoggedOperation(
            Operation(seq, rows.text_from(bytes(kind)), at_ms, rows.load(text)), made, clock, bytes(token)
        )
    except (*rows.FORGED, *FORGED, msgspec.DecodeError, StoreCorrupt) as error:
        raise StoreCorrupt(
            f"operation {seq} of session {name[:64]!r} cannot be read: {error}; {rows.REMEDY}"
        ) from error


def appended(home: Home, state: SessionState, new: Append) -> bool:
    """Append an operation to a session and to its state. False: another process wrote first, and nothing was written.

    Raises:
        UnknownOutcome: The answer was lost; the log tells by the token whether it was written.
        StoreBusy: Others kept locks too long; nothing was written.
        StoreError: The server refused; nothing was written.
    """
    is_new = not state.number
    if is_new:
        state.seal_key = new_key()
    text, values = _statement(home, state, new)
    values["new_key"] = home.seal.close(state.seal_key, b"session") if is_new else None
    created = (
        home.caller.organisation,
        home.caller.person,
        home.project,
        rows.raw(state.name),
        new.at_ms,
        new.at_ms,
        values["new_key"],
    )
    statements = ([(NEW_SESSION, created)] if is_new else []) + [(text, values)]
    after = [(one, values) for one in new.after]
    found = home.server.write(home.caller, *statements, *after)[len(statements) - 1]
    if not found:
        return False
    state.number, state.month, seq, clock = found[0]
    operation = Operation(seq, new.kind, new.at_ms, rows.load(None if new.payload is None else new.payload.encode()))
    state.extend(LoggedOperation(operation, tuple(new.additions.events), clock, new.token))
    return True


def _statement(home: Home, state: SessionState, new: Append) -> tuple[str, dict[str, Any]]:
    """Return the one statement of an append, and its values."""
    seq, seal = state.last_seq + 1, home.session_seal(state)
    packed = packed_events(new.additions.events)
    payload = None if new.payload is None else new.payload.encode()
    originals = [
        (place, one.key[-1]) for place, one in enumerate(new.additions.events) if one.kind in ORIGINALS and one.row
    ]
    parts = list(new.more)
    values: dict[str, Any] = {
        "at": new.at_ms, "uses": new.kind not in QUIET, "project": home.project, "person": home.caller.person,
        "name": rows.raw(state.name), "based": state.last_seq, "epoch": state.epoch, "kind": rows.raw(new.kind), "token": new.token,
        "sha": rows.digest(rows.raw(state.name), rows.raw(new.kind), new.at_ms, payload, packed),
        "payload": None if payload is None else seal.close(payload, _place(seq, b"payload")),
        "events": seal.close(framed(packed), _place(seq, b"events")), "refs": [ref for _, ref in originals], **_counts(state, new),
    }  # fmt: skip
    if new.additions.packed:
        raw = b"".join(map(record, new.additions.packed))
        parts.append((_SEGMENT, {"raw_bytes": len(raw), "segment": seal.close(framed(raw), original_place(seq))}))
    if originals:
        parts.append((_REFS, {"places": [place for place, _ in originals]}))
    if new.additions.readings:
        names = ("r_key", "r_before", "r_sha", "r_length", "r_digest", "r_record")
        parts.append((_READINGS, dict(zip(names, map(list, zip(*new.additions.readings, strict=True)), strict=True))))
    for _, more in parts:
        values |= more
    project, clock = "", _STANDING_CLOCK
    if new.moves_clock:
        project, clock = _MOVE, "(SELECT coalesce((SELECT clock FROM p), refuse()))"
        values |= {"clock": new.clock, "top_seq": new.top_seq}
    text = _APPEND.replace("{project}", project).replace("{clock}", clock)
    return text.replace("{parts}", "".join(part for part, _ in parts)), values


def _counts(state: SessionState, new: Append) -> dict[str, Any]:
    """Return what the list of sessions shows of this one, as it is after the operation."""
    archived = [event.row[3] for event in new.additions.events if event.kind == Kind.ORIGINAL and event.row is not None]
    kept, decisions, documents = state.counts_after(
        new.kind, rows.load((new.payload or "null").encode()), new.additions.events
    )
    return {
        "originals": kept, "decisions": decisions, "documents": documents, "archived": len(archived),
        "archived_bytes": sum(archived),
    }  # fmt: skip


def _place(seq: int, what: bytes) -> bytes:
    return b"%s %d" % (what, seq)


def events_place(seq: int) -> bytes:
    """Return the place that an operation's events are sealed for."""
    return _place(seq, b"events")


def payload_place(seq: int) -> bytes:
    """Return the place that an operation's payload is sealed for."""
    return _place(seq, b"payload")


def original_place(seq: int) -> bytes:
    """Return the place that an operation's segment is sealed for."""
    return _place(seq, b"segment")
