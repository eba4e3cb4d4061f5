"""The contract of a store, for any engine: small protocols, and `Store`, which joins them. Pure: no I/O.

Law: a store is a view of one scope. It returns and takes only records of that organisation, person and project, and its
methods name sessions inside it. Nothing here needs a number, a file or a lock over several sessions: a turn is one
`commit`, which a server can take in one statement.

Every method raises `StoreError` or a subclass if the engine refuses, and `StoreCorrupt` in place of a record that does not
match its SHA-256. Ids, references and queries may hold anything, NUL and lone surrogates included.

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
from undrift.stores.memory_values import Heir
from undrift.values.facts import FactVersion
from undrift.values.readings import Heads, StretchReading
from undrift.values.retention import SessionSize
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
    "SweepStore",
    "TimelineStore",
    "WorkStore",
]


class OperationStore(Protocol):
    """The log: each commit is one operation of one session."""

    @property
    def scope(self) -> Scope:
        """The organisation, person and project whose records this store reads and writes."""
        ...

    def commit(
        self, context: Context, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any] | None = None
    ) -> int:
        """Write one operation and all its changes, or nothing; return when they are durable.

        A change is a value of a record kind. The same change again is a no-op:

        - `Original`: kept under its `ref`. The first stored one stays (same session, source, entry id and content).
        - `Decision`: one for an entry id. A `ref` must name an original of this session.
        - `TaskUpdate`: one for a task, written if the session's task is still `before` (its ordinal apart). A task that
          was started for the first time gets the session's next ordinal: `WorkStore.tasks` gives it.
        - `Tag`: one for a tool call, for good. Its task must be in the store or among the changes.
        - `FactChange`: one for a version of a fact, written if the version is still `before`. The same holds for
          `RunChange`, about a record of a dispatched run, and `MemoryUpdate`, about a memory.
        - `Unchanged`: nothing is written if memories were added that it does not know.
        - `MemoryLines`: makes memories searchable.
        - `StretchReading`: a reading of a history. It is skipped if the reading that it follows is not stored.

        Args:
            context: The operation's owner, its time, and the newest operation that was known.
            kind: The name of the act, for the log.
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
                the engine refused. Then all of it or nothing was written, and the same commit again is harmless.
        """
        ...

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        """Return the log of a session, oldest first, or only operations of some kinds."""
        ...

    def last_seq(self, session_id: str, *, until: int | None = None) -> int:
        """Return the number of the session's newest operation, at most `until`; 0 if there is none."""
        ...


class OriginalStore(Protocol):
    """The originals: entries removed from windows, entries in buffers, and pins."""

    def original(self, ref: str) -> Original:
        """Return the original with this reference.

        Raises:
            RecallError: No original has this reference.
            StoreCorrupt: The stored original does not match its SHA-256; the message names the reference.
        """
        ...

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        """Return the newest original of an entry; it raises the same errors as `original`."""
        ...

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        """Return the entries that are still in the buffer, oldest first; `seq` grows in this order."""
        ...

    def pins(self, session_id: str, known: Known | None = None) -> tuple[Original, ...]:
        """Return the originals with source ``pin``, oldest first; `known` as in `DecisionStore.decided`."""
        ...

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        """Search removed entries by words, best first. Any text is a legal query; no match gives an empty result.

        Args:
            query: Words; one with punctuation in it, as in ``src/app.py``, is looked up as a phrase.
                The first 32 words of the first 10,000 characters count.
            session_id: Only this session; None searches all of the scope.
            limit: The most results; 0 or less gives none.
        """
        ...


class DecisionStore(Protocol):
    """The decisions about entries."""

    def decided(self, session_id: str, known: Known | None = None) -> tuple[Decision, ...]:
        """Return every decision of a session, oldest first.

        An entry can have several: each holds in the histories that contain the message at which it was made
        (``detail["at"]``; a decision without it holds in all).

        `known`: the records that were read before: they are not read again. The same holds for `pins` and `tasks`.
        """
        ...

    def decisions(self, session_id: str) -> dict[str, Decision]:
        """Return the newest decision about each entry, ordered by each entry's first decision."""
        ...

    def decision(self, ref: str) -> Decision | None:
        """Return the newest decision with this reference. None means: there is no such decision."""
        ...

    def readings(self, session_id: str, key: str, chosen: Callable[[Heads], Collection[int]]) -> list[StretchReading]:
        """Return the stored readings (parsed histories) of a session, oldest first; a store may have none.

        `key`: the form and the counter of the readings. `chosen`: returns the numbers of the wanted readings from the
        heads of all. Raises StoreCorrupt: a reading does not match its SHA-256.
        """
        ...


class WorkStore(Protocol):
    """Tasks, and the records of dispatched runs."""

    def tasks(self, session_id: str, known: Known | None = None) -> Tasks:
        """Return the current tasks of a session, oldest first, and the tags that assign calls to tasks."""
        ...

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """Return the dispatcher's records of a run, name -> JSON value; empty if the run is unknown.

        `session_id`: the run. `names`: only records with these names; None: all. An unknown name is left out.
        """
        ...


class FactVersionStore(Protocol):
    """The versions of facts; a run of dispatches is a session."""

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        """Return all versions of facts, outdated ones too, in the order in which they were added.

        `as_of`: the state right after this operation of the session; None: now.
        """
        ...

    def facts_state(self, session_id: str) -> tuple[int, int]:
        """Return the newest operation that changed a fact (0: none), and the next version's sequence number."""
        ...

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        """Rewind a session's facts to an operation; return the number of this rewind's own operation.

        Nothing is deleted: the same with a later number brings the later facts back.
        """
        ...


class MarkStore(Protocol):
    """Marks: short texts that identify the session to which a conversation belongs."""

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        """Return the stored marks with these texts, one for each text and kind, oldest first.

        A damaged mark is skipped; `integrity` names it.
        """
        ...

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        """Store marks of a session; marks that are already stored do not change.

        Its oldest marks are dropped in time, except those of the kind ``birth``. This is the only write that need not be
        durable at its return, because it comes with every request: a killed process loses nothing, a power cut perhaps
        the newest marks.

        Args:
            session_id: The session; it needs nothing else in the store.
            is_claim: Write only if the session has no mark of the kind ``turn``, all or nothing.

        Returns:
            False if it was a claim and came too late; nothing was written.
        """
        ...


class TimelineStore(Protocol):
    """The state of a session at each operation, and the rewind to one."""

    def rewind(
        self, context: Context, then: int, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any]
    ) -> Moved:
        """Give a session the active records that it had right after an operation; nothing is deleted.

        If several sessions change a record, later changes by the others stay.

        Args:
            context: The owner and the time of the operation.
            then: The operation of the session to go back to; 0 for before the first.
            kind: The kind of this operation, for the log: ``rewind`` or ``undo``.
            changes: Changes that are written with it.
            payload: JSON values for the log; ``to`` is `then`.
        """
        ...

    def state(self, session_id: str, seq: int | None = None) -> dict[str, dict[str, bytes]]:
        """Return a session's active records as kind -> key -> digest, now or right after operation `seq`."""
        ...

    def notes_at(self, session_id: str, seq: int) -> str:
        """Return the reference of the session's newest notes, as of an operation; empty if there are none."""
        ...


class PurgeStore(Protocol):
    """The purge. It and the sweep are the only ways to destroy data."""

    def purge(
        self, aims: Sequence[Aim], blank: Callable[[Decision], Decision], *, at_ms: int, heir: Heir | None = None
    ) -> Destroyed | None:
        """Destroy all versions of the data of the first aim that matches, and log the purge.

        A name that was purged before is unknown now; then nothing is removed.

        Args:
            aims: The possible meanings, in the order of trying; all of one session.
            blank: Returns a decision without its purged original: no reference and no text of it.
            at_ms: The time, in Unix milliseconds.
            heir: Returns what other sessions said of a memory of a purged session: it takes that memory's place, under
                `heir_id`. None: all goes.

        Returns:
            None if nothing has that name and the session has never purged anything.
        """
        ...

    def clean(self, destroyed: Destroyed, *, search_files: bool = False) -> Remains:
        """Overwrite the remains of a purge and search for more; if it was interrupted, call it again.

        Args:
            search_files: Search all files, however large; else those that take no noticeable time.

        Raises StoreBusy: other processes read all the time; the records are removed nevertheless.
        """
        ...


class SweepStore(Protocol):
    """The sweep: originals of old sessions are destroyed, and the decisions about them stay."""

    def sweepable(self) -> tuple[SessionSize, ...]:
        """Return the sessions that have originals to sweep, with their sizes."""
        ...

    def sweep(self, session_id: str, blank: Callable[[Decision], Decision], *, at_ms: int) -> int:
        """Destroy the originals that left a session's windows, and log the sweep; return their number.

        Pins and entries in a buffer stay. The same again after an interruption continues.

        Args:
            session_id: The session.
            blank: Returns a decision without its original, and with the day of the sweep.
            at_ms: The time, in Unix milliseconds.
        """
        ...


class SessionStore(Protocol):
    """The list of sessions."""

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return the sessions of the scope, the most recently written first."""
        ...

    def newest_session(self) -> str | None:
        """Return the most recently written session. None means: there are no sessions."""
        ...


class CareStore(Protocol):
    """The checks and the closing of a store."""

    def rebuild_search(self) -> None:
        """Rebuild the index of `OriginalStore.find` from the originals; the results stay the same."""
        ...

    def pack(self, most_bytes: int) -> int:
        """Compress some originals that a commit of today's layout would have compressed; return how many.

        One call holds the lock once. Call it again until it returns 0; at the end of a session it also packs a rest that
        is small. No record changes. `most_bytes`: about so many bytes of text.
        """
        ...

    def integrity(self) -> tuple[str, ...]:
        """Check every record and return the problems as sentences; empty if there are none."""
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
    SweepStore,
    SessionStore,
    CareStore,
    Protocol,
):
    """All records of one scope; `undrift.stores.opening.open_store` opens it. Threads may share it."""
