"""The proof that two homes hold the same: records counted by kind, and one SHA-256 over all of them. Pure.

Law: what differs between homes and says nothing does not count: numbers of rows, clocks, and how an operation is numbered. An
operation counts by its place in its session, and what names another operation by the place of that.
"""

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from undrift.stores import rows
from undrift.stores.moving.values import LogPlace, MovedMemory, MovedOperation, MovedReading, MovedVersion
from undrift.stores.postgres.events import COUNTED_AS, Kind
from undrift.stores.postgres.session_state import BACK_OF_FACTS, QUIET

__all__ = [
    "FORK",
    "Identities",
    "Identity",
    "MOVES",
    "Places",
    "Proof",
    "operation_digest",
    "quiet_digest",
    "records_in",
    "session_digests",
]

MOVES = ("to", "of")
"""The parts of a payload that name an operation, in operations that go back in time."""
FORK = "@"
"""Between the name of a session and that of the machine whose fork it is."""
_SESSIONS, _OPERATIONS = "sessions", "operations"


class Places:
    """The operations of one session by their numbers: the first has place 1.

    Purges and sweeps have no place: they hold nothing, and each home may have them elsewhere in the log.
    """

    def __init__(self) -> None:
        self._seqs: list[int] = []

    def add(self, seq: int, kind: str) -> None:
        """Add the next operation."""
        if kind not in QUIET:
            self._seqs.append(seq)

    def until(self, seq: int) -> int:
        """Return the place of the newest operation up to a number; 0 if there is none."""
        return bisect_right(self._seqs, seq)

    def seq_of(self, place: int) -> int:
        """Return the number of the operation at a place; 0 for place 0."""
        return self._seqs[place - 1] if place else 0

    def __len__(self) -> int:
        return len(self._seqs)


@dataclass
class Proof:
    """The records of one home that are compared.

    Args:
        counts: The number of records of each kind.
    """

    counts: Counter[str] = field(default_factory=Counter)
    _parts: dict[str, bytes] = field(default_factory=dict)

    def add_session(
        self, name: str, digests: Sequence[bytes], quiet: Iterable[bytes], counts: Mapping[str, int]
    ) -> None:
        """Add a session.

        Args:
            digests: Those of its operations.
            quiet: Those of its purges and sweeps.
            counts: Its records by kind.
        """
        self._put(f"session {name}", *digests)
        purges = sorted(quiet)
        self._put(f"purges {name}", *purges)
        self.counts.update({_SESSIONS: 1, _OPERATIONS: len(digests) + len(purges), **counts})

    def add_readings(self, name: str, readings: Iterable[MovedReading]) -> None:
        """Add the readings of a session."""
        digests = sorted(_hash(list(one)) for one in readings)
        self._put(f"readings {name}", *digests)
        self.counts["readings"] += len(digests)

    def add_memory(self, one: MovedMemory, known: "Identities", only: Collection[LogPlace] | None = None) -> None:
        """Add a memory.

        Args:
            known: All operations of its home.
            only: The operations whose versions count, and when they were active does not: the other home has them in
                another order. None: all.
        """
        versions = [v._replace(spans=()) for v in one.versions if v.at in only] if only is not None else one.versions
        digests = [_hash(_version(version, known)) for version in versions]
        self._put(f"memory {one.id}", *(digests if only is None else sorted(digests)))
        self.counts["memories"] += 1
        self.counts["memory versions"] += sum(version.row is not None for version in versions)
        self.counts["memory spans"] += sum(len(version.spans) for version in versions)

    def add(self, kind: str, name: str, values: Sequence[Any]) -> None:
        """Add one record of another kind under its name; `values` are what msgpack can hold."""
        self._put(f"{kind} {name}", _hash(list(values)))
        self.counts[kind] += 1

    @property
    def sha256(self) -> str:
        """The SHA-256 over all that was added, in hexadecimal; the order of the additions does not count."""
        whole = hashlib.sha256()
        for name in sorted(self._parts):
            whole.update(_hash([rows.raw(name), self._parts[name]]))
        return whole.hexdigest()

    def _put(self, name: str, *digests: bytes) -> None:
        self._parts[name] = hashlib.sha256(b"".join(digests)).digest()


class Identity(NamedTuple):
    """An operation in any home: its session's name before any fork, its place in it, and its time in Unix milliseconds."""

    session: str
    place: int
    at_ms: int


Identities = Mapping[LogPlace, Identity]
"""The operations of a home, by which a version of a memory is known in any other one."""


def session_digests(operations: Iterable[MovedOperation]) -> Iterator[tuple[bytes, MovedOperation]]:
    """Yield the digest of each operation of a session with the operation itself.

    A purge or a sweep has no digest: it has no place.
    """
    places = Places()
    for one in operations:
        places.add(one.logged.operation.seq, one.logged.operation.kind)
        yield b"" if one.logged.operation.kind in QUIET else operation_digest(one, places), one


def records_in(one: MovedOperation) -> Counter[str]:
    """Return the number of records that an operation wrote, by kind, and the bytes of the texts that left."""
    made = Counter(COUNTED_AS[Kind(event.kind)] for event in one.logged.events if event.row is not None)
    made["bytes"] = sum(len(text.content) for text in one.packed)
    return made


def quiet_digest(one: MovedOperation) -> bytes:
    """Return the SHA-256 of a purge or a sweep."""
    operation = one.logged.operation
    text = rows.dump(operation.payload, "payload", encode=rows.ENCODE_SORTED) or ""
    return _hash([rows.raw(operation.kind), operation.at_ms, rows.raw(text)])


def operation_digest(one: MovedOperation, places: Places) -> bytes:
    """Return the SHA-256 of an operation with all that it made, texts included."""
    operation = one.logged.operation
    payload: Any = operation.payload
    if operation.kind in BACK_OF_FACTS and payload is not None:
        payload = {**payload, **{n: places.until(payload[n]) for n in MOVES if isinstance(payload.get(n), int)}}
    events = sorted(one.logged.events, key=lambda event: event.kind)
    made = [[event.kind, list(event.key), None if event.row is None else list(event.row)] for event in events]
    texts = [
        [text.ref.encode("utf-8", "surrogatepass"), text.token_count, text.timestamp, text.entry_seq, text.metadata or b"",
         text.masked or b"", hashlib.sha256(text.content).digest()]
        for text in one.packed
    ]  # fmt: skip
    head = [len(places), rows.raw(operation.kind), operation.at_ms, rows.raw(rows.dump(payload, "payload") or "")]
    return _hash([*head, made, texts])


def _version(one: MovedVersion, known: Identities) -> list[Any]:
    spans = [
        [_identity(span.start, known), None if span.end is None else _identity(span.end, known)] for span in one.spans
    ]
    return [_identity(one.at, known), one.act, None if one.row is None else list(one.row), spans]


def _identity(place: LogPlace, known: Identities) -> list[Any]:
    session, *numbers = known[place]
    return [rows.raw(session), *numbers]


def _hash(value: list[Any]) -> bytes:
    return hashlib.sha256(msgspec.msgpack.encode(value)).digest()
