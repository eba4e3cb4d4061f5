"""Purges and sweeps of records on a server, each in one transaction.

Law: what goes is found without a lock; then the sessions concerned are locked, and what has changed since is looked at
again. A purge that ends in the middle has done nothing. The server's own files hold only what is sealed.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from undrift.errors import StoreBusy, StoreError
from undrift.stores import rows, traces
from undrift.stores.base import Aim, Destroyed, Remains
from undrift.stores.memory_values import Heir
from undrift.stores.postgres.connection import UnknownOutcome
from undrift.stores.postgres.destroying import Ending, ended, holding, packed_of, rewrite
from undrift.stores.postgres.doomed import (
    DoomedRecords,
    evicted_tasks,
    is_named,
    noted,
    originals_of,
    records_of,
    texts_of,
)
from undrift.stores.postgres.events import Kind
from undrift.stores.postgres.held_texts import copies
from undrift.stores.postgres.log import Home, loaded
from undrift.stores.postgres.memory_purge import Version, destroy_memories, memories_of, memory_texts, versions_of
from undrift.stores.postgres.session_state import SessionState
from undrift.stores.postgres.sessions import Sessions
from undrift.values.retention import SessionSize
from undrift.values.window import Decision

__all__ = ["ServerPurge"]

_ATTEMPTS = 20
"""Times that a purge begins again: more sessions were concerned than it had locked, or the connection ended."""
_MOST_STATES = 64
"""Sessions that a purge keeps in memory; others are read each time."""
_HEADS = """SELECT name, number, epoch, last_seq FROM sessions WHERE project = %s AND person = %s AND last_seq > 0
    ORDER BY number"""
_SIZES = """SELECT s.name, s.used_at_ms, s.archived, (SELECT coalesce(sum(octet_length(g.content)), 0)::bigint
        FROM segments g WHERE g.month = s.month AND g.session = s.number)
    FROM sessions s WHERE s.project = %s AND s.person = %s AND s.archived > 0 AND s.used_at_ms IS NOT NULL
    ORDER BY s.number"""
_OF_MEMORIES = ("memory", "session", "task")
_OF_READINGS = ("original", "session", "task")
_SEALED = (
    "Until the server has vacuumed its tables and has reused its write-ahead log, both hold the purged data in sealed form, as "
    "its backups do; undrift starts no VACUUM of its own"
)


class _Look(NamedTuple):
    """A look at the scope: what goes, its session, the versions of memories, and the sessions that are written."""

    found: DoomedRecords
    state: SessionState
    versions: Sequence[Version]
    sessions: frozenset[str]


class _Acts(NamedTuple):
    """The acts of one purge or sweep.

    Args:
        again: Looks once more, as a transaction sees the home that it gets.
        state: Returns a session, as a home shows it.
        ending: Returns the operation that says what was destroyed.
        blank: Returns a decision without its original.
        heir: Returns what other sessions said of a memory.
    """

    again: Callable[[Home], _Look]
    state: Callable[[Home, str], SessionState]
    ending: Callable[[DoomedRecords], Ending]
    blank: Callable[[Decision], Decision]
    heir: Heir | None = None


@dataclass
class _Looking:
    """Looks for the data of aims; another session is looked at again only if it has changed since the last look."""

    _states: dict[str, SessionState] = field(default_factory=dict)
    _seen: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def first(self, home: Home, aims: Iterable[Aim]) -> _Look | None:
        """Return a look at the first aim that names anything. None means: no aim does."""
        looks = (self.at(home, aim) for aim in aims)
        return next((one for one in looks if one.found.aim.kind == "session" or not one.found.is_nothing), None)

    def at(self, home: Home, aim: Aim) -> _Look:
        """Return what an aim names."""
        state = self.state(home, aim.session_id)
        versions = versions_of(home) if aim.kind in _OF_MEMORIES else []
        memories = frozenset(memories_of(versions, aim, home.caller.person))
        own = originals_of(state, aim, packed_of(home, state))
        refs = own | noted(state, aim, memories, has_originals=bool(own))
        heads = self._heads(home) if own or memories else []
        sessions = {aim.session_id}
        for head in heads if memories else ():
            notes = self._notes(home, head, aim, memories)
            refs |= notes
            sessions |= {head[0]} if notes else set()
        found = DoomedRecords(aim, frozenset(refs), memories, records=records_of(state, aim))
        sessions |= {head[0] for head in heads if self._is_named(home, head, found.names)}
        tasks = evicted_tasks(state, found.refs) | ({aim.name} if aim.kind == "task" else set())
        return _Look(replace(found, tasks=frozenset(tasks)), state, versions, frozenset(sessions))

    def state(self, home: Home, name: str) -> SessionState:
        """Return a session as it is now."""
        found = loaded(home, name, self._states.get(name))
        if name in self._states or len(self._states) < _MOST_STATES:
            self._states[name] = found
        return found

    def _state_at(self, home: Home, head: tuple[Any, ...]) -> SessionState:
        """Return a session as a head names it; the server is asked only if it has changed."""
        known = self._states.get(head[0])
        if known is not None and (known.number, known.epoch, known.last_seq) == head[1:]:
            return known
        return self.state(home, head[0])

    def _notes(self, home: Home, head: tuple[Any, ...], aim: Aim, memories: frozenset[str]) -> set[bytes]:
        key = ("notes", *head, memories)
        if key not in self._seen:
            self._seen[key] = noted(self._state_at(home, head), aim, memories, has_originals=False)
        return set(self._seen[key])

    def _is_named(self, home: Home, head: tuple[Any, ...], names: frozenset[str]) -> bool:
        key = ("names", *head, names)
        if key not in self._seen:
            self._seen[key] = is_named(self._state_at(home, head).log, names)
        return bool(self._seen[key])

    def _heads(self, home: Home) -> list[tuple[Any, ...]]:
        """Return name, number, epoch and newest operation of all sessions of the scope."""
        (found,) = home.server.read(home.caller, (_HEADS, (home.project, home.caller.person)))
        return [(rows.text_from(bytes(name)), *head) for name, *head in found]


class ServerPurge:
    """The part of `Store` that destroys."""

    _sessions: Sessions

    @property
    def _home(self) -> Home:
        raise NotImplementedError

    def purge(
        self, aims: Sequence[Aim], blank: Callable[[Decision], Decision], *, at_ms: int, heir: Heir | None = None
    ) -> Destroyed | None:
        home, looking = self._home, _Looking()
        look = looking.first(home, aims)
        if look is None:
            if not any(one.operation.kind == "purge" for one in looking.state(home, aims[0].session_id).log):
                return None
            look = looking.at(home, aims[0])
        pieces, aim = _pieces(home, look, looking.state), look.found.aim

        def ending(found: DoomedRecords) -> Ending:
            payload = {"what": aim.kind, "removed": found.removed}
            return Ending("purge", at_ms, payload, found.names, forgets_readings=aim.kind in _OF_READINGS)

        found = self._destroy(home, look, _Acts(lambda held: looking.at(held, aim), looking.state, ending, blank, heir))
        return Destroyed(aim.kind, found.removed, found.tasks, pieces)

    def clean(self, destroyed: Destroyed, *, search_files: bool = False) -> Remains:
        """Search the records of the scope for the same words; the server itself vacuums its tables."""
        if not destroyed.removed:
            return Remains()
        names, unsearched = copies(self._home, destroyed.pieces, search_all=search_files)
        return Remains(copies=names, text=_SEALED, unsearched=unsearched)

    def sweepable(self) -> tuple[SessionSize, ...]:
        home = self._home
        (found,) = home.server.read(home.caller, (_SIZES, (home.project, home.caller.person)))
        return tuple(SessionSize(rows.text_from(bytes(name)), *figures) for name, *figures in found)

    def sweep(self, session_id: str, blank: Callable[[Decision], Decision], *, at_ms: int) -> int:
        home, looking = self._home, _Looking()

        def look(held: Home) -> _Look:
            state = looking.state(held, session_id)
            refs = frozenset(one.event.key[0] for one in state.versions() if one.event.kind == Kind.ORIGINAL)
            return _Look(DoomedRecords(Aim("original", session_id), refs), state, (), frozenset({session_id}))

        def ending(found: DoomedRecords) -> Ending:
            return Ending("sweep", at_ms, {"originals": len(found.refs)})

        return len(self._destroy(home, look(home), _Acts(look, looking.state, ending, blank)).refs)

    def _destroy(self, home: Home, look: _Look, acts: _Acts) -> DoomedRecords:
        """Destroy what a look has found, and what has come to it since, in one transaction.

        Raises:
            StoreBusy: Others held locks too long, or wrote all the time; nothing was written.
            StoreError: The server refused, or was lost; all or nothing was written.
        """
        failure: StoreError = StoreBusy(
            f"session {look.state.name[:64]!r}: others write all the time; nothing was purged, try again"
        )
        for _ in range(_ATTEMPTS):
            token = os.urandom(12)
            try:
                is_done, look = _attempt(home, look, acts, token)
            except UnknownOutcome as error:
                failure, is_done = error, ended(home, look.state.name, token)
            if is_done:
                for name in look.sessions:
                    with self._sessions.held(name) as known:
                        known.refresh(home)
                return look.found
        raise failure


def _attempt(home: Home, look: _Look, acts: _Acts, token: bytes) -> tuple[bool, _Look]:
    """Lock what a look has found, look again and destroy it; False: more is concerned, and nothing was destroyed."""
    has_memories = look.found.aim.kind in _OF_MEMORIES
    at_ms = acts.ending(look.found).at_ms
    with holding(home, look.state.name, look.sessions, at_ms, with_memories=has_memories) as (connection, held):
        now = acts.again(held)
        if not now.sessions <= look.sessions:
            return False, now
        if has_memories:
            destroy_memories(connection, held, now.versions, now.found, acts.heir)
        ending = replace(acts.ending(now.found), token=token)
        for name in sorted(now.sessions):
            state = now.state if name == now.state.name else acts.state(held, name)
            rewrite(connection, held, state, now.found, ending, acts.blank)
    return True, now


def _pieces(home: Home, look: _Look, state_of: Callable[[Home, str], SessionState]) -> tuple[traces.Piece, ...]:
    """Return parts of the texts that go, to look for them afterwards."""

    def texts() -> Iterator[bytes]:
        for name in sorted(look.sessions):
            state = look.state if name == look.state.name else state_of(home, name)
            yield from texts_of(state, look.found, packed_of(home, state, look.found.refs))
        yield from memory_texts(look.versions, look.found.memories, look.found.whole_session)

    return traces.pieces(texts())
