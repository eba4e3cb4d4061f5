"""The durable store of one scope on a server.

Law: a method that returned has its operation on the server's disk (only marks do not wait for it); a method that raised
has changed nothing. Threads may share a store, and processes a session: who comes too late compares again.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from undrift.errors import InputError, StoreBusy, StoreError
from undrift.stores import rows
from undrift.stores.base import Context, Known, KnownMark, Mark, Moved, Operation, SessionRow
from undrift.stores.dispatch import run_from
from undrift.stores.document_contract import DocumentChange
from undrift.stores.embed import Embedder
from undrift.stores.facts import fact_from
from undrift.stores.operations import operation_row
from undrift.stores.postgres import integrity, listing, memory_log, readings
from undrift.stores.postgres import marks as marks_table
from undrift.stores.postgres.changes import Additions, additions, checked
from undrift.stores.postgres.connection import StaleState, UnknownOutcome
from undrift.stores.postgres.documents import ServerDocuments
from undrift.stores.postgres.events import ORIGINALS, Kind, LoggedEvent
from undrift.stores.postgres.finding import forget_words, index_some
from undrift.stores.postgres.log import Append, Home, appended
from undrift.stores.postgres.memories import ServerMemories
from undrift.stores.postgres.memory_search import ServerMemorySearch
from undrift.stores.postgres.nearest import ServerVectors
from undrift.stores.postgres.originals import ServerOriginals
from undrift.stores.postgres.purging import ServerPurge
from undrift.stores.postgres.session_state import SessionState, values_of
from undrift.stores.postgres.sessions import KnownSession, Sessions
from undrift.stores.tasks import tag_from, task_from
from undrift.stores.write import check_scope
from undrift.values.closing import Closing
from undrift.values.facts import FactVersion
from undrift.values.readings import Heads, StretchReading
from undrift.values.scope import Scope
from undrift.values.window import Tasks

__all__ = ["PostgresStore"]

T = TypeVar("T")

_ATTEMPTS = 100
"""Times that a commit compares again because others wrote first: 12 writers of one session need a few."""
_LOST_ANSWERS = 5
"""Attempts whose answer may be lost, before the caller gets the error."""
_FIRST_WAIT_S = 0.05
_TOKEN_BYTES = 12
_UNDONE = ("rewind", "undo", "purge")
_OWNERS = "SELECT name FROM sessions WHERE project = %s AND person = %s AND %s = ANY(documents)"
_TOP_SEQ = """SELECT greatest(top_seq, (SELECT sum(last_seq) FROM sessions s WHERE s.project = p.number)) + 1
    FROM projects p WHERE p.number = %s"""


class PostgresStore(ServerOriginals, ServerPurge, Closing):
    """`undrift.stores.contract.Store` on a PostgreSQL server; `opening.PostgresEngine` opens it.

    The contract describes each method; the docstrings here are about the server.
    """

    def __init__(self, home: Home, scope: Scope) -> None:
        self.scope = scope
        self._open_home: Home | None = home
        self._sessions = Sessions(lambda: self._home)
        self.memories = ServerMemories(lambda: self._home, self._clock_of)
        self._searches: dict[tuple[str, str], ServerMemorySearch] = {}

    @property
    def _home(self) -> Home:
        if self._open_home is None:
            raise StoreError("the store is closed; open it again")
        return self._open_home

    # ------------------------------------------------------------------------------------------------------- writing

    def commit(
        self, context: Context, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any] | None = None
    ) -> int:
        session_id = context.scope.session
        check_scope(self.scope, context.scope)
        text, ready = operation_row(session_id, kind, context.at_ms, payload)[4], checked(session_id, changes)

        def new(home: Home, state: SessionState) -> Append:
            _check_since(state, context.based_on)
            return _append(home, kind, context.at_ms, text, additions(state, ready))

        return self._append(session_id, new)

    def _append(self, session_id: str, new: Callable[[Home, SessionState], Append]) -> int:
        """Append what `new` makes of a session's state; made again if another process wrote first.

        All attempts have one token, so that one whose answer was lost is found in the log.
        """
        home, token = self._home, os.urandom(_TOKEN_BYTES)
        with self._sessions.held(session_id) as known:
            if is_fresh := not known.is_known:
                self._look_again(home, known)
            for attempt in range(_ATTEMPTS):
                failure: StoreError | None = None
                try:
                    append = new(home, known.state)
                    append.token = token
                    if appended(home, known.state, append):
                        return known.state.last_seq
                    failure = _refused(append) if is_fresh else None
                except (StaleState, UnknownOutcome) as error:
                    is_fresh = False
                    if isinstance(error, UnknownOutcome) and attempt >= _LOST_ANSWERS:
                        raise
                except StoreError as error:
                    failure = error
                is_changed = self._seen_again(home, known)
                if written := known.state.written(token):
                    return written
                if failure is not None and not is_changed:
                    raise failure
                is_fresh = True
        raise StoreBusy(f"session {session_id[:64]!r}: others write to it all the time; nothing was written, try again")

    def _seen_again(self, home: Home, known: KnownSession) -> bool:
        """Look again, and wait for a server that starts again; True: there was something new."""
        for attempt in range(_LOST_ANSWERS):
            try:
                return self._look_again(home, known)
            except UnknownOutcome:
                time.sleep(_FIRST_WAIT_S * 2**attempt)
        return self._look_again(home, known)

    def _look_again(self, home: Home, known: KnownSession) -> bool:
        if not known.state.number:
            known.is_known = False
        return known.refresh(home)

    def rewind(
        self, context: Context, then: int, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any]
    ) -> Moved:
        session_id = context.scope.session
        check_scope(self.scope, context.scope)
        text, ready = operation_row(session_id, kind, context.at_ms, payload)[4], checked(session_id, changes)
        counts: list[tuple[dict[str, int], dict[str, int]]] = []

        def new(home: Home, state: SessionState) -> Append:
            made = additions(state, ready)
            settled = memory_log.settled(home, state.number, state.rewinds(), state.last_seq + 1, then)
            closed, opened = state.moved(then)
            counts[:] = [({**closed, **_counted(settled.closed)}, {**opened, **_counted(settled.opened)})]
            append = _append(home, kind, context.at_ms, text, made)
            return _joined(append, settled.parts)

        seq = self._append(session_id, new)
        return Moved(seq, *counts[0])

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        text = operation_row(session_id, "rewind-facts", at_ms, {"to": to})[4]
        return self._append(session_id, lambda home, _: _append(home, "rewind-facts", at_ms, text, Additions()))

    def change_documents(
        self, session_id: str, act: Callable[[DocumentChange], T], *, at_ms: int, payload: Mapping[str, Any]
    ) -> T:
        """Make one change of a session's documents; `act` is called again if another process wrote first."""
        if not session_id:
            raise InputError("a session id must not be empty")
        text = operation_row(session_id, "documents", at_ms, payload)[4]
        done: list[T] = []

        def new(home: Home, state: SessionState) -> Append:
            documents = ServerDocuments(state)
            done[:] = [act(documents)]
            return _append(home, "documents", at_ms, text, Additions(events=_last_of_each(documents.events)))

        self._append(session_id, new)
        return done[0]

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        return marks_table.add(self._home, session_id, marks, is_claim=is_claim)

    # ------------------------------------------------------------------------------------------------------- reading

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        with self._sessions.read(session_id) as state:
            return tuple(one.operation for one in state.log if kinds is None or one.operation.kind in kinds)

    def last_seq(self, session_id: str, *, until: int | None = None) -> int:
        with self._sessions.read(session_id, is_quiet=self._home.server.address.is_affine) as state:
            return state.last_seq if until is None else state.until(until)

    def state(self, session_id: str, seq: int | None = None) -> dict[str, dict[str, bytes]]:
        with self._sessions.read(session_id) as state:
            found = state.state(seq)
            clock = state.clock_at(seq) if seq is not None else None
            found["memories"] = memory_log.digests(self._home, state.number, clock) if state.number else {}
            return found

    def notes_at(self, session_id: str, seq: int) -> str:
        with self._sessions.read(session_id) as state:
            counted = state.counted(state.until(seq))
            for logged in reversed(state.log):
                at, payload = logged.operation.seq, logged.operation.payload or {}
                if isinstance(text := payload.get("scratchpad"), str) and any(
                    one.first <= at <= one.last for one in counted
                ):
                    return text
        return ""

    def tasks(self, session_id: str, known: Known | None = None) -> Tasks:
        with self._sessions.read(session_id) as state:
            records = {one.event.key[0]: one for one in state.active(Kind.TASK)}
            ordered = [records[one] for one in state.task_order if one in records]
            tags = state.active(Kind.TAG)
        found = values_of(ordered, lambda one: task_from(one.row), None if known is None else known.tasks)
        found_tags = values_of(tags, lambda one: tag_from(one.row), None if known is None else known.tags)
        return Tasks({one.id: one for one in found}, {one.call_id: one for one in found_tags})

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        with self._sessions.read(session_id) as state:
            found = dict(run_from(one.row) for one in state.active(Kind.RUN))
        return found if names is None else {name: found[name] for name in names if name in found}

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        with self._sessions.read(session_id) as state:
            found = state.active(Kind.FACT) if as_of is None else state.facts_at(as_of)
            return tuple(fact_from(one.row) for one in found)

    def facts_state(self, session_id: str) -> tuple[int, int]:
        with self._sessions.read(session_id) as state:
            return state.facts_state

    def readings(self, session_id: str, key: str, chosen: Callable[[Heads], Collection[int]]) -> list[StretchReading]:
        home = self._home
        with self._sessions.held(session_id) as known:
            if not known.is_known:
                known.refresh(home)
            return readings.find(home, known, key, chosen)

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        return tuple(marks_table.find(self._home, texts))

    @contextmanager
    def documents(self, session_id: str) -> Iterator[ServerDocuments]:
        with self._sessions.read(session_id) as state:
            yield ServerDocuments(state)

    def document_owners(self, kind: str) -> list[str]:
        home = self._home
        values = (home.project, home.caller.person, rows.raw(kind).hex())
        (found,) = home.server.read(home.caller, (_OWNERS, values))
        return sorted(rows.text_from(bytes(name)) for (name,) in found)

    def sessions(self) -> tuple[SessionRow, ...]:
        return listing.sessions(self._home)

    def newest_session(self) -> str | None:
        return listing.newest(self._home)

    # ------------------------------------------------------------------------------------------------------ memories

    def search_memories(self, embedder: Embedder | None = None, index: str = "exact") -> ServerMemorySearch:
        """Return the search of memories; the index is in this process, and with pgvector the server nominates vectors."""
        key = ("" if embedder is None else embedder.id, index)
        if key not in self._searches:
            making = partial(ServerVectors, home=lambda: self._home) if index == "pgvector" else None
            self._searches[key] = ServerMemorySearch(lambda: self._home, self.memories, embedder, making)
        found = self._searches[key]
        found.embedder = embedder
        return found

    def next_memory_seq(self) -> int:
        home = self._home
        return int(home.server.read(home.caller, (_TOP_SEQ, (home.project,)))[0][0][0])

    def ratings(self, most: int) -> list[tuple[int, int]]:
        return listing.ratings(self._home, most)

    def _clock_of(self, session_id: str, seq: int) -> int:
        with self._sessions.read(session_id) as state:
            return state.clock_at(seq)

    # ---------------------------------------------------------------------------------------------------------- care

    def rebuild_search(self) -> None:
        forget_words(self._home)
        while index_some(self._home, self._sessions, self._texts):
            pass

    def pack(self, most_bytes: int) -> int:  # noqa: ARG002 - there is nothing to pack
        """Return 0: a commit compresses what it writes."""
        _ = self._home  # a closed store refuses
        return 0

    def integrity(self) -> tuple[str, ...]:
        return tuple(integrity.problems(self._home, self._sessions))

    def close(self) -> None:
        home, self._open_home = self._open_home, None
        if home is not None:
            home.server.close()


def _append(home: Home, kind: str, at_ms: int, payload: str | None, new: Additions) -> Append:
    return _joined(Append(kind, at_ms, payload, new), memory_log.memory_parts(home, new))


def _joined(append: Append, parts: memory_log.MemoryParts) -> Append:
    """Add to an operation what memories need."""
    append.more = [*append.more, *parts.parts]
    append.after = [*append.after, *parts.after]
    append.clock = parts.clock if append.clock is None else append.clock
    append.moves_clock = append.moves_clock or parts.moves
    append.top_seq = max(append.top_seq, parts.top_seq)
    return append


def _check_since(state: SessionState, based_on: int | None) -> None:
    """Refuse a decision that was made before the session's last rewind or purge."""
    if based_on is not None and any(
        one.operation.seq > based_on and one.operation.kind in _UNDONE for one in reversed(state.log)
    ):
        raise StoreError(f"session {state.name[:64]!r} was rewound, or purged, meanwhile; nothing was written")


def _refused(append: Append) -> StoreError | None:
    """Return why a commit was refused though no process wrote first: another session has one of its references."""
    refs = [event.key[-1] for event in append.additions.events if event.kind in ORIGINALS]
    if not refs:
        return None
    return StoreError(f"reference {rows.shown(refs[0])}: another original is stored under it; nothing was written")


def _last_of_each(events: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Return the last event of each record: a version that its own change wrote over was never kept."""
    return list({event.key: event for event in events}.values())


def _counted(number: int) -> dict[str, int]:
    return {"memories": number} if number else {}
