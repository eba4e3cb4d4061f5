"""The proof that two homes hold the same: records counted by kind, and one SHA-256 over all of them. Pure.

Law: what differs between homes and says nothing does not count: numbers of rows, clocks, and how an operation is numbered. An
operation counts by its place in its session, and what names another operation by the place of that.
"""

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from undrift.stores import rows
from undrift.stores.moving.values import Moment, MovedMemory, MovedOperation, MovedReading, MovedVersion
from undrift.stores.postgres.session_state import COUNTED_AS, Kind

__all__ = [
    "GOES_BACK",
    "MOVES",
    "Places",
    "Proof",
    "memory_digest",
    "operation_digest",
    "session_digests",
    "version_digests",
]

MOVES = ("to", "of")
"""The parts of a payload that name an operation, in operations that go back in time."""
GOES_BACK = frozenset({"rewind", "undo", "rewind-facts"})
_SESSIONS, _OPERATIONS = "sessions", "operations"


class Places:
    """The operations of one session by their numbers: the first has place 1."""

    def __init__(self) -> None:
        self._of: dict[int, int] = {}
        self._seqs: list[int] = []

    def add(self, seq: int) -> int:
        """Add the next operation; return its place."""
        self._seqs.append(seq)
        self._of[seq] = len(self._seqs)
        return len(self._seqs)

    def until(self, seq: int) -> int:
        """Return the place of the newest operation up to a number; 0 if there is none."""
        return bisect_right(self._seqs, seq)

    def seq_of(self, place: int) -> int:
        """Return the number of the operation at a place; 0 for place 0."""
        return self._seqs[place - 1] if place else 0

    @property
    def seqs(self) -> Sequence[int]:
        """The numbers, in their order."""
        return self._seqs

    def __len__(self) -> int:
        return len(self._seqs)

    def __getitem__(self, seq: int) -> int:
        return self._of[seq]


@dataclass
class Proof:
    """What one home holds of that which is compared.

    Args:
        counts: The number of records of each kind.
    """

    counts: Counter[str] = field(default_factory=Counter)
    _parts: dict[str, bytes] = field(default_factory=dict)

    def add_session(self, name: str, digests: Sequence[bytes], counts: Mapping[str, int]) -> None:
        """Add a session. `digests`: those of its operations; `counts`: its records by kind."""
        self._put(f"session {name}", *digests)
        self.counts.update({_SESSIONS: 1, _OPERATIONS: len(digests), **counts})

    def add_readings(self, name: str, readings: Iterable[MovedReading]) -> None:
        """Add the readings of a session."""
        digests = sorted(_hash(list(one)) for one in readings)
        self._put(f"readings {name}", *digests)
        self.counts["readings"] += len(digests)

    def add_memory(self, one: MovedMemory, places: Mapping[str, Places]) -> None:
        """Add a memory; `places`: the operations of each session."""
        self._put(f"memory {one.id}", memory_digest(one, places))
        self.counts["memories"] += 1
        self.counts["memory versions"] += sum(version.row is not None for version in one.versions)
        self.counts["memory spans"] += sum(len(version.spans) for version in one.versions)

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


def session_digests(
    operations: Iterable[MovedOperation], places: Places, counts: Counter[str]
) -> Iterator[tuple[bytes, MovedOperation]]:
    """Yield the digest of each operation of a session with the operation itself; fill in its places and its counts."""
    for one in operations:
        places.add(one.logged.operation.seq)
        for event in one.logged.events:
            if event.row is not None:
                counts[COUNTED_AS[Kind(event.kind)]] += 1
        counts["bytes"] += sum(len(text.content) for text in one.packed)
        yield operation_digest(one, places), one


def operation_digest(one: MovedOperation, places: Places) -> bytes:
    """Return the SHA-256 of an operation with all that it made, texts included."""
    operation = one.logged.operation
    payload: Any = operation.payload
    if operation.kind in GOES_BACK and payload is not None:
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


def memory_digest(one: MovedMemory, places: Mapping[str, Places]) -> bytes:
    """Return the SHA-256 of a memory in all its versions, with the times in which each was active."""
    return _hash([_version(version, places) for version in one.versions])


def version_digests(one: MovedMemory, places: Mapping[str, Places]) -> list[bytes]:
    """Return the SHA-256 of each version of a memory, whenever it was active."""
    return [_hash(_version(version._replace(spans=()), places)) for version in one.versions]


def _version(one: MovedVersion, places: Mapping[str, Places]) -> list[Any]:
    spans = [[_place(span.start, places), None if span.end is None else _place(span.end, places)] for span in one.spans]
    return [_place(one.at, places), one.act, None if one.row is None else list(one.row), spans]


def _place(moment: Moment, places: Mapping[str, Places]) -> list[Any]:
    return [rows.raw(moment.session), places[moment.session][moment.seq]]


def _hash(value: list[Any]) -> bytes:
    return hashlib.sha256(msgspec.msgpack.encode(value)).digest()
