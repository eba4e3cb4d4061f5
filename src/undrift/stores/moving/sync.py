"""Brings the records of one project on this machine and on a server together: each gets what the other has.

Law: no record is lost or written over. Purges come first, on both sides. A session that both continued parts: the server's keeps
its name. A memory that both changed keeps what both said, as an open conflict. Each step is whole by itself, so the next sync
continues one that was interrupted.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift.errors import StoreCorrupt, StoreError
from undrift.stores import rows
from undrift.stores.base import Context, Mark
from undrift.stores.marks import mark_row
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.moving.comparing import identities_of
from undrift.stores.moving.forks import forked, new_refs
from undrift.stores.moving.logs import Blank, joined
from undrift.stores.moving.memories import keyed
from undrift.stores.moving.move import Tell, move
from undrift.stores.moving.numbers import renumbered
from undrift.stores.moving.proof import FORK, Identities
from undrift.stores.moving.reading_file import FileSource
from undrift.stores.moving.reading_server import ServerSource
from undrift.stores.moving.replacing import NewSession
from undrift.stores.moving.settling import settled
from undrift.stores.moving.sync_state import SyncState
from undrift.stores.moving.values import MovedMark, MovedMemory, MovedOperation, MovedReading, MovedVersion
from undrift.stores.moving.writing_file import FileTarget
from undrift.stores.moving.writing_server import ServerTarget
from undrift.stores.postgres.events import ORIGINALS
from undrift.stores.postgres.log import Home
from undrift.stores.postgres.session_state import QUIET
from undrift.stores.sqlite import SqliteStore
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

__all__ = ["Synced", "sync"]


@dataclass
class Synced:
    """The result of a sync of one project.

    Args:
        pushed: Sessions that the server got, or got more of.
        pulled: Sessions that this machine got, or got more of.
        forks: The new names of sessions that both continued, by their old names.
        purged: Sessions and memories from which a purge took something, as sentences.
        disputed: Ids of memories that both changed.
        problems: Sentences: what could not be synced, and stays as it is.
    """

    pushed: list[str] = field(default_factory=list)
    pulled: list[str] = field(default_factory=list)
    forks: dict[str, str] = field(default_factory=dict)
    purged: list[str] = field(default_factory=list)
    disputed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def sync(folder: Path, home: Home, machine: str, blank: Blank, *, at_ms: int, tell: Tell = lambda *_: None) -> Synced:
    """Sync the records of a folder with those of a server.

    Args:
        machine: The name of this machine.
        blank: Returns a decision without its purged original.
        at_ms: The time, in Unix milliseconds.
        tell: Is called before each session that is written.

    Raises:
        StoreBusy: Another process keeps one of the homes locked.
        StoreConflict: Another process wrote meanwhile; the next sync continues.
        StoreError: The server is away, or one of the homes cannot be read or written.
    """
    with closing(FileTarget.open(folder)) as file:
        syncing = _Sync(folder, file, ServerTarget(home), machine, blank)
        syncing.check_server([home.caller.organisation, home.caller.person, home.project])
        return syncing.run(at_ms, tell)


class _Sync:
    def __init__(self, folder: Path, file: FileTarget, server: ServerTarget, machine: str, blank: Blank) -> None:
        self._folder = folder
        self._file = file
        self._server = server
        self._machine = machine
        self._blank = blank
        self._state = SyncState.read(folder)
        self._done = Synced()
        self._same: set[str] = set()
        self._bad: set[str] = set()

    def check_server(self, server: list[int]) -> None:
        """Refuse a place on the server that the last sync was not with: records that it lacks were not purged there."""
        if self._state.at_ms and self._state.server not in ([], server):
            raise StoreError(
                f"{self._folder}: the last sync was with other records of the server; nothing was changed. Correct the address. "
                "If the server was set up again, delete sync.json in that folder: then everything is compared and sent again"
            )
        self._state.server = server

    def run(self, at_ms: int, tell: Tell) -> Synced:
        with closing(self._file.source()) as own:
            self._join_sessions(own, self._server.source())
        disputes = self._join_memories()
        self._exchange(tell)
        disputes = {**self._different(), **disputes}
        if disputes:
            self._settle(disputes, at_ms)
            self._exchange(tell)
        self._note(at_ms)
        return self._done

    def _join_sessions(self, own: FileSource, there: ServerSource) -> None:
        """Take out what one of the homes has purged, and let sessions part that both continued."""
        others = {one.name: one for one in there.heads()}
        has_purges = any(one.kind in QUIET for source in (own, there) for one in source.numbered())
        for head in own.heads():
            if head.name not in others:
                continue
            if self._state.is_same(head, others[head.name]):
                self._same.add(head.name)
                continue
            try:
                self._join(head.name, own, there, has_purges=has_purges)
            except StoreCorrupt as error:
                self._done.problems.append(str(error))
                self._bad.add(head.name)

    def _join(self, name: str, own: FileSource, there: ServerSource, *, has_purges: bool) -> None:
        mine, theirs = list(own.operations(name)), list(there.operations(name))
        found = joined(mine, theirs, self._blank, has_purges=has_purges)
        if found.other is not None:
            self._server.replace(name, found.other)
        if found.other is not None or found.own is not None:
            self._done.purged.append(f"session {name}")
        if found.parts:
            self._part(name, own, there, found.own or mine, found.other or theirs, found.common)
        elif found.own is not None:
            self._file.replace(name, [NewSession(name, found.own)])

    def _part(
        self,
        name: str,
        own: FileSource,
        there: ServerSource,
        mine: Sequence[MovedOperation],
        theirs: Sequence[MovedOperation],
        common: int,
    ) -> None:
        """Give this machine's session another name; the server's keeps it."""
        fork = self._free_name(name, {one.name for one in (*own.heads(), *there.heads())})
        refs = new_refs(fork, _refs(mine) & _refs(theirs))
        renamed = [forked(one, fork, refs) for one in mine]
        first = self._file.next_number()
        numbers = {one.logged.operation.seq: first + place for place, one in enumerate(theirs)}
        loud = [one.logged.operation.seq for one in mine if one.logged.operation.kind not in QUIET]
        new = [
            NewSession(fork, renamed, [_reading_of(fork, one) for one in own.readings(name)]),
            NewSession(name, [renumbered(one, numbers) for one in theirs], there.readings(name)),
        ]
        self._file.replace(name, new, {fork: loud[common:]})
        known = {bytes(one.mark) for one in there.marks() if one.session == rows.raw(name)}
        given = [one for one in own.marks() if one.session == rows.raw(name) and one.mark not in known]
        self._file.put_marks(_renamed(one, fork) for one in given)
        self._done.forks[name] = fork

    def _free_name(self, name: str, in_use: Collection[str]) -> str:
        fork = f"{name}{FORK}{self._machine}"
        names = (fork, *(f"{fork}-{number}" for number in range(2, 10_000)))
        return next(one for one in names if one not in in_use)

    def _join_memories(self) -> dict[str, tuple[MemoryEntry | None, MemoryEntry | None]]:
        """Destroy what one of the homes has purged; return the memories that both changed, as they are here and there."""
        with closing(self._file.source()) as own:
            there = self._server.source()
            mine, theirs = ({one.id: one for one in source.memories()} for source in (own, there))
            ids, other_ids = own.memory_ids(), there.memory_ids()
            operations, others = own.numbered(), there.numbered()
        times, other_times = identities_of(operations), identities_of(others)
        purges_here, other_purges = (any(one.kind == "purge" for one in some) for some in (operations, others))
        known = set(self._state.memories)
        gone, gone_there = (known & ids) - other_ids, (known & other_ids) - ids
        for missing, purges, where in ((gone, other_purges, "on the server"), (gone_there, purges_here, "here")):
            if missing and not purges:  # a purge leaves a line in a log; without one something else has happened
                raise StoreError(
                    f"{self._folder}: {len(missing):,} memories of the last sync are missing {where}, and no purge took them; "
                    "nothing was changed. Restore that home, or delete sync.json in the folder to send them again"
                )
        if gone:
            self._file.forget(gone)
        if gone_there:
            self._server.forget(gone_there)
        self._done.purged += [f"memory {one}" for one in sorted(gone | gone_there)]
        disputes = {}
        for name in mine.keys() & theirs.keys():
            here, other = keyed(mine[name], times), keyed(theirs[name], other_times)
            if any(here[key].row != other[key].row for key in here.keys() & other.keys()):
                self._take_less(mine[name], theirs[name], times, other_times)
            if here.keys() - other.keys() and other.keys() - here.keys():
                disputes[name] = (_active(mine[name]), _active(theirs[name]))
        return disputes

    def _different(self) -> dict[str, tuple[MemoryEntry | None, MemoryEntry | None]]:
        """Return the memories that both homes have in all versions, of which another one is active in each."""
        with closing(self._file.source()) as own:
            mine = {one.id: _active(one) for one in own.memories()}
        theirs = {one.id: _active(one) for one in self._server.source().memories()}
        return {id_: (mine[id_], theirs[id_]) for id_ in mine.keys() & theirs.keys() if mine[id_] != theirs[id_]}

    def _take_less(self, mine: MovedMemory, theirs: MovedMemory, times: Identities, other_times: Identities) -> None:
        """Write a memory in both homes as a purge of another one has left it in one of them."""
        here, other = keyed(mine, times), keyed(theirs, other_times)
        less = {key: _less(here[key], other[key]) for key in here.keys() & other.keys()}
        with closing(self._file.source()) as own:
            lines = [one for one in own.lines() if one.id == mine.id]
        new = mine._replace(versions=tuple(one._replace(row=less.get(key, one.row)) for key, one in here.items()))
        self._file.put_memories([new], lines, {})
        there = theirs._replace(versions=tuple(one._replace(row=less.get(key, one.row)) for key, one in other.items()))
        self._server.prepare((), None)
        self._server.forget([mine.id])
        self._server.put_memories([there], lines, {})
        self._done.purged.append(f"memory {mine.id}")

    def _exchange(self, tell: Tell) -> None:
        """Give each home what it lacks."""
        with closing(self._file.source()) as own:
            pushed = move(own, self._server, self._folder, tell, same=self._same, proves=False)
        pulled = move(self._server.source(), self._file, None, tell, same=self._same, proves=False)
        self._done.pushed += [*pushed.moved, *pushed.continued]
        self._done.pulled += [*pulled.moved, *pulled.continued]
        self._bad |= pushed.bad | pulled.bad
        known = set(self._done.problems)
        self._done.problems += [one for one in (*pushed.conflicts, *pulled.conflicts) if one not in known]

    def _settle(self, disputes: Mapping[str, tuple[MemoryEntry | None, MemoryEntry | None]], at_ms: int) -> None:
        """Write what holds of memories that both changed, as an operation of this machine."""
        with SqliteStore.open(self._folder, create=False) as store:
            wanted = set(disputes)
            for one in disputes.values():
                wanted |= {entry.contradicted_by_entry_id for entry in one if entry and entry.contradicted_by_entry_id}
            now = store.memories.by_id(wanted)
            changes = settled(disputes, now, self._machine)
            updates = [MemoryUpdate(now.get(id_), after) for id_, after in changes.items()]
            session = f"sync@{self._machine}"
            store.commit(Context(Scope(session), at_ms), "sync", updates, payload={"memories": sorted(disputes)})
        self._done.disputed += sorted(disputes)
        self._same.discard(session)

    def _note(self, at_ms: int) -> None:
        """Write down what both homes have now."""
        with closing(self._file.source()) as own:
            there = self._server.source()
            others = {one.name: one for one in there.heads()}
            heads = own.heads()
            shared = own.memory_ids() & there.memory_ids()
        self._state.sessions = {
            one.name: [one.last_seq, others[one.name].last_seq, one.epoch, others[one.name].epoch]
            for one in heads
            if one.name in others and one.name not in self._bad
        }
        self._state.memories = sorted(shared)
        self._state.at_ms = at_ms
        try:
            self._state.write(self._folder)
        except OSError as error:
            self._done.problems.append(f"{self._folder}: {error.strerror}; the next sync compares everything again")


def _refs(log: Sequence[MovedOperation]) -> set[str]:
    return {rows.text_from(event.key[-1]) for one in log for event in one.logged.events if event.kind in ORIGINALS}


def _reading_of(session: str, one: MovedReading) -> MovedReading:
    parts = (one.key, one.before, one.sha256, one.length, one.record)
    return one._replace(digest=rows.digest(rows.raw(session), *parts))


def _renamed(one: MovedMark, session: str) -> MovedMark:
    kind: Any = one.kind
    *_, digest = mark_row(session, Mark(rows.text_from(one.mark), kind))
    return one._replace(session=rows.raw(session), digest=digest)


def _active(memory: MovedMemory) -> MemoryEntry | None:
    """Return a memory as it is now; None: it is out of sight."""
    for version in memory.versions:
        if version.row is not None and version.spans and version.spans[-1].end is None:
            return version.entry()
    return None


def _less(one: MovedVersion, other: MovedVersion) -> tuple[Any, ...] | None:
    """Return of two forms of a version the shorter: from it a purge took the words of another memory."""
    if one.row is None or other.row is None:
        return one.row
    return one.row if len(one.row[5]) <= len(other.row[5]) else other.row
