"""The records of a project as a move carries them, for any home. Pure.

Law: what is here depends on no home: no number of a row, no clock and no seal. A moment is an operation, by its session
and its number.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from undrift.stores.memories import memory_from
from undrift.stores.packing import PackedOriginal
from undrift.stores.postgres.session_state import LoggedOperation
from undrift.values.memory import MemoryEntry

__all__ = [
    "LogPlace",
    "MovedLine",
    "MovedMark",
    "MovedMemory",
    "MovedOperation",
    "MovedReading",
    "MovedVersion",
    "Numbered",
    "SessionHead",
    "Source",
    "Span",
    "Target",
]  # fmt: skip


class LogPlace(NamedTuple):
    """One operation, by its session and its number."""

    session: str
    seq: int


class SessionHead(NamedTuple):
    """One session of a project.

    Args:
        last_seq: Its newest operation.
        size_bytes: About so many bytes are to be moved.
        epoch: Grows with each purge that may have changed it.
    """

    name: str
    last_seq: int
    size_bytes: int = 0
    epoch: int = 0


class MovedOperation(NamedTuple):
    """One operation with all that it wrote but memories.

    Args:
        logged: Its clock is the number of the project's moments up to and with this operation.
        packed: The originals that left a window with it, in the order of their events.
        origin: Names the file that gave the operation its number; empty: a server gave it.
    """

    logged: LoggedOperation
    packed: Sequence[PackedOriginal] = ()
    origin: bytes = b""


class Numbered(NamedTuple):
    """One operation as far as its number is concerned.

    Args:
        clock: The number of moments up to and with it.
        origin: Names the file that gave it its number; empty: a server did.
    """

    session: str
    seq: int
    clock: int
    at_ms: int
    kind: str
    origin: bytes = b""


class MovedReading(NamedTuple):
    """A reading of a history, as it is stored."""

    key: bytes
    before: bytes
    sha256: bytes
    length: int
    digest: bytes
    record: bytes


class MovedMark(NamedTuple):
    """A mark, as it is stored."""

    session: bytes
    mark: bytes
    kind: str
    digest: bytes


class Span(NamedTuple):
    """A time in which a version was active: from one moment until another. No end: it still is."""

    start: LogPlace
    end: LogPlace | None


class MovedVersion(NamedTuple):
    """One memory as one operation left it.

    Args:
        act: The kind of the operation.
        row: As `memory_row` returns it, texts as bytes; None: it was taken out of sight.
        spans: When this version was active, oldest first.
    """

    at: LogPlace
    act: bytes
    row: tuple[Any, ...] | None
    spans: tuple[Span, ...] = ()

    def entry(self) -> MemoryEntry | None:
        """Return the memory. Raises StoreCorrupt: it does not match its SHA-256."""
        if self.row is None:
            return None
        session, name, scope, owner, digest, text = self.row
        return memory_from((0, digest, session, name, scope, owner, text))


class MovedMemory(NamedTuple):
    """One memory in all its versions, oldest first."""

    id: str
    versions: tuple[MovedVersion, ...]


class MovedLine(NamedTuple):
    """The indexed parts of a memory, with its vectors.

    Args:
        fields: Those of a `MemoryLine`.
        vectors: As a file keeps them: the float32 values of the whole, then those of passages, a byte each.
    """

    id: str
    fields: dict[str, Any]
    embedder: str = ""
    dimension: int = 0
    vectors: bytes = b""


class Source(Protocol):
    """The records of one project, at one moment."""

    def heads(self) -> Sequence[SessionHead]:
        """Return the sessions, the one that was written last at the end."""
        ...

    def operations(self, name: str) -> Iterator[MovedOperation]:
        """Yield the log of a session, oldest first. Raises StoreCorrupt: a record is damaged."""
        ...

    def readings(self, name: str) -> Sequence[MovedReading]:
        """Return the readings of a session, oldest first; none that are made of numbers of rows."""
        ...

    def numbered(self) -> Sequence[Numbered]:
        """Return all operations as far as their numbers are concerned."""
        ...

    def moments(self) -> Sequence[LogPlace]:
        """Return the operations at which memories changed or could change, oldest first."""
        ...

    def rewinds(self) -> Sequence[tuple[LogPlace, int]]:
        """Return the rewinds and the undone ones, oldest first, each with the number that it went back to."""
        ...

    def memories(self) -> Iterator[MovedMemory]:
        """Yield the memories whose operations are all in sessions of this project, in the order of their first versions."""
        ...

    def memory_ids(self) -> set[str]:
        """Return the ids of all memories that this home has, those that others changed too."""
        ...

    def lines(self) -> Iterator[MovedLine]:
        """Yield what makes memories searchable, in the order of its addition."""
        ...

    def marks(self) -> Iterator[MovedMark]:
        """Yield the marks of conversations, oldest first."""
        ...

    def left_behind(self) -> Sequence[str]:
        """Return what this home has and a move does not take, as sentences."""
        ...

    def close(self) -> None:
        """Give back what is held; a second call does nothing."""
        ...


class Target(Protocol):
    """One project of a home, to be written to."""

    def source(self) -> Source:
        """Return the same project, to be read at its present state."""
        ...

    def numbers(
        self,
        operations: Sequence[Numbered],
        moments: Sequence[LogPlace],
        known: Mapping[LogPlace, int],
        in_use: Collection[int],
        least: int,
    ) -> Mapping[str, Mapping[int, int]]:
        """Return the numbers that operations have or get here, by session and number in the source.

        Args:
            moments: The source's operations at which memories changed, oldest first.
            known: The numbers of operations that are here already.
            in_use: The numbers of all operations that are here.
            least: A memory of the source has this place in the order of recording.
        """
        ...

    def prepare(self, moments: Sequence[LogPlace | None], base: int | None) -> int | None:
        """Give moments their places in time; None: an operation that does not come along.

        `base`: the result for the same moments, of a move that was killed. None: there was none.
        """
        ...

    def put_session(
        self, name: str, operations: Iterable[MovedOperation], readings: Sequence[MovedReading], after: int = 0
    ) -> None:
        """Write a session, or continue it, as a whole or not at all.

        `after`: the operation that the given ones follow; 0: there is none.

        Raises StoreConflict: it has other operations by now, or another session has one of its references.
        """
        ...

    def order(self, moment: LogPlace) -> int:
        """Return the place of an operation in this home's time."""
        ...

    def put_memories(
        self, memories: Sequence[MovedMemory], lines: Iterable[MovedLine], known: Mapping[str, Collection[LogPlace]]
    ) -> None:
        """Write memories as they are to be, all or none; `known`: the operations of the versions that are here, by id."""
        ...

    def put_marks(self, marks: Iterable[MovedMark]) -> None:
        """Write marks that are not here yet."""
        ...
