"""Moves the records of one project to another home, and proves that nothing was lost.

Law: the source stays as it is. A record that is there already is never changed: a session that is whole is passed over, one that
ends earlier is continued, and one that says something else is a conflict that the report names. The next move continues one
that was killed.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from undrift.errors import StoreConflict, StoreCorrupt
from undrift.stores import rows
from undrift.stores.files import replace_file
from undrift.stores.moving.comparing import digests_of, identities_of, places_of, prove
from undrift.stores.moving.memories import Key, Rewind, keyed, moments_of, with_spans
from undrift.stores.moving.numbers import renumbered, renumbered_memory
from undrift.stores.moving.proof import Identities, Identity, Proof, quiet_digest, session_digests
from undrift.stores.moving.values import LogPlace, MovedMemory, MovedOperation, Numbered, Source, Span, Target

__all__ = ["Move", "Tell", "move"]

Tell = Callable[[int, int, str], None]
"""Takes how many bytes are moved, of how many, and which session is next."""

_NOTE = "moving.json"
"""Beside the source's file: the places in time that a move has taken on a server, until it has ended."""


@dataclass
class Move:
    """The result of a move of one project.

    Args:
        moved: Sessions that were written as a whole.
        continued: Sessions of which the newer operations were written.
        same: Sessions that were there.
        renumbered: Sessions with operations that have another number now.
        conflicts: Sentences: what is there with another content, or is damaged; it stays where it is.
        bad: The sessions that conflicts are about.
        left_behind: Sentences: what a move does not take.
        source, target: What both homes hold of all that has no conflict.
    """

    moved: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    renumbered: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    bad: set[str] = field(default_factory=set)
    left_behind: list[str] = field(default_factory=list)
    source: Proof = field(default_factory=Proof)
    target: Proof = field(default_factory=Proof)

    @property
    def is_proved(self) -> bool:
        """True if both homes hold the same, and nothing is in conflict."""
        return (
            not self.conflicts and self.source.sha256 == self.target.sha256 and self.source.counts == self.target.counts
        )


@dataclass
class _Session:
    """A session of both homes.

    Args:
        length: The number of its operations in the source.
        here: How many of them the target has.
        last: The target's newest operation of it.
        quiet: Those of the target's purges and sweeps.
        is_same: The target has everything.
    """

    length: int = 0
    here: int = 0
    last: int = 0
    quiet: frozenset[bytes] = frozenset()
    is_same: bool = False


def move(
    source: Source,
    target: Target,
    folder: Path | None = None,
    tell: Tell = lambda *_: None,
    *,
    same: Collection[str] = (),
    proves: bool = True,
) -> Move:
    """Move the records of a project, and compare both homes afterwards.

    Args:
        folder: The source's folder, for the note of a move that is killed.
        tell: Is called before each session.
        same: Sessions that both homes are known to have alike: they are not read.
        proves: False: the homes are not read again.

    Raises:
        StoreBusy: Another process keeps one of the homes locked.
        StoreError: One of the homes cannot be read or written; what was moved is whole.
    """
    return _Mover(source, target, folder, tell, frozenset(same)).run(proves=proves)


class _Mover:
    def __init__(self, source: Source, target: Target, folder: Path | None, tell: Tell, same: frozenset[str]) -> None:
        self._source = source
        self._target = target
        self._folder = folder
        self._tell = tell
        self._same = same
        self._done = Move()
        self._sessions: dict[str, _Session] = {}
        self._heads = source.heads()
        self._own: Sequence[Numbered] = ()
        self._there: set[LogPlace] = set()
        self._numbers: Mapping[str, Mapping[int, int]] = {}

    def run(self, *, proves: bool) -> Move:
        memories = list(self._source.memories())
        with closing(self._target.source()) as there:
            operations = there.numbered()
            self._compare(there, operations)
            self._number(operations, memories)
        self._put_sessions()
        chosen = [one for one in memories if self._comes(one)]
        held = len(memories) - len(chosen)
        if held:
            self._done.conflicts.append(f"{held:,} memories that sessions in conflict wrote or changed")
        fine = self._put_memories(chosen)
        self._target.put_marks(one for one in self._source.marks() if self._is_mine(one.session))
        if proves:
            self._prove(fine)
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / _NOTE).unlink(missing_ok=True)
        return self._done

    def _compare(self, there: Source, operations: Sequence[Numbered]) -> None:
        """Look at the sessions that both homes have. `operations`: those of the other one."""
        known = {one.name: one.last_seq for one in there.heads()}
        lengths = {name: len(places) for name, places in places_of(operations).items()} if self._same else {}
        for head in self._heads:
            if head.name not in known:
                self._sessions[head.name] = _Session()
                continue
            if head.name in self._same:
                length = lengths[head.name]
                self._sessions[head.name] = _Session(length, length, known[head.name], is_same=True)
                continue
            try:
                here, other_quiet = digests_of(there, head.name)
                own, quiet = digests_of(self._source, head.name)
            except StoreCorrupt as error:
                self._refuse(head.name, str(error))
                continue
            common = min(len(here), len(own))
            if here[:common] != own[:common]:
                self._refuse(head.name, f"session {head.name[:80]!r}: both homes have it, with other operations")
                continue
            is_same = len(here) >= len(own) and quiet <= other_quiet
            self._sessions[head.name] = _Session(len(own), common, known[head.name], other_quiet, is_same)

    def _refuse(self, name: str, conflict: str) -> None:
        """Leave a session where it is, and say why."""
        self._done.conflicts.append(conflict)
        self._done.bad.add(name)

    def _number(self, there_are: Sequence[Numbered], memories: Sequence[MovedMemory]) -> None:
        """Give every operation its number in the other home, and every moment its place in time."""
        self._own = self._source.numbered()
        operations = [one for one in self._own if one.session in self._sessions]
        own, other = places_of(operations), places_of(there_are)
        known = {
            LogPlace(name, places.seq_of(place)): other[name].seq_of(place)
            for name, places in own.items()
            for place in range(1, min(len(places), self._sessions[name].here) + 1)
        }
        self._there = {LogPlace(one.session, one.seq) for one in there_are}
        in_use = {one.seq for one in self._there}
        least = max((_recorded(one) for one in memories), default=0)
        moments = self._source.moments()
        self._numbers = self._target.numbers(operations, moments, known, in_use, least)
        placed = [
            LogPlace(one.session, self._numbers[one.session][one.seq]) if one.session in self._sessions else None
            for one in moments
        ]
        base = self._target.prepare(placed, self._noted(moments))
        if base is not None:
            self._note(moments, base)

    def _put_sessions(self) -> None:
        every = [one for one in self._heads if one.name in self._sessions]
        whole, done = sum(one.size_bytes for one in every), 0
        for head in every:
            self._tell(done, whole, head.name)
            done += head.size_bytes
            try:
                self._put_session(head.name)
            except (StoreConflict, StoreCorrupt) as error:
                self._refuse(head.name, str(error))
                del self._sessions[head.name]

    def _put_session(self, name: str) -> None:
        known = self._sessions[name]
        if known.is_same:
            self._done.same.append(name)
        if name in self._same:
            return
        if known.is_same:
            self._target.put_session(name, (), self._source.readings(name), known.last)
            return
        known.length = 0
        numbers = self._numbers[name]

        def operations() -> Iterator[MovedOperation]:
            for digest, one in session_digests(self._source.operations(name)):
                if one.logged.operation.seq not in numbers:
                    break  # another machine wrote it since: the next move takes it
                known.length += bool(digest)
                if known.length > known.here if digest else quiet_digest(one) not in known.quiet:
                    yield renumbered(one, numbers)

        self._target.put_session(name, operations(), self._source.readings(name), known.last)
        (self._done.continued if known.last else self._done.moved).append(name)
        if any(old != new for old, new in numbers.items()):
            self._done.renumbered.append(name)

    def _put_memories(self, memories: Sequence[MovedMemory]) -> dict[str, set[Key] | None]:
        """Write what the other home lacks of memories; return those without a conflict.

        Each has the operations whose versions both homes have if it has them in another order there; else None.
        """
        if not memories:
            return {}
        with closing(self._target.source()) as there:
            here = {one.id: one for one in there.memories()}  # first: what is written meanwhile has a number then
            rewinds = [Rewind(*one) for one in there.rewinds()]
            others = identities_of(there.numbered())
        times = identities_of(self._own)
        new: list[MovedMemory] = []
        fine: dict[str, set[Key] | None] = {}
        known: dict[str, set[LogPlace]] = {}
        for one in memories:
            known_one = here.get(one.id, MovedMemory(one.id, ()))
            own, found = keyed(one, times), keyed(known_one, others)
            if any(own[key].row != found[key].row for key in own.keys() & found.keys()):
                self._done.conflicts.append(f"memory {one.id}: both homes have it, with other versions")
                continue
            lacking = [version for key, version in keyed(self._renumbered(one), others).items() if key not in found]
            if list(found) == [key for key in own if key in found] and not _is_newer(known_one, one, others, times):
                made = _at_known(self._renumbered(one), known_one, others)
            else:
                made = with_spans(known_one, lacking, rewinds, self._target.order, self._there.__contains__)
            is_in_order = _active_times(made, others) == _active_times(one, times)
            fine[one.id] = None if is_in_order else set(own)
            if made != known_one:
                new.append(made)
                known[one.id] = {version.at for version in known_one.versions}
        if new:
            self._target.put_memories(new, self._source.lines(), known)
        return fine

    def _renumbered(self, memory: MovedMemory) -> MovedMemory:
        return renumbered_memory(memory, self._numbers)

    def _prove(self, memories: Mapping[str, set[Key] | None]) -> None:
        self._done.left_behind = list(self._source.left_behind())
        readings = prove(self._done.source, self._source, self._lengths(), memories)
        with closing(self._target.source()) as there:
            prove(self._done.target, there, self._lengths(), memories, readings)

    def _lengths(self) -> dict[str, int]:
        return {name: one.length for name, one in self._sessions.items()}

    def _comes(self, memory: MovedMemory) -> bool:
        return all(moment.session in self._sessions for moment in moments_of(memory))

    def _is_mine(self, session: bytes) -> bool:
        """Tell whether a mark's session has no conflict."""
        return rows.text_from(session) not in self._done.bad

    def _noted(self, moments: Sequence[LogPlace]) -> int | None:
        if self._folder is None:
            return None
        try:
            note = json.loads((self._folder / _NOTE).read_bytes())
            return int(note["base"]) if note["moments"] == _named(moments) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _note(self, moments: Sequence[LogPlace], base: int) -> None:
        if self._folder is not None:
            with suppress(OSError):
                text = json.dumps({"moments": _named(moments), "base": base})
                replace_file(self._folder / _NOTE, text.encode("ascii"))


def _is_newer(memory: MovedMemory, other: MovedMemory, times: Identities, others: Identities) -> bool:
    """Tell whether a memory changed at a moment at which it did not change in the other home."""
    known = {others[one] for one in moments_of(other)}
    return any(times[one] not in known for one in moments_of(memory))


def _at_known(memory: MovedMemory, known: MovedMemory, times: Identities) -> MovedMemory:
    """Return a memory at the operations by which a home knows it: a fork has copies of those of its session."""
    by_time = {times[one]: one for one in moments_of(known)}

    def at(moment: LogPlace) -> LogPlace:
        return by_time.get(times[moment], moment)

    versions = (
        one._replace(
            at=at(one.at),
            spans=tuple(Span(at(span.start), None if span.end is None else at(span.end)) for span in one.spans),
        )
        for one in memory.versions
    )
    return memory._replace(versions=tuple(versions))


def _active_times(memory: MovedMemory, times: Identities) -> list[tuple[Key, list[tuple[Identity, Identity | None]]]]:
    """Return when each version of a memory was active, by the times of operations."""
    return [
        (key, [(times[one.start], None if one.end is None else times[one.end]) for one in version.spans])
        for key, version in keyed(memory, times).items()
    ]


def _recorded(memory: MovedMemory) -> int:
    """Return a memory's place in the order of recording."""
    entry = memory.versions[0].entry()
    return 0 if entry is None else entry.seq


def _named(moments: Sequence[LogPlace]) -> str:
    return hashlib.sha256(json.dumps([list(one) for one in moments]).encode("ascii")).hexdigest()
