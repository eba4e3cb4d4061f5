"""What a store promises, whichever engine keeps it: small protocols, and `Store`, which is all of them. Pure: no I/O.

Law: a store is a view of one scope. It gives and takes records of that organisation, person and project alone, and its
methods name sessions inside it. Nothing here needs a number over several sessions, a file, or a lock over all of them: a turn
is one `commit`, which a server can take in one statement.

Every method raises `StoreError` or its kind when the engine refuses, and `StoreCorrupt` rather than give a record that does
not match its SHA-256. Ids, references and queries may hold anything, NUL and lone surrogates included.

See docs/adr/0026.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from undrift.stores.base import (
    Aim,
    Context,
    Destroyed,
    Found,
    Known,
    KnownMark,
    Mark,
    Moved,
    Operation,
    Remains,
    SessionRow,
)
from undrift.stores.document_contract import DocumentStore
from undrift.stores.memory_contract import MemoryStore
from undrift.values.facts import FactVersion
from undrift.values.readings import Heads, StretchReading
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original, Tasks

__all__ = [
    "CareStore",
    "DecisionStore",
    "FactVersionStore",
    "MarkStore",
    "OperationStore",
    "OriginalStore",
    "PurgeStore",
    "SessionStore",
    "Store",
    "TimelineStore",
    "WorkStore",
]


class OperationStore(Protocol):
    """The log: each commit is one operation of one session."""

    @property
    def scope(self) -> Scope:
        """Whose records this store gives and takes; without a session."""
        ...

    def commit(
        self, context: Context, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any] | None = None
    ) -> int:
        """Write one operation and its changes, all or nothing; return once it is durable.

        A change is a value of a record kind. The same change again is a no-op:

        - `Original`: kept under its `ref`. What was stored first stays (same session, source, entry id and content).
        - `Decision`: one for an entry id. A `ref` must name an original of this session.
        - `TaskUpdate`: one for a task, written if the session's task is still `before` (its ordinal apart). A task that
          was started for the first time gets the session's next ordinal: `WorkStore.tasks` gives it.
        - `Tag`: one for a tool call, for good. Its task must be in the store or among the changes.
        - `FactChange`: one for a version of a fact, written if the version is still `before`. So `RunChange`, for a
          record of a dispatched run, and `MemoryUpdate`, for a memory.
        - `Unchanged`: nothing is written if memories were added that it does not know.
        - `MemoryLines`: makes memories searchable.
        - `StretchReading`: what was read of a history. One that follows nothing that is stored is passed over.

        Args:
            context: Whose operation it is, when, and what was known.
            kind: What was done, for the log.
            changes: Values of record kinds.
            payload: JSON values for the log.

        Returns:
            The operation's number, greater than every earlier one of its session.

        Raises:
            InputError: Another scope, an original of another session, a value of no kind, or what JSON cannot hold;
                nothing was written.
            StoreBusy: Others kept the store locked beyond the time-out; nothing was written.
            StoreConflict: A memory was changed or added meanwhile; nothing was written.
            StoreError: Another content under the same `ref`, another decision for the same entry, a task or a fact that
                was changed meanwhile, a second task that an agent works on at once, another tag for the same call, or
                the engine refused. What it holds of it then is all or nothing, and doing it again is harmless.
        """
        ...

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        """Return the log of a session, or its operations of some kinds, oldest first."""
        ...

    def last_seq(self, session_id: str, *, until: int | None = None) -> int:
        """Return the number of the session's newest operation, or of its newest up to a number; 0 when there is none."""
        ...


class OriginalStore(Protocol):
    """What left the windows, and what stands in buffers and pins."""

    def original(self, ref: str) -> Original:
        """Return an original.

        Raises:
            RecallError: No original has this reference.
            StoreCorrupt: What is kept does not match its SHA-256; the message names the reference.
        """
        ...

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        """Return the newest original of an entry; raises as `original` does."""
        ...

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        """Return the buffer entries that no ``pruned`` decision removed, oldest first; `seq` grows in this order."""
        ...

    def pins(self, session_id: str, known: Known | None = None) -> tuple[Original, ...]:
        """Return the originals with source ``pin``, oldest first; `known` as in `DecisionStore.decided`."""
        ...

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        """Search what left the windows by words, best first; no query is an error, and no match is an empty tuple.

        Args:
            query: Words; one with punctuation in it, as in ``src/app.py``, is looked up as a phrase.
                The first 32 words of the first 10,000 characters count.
            session_id: Only this session; None searches all of the scope.
            limit: At most so many; 0 or less gives none.
        """
        ...


class DecisionStore(Protocol):
    """What was decided about entries."""

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

    def readings(self, session_id: str, key: str, chosen: Callable[[Heads], Collection[int]]) -> list[StretchReading]:
        """Return what was read of histories of a session, oldest first; a store may keep none.

        Args:
            session_id: The session.
            key: What they were read with.
            chosen: The heads of all that there are, to the numbers of those that are wanted.

        Raises:
            StoreCorrupt: One of these does not match its SHA-256.
        """
        ...


class WorkStore(Protocol):
    """Tasks, and the records of dispatched runs."""

    def tasks(self, session_id: str, known: Known | None = None) -> Tasks:
        """Return the tasks of a session as they are now, in the order in which they were made, and the tags of its calls."""
        ...

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """Return what a dispatcher keeps of a run, by name: JSON values as they are now; empty without a run.

        Args:
            session_id: The run.
            names: Of the records; None for all. One that is not there is left out.
        """
        ...


class FactVersionStore(Protocol):
    """The versions of facts; a run of dispatches is a session."""

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        """Return the versions, ended ones included, in the order in which they were added.

        Args:
            session_id: The session.
            as_of: As right after this operation of the session; None: now.
        """
        ...

    def facts_state(self, session_id: str) -> tuple[int, int]:
        """Return the newest operation that changed a fact of the session (0: none), and the next version's sequence."""
        ...

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        """Make the facts of a session what they were right after an operation; return the operation in which that is done.

        Nothing is deleted: the same with a later number brings back what held before.
        """
        ...


class MarkStore(Protocol):
    """Marks, by which a session is known again from its conversation."""

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        """Return which of these marks sessions have left, one for each text and kind; those left first stand first.

        A mark that is damaged is passed over; `integrity` names it.
        """
        ...

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        """Leave marks of a session; those that it has left already stay as they are, its oldest are dropped in time,
        except those of the kind ``birth``.

        The only write that need not be durable when it returns, as it comes with every request: a killed process loses
        nothing of it, a power cut perhaps the newest marks.

        Args:
            session_id: The session; it needs nothing else in the store.
            marks: Theirs.
            is_claim: Write only if the session has no mark of the kind ``turn``, all or nothing.

        Returns:
            False when it was a claim and came too late; nothing was written.
        """
        ...


class TimelineStore(Protocol):
    """What was active at a moment of a session, and going back to it."""

    def rewind(
        self, context: Context, then: int, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any]
    ) -> Moved:
        """Activate what was active in a session right after an operation, all or nothing; nothing is deleted.

        Of a record that several sessions change, what the others have changed since stays.

        Args:
            context: Whose operation it is.
            then: The operation of the session to go back to; 0 for before the first.
            kind: Of this operation, for the log: ``rewind`` or ``undo``.
            changes: Written with it.
            payload: JSON values for the log; ``to`` is `then`.
        """
        ...

    def state(self, session_id: str, seq: int | None = None) -> dict[str, dict[str, bytes]]:
        """Return what is active in a session: kind of record to key to digest, now or right after an operation."""
        ...

    def notes_at(self, session_id: str, seq: int) -> str:
        """Return the reference of a session's notes as last stored before a moment that counts; empty without any."""
        ...


class PurgeStore(Protocol):
    """The only destruction."""

    def purge(self, aims: Sequence[Aim], blank: Callable[[Decision], Decision], *, at_ms: int) -> Destroyed | None:
        """Destroy all versions of what the first of some aims names that names anything; log that it was done.

        A name that was purged before is known no more; then nothing is removed.

        Args:
            aims: What is meant, in the order in which it is tried; all of one session.
            blank: Gives what is left of a decision about an original that goes: no reference, and no text of it.
            at_ms: When, in Unix milliseconds.

        Returns:
            None if nothing has that name and the session has never purged anything.
        """
        ...

    def clean(self, destroyed: Destroyed) -> Remains:
        """Overwrite what a purge left behind, and look for what is still there; the same again goes on.

        Raises:
            StoreBusy: Others read all the time; the records are gone all the same.
        """
        ...


class SessionStore(Protocol):
    """The list of sessions."""

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return every session of the scope, the one written last first."""
        ...

    def newest_session(self) -> str | None:
        """Return the session that was written last, without a look at the others; None without any."""
        ...


class CareStore(Protocol):
    """The store's own health, and its end."""

    def rebuild_search(self) -> None:
        """Rebuild what `OriginalStore.find` searches from the originals; the same answers come out."""
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


class Store(
    OperationStore,
    OriginalStore,
    DecisionStore,
    WorkStore,
    FactVersionStore,
    MarkStore,
    MemoryStore,
    DocumentStore,
    TimelineStore,
    PurgeStore,
    SessionStore,
    CareStore,
    Protocol,
):
    """All that is kept for one scope; `undrift.stores.opening.open_store` gives one. Threads may share it."""
