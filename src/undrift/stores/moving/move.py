"""Moves the records of one project to another home, and proves that nothing was lost.

Law: the source stays as it is. What is there already is never changed: a session that is whole is passed over, one that
ends earlier is continued, and one that says something else is a conflict that the report names. A move that was
killed goes on where it was.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from undrift.errors import StoreConflict, StoreCorrupt
from undrift.stores import rows
from undrift.stores.files import replace_file
from undrift.stores.memories import memory_from
from undrift.stores.moving.numbers import renumbered, renumbered_memory
from undrift.stores.moving.proof import Places, Proof, memory_digest, session_digests, version_digests
from undrift.stores.moving.values import Moment, MovedMemory, MovedOperation, Numbered, Source, Target

__all__ = ["Moved", "Tell", "move"]

Tell = Callable[[int, int, str], None]
"""Is told how many bytes are moved, of how many, and which session is next."""

_NOTE = "moving.json"
"""Beside the source's file: the places in time that a move has taken on a server, until it has ended."""


@dataclass
class Moved:
    """What a move did with one project.

    Args:
        moved: Sessions that were written as a whole.
        continued: Sessions of which the newer operations were written.
        same: Sessions that were there.
        renumbered: Sessions with operations that have another number now.
        conflicts: Sentences: what is there with another content, or is damaged; it stays where it is.
        left_behind: Sentences: what a move does not take.
        source, target: What both homes hold of all that has no conflict.
    """

    moved: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    renumbered: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
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
    """A session of both homes: the digests of its operations in the source, and its length there and here."""

    digests: list[bytes]
    here: int = 0
    last: int = 0


def move(source: Source, target: Target, folder: Path | None = None, tell: Tell = lambda *_: None) -> Moved:
    """Move the records of a project, and compare both homes afterwards.

    Args:
        folder: The source's folder, for the note of a move that is killed.
        tell: Is called before each session.

    Raises:
        StoreBusy: Another process keeps one of the homes locked.
        StoreError: One of the homes cannot be read or written; what was moved is whole.
    """
    return _Move(source, target, folder, tell).run()


class _Move:
    def __init__(self, source: Source, target: Target, folder: Path | None, tell: Tell) -> None:
        self._source = source
        self._target = target
        self._folder = folder
        self._tell = tell
        self._done = Moved()
        self._sessions: dict[str, _Session] = {}
        self._numbers: Mapping[str, Mapping[int, int]] = {}

    def run(self) -> Moved:
        memories = list(self._source.memories())
        with closing(self._target.source()) as there:
            self._compare(there)
            self._number(there, memories)
        self._put_sessions()
        places = places_of(self._source.numbered())
        chosen = [one for one in memories if self._comes(one)]
        held = len(memories) - len(chosen)
        if held:
            self._done.conflicts.append(f"{held:,} memories that sessions in conflict wrote or changed")
        chosen = self._put_memories(chosen, places)
        self._target.put_marks(one for one in self._source.marks() if self._is_mine(one.session))
        self._prove(chosen, places)
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / _NOTE).unlink(missing_ok=True)
        return self._done

    def _compare(self, there: Source) -> None:
        """Look at the sessions that both homes have."""
        known = {one.name: one.last_seq for one in there.heads()}
        for head in self._source.heads():
            if head.name not in known:
                self._sessions[head.name] = _Session([])
                continue
            try:
                here = [digest for digest, _ in session_digests(there.operations(head.name), Places(), Counter())]
                own = [digest for digest, _ in session_digests(self._source.operations(head.name), Places(), Counter())]
            except StoreCorrupt as error:
                self._done.conflicts.append(str(error))
                continue
            common = min(len(here), len(own))
            if here[:common] != own[:common]:
                self._done.conflicts.append(f"session {head.name[:80]!r}: both homes have it, with other operations")
                continue
            self._sessions[head.name] = _Session(own, len(here), known[head.name])

    def _number(self, there: Source, memories: Sequence[MovedMemory]) -> None:
        """Give every operation its number in the other home, and every moment its place in time."""
        operations = [one for one in self._source.numbered() if one.session in self._sessions]
        own, other = places_of(operations), places_of(there.numbered())
        known = {
            Moment(name, places.seq_of(place)): other[name].seq_of(place)
            for name, places in own.items()
            for place in range(1, min(len(places), self._sessions[name].here) + 1)
        }
        taken = {seq for places in other.values() for seq in places.seqs}
        least = max((_recorded(one) for one in memories), default=0)
        moments = self._source.moments()
        self._numbers = self._target.numbers(operations, moments, known, taken, least)
        placed = [
            Moment(one.session, self._numbers[one.session][one.seq]) if one.session in self._sessions else None
            for one in moments
        ]
        base = self._target.prepare(placed, self._noted(moments))
        if base is not None:
            self._note(moments, base)

    def _put_sessions(self) -> None:
        every = [one for one in self._source.heads() if one.name in self._sessions]
        whole, done = sum(one.size_bytes for one in every), 0
        for head in every:
            self._tell(done, whole, head.name)
            done += head.size_bytes
            try:
                self._put_session(head.name)
            except (StoreConflict, StoreCorrupt) as error:
                self._done.conflicts.append(str(error))
                del self._sessions[head.name]

    def _put_session(self, name: str) -> None:
        known = self._sessions[name]
        if known.here and known.here >= len(known.digests):
            self._done.same.append(name)
            self._target.put_session(name, (), self._source.readings(name), known.last)
            return
        digests: list[bytes] = []
        numbers = self._numbers[name]

        def operations() -> Iterator[MovedOperation]:
            for digest, one in session_digests(self._source.operations(name), Places(), Counter()):
                digests.append(digest)
                if len(digests) > known.here:
                    yield renumbered(one, numbers)

        self._target.put_session(name, operations(), self._source.readings(name), known.last)
        known.digests = digests
        (self._done.continued if known.here else self._done.moved).append(name)
        if any(old != new for old, new in numbers.items()):
            self._done.renumbered.append(name)

    def _put_memories(self, memories: Sequence[MovedMemory], places: Mapping[str, Places]) -> list[MovedMemory]:
        """Write memories; return those without a conflict."""
        with closing(self._target.source()) as there:
            other = places_of(there.numbered())
            here = {one.id: one for one in there.memories()}
        new, known, fine = [], {}, []
        for one in memories:
            own, there_is = version_digests(one, places), here.get(one.id)
            found = [] if there_is is None else version_digests(there_is, other)
            common = min(len(own), len(found))
            if own[:common] != found[:common]:
                self._done.conflicts.append(f"memory {one.id}: both homes have it, with other versions")
                continue
            if there_is is not None and _is_newer(there_is, other, places):
                continue
            fine.append(one)
            if there_is is None or memory_digest(one, places) != memory_digest(there_is, other):
                new.append(renumbered_memory(one, self._numbers))
                known[one.id] = len(found)
        if new:
            self._target.put_memories(new, self._source.lines(), known)
        return fine

    def _prove(self, memories: Sequence[MovedMemory], places: Mapping[str, Places]) -> None:
        self._done.left_behind = list(self._source.left_behind())
        lengths = {name: len(places[name]) for name in self._sessions}
        wanted = {one.id for one in memories}
        readings = prove(self._done.source, self._source, lengths, wanted)
        with closing(self._target.source()) as there:
            prove(self._done.target, there, lengths, wanted, readings)

    def _comes(self, memory: MovedMemory) -> bool:
        return all(moment.session in self._sessions for moment in moments_of(memory))

    def _is_mine(self, session: bytes) -> bool:
        """Tell whether a mark's session has no conflict."""
        name = rows.text_from(session)
        return name in self._sessions or not any(repr(name[:80]) in one for one in self._done.conflicts)

    def _noted(self, moments: Sequence[Moment]) -> int | None:
        if self._folder is None:
            return None
        try:
            note = json.loads((self._folder / _NOTE).read_bytes())
            return int(note["base"]) if note["moments"] == _named(moments) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _note(self, moments: Sequence[Moment], base: int) -> None:
        if self._folder is not None:
            with suppress(OSError):
                text = json.dumps({"moments": _named(moments), "base": base})
                replace_file(self._folder / _NOTE, text.encode("ascii"))


def prove(
    proof: Proof,
    home: Source,
    lengths: Mapping[str, int],
    memories: set[str],
    readings: Mapping[str, set[bytes]] | None = None,
) -> dict[str, set[bytes]]:
    """Add to a proof what a home holds of sessions and memories; return the readings of each session.

    Args:
        lengths: The number of operations of each session that count.
        memories: The ids of the memories that count.
        readings: Those that count; None: all.
    """
    found: dict[str, set[bytes]] = {}
    for name, length in lengths.items():
        counts: Counter[str] = Counter()
        digests = [one for one, _ in islice(session_digests(home.operations(name), Places(), counts), length)]
        proof.add_session(name, digests, counts)
        own = [one for one in home.readings(name) if readings is None or one.digest in readings[name]]
        proof.add_readings(name, own)
        found[name] = {one.digest for one in own}
    places = places_of(home.numbered())
    for memory in home.memories():
        if memory.id in memories:
            proof.add_memory(memory, places)
    for line in home.lines():
        if line.id in memories:
            fields = [line.fields[name] for name in sorted(line.fields)]
            proof.add("memory lines", line.id, [*map(_packable, fields), line.embedder, line.dimension, line.vectors])
            proof.counts["vectors"] += bool(line.vectors)
    for mark in home.marks():
        if rows.text_from(mark.session) in lengths:
            proof.add("marks", f"{mark.session.hex()} {mark.mark.hex()}", [mark.kind, mark.digest])
    return found


def places_of(operations: Sequence[Numbered]) -> dict[str, Places]:
    """Return the places of the operations of each session."""
    found: dict[str, Places] = {}
    for one in sorted(operations, key=lambda operation: operation.seq):
        found.setdefault(one.session, Places()).add(one.seq)
    return found


def moments_of(memory: MovedMemory) -> Iterator[Moment]:
    """Yield the operations at which a memory changed."""
    for version in memory.versions:
        yield version.at
        for span in version.spans:
            yield span.start
            if span.end is not None:
                yield span.end


def _is_newer(memory: MovedMemory, places: Mapping[str, Places], others: Mapping[str, Places]) -> bool:
    """Tell whether a memory changed at an operation that the other home does not have."""
    return any(
        one.session not in others or places[one.session][one.seq] > len(others[one.session])
        for one in moments_of(memory)
    )


def _recorded(memory: MovedMemory) -> int:
    """Return a memory's place in the order of recording."""
    row = memory.versions[0].row
    if row is None:
        return 0
    session, name, scope, owner, digest, text = row
    return memory_from((0, digest, session, name, scope, owner, text)).seq


def _packable(value: object) -> object:
    return rows.raw(value) if isinstance(value, str) else value


def _named(moments: Sequence[Moment]) -> str:
    return hashlib.sha256(json.dumps([list(one) for one in moments]).encode("ascii")).hexdigest()
