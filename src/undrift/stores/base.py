"""What a store promises, whichever back end keeps it. Pure: the contract and its records, no I/O."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

from undrift.values.facts import FactVersion
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original, Tag, Task, Tasks

__all__ = [
    "Context",
    "Found",
    "Known",
    "KnownMark",
    "Mark",
    "MarkKind",
    "Met",
    "Operation",
    "RunChange",
    "SessionRow",
    "Store",
]

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
    """One entry of the log: `seq` grows over all sessions of a home; `payload` is as it was committed."""

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


class Store(Protocol):
    """Originals, decisions and the log of operations, over all sessions of one home.

    Every method raises `StoreError` or its kind when the disk refuses, and `StoreCorrupt` rather than give a record
    that does not match its SHA-256. Ids, references and queries may hold anything, NUL and lone surrogates included.

    Source: R2-22, A2-5, RELIABILITY section 4.
    """

    @property
    def scope(self) -> Scope:
        """Whose records this store gives. It is opened for one organisation, person and project: no other record can be
        read or written through it, whatever the session.
        """
        ...

    def commit(
        self, context: Context, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any] | None = None
    ) -> int:
        """Write one operation and its changes in one transaction; return once it is durable.

        A change is a value of a record kind. The same change again is a no-op:

        - `Original`: kept under its `ref`. What was stored first stays (same session, source, entry id and content).
        - `Decision`: one for an entry id. A `ref` must name an original of this session.
        - `TaskUpdate`: one for a task, written where the session's task is still `before` (its ordinal apart). A task that
          was started for the first time gets the session's next ordinal: `Store.tasks` gives it.
        - `Tag`: one for a tool call, for good. Its task must be in the store or among the changes.
        - `FactChange`: one for a version of a fact, written where the version is still `before`. So `RunChange`, for a
          record of a dispatched run, and `MemoryUpdate`, for a memory.
        - `Unchanged`: nothing is written where memories were added that it does not know.
        - `MemoryLines`: makes memories searchable.

        Args:
            context: Whose operation it is, when, and what was known.
            kind: What was done, for the log.
            changes: Values of record kinds.
            payload: JSON values for the log.

        Returns:
            The operation's sequence number, greater than every earlier one of its session.

        Raises:
            InputError: An original of another session, a value of no kind, or what JSON cannot hold; nothing was written.
            StoreBusy: Another process holds the lock beyond the time-out; nothing was written.
            StoreConflict: A memory was changed or added meanwhile; nothing was written.
            StoreError: Another content under the same `ref`, another decision for the same entry, a task or a fact that another
                process has changed meanwhile, a second task that an agent works on at once, another tag for the same
                call, or the disk refused.
                What a failing disk holds of it is all or nothing, and doing it again is harmless.

        Source: R2-22, A2-5, AX-5, A3-1, A3-5, RELIABILITY R1 to R6 and R14.
        """
        ...

    def decided(self, session_id: str, known: Known | None = None) -> tuple[Decision, ...]:
        """Return every decision of a session in the order they were made.

        There can be several about one entry: each holds in the histories that contain the message at which it was
        taken (``detail["at"]``; a decision without it holds in all).

        Args:
            session_id: The session.
            known: What was read of it before: nothing of that is read again. So for `pins` and `tasks`.
        """
        ...

    def decisions(self, session_id: str) -> dict[str, Decision]:
        """Return the newest decision about each entry, in the order in which entries were first decided about."""
        ...

    def decision(self, ref: str) -> Decision | None:
        """Return the newest decision that carries this reference, or None."""
        ...

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        """Return the buffer entries that no ``pruned`` decision removed, oldest first; `seq` is the store's own number."""
        ...

    def pins(self, session_id: str, known: Known | None = None) -> tuple[Original, ...]:
        """Return the originals with source ``pin``, oldest first."""
        ...

    def original(self, ref: str) -> Original:
        """Return an original.

        Raises:
            RecallError: No original has this reference.
            StoreCorrupt: What is on disk does not match its SHA-256; the message names the reference.
        """
        ...

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        """Return the newest original of an entry; raises as `original` does."""
        ...

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        """Search what left the windows by words, best first; no query is an error, and no match is an empty tuple.

        Args:
            query: Words; one with punctuation in it, as in ``src/app.py``, is looked up as a phrase.
                The first 32 words of the first 10,000 characters count.
            session_id: Only this session; None searches the whole home.
            limit: At most so many; 0 or less gives none.

        Source: RELIABILITY S5, PERFORMANCE section 4.
        """
        ...

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return every session of the home, the one written last first."""
        ...

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        """Return the log of a session, or its operations of some kinds, oldest first."""
        ...

    def last_seq(self, session_id: str) -> int:
        """Return the sequence number of the session's newest operation; 0 when there is none."""
        ...

    def tasks(self, session_id: str, known: Known | None = None) -> Tasks:
        """Return the tasks of a session as they are now, in the order in which they were made, and the tags of its calls."""
        ...

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        """Return the versions of the facts of a session, ended ones included, in the order in which they were added.

        Args:
            session_id: The session; a run of dispatches is one.
            as_of: As right after this operation; None: now.
        """
        ...

    def facts_state(self, session_id: str) -> tuple[int, int]:
        """Return the newest operation that changed a fact of the session (0: none), and the next version's sequence."""
        ...

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        """Make the facts of a session what they were right after an operation; return the operation in which that is done.

        Nothing is deleted: the same with a later number brings back what held before.

        Source: A1-10.
        """
        ...

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """Return what a dispatcher keeps of a run, by name: JSON values as they are now; empty where there is no run.

        Args:
            session_id: The run.
            names: Of the records; None for all. One that is not there is left out.
        """
        ...

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        """Return which of these marks sessions have left, one for each text and kind; those left first stand first.

        A mark that is damaged on disk is passed over; `integrity` names it.
        """
        ...

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        """Leave marks of a session; those that it has left already stay as they are, its oldest are dropped in time,
        except those of the kind ``birth``.

        The only write that does not wait for the disk, as it comes with every request: a killed process loses nothing of
        it, a power cut perhaps the newest marks.

        Args:
            session_id: The session; it needs nothing else in the store.
            marks: Theirs.
            is_claim: Write only if the session has no mark of the kind ``turn``, all in one transaction.

        Returns:
            False when it was a claim and came too late; nothing was written.

        Raises:
            StoreError: Nothing was written.
        """
        ...

    def rebuild_search(self) -> None:
        """Make the search index anew from the originals; the same answers come out."""
        ...

    def integrity(self) -> tuple[str, ...]:
        """Read everything and return what is wrong, in sentences; empty when all is well."""
        ...

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
