"""The values that a store takes and gives, whichever engine keeps them (`undrift.stores.contract`). Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from undrift.values.scope import Scope
from undrift.values.window import Decision, Original, Tag, Task

__all__ = [
    "Aim",
    "AimKind",
    "Context",
    "Counts",
    "Destroyed",
    "Document",
    "DocumentPath",
    "Found",
    "Known",
    "KnownMark",
    "Mark",
    "MarkKind",
    "Met",
    "Moved",
    "Operation",
    "Remains",
    "RunChange",
    "SessionRow",
]

AimKind = Literal["original", "task", "memory", "document", "session"]
DocumentPath = tuple[str, ...]
"""Any texts, the empty one included; documents are listed by what their paths begin with."""

MarkKind = Literal["answer", "birth", "turn"]
"""Of a mark: something that the model has said; the history of a session's first request; that of a later one."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context:
    """Of one operation.

    Args:
        scope: Whose it is; with a session.
        at_ms: When, in Unix milliseconds.
        based_on: The newest operation of the session that was known when this was decided: nothing is written where the
            session was taken back in time since. None: whatever has happened.
    """

    scope: Scope
    at_ms: int
    based_on: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One original that a search found.

    Args:
        ref: What `Store.original` takes.
        session_id: The session it belongs to.
        entry_id: Its entry's id.
        type: Its entry's type.
        snippet: About 24 words around what matched; of an original that is damaged on disk, a sentence saying so.
        score: Higher is better; 0.0 when every word of the query is so common that the newest are given instead.
    """

    ref: str
    session_id: str
    entry_id: str
    type: str
    snippet: str
    score: float


class Met(Generic[T]):
    """The records of one reading, each with its SHA-256; in little memory, as a session has tens of thousands."""

    def __init__(self) -> None:
        self._digests = b""
        self._records: list[T] = []

    def __len__(self) -> int:
        return len(self._records)

    def keep(self, found: Mapping[bytes, T]) -> None:
        """Replace what is known by these records."""
        self._digests, self._records = b"".join(found), list(found.values())

    def by_digest(self) -> dict[bytes, T]:
        """Return each record under its SHA-256."""
        return {self._digests[32 * n : 32 * n + 32]: record for n, record in enumerate(self._records)}


@dataclass(frozen=True, slots=True)
class Known:
    """What a reader has read of one session before, each record by its SHA-256; a reading with it brings it up to date."""

    decisions: Met[Decision] = field(default_factory=Met)
    pins: Met[Original] = field(default_factory=Met)
    tasks: Met[Task] = field(default_factory=Met)
    tags: Met[Tag] = field(default_factory=Met)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session in numbers: operations, originals and decisions it holds, and when it was first and last written.

    `name` is how a person knows it again, as the gateway has stored it; empty where nobody did.
    """

    session_id: str
    operations: int
    originals: int
    decisions: int
    first_at_ms: int
    last_at_ms: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One entry of a session's log: `seq` grows within the session; `payload` is as it was committed."""

    seq: int
    kind: str
    at_ms: int
    payload: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A short ASCII text, as a hash, that stands for something which a session has seen."""

    text: str
    kind: MarkKind


@dataclass(frozen=True, slots=True)
class RunChange:
    """A record of a dispatched run before (None: there was none) and after a change; both are JSON values."""

    name: str
    before: Mapping[str, Any] | None = field(hash=False)
    after: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class KnownMark:
    """A mark that a session has left.

    Args:
        mark: The mark.
        session_id: The session; where several have left it, the one that did so last.
        sessions: How many have.
        has_turns: Whether this session has a mark of the kind ``turn``: it has gone on since its first request.
    """

    mark: Mark
    session_id: str
    sessions: int
    has_turns: bool


class Moved(NamedTuple):
    """What a rewinding did: its operation, and how many records of each kind it closed and opened."""

    seq: int
    closed: Mapping[str, int]
    opened: Mapping[str, int]


class Aim(NamedTuple):
    """What is to be destroyed.

    Args:
        kind: What it is.
        session_id: The session that asks; nothing of another one is touched, but for memories that it sees.
        name: A reference or an entry's id, a task's id, a memory's id; empty for the session.
        agent: Who asks: memories of this agent are seen.
        path: Of a document, or what those begin with that are meant.
    """

    kind: AimKind
    session_id: str
    name: str = ""
    agent: str = "main"
    path: DocumentPath = ()


class Destroyed(NamedTuple):
    """What a purge destroyed.

    Args:
        kind: Of the aim that named something.
        removed: How many records of each kind are gone.
        tasks: Ids of the tasks whose exported logs repeat what is gone.
        pieces: Parts of the texts that are gone, in a form of the engine's own: `PurgeStore.clean` looks for them.
    """

    kind: AimKind
    removed: Mapping[str, int]
    tasks: frozenset[str] = frozenset()
    pieces: tuple[Any, ...] = ()


class Remains(NamedTuple):
    """What is left of what was destroyed.

    Args:
        files: Files of the home, relative to it, that still hold pieces which no record holds.
        copies: Names of records that hold the same words, as ``memory m0123``.
        text: What the engine itself may still hold, though it was not found, in a sentence; empty where there is nothing.
    """

    files: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One document as it is now.

    Args:
        path: Where it is, among those of its session and kind.
        record: JSON values that are read without the content.
        content: Its bytes; empty where they were not asked for.
        number: Of this version, among those of its session and kind; a newer one has a greater number.
    """

    path: DocumentPath
    record: Mapping[str, Any]
    content: bytes = b""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """What a backup holds, and where the replaced store is kept, if there was one."""

    operations: int
    originals: int
    decisions: int
    size_bytes: int
    kept: Path | None = None
