"""Reads the records of one person's project on a server as a move carries them. Law: reads only."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import apsw

from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.moving.file_rows import original_event
from undrift.stores.moving.values import (
    LogPlace,
    MovedLine,
    MovedMark,
    MovedMemory,
    MovedOperation,
    MovedReading,
    MovedVersion,
    Numbered,
    SessionHead,
    Span,
)
from undrift.stores.packing import FORGED, PackedOriginal, records, unframed
from undrift.stores.postgres.events import GONE, Kind, LoggedEvent
from undrift.stores.postgres.log import Home, loaded, original_place
from undrift.stores.postgres.memory_log import line_from, sealed_row, vectors_place
from undrift.stores.postgres.session_state import LoggedOperation, SessionState
from undrift.stores.vectors import VectorTable

__all__ = ["FROM_FILE", "ServerSource"]

FROM_FILE = b"file"
"""The beginning of the token of an operation that a file gave its number; the name of the file follows."""
_HEADS = """SELECT s.name, s.last_seq, s.epoch, (SELECT coalesce(sum(octet_length(g.content)), 0)::bigint FROM segments g
        WHERE g.month = s.month AND g.session = s.number)
    FROM sessions s WHERE s.project = %s AND s.person = %s AND s.last_seq > 0 ORDER BY s.written"""
_NUMBERED = """SELECT s.name, o.seq, o.clock, o.at_ms, o.kind, o.token FROM sessions s
    JOIN operations o ON o.month = s.month AND o.session = s.number WHERE s.project = %s AND s.person = %s"""
_TOKENS = "SELECT seq, token FROM operations WHERE month = %s AND session = %s"
_SEGMENTS = "SELECT seq, content FROM segments WHERE month = %s AND session = %s AND seq = ANY(%s) ORDER BY seq"
_READINGS = """SELECT r.key, r.before, r.sha256, r.length, r.record_sha256, r.record FROM readings r WHERE r.session =
    (SELECT number FROM sessions WHERE project = %s AND person = %s AND name = %s) ORDER BY r.number"""
_MOMENTS = """SELECT m.clock, s.name, m.seq FROM (SELECT clock, session, seq FROM memory_events WHERE project = %s
        UNION SELECT clock, session, seq FROM moves WHERE project = %s) m
    JOIN sessions s ON s.number = m.session WHERE s.project = %s AND s.person = %s ORDER BY m.clock"""
_REWINDS = """SELECT s.name, m.seq, m.target FROM moves m JOIN sessions s ON s.number = m.session
    WHERE m.project = %s AND s.project = %s AND s.person = %s ORDER BY m.clock"""
_EVENTS = """SELECT e.name, e.clock, e.part, e.act, e.record, s.name, e.seq FROM memory_events e
    LEFT JOIN sessions s ON s.number = e.session AND s.person = %s WHERE e.project = %s ORDER BY e.clock, e.part"""
_SPANS = """SELECT clock, part, from_clock, to_clock FROM memory_spans WHERE project = %s ORDER BY from_clock"""
_LINES = "SELECT name, line, embedder, dimension, vectors FROM memory_lines WHERE project = %s ORDER BY number"
_MEMORY_IDS = "SELECT DISTINCT name FROM memory_events WHERE project = %s"
_MARKS = "SELECT session, mark, kind, record_sha256 FROM marks WHERE project = %s AND person = %s ORDER BY number"
_AT_ONCE = 64
"""Operations whose segments are read in one round trip."""


class ServerSource:
    """`Source` of one scope on a server."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def heads(self) -> list[SessionHead]:
        (found,) = self._home.server.read(self._home.caller, (_HEADS, self._whose))
        return [SessionHead(rows.text_from(bytes(name)), seq, size, epoch) for name, seq, epoch, size in found]

    def operations(self, name: str) -> Iterator[MovedOperation]:
        state = loaded(self._home, name)
        if not state.number:
            return
        (tokens,) = self._home.server.read(self._home.caller, (_TOKENS, (state.month, state.number)))
        origins = {seq: bytes(token) for seq, token in tokens}
        for start in range(0, len(state.log), _AT_ONCE):
            some = state.log[start : start + _AT_ONCE]
            texts = self._segments(state, [one.operation.seq for one in some if _has_texts(one)])
            for one in some:
                origin = _origin(origins.get(one.operation.seq, b""))
                yield self._moved(one, texts.get(one.operation.seq, ()), origin)

    def readings(self, name: str) -> list[MovedReading]:
        values = (*self._whose, rows.raw(name))
        (found,) = self._home.server.read(self._home.caller, (_READINGS, values))
        return [
            MovedReading(bytes(key), bytes(before), bytes(sha256), length, bytes(digest), bytes(record))
            for key, before, sha256, length, digest, record in found
        ]

    def numbered(self) -> list[Numbered]:
        found = self._read(_NUMBERED, *self._whose)
        return [
            Numbered(
                rows.text_from(bytes(name)),
                seq,
                bisect_right(self._order, clock),
                at_ms,
                rows.text_from(bytes(kind)),
                _origin(bytes(token)),
            )
            for name, seq, clock, at_ms, kind, token in found
        ]

    def moments(self) -> Sequence[LogPlace]:
        return list(self.clocks.values())

    def rewinds(self) -> list[tuple[LogPlace, int]]:
        found = self._read(_REWINDS, self._home.project, *self._whose)
        return [(LogPlace(rows.text_from(bytes(name)), seq), target) for name, seq, target in found]

    def memories(self) -> Iterator[MovedMemory]:
        spans: dict[tuple[int, int], list[Span]] = defaultdict(list)
        foreign: set[tuple[int, int]] = set()
        for clock, part, start, end in self._read(_SPANS, self._home.project):
            if start not in self.clocks or (end is not None and end not in self.clocks):
                foreign.add((clock, part))
                continue
            spans[clock, part].append(Span(self.clocks[start], None if end is None else self.clocks[end]))
        by_name: dict[bytes, list[MovedVersion] | None] = {}
        for name, clock, part, act, record, session, seq in self._read(
            _EVENTS, self._home.caller.person, self._home.project
        ):
            versions = by_name.setdefault(bytes(name), [])
            if session is None or (clock, part) in foreign or versions is None:
                by_name[bytes(name)] = None  # others wrote to it: it stays theirs
                continue
            row = None if record is None else sealed_row(self._home, bytes(name), record)
            at = LogPlace(rows.text_from(bytes(session)), seq)
            versions.append(MovedVersion(at, bytes(act), row, tuple(spans.get((clock, part), ()))))
        self._foreign = sum(one is None for one in by_name.values())
        yield from (MovedMemory(rows.text_from(name), tuple(one)) for name, one in by_name.items() if one)

    def memory_ids(self) -> set[str]:
        return {rows.text_from(bytes(name)) for (name,) in self._read(_MEMORY_IDS, self._home.project)}

    def lines(self) -> Iterator[MovedLine]:
        connection = apsw.Connection(":memory:")
        for name, line, embedder, dimension, vectors in self._read(_LINES, self._home.project):
            fields = line_from(self._home, bytes(name), line)._asdict()
            if vectors is None:
                yield MovedLine(fields["id"], fields)
                continue
            stored = VectorTable(connection, embedder, dimension).stored(
                _table(self._home.seal.open(bytes(vectors), vectors_place(bytes(name))), dimension)
            )
            yield MovedLine(fields["id"], fields, embedder, dimension, stored)

    def marks(self) -> Iterator[MovedMark]:
        for session, mark, kind, digest in self._read(_MARKS, *self._whose):
            yield MovedMark(bytes(session), bytes(mark), kind, bytes(digest))

    def left_behind(self) -> list[str]:
        return (
            [f"{self._foreign:,} memories that other people wrote or changed: they stay theirs"]
            if self._foreign
            else []
        )

    def close(self) -> None:
        """Do nothing: who gave the home closes it."""

    @property
    def _whose(self) -> tuple[int, int]:
        return self._home.project, self._home.caller.person

    _foreign = 0

    @cached_property
    def clocks(self) -> dict[int, LogPlace]:
        """The moments by the clock to which each moved the project's memories."""
        project = self._home.project
        found = self._read(_MOMENTS, project, project, *self._whose)
        return {clock: LogPlace(rows.text_from(bytes(name)), seq) for clock, name, seq in found}

    @cached_property
    def _order(self) -> list[int]:
        return list(self.clocks)

    def _read(self, sql: str, *values: Any) -> Iterable[Any]:
        return self._home.server.read(self._home.caller, (sql, values))[0]

    def _segments(self, state: SessionState, seqs: Sequence[int]) -> dict[int, list[PackedOriginal]]:
        found: dict[int, list[PackedOriginal]] = {}
        if not seqs:
            return found
        seal = self._home.session_seal(state)
        for seq, content in self._read(_SEGMENTS, state.month, state.number, list(seqs)):
            try:
                raw = unframed(seal.open(bytes(content), original_place(seq)))
                found[seq] = [one for _, one in records(raw)]
            except FORGED as error:
                raise StoreCorrupt(f"the segment of operation {seq} of session {state.name[:64]!r}: {error}") from error
        return found

    def _moved(self, one: LoggedOperation, packed: Sequence[PackedOriginal], origin: bytes) -> MovedOperation:
        """Return an operation without the places that a purge has emptied."""
        texts: list[PackedOriginal] = []
        events: list[LoggedEvent] = []
        for event in one.events:
            if event.kind == GONE:
                continue
            if event.kind != Kind.ORIGINAL:
                events.append(event)
                continue
            assert event.row is not None
            place = event.row[2]
            if place >= len(packed):
                raise StoreCorrupt(f"original {rows.shown(event.key[0])} is missing from its segment; {rows.REMEDY}")
            made = original_event(len(texts), packed[place])
            if made.key != event.key or made.row is None or made.row[1] != event.row[1]:
                raise StoreCorrupt(f"original {rows.shown(event.key[0])} does not match its SHA-256; {rows.REMEDY}")
            texts.append(packed[place])
            events.append(made)
        clock = bisect_right(self._order, one.clock)
        return MovedOperation(LoggedOperation(one.operation, tuple(events), clock), texts, origin)


def _origin(token: bytes) -> bytes:
    return token.removeprefix(FROM_FILE) if token.startswith(FROM_FILE) else b""


def _has_texts(one: LoggedOperation) -> bool:
    return any(event.kind == Kind.ORIGINAL for event in one.events)


def _table(data: bytes, dimension: int) -> Any:
    import numpy as np

    return np.frombuffer(data, "<f4").reshape(-1, dimension)
