"""The values that a store accepts and returns, for any engine (`undrift.stores.contract`). Pure: no I/O."""

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
"""Any texts, the empty one included; documents are listed by the beginning of their paths."""

MarkKind = Literal["answer", "before", "birth", "place", "turn"]
"""The kinds of marks.

- ``answer``: an answer of the model.
- ``before``: the history of a later request without its newest message.
- ``birth``: the history of a session's first request.
- ``place``: the history in which a session decided something.
- ``turn``: the whole history of a later request.
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context:
    """The owner and the time of one operation.

    `at_ms`: the time, in Unix milliseconds. `based_on`: the session's newest operation that was known at the decision:
    nothing is written if the session was rewound or purged since. None: this is not checked.
    """

    scope: Scope
    at_ms: int
    based_on: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One original that a search found.

    Args:
        ref: Its reference, for `Store.original`.
        snippet: About 24 words around the match; for a damaged original, a sentence that says so.
        score: Higher is better; 0.0 if all words of the query are so common that the newest are returned instead.
    """

    ref: str
    session_id: str
    entry_id: str
    type: str
    snippet: str
    score: float


class Met(Generic[T]):
    """The records that one load has read, each with its SHA-256, stored compactly: a session has tens of thousands."""

    def __init__(self) -> None:
        self._digests = b""
        self._records: list[T] = []

    def __len__(self) -> int:
        return len(self._records)

    def keep(self, found: Mapping[bytes, T]) -> None:
        """Replace the known records by these."""
        self._digests, self._records = b"".join(found), list(found.values())

    def by_digest(self) -> dict[bytes, T]:
        """Return the records by SHA-256."""
        return {self._digests[32 * n : 32 * n + 32]: record for n, record in enumerate(self._records)}


@dataclass(frozen=True, slots=True)
class Known:
    """The records of one session that the caller has already loaded, by SHA-256; each load updates them."""

    decisions: Met[Decision] = field(default_factory=Met)
    pins: Met[Original] = field(default_factory=Met)
    tasks: Met[Task] = field(default_factory=Met)
    tags: Met[Tag] = field(default_factory=Met)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session in numbers: operations, originals, decisions, and the times of the first and last write.

    `name` is a readable name that the gateway has stored; empty if it has stored none.
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
    """One entry of a session's log; it never changes.

    Args:
        seq: Its number; it grows within the session.
        kind: The act, as ``prune``, ``task``, ``checkpoint`` or ``rewind``.
        at_ms: Unix milliseconds.
        payload: JSON values, or None.
    """

    seq: int
    kind: str
    at_ms: int
    payload: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A short ASCII text, such as a hash, that represents something which a session has seen."""

    text: str
    kind: MarkKind


@dataclass(frozen=True, slots=True)
class RunChange:
    """A record of a dispatched run before and after a change, as JSON values. `before` is None for a new record."""

    name: str
    before: Mapping[str, Any] | None = field(hash=False)
    after: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class KnownMark:
    """A stored mark and its session.

    Args:
        session_id: The session; if several have left it, the last of them.
        sessions: The number of sessions that have left it.
        has_turns: True if this session has a mark of the kind ``turn``: it has continued after its first request.
    """

    mark: Mark
    session_id: str
    sessions: int
    has_turns: bool


class Moved(NamedTuple):
    """The result of a rewind: its operation, and the numbers of records that it made inactive or active, by kind."""

    seq: int
    closed: Mapping[str, int]
    opened: Mapping[str, int]


class Aim(NamedTuple):
    """The data that a purge must destroy.

    Args:
        session_id: The session that asks; of other sessions, only memories that it sees are touched.
        name: A reference or an entry's id, a task's id, a memory's id; empty for the session.
        agent: The agent that asks: its memories are seen.
        path: The path of a document, or the beginning of the paths of several.
    """

    kind: AimKind
    session_id: str
    name: str = ""
    agent: str = "main"
    path: DocumentPath = ()


class Destroyed(NamedTuple):
    """The data that a purge has destroyed.

    Args:
        kind: The kind of the aim that named something.
        removed: The number of destroyed records of each kind.
        tasks: Ids of the tasks whose exported logs repeat the destroyed texts.
        pieces: Parts of the destroyed texts, in a form of the engine's own: `PurgeStore.clean` looks for them.
    """

    kind: AimKind
    removed: Mapping[str, int]
    tasks: frozenset[str] = frozenset()
    pieces: tuple[Any, ...] = ()


class Remains(NamedTuple):
    """The remains of destroyed data that are still on disk.

    Args:
        files: Files of the home, relative to it, that still hold pieces which no record holds.
        copies: Names of records that hold the same words, as ``memory m0123``.
        text: A sentence about remains that the engine itself may still hold; empty without any.
        unsearched: Files that were too large to be searched, in the same form.
    """

    files: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    text: str = ""
    unsearched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """The newest version of one document.

    Args:
        path: Its place among the documents of its session and kind.
        record: JSON values that are read without the content.
        content: Its bytes; empty if they were not asked for.
        number: The version's number, unique in its session and kind; a newer version has a greater number.
    """

    path: DocumentPath
    record: Mapping[str, Any]
    content: bytes = b""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of records in a backup, and the path of the replaced store, if any."""

    operations: int
    originals: int
    decisions: int
    size_bytes: int
    kept: Path | None = None
