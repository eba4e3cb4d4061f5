"""The active records of a session, as they follow from the log of its operations. Pure.

Law: a log gives one state. An event says what a record became by an operation; a rewind makes the operations count that
counted then, so a record is what the last event that counts made of it. Nothing is closed, and nothing is opened again.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from undrift.stores import rows
from undrift.stores.base import Met, Operation
from undrift.stores.postgres.events import COUNTED_AS, GONE, Kind, LoggedEvent, as_row, digest_of
from undrift.stores.timeline import Stretch, stretches

__all__ = ["BACK", "BACK_OF_FACTS", "LoggedOperation", "QUIET", "Record", "SessionState", "values_of"]

T = TypeVar("T")

_OF_ONE_OPERATION = 1 << 20
"""Numbers that the events of one operation have room for: a record's number grows with its place in the log."""


_REWOUND = frozenset({Kind.KEPT, Kind.DECISION, Kind.TASK, Kind.TAG, Kind.DOCUMENT})
BACK = frozenset({"rewind", "undo"})
"""Operations that go back in time."""
BACK_OF_FACTS = BACK | {"rewind-facts"}
"""Those that do so for facts."""
QUIET = frozenset({"purge", "sweep"})
"""Operations that only say that others were changed; they are no use of a session."""


class Record(NamedTuple):
    """One version of a record: its number in the session, the operation that wrote it, and its event."""

    number: int
    seq: int
    event: LoggedEvent

    @property
    def row(self) -> rows.Row:
        """The row as the kind's module reads it: number, SHA-256, then the other columns."""
        return as_row(self.number, self.event)

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the record."""
        return digest_of(self.event)


class LoggedOperation(NamedTuple):
    """One operation with its events. `clock`: the project's memory clock at its end. `token`: names the commit."""

    operation: Operation
    events: tuple[LoggedEvent, ...] = ()
    clock: int = 0
    token: bytes = b""


@dataclass
class SessionState:
    """One session as a process knows it.

    Args:
        number: The server's number of it; 0: the server has none yet.
        month: The partition that holds it, as ``2026-11-01``.
        seal_key: Its key, unwrapped.
        epoch: Grows with each purge: then the whole log is read again.
        log: Its operations, oldest first.
    """

    name: str
    number: int = 0
    month: str = ""
    seal_key: bytes = b""
    epoch: int = 0
    log: list[LoggedOperation] = field(default_factory=list)
    _active: dict[tuple[int, tuple[bytes, ...]], Record] = field(default_factory=dict)
    _archive: dict[bytes, Record] = field(default_factory=dict)
    _archived_entries: dict[bytes, Record] = field(default_factory=dict)
    _kept: dict[bytes, Record] = field(default_factory=dict)
    _runs: dict[tuple[bytes, ...], Record] = field(default_factory=dict)
    _facts: dict[tuple[bytes, ...], Record] = field(default_factory=dict)
    _task_order: dict[bytes, None] = field(default_factory=dict)
    _ordinal: int = 0
    _sequence: int = 0
    _facts_at: int = 0
    _counted: tuple[tuple[int, int], dict[Kind, int]] | None = None

    @property
    def last_seq(self) -> int:
        """The number of the newest operation; 0 without any."""
        return self.log[-1].operation.seq if self.log else 0

    @property
    def last_ordinal(self) -> int:
        """The greatest ordinal of a task, in any version."""
        return self._ordinal

    @property
    def facts_state(self) -> tuple[int, int]:
        """The newest operation that changed a fact, and the next version's sequence number."""
        return self._facts_at, self._sequence + 1

    @property
    def task_order(self) -> Iterable[bytes]:
        """Ids of tasks, in the order in which they were first made."""
        return self._task_order

    def extend(self, logged: LoggedOperation) -> None:
        """Add the next operation of the log."""
        self.log.append(logged)
        seq, kind = logged.operation.seq, logged.operation.kind
        for one in _records(logged):
            self._add(one)
        if kind in BACK:
            self._active = self._then(seq, _REWOUND, BACK)
        if kind in BACK_OF_FACTS:
            facts = self._then(seq, {Kind.FACT}, BACK_OF_FACTS)
            now = {key: one for (_, key), one in facts.items()}
            if {key: one.number for key, one in now.items()} != {key: one.number for key, one in self._facts.items()}:
                self._facts, self._facts_at = now, seq

    def rebuilt(self, log: Iterable[LoggedOperation], epoch: int) -> "SessionState":
        """Return the same session with another log, as after a purge."""
        made = SessionState(self.name, self.number, self.month, self.seal_key, epoch)
        for one in log:
            made.extend(one)
        return made

    def find(self, kind: Kind, *key: bytes) -> Record | None:
        """Return the active version of a record. None means: there is none."""
        if kind is Kind.RUN:
            return self._runs.get(key)
        return self._facts.get(key) if kind is Kind.FACT else self._active.get((kind, key))

    def active(self, kind: Kind) -> list[Record]:
        """Return the active records of a kind, oldest version first."""
        if kind is Kind.RUN:
            return sorted(self._runs.values())
        if kind is Kind.FACT:
            return _facts_in_order(self._facts.values())
        return sorted((one for (of, _), one in self._active.items() if of == kind), key=lambda one: one.number)

    def archived(self, ref: bytes) -> Record | None:
        """Return where an original is that left a window. None means: the session has none with this reference."""
        return self._archive.get(ref)

    def ever_kept(self, ref: bytes) -> Record | None:
        """Return the newest version of a pin or of an entry in a buffer, active or not."""
        return self._kept.get(ref)

    def version(self, seq: int, place: int) -> Record | None:
        """Return a version by its operation and its place among the events of it. None means: there is none."""
        at = bisect_left(self.log, seq, key=lambda one: one.operation.seq)
        if at == len(self.log) or self.log[at].operation.seq != seq or place >= len(self.log[at].events):
            return None
        event = self.log[at].events[place]
        return None if event.kind == GONE else Record(seq * _OF_ONE_OPERATION + place, seq, event)

    def archive(self) -> Iterable[Record]:
        """Return all originals that left a window, oldest first."""
        return self._archive.values()

    def of_entry(self, entry_id: bytes) -> Record | None:
        """Return the newest original of an entry that left a window."""
        return self._archived_entries.get(entry_id)

    def facts_at(self, seq: int) -> list[Record]:
        """Return the versions of facts right after an operation, in their order."""
        return _facts_in_order(self._then(self.until(seq), {Kind.FACT}, BACK_OF_FACTS).values())

    def until(self, seq: int) -> int:
        """Return the newest operation up to a number; 0 if there is none."""
        return max((one.operation.seq for one in self.log if one.operation.seq <= seq), default=0)

    def written(self, token: bytes) -> int:
        """Return the operation that a commit wrote; 0: it has not written any."""
        return next((one.operation.seq for one in reversed(self.log) if one.token == token), 0)

    def clock_at(self, seq: int) -> int:
        """Return the project's memory clock right after an operation; -1 before the first."""
        return next((one.clock for one in reversed(self.log) if one.operation.seq <= seq), -1)

    def rewinds(self) -> list[tuple[int, int]]:
        """Return the session's rewinds: the number of each, and the number that it went back to."""
        return _moves(self.log, self.last_seq, BACK)

    def moved(self, then: int) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many records a rewind to an operation would make inactive, and active, by kind."""
        to = self.until(then)
        before, after = self._active, self._then(to, _REWOUND, BACK)
        return _count(before, after), _count(after, before)

    def counted(self, seq: int) -> list[Stretch]:
        """Return the operations that counted right after an operation, oldest first."""
        return stretches(_moves(self.log, seq, BACK), seq)

    def state(self, seq: int | None) -> dict[str, dict[str, bytes]]:
        """Return the active records as kind -> key -> digest, now or right after an operation."""
        if seq is None:
            every, facts = self._active, {(int(Kind.FACT), key): one for key, one in self._facts.items()}
        else:
            then = self.until(seq)
            every, facts = self._then(then, _REWOUND, BACK), self._then(then, {Kind.FACT}, BACK_OF_FACTS)
        found: dict[str, dict[str, bytes]] = {COUNTED_AS[kind]: {} for kind in (*sorted(_REWOUND), Kind.FACT)}
        for (kind, key), one in {**every, **facts}.items():
            name = b" ".join(key).decode("utf-8", "surrogatepass")
            found[COUNTED_AS[Kind(kind)]][name] = one.digest
        return found

    def counts_after(self, kind: str, payload: Any, events: Iterable[LoggedEvent]) -> tuple[int, int, list[str] | None]:
        """Return the numbers of kept originals and of decisions, and the kinds of documents, after one more operation.

        The kinds are None if they stay as they are; each in hexadecimal.
        """
        if kind in BACK:
            then = self._then(self.until(_target(payload or {})), _REWOUND, BACK)
            active: set[tuple[int, tuple[bytes, ...]]] = set(then)
            counts = {one: sum(of == one for of, _ in active) for one in (Kind.KEPT, Kind.DECISION)}
            return counts[Kind.KEPT], counts[Kind.DECISION], _kinds_of_documents(active)
        counts = {one: self._count[one] for one in (Kind.KEPT, Kind.DECISION)}
        changed: set[tuple[int, tuple[bytes, ...]]] | None = None
        for event in events:
            key = (event.kind, event.key)
            if event.kind in counts:
                counts[Kind(event.kind)] += (event.row is not None) - (key in self._active)
            elif event.kind == Kind.DOCUMENT:
                changed = changed if changed is not None else set(self._active)
                (changed.discard if event.row is None else changed.add)(key)
        return counts[Kind.KEPT], counts[Kind.DECISION], None if changed is None else _kinds_of_documents(changed)

    @property
    def _count(self) -> Mapping[Kind, int]:
        """The number of active records of each kind."""
        if self._counted is None or self._counted[0] != (self.epoch, self.last_seq):
            counts = dict.fromkeys(Kind, 0)
            for kind, _ in self._active:
                counts[Kind(kind)] += 1
            self._counted = ((self.epoch, self.last_seq), counts)
        return self._counted[1]

    def versions(self) -> Iterator[Record]:
        """Yield every version of every record, active or not, in the order of the log."""
        for logged in self.log:
            yield from _records(logged)

    def _add(self, one: Record) -> None:
        kind, key, row = one.event
        if kind == Kind.ORIGINAL:
            if key[0] not in self._archive:
                self._archive[key[0]] = one
                self._archived_entries[row[0] if row else b""] = one
        elif kind == Kind.RUN:
            self._runs[key] = one
        elif kind == Kind.FACT:
            _put(self._facts, key, one)
            self._facts_at = one.seq
            self._sequence = max(self._sequence, int(key[0]))
        else:
            _put(self._active, (kind, key), one)
            if kind == Kind.KEPT and row is not None:
                self._kept[key[-1]] = one
            if kind == Kind.TASK:
                self._task_order.setdefault(key[0])
                self._ordinal = max(self._ordinal, row[3] if row else 0)

    def _then(
        self, seq: int, kinds: Iterable[int], back: Collection[str]
    ) -> dict[tuple[int, tuple[bytes, ...]], Record]:
        """Return what was active right after an operation."""
        counted = stretches(_moves(self.log, seq, back), seq)
        found: dict[tuple[int, tuple[bytes, ...]], Record] = {}
        wanted, spans = frozenset(kinds), iter(counted)
        span = next(spans, None)
        for logged in self.log:
            at = logged.operation.seq
            while span is not None and at > span.last:
                span = next(spans, None)
            if span is None or at > seq:
                break
            if at >= span.first and logged.operation.kind not in back:  # what a rewind brings along is not part of then
                for one in _records(logged):
                    if one.event.kind in wanted:
                        _put(found, (one.event.kind, one.event.key), one)
        return found


def values_of(records: Iterable[Record], make: Callable[[Record], T], known: Met[T] | None) -> list[T]:
    """Return what records are, in their order; what the caller has loaded before is not made a second time.

    `known`: what was loaded before, afterwards what is returned. None: make all.
    """
    former = known.by_digest() if known is not None else {}
    found = {(digest := one.digest): former.get(digest) or make(one) for one in records}
    if known is not None:
        known.keep(found)
    return list(found.values())


def _facts_in_order(facts: Iterable[Record]) -> list[Record]:
    return sorted(facts, key=lambda one: one.event.row[1] if one.event.row else 0)


def _records(logged: LoggedOperation) -> Iterator[Record]:
    first, seq = logged.operation.seq * _OF_ONE_OPERATION, logged.operation.seq
    return (Record(first + place, seq, one) for place, one in enumerate(logged.events) if one.kind != GONE)


def _put(records: dict[Any, Record], key: Any, one: Record) -> None:
    """Let a version take the place of an earlier one; it goes to the end, as the newest."""
    records.pop(key, None)
    if one.event.row is not None:
        records[key] = one


def _count(these: Mapping[Any, Record], others: Mapping[Any, Record]) -> dict[str, int]:
    """Return how many of these are not among the others, by kind."""
    counts: dict[str, int] = {}
    for key, one in these.items():
        if key not in others or others[key].number != one.number:
            counts[COUNTED_AS[Kind(key[0])]] = counts.get(COUNTED_AS[Kind(key[0])], 0) + 1
    return counts


def _kinds_of_documents(active: Iterable[tuple[int, tuple[bytes, ...]]]) -> list[str]:
    return sorted({key[0].hex() for kind, key in active if kind == Kind.DOCUMENT})


def _moves(log: Sequence[LoggedOperation], until: int, back: Collection[str]) -> list[tuple[int, int]]:
    """Return the rewinds up to an operation: the number of each, and the number that it went back to."""
    payloads = ((one.operation.seq, one.operation.kind, one.operation.payload or {}) for one in log)
    return [(seq, _target(payload)) for seq, kind, payload in payloads if kind in back and seq <= until]


def _target(payload: Mapping[str, Any]) -> int:
    to = payload.get("to", 0)
    return to if isinstance(to, int) else 0
