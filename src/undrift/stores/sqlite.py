"""The durable store in one SQLite file: an append-only log of operations, originals with their SHA-256, decisions.

Law: a method that returned has its operation on disk (marks alone do not wait for it); one that raised has changed nothing. One connection behind a lock
serves all threads. Fork is not supported: a process opens its own store after the fork.
"""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

from undrift.errors import InputError, RecallError, StoreCorrupt, StoreError
from undrift.stores import dispatch as dispatch_table
from undrift.stores import facts as facts_table
from undrift.stores import faults, files, holders, newest, read_only, rows, search, timeline
from undrift.stores import marks as marks_table
from undrift.stores import memories as memories_table
from undrift.stores import tasks as tasks_table
from undrift.stores.base import Found, Known, KnownMark, Mark, Operation, RunChange, SessionRow
from undrift.stores.connection import connect, connect_to_read, is_without_room, prepare_file
from undrift.stores.integrity import problems
from undrift.stores.known import DECISIONS, PINS, read
from undrift.stores.memories import MemoryUpdate
from undrift.stores.migrations import transaction
from undrift.stores.write import write
from undrift.values.closing import Closing
from undrift.values.facts import FactChange, FactVersion
from undrift.values.window import ContextEntry, Decision, Original, Tag, Tasks, TaskUpdate

__all__ = ["SqliteStore"]

_log = logging.getLogger("undrift.store")

_OPENING: dict[Path, threading.Lock] = {}
"""One lock per file: to close any descriptor of a file drops the POSIX locks that SQLite holds on it in this process, so
the one that creates the file is closed before another thread opens it."""

_ORIGINALS = f"SELECT {rows.ORIGINAL_COLUMNS} FROM originals "  # noqa: S608
_BY_REF = _ORIGINALS + "WHERE ref = ?"
_BY_NUMBER = _ORIGINALS + "WHERE number = ?"
_BY_ENTRY = _ORIGINALS + "WHERE session_id = ? AND entry_id = ? AND to_seq IS NULL ORDER BY number DESC LIMIT 1"
_BUFFER = f"""{_ORIGINALS} WHERE number IN (
        SELECT o.number FROM originals o
        WHERE o.session_id = ? AND o.source = 'buffer' AND o.to_seq IS NULL AND NOT {search.REMOVED})
    ORDER BY number"""  # noqa: S608
_LAST = "SELECT max(seq) FROM operations WHERE session_id = ?"
_DECISION = f"""SELECT {rows.DECISION_COLUMNS} FROM decisions
    WHERE ref = ? AND to_seq IS NULL ORDER BY number DESC LIMIT 1"""  # noqa: S608
_OPERATIONS = f"SELECT {rows.OPERATION_COLUMNS} FROM operations WHERE session_id = ? {{}} ORDER BY seq"  # noqa: S608
_SESSIONS = """SELECT CAST(session_id AS BLOB), count(*),
    (SELECT count(*) FROM originals o WHERE o.session_id = p.session_id AND o.to_seq IS NULL),
    (SELECT count(*) FROM decisions d WHERE d.session_id = p.session_id AND d.to_seq IS NULL),
    min(at_ms), max(at_ms),
    (SELECT CAST(n.payload AS BLOB) FROM operations n WHERE n.session_id = p.session_id AND n.kind = 'named' ORDER BY n.seq LIMIT 1)
    FROM operations p GROUP BY session_id ORDER BY max(seq) DESC"""
_NEWEST = "SELECT CAST(session_id AS BLOB) FROM operations ORDER BY seq DESC LIMIT 1"
_NAMES = """SELECT CAST(ref AS BLOB), CAST(session_id AS BLOB), CAST(entry_id AS BLOB), CAST(type AS BLOB)
    FROM originals WHERE number = ?"""
_DECIDED = "SELECT 1 FROM decisions WHERE session_id = ? AND entry_id = ? AND to_seq IS NULL AND ref IS NOT NULL"
_WRONG_WAY = f"an index of the file is damaged; {rows.REMEDY}"
_REWOUND = "SELECT 1 FROM operations WHERE session_id = ? AND seq > ? AND kind IN ('rewind', 'undo', 'purge') LIMIT 1"
_DAMAGED = "(damaged on disk: what is there does not match its SHA-256)"


class SqliteStore(Closing):
    """`undrift.stores.base.Store` in the file ``undrift.db`` of a home folder; made by `open`."""

    def __init__(self, path: Path, connection: apsw.Connection | None, busy_timeout_ms: int) -> None:
        self.path = path
        self.busy_timeout_ms = busy_timeout_ms
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        self._connection = connection
        self._is_makeshift = False
        self._frozen: read_only.State | None = None  # of a store that cannot be written, as it was when it was read
        self._identity = files.identity(path)

    @classmethod
    def open(cls, home: str | os.PathLike[str], *, create: bool = True, busy_timeout_ms: int = 5_000) -> Self:
        """Open the store of a home folder.

        Args:
            home: The folder; made for its owner alone (0700) where it is absent, the file in it likewise (0600).
            create: False only opens what is there, for a look into it.
            busy_timeout_ms: How long to wait for other processes, at least 0.

        Raises:
            StoreError: There is none and `create` is False, or it cannot be opened; the message says what to do.
            StoreVersionError: It was written by a newer undrift; it was not changed.
            StoreCorrupt: It is not a database, or damaged; it was not changed.

        Source: RELIABILITY S4, S11, R5, R8, R13.
        """
        if not os.fspath(home):
            raise StoreError("the home folder has an empty name; choose another --home")
        with _as_store_errors(home):
            folder = Path(os.path.realpath(home))  # the user's own links count, one planted in its place does not
            with _OPENING.setdefault(folder, threading.Lock()):
                path = prepare_file(folder, create=create)
                known = newest.noted(folder)
                with _as_store_errors(path):
                    store = cls(path, None, busy_timeout_ms)
                    store._connection = store._reconnected()
                    if store._is_makeshift:
                        store._drop()  # what is there can be read; each use tries anew
                    elif (lost := newest.loss(folder, store._connection, known)) and newest.accept(folder, lost):
                        _log.warning("%s: %s. `undrift doctor` says what to do", path, lost)
                    return store

    def commit(
        self,
        session_id: str,
        kind: str,
        *,
        at_ms: int,
        originals: Sequence[Original] = (),
        decisions: Sequence[Decision] = (),
        tasks: Sequence[TaskUpdate] = (),
        tags: Sequence[Tag] = (),
        facts: Sequence[FactChange] = (),
        run: Sequence[RunChange] = (),
        memories: Sequence[MemoryUpdate] = (),
        payload: Mapping[str, Any] | None = None,
        also: Callable[[apsw.Connection], None] | None = None,
        based_on: int | None = None,
    ) -> int:
        """Write one operation and all that belongs to it in one transaction; see `Store.commit`.

        Args:
            also: Writes more in the same transaction, of what is derived.
            based_on: The newest operation of the session that was known when this was decided; nothing is written where
                the session was taken back in time since.
        """
        if not session_id:
            raise InputError("a session id must not be empty")
        for original in originals:
            if original.session_id != session_id:
                raise InputError(f"original {original.ref}: is of session {original.session_id!r}, not {session_id!r}")
        operation = rows.operation_row(session_id, kind, at_ms, payload)
        new_originals = [rows.original_row(original) for original in originals]
        new_decisions = [rows.decision_row(session_id, decision) for decision in decisions]
        changed = tasks_table.prepared(session_id, tasks, tags) if tasks or tags else None
        learned = facts_table.prepared(session_id, facts) if facts else None
        went_on = dispatch_table.prepared(session_id, run) if run else None
        stated = memories_table.prepared(session_id, memories) if memories else None

        def written(connection: apsw.Connection) -> int:
            if based_on is not None and connection.execute(_REWOUND, (rows.key(session_id), based_on)).fetchall():
                raise StoreError(
                    f"session {session_id[:64]!r} was taken back in time, or purged, meanwhile; nothing was written"
                )
            seq = write(connection, operation, new_originals, new_decisions, changed, stated, learned, went_on)
            if also is not None:
                also(connection)
            return seq

        with self._lock, _Use(self) as connection:
            try:
                with transaction(connection):
                    seq = written(connection)
            except apsw.Error as error:
                if not search.damaged(error):
                    raise
                with transaction(connection):  # what is derived must not stand in the way of the truth
                    search.rebuild(connection)
                    seq = written(connection)
            newest.note(self.path.parent, seq)
            return seq

    def rewind(
        self,
        session_id: str,
        then: int,
        *,
        kind: str,
        at_ms: int,
        originals: Sequence[Original] = (),
        payload: Mapping[str, Any],
    ) -> tuple[int, timeline.Change]:
        """Put in force what was in force in a session right after an operation; nothing is deleted.

        Args:
            session_id: The session; what others have changed stays.
            then: The operation; 0 for before the first.
            kind: Of this operation, for the log: ``rewind`` or ``undo``.
            at_ms: When, in Unix milliseconds.
            originals: Written with it.
            payload: JSON values for the log.

        Returns:
            This operation's number, and what was closed and opened.

        Raises:
            StoreError: Nothing has changed.
        """
        operation = rows.operation_row(session_id, kind, at_ms, payload)
        new_originals = [rows.original_row(original) for original in originals]
        with self._lock, _Use(self) as connection, transaction(connection):
            seq = write(connection, operation, new_originals, ())
            change = timeline.change(connection, rows.key(session_id), then, seq)
            facts_table.rewind(connection, session_id, then, seq)
            if change.touches_buffer(connection):
                search.rebuild(connection)
            return seq, change

    def state(self, session_id: str, seq: int | None) -> dict[str, dict[str, bytes]]:
        """Return what is in force in a session: kind of record to key to digest, now or right after an operation."""
        with self._lock, _Use(self) as connection:
            return timeline.state(connection, rows.key(session_id), seq)

    def last_operation(self) -> int:
        """Return the sequence number of the newest operation of the home; 0 when there is none."""
        return self._read("SELECT max(seq) FROM operations")[0][0] or 0

    @contextmanager
    def using(self) -> Iterator[apsw.Connection]:
        """Hold the lock and give the connection; faults of the disk come out as `StoreError`."""
        with self._lock, _Use(self) as connection:
            yield connection

    def decided(self, session_id: str, known: Known | None = None) -> tuple[Decision, ...]:
        """Return every decision of a session; see `Store.decided`."""
        with self._lock, _Use(self) as connection:
            return tuple(read(connection, session_id, DECISIONS, known.decisions if known else None))

    def decisions(self, session_id: str) -> dict[str, Decision]:
        """Return the newest decision about each entry; see `Store.decisions`."""
        return {decision.entry_id: decision for decision in self.decided(session_id)}

    def decision(self, ref: str) -> Decision | None:
        """Return the newest decision that carries this reference, or None."""
        found = next(map(rows.decision_from, self._read(_DECISION, rows.key(ref))), None)
        if found is not None and found.ref != ref:
            raise StoreCorrupt(f"decision about {ref!r}: {_WRONG_WAY}")
        return found

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        """Return the buffer entries that no ``pruned`` decision removed, oldest first; `seq` is the store's own number."""
        found = map(rows.original_from, self._of(session_id, _BUFFER, rows.ORIGINAL_SESSION))
        return tuple(replace(stored.original.entry, seq=stored.number) for stored in found)

    def pins(self, session_id: str, known: Known | None = None) -> tuple[Original, ...]:
        """Return the originals with source ``pin``, oldest first; see `Store.decided`."""
        with self._lock, _Use(self) as connection:
            return tuple(read(connection, session_id, PINS, known.pins if known else None))

    def original(self, ref: str) -> Original:
        """Return an original; see `Store.original`."""
        for row in self._read(_BY_REF, rows.key(ref), ref=ref):
            found = rows.original_from(row).original
            if found.ref == ref:
                return found
            raise StoreCorrupt(f"original {ref!r}: {_WRONG_WAY}")
        if self._read(_DECISION, rows.key(ref)):  # no answer and a damaged index must not look alike
            raise StoreCorrupt(f"original {ref!r} is not found, though a decision names it; {_WRONG_WAY}")
        raise RecallError(f"no original {ref[:64]!r} in {self.path.parent}; check the reference and --home")

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        """Return the newest original of an entry; see `Store.original`."""
        for row in self._read(_BY_ENTRY, rows.key(session_id), rows.key(entry_id)):
            found = rows.original_from(row).original
            if (found.session_id, found.entry.id) == (session_id, entry_id):
                return found
            raise StoreCorrupt(f"original of entry {entry_id!r}: {_WRONG_WAY}")
        if self._read(_DECIDED, rows.key(session_id), rows.key(entry_id)):
            raise StoreCorrupt(f"the original of entry {entry_id!r} is not found, though it was decided; {_WRONG_WAY}")
        raise RecallError(
            f"session {session_id[:64]!r} has no original of an entry {entry_id[:64]!r}; check both ids and --home"
        )

    def find(self, query: str, *, session_id: str | None = None, limit: int = 10) -> tuple[Found, ...]:
        """Search what left the windows by words, best first; see `Store.find`."""
        if limit <= 0:
            return ()
        with self._lock, _Use(self) as connection:
            matches = search.matches(connection, query, session_id, limit)
            found = [self._found(connection, match) for match in matches]
        # The index compares session ids by their words; this one compares them exactly.
        return tuple(one for one in found if session_id is None or one.session_id == session_id)

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return every session of the home, the one written last first."""
        return tuple(map(rows.session_from, self._read(_SESSIONS)))

    def newest_session(self) -> str | None:
        """Return the session that was written last, without a look at the others; None where there is none."""
        return next((rows.shown_text(row[0]) for row in self._read(_NEWEST)), None)

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        """Return the log of a session, or its operations of some kinds, oldest first."""
        which = "" if kinds is None else f"AND kind IN ({', '.join('?' * len(kinds))})"
        found = self._of(session_id, _OPERATIONS.format(which), rows.OPERATION_SESSION, *(kinds or ()))
        return tuple(map(rows.operation_from, found))

    def last_seq(self, session_id: str) -> int:
        """Return the sequence number of the session's newest operation; 0 when there is none."""
        return self._read(_LAST, rows.key(session_id))[0][0] or 0

    def tasks(self, session_id: str, known: Known | None = None) -> Tasks:
        """Return the tasks of a session and the tags of its calls; see `Store.tasks`."""
        with self._lock, _Use(self) as connection:
            return tasks_table.find(connection, session_id, known)

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        """Return the versions of the facts of a session; see `Store.facts`."""
        with self._lock, _Use(self) as connection:
            return facts_table.find(connection, session_id, as_of)

    def facts_state(self, session_id: str) -> tuple[int, int]:
        """Return how far the facts of a session have come; see `Store.facts_state`."""
        with self._lock, _Use(self) as connection:
            return facts_table.last_seq(connection, session_id), facts_table.next_sequence(connection, session_id)

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        """Make the facts of a session what they were; see `Store.rewind_facts`."""
        operation = rows.operation_row(session_id, "rewind-facts", at_ms, {"to": to})
        with self._lock, _Use(self) as connection, transaction(connection):
            seq = write(connection, operation, (), ())
            facts_table.rewind(connection, session_id, to, seq)
            return seq

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """Return what a dispatcher keeps of a run; see `Store.run_records`."""
        with self._lock, _Use(self) as connection:
            return dispatch_table.find(connection, session_id, names)

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        """Return which of these marks sessions have left; see `Store.find_marks`."""
        with self._lock, _Use(self) as connection:
            return tuple(marks_table.find(connection, texts))

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        """Leave marks of a session; see `Store.add_marks`."""
        if not session_id:
            raise InputError("a session id must not be empty")
        with self._lock, _Use(self) as connection:
            try:
                connection.execute("PRAGMA synchronous = NORMAL")  # 0.01 ms a write instead of 4 ms
                with transaction(connection):
                    done = marks_table.add(connection, session_id, marks, is_claim=is_claim)
                connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                if self._frozen is None:
                    self._drop()  # whatever happened, no connection stays that does not wait for the disk
                raise
            return done

    def rebuild_search(self) -> None:
        """Make the search index anew from the originals; the same answers come out."""
        with self._lock, _Use(self) as connection, transaction(connection):
            search.rebuild(connection)

    def integrity(self) -> tuple[str, ...]:
        """Read everything and return what is wrong, in sentences; empty when all is well."""
        with self._lock, _Use(self) as connection:
            return tuple(problems(connection))

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._drop()

    def _read(self, sql: str, *bindings: str | bytes, ref: str = "") -> list[rows.Row]:
        with self._lock, _Use(self, ref) as connection:
            return connection.execute(sql, bindings).fetchall()

    def _of(self, session_id: str, sql: str, column: int, *more: str) -> list[rows.Row]:
        """Read rows of one session; a damaged index may lead to those of another one, each of them whole."""
        found = self._read(sql, rows.key(session_id), *more)
        if any(row[column] != rows.raw(session_id) for row in found):
            raise StoreCorrupt(f"session {session_id[:64]!r}: {_WRONG_WAY}")
        return found

    def _found(self, connection: apsw.Connection, match: search.Match) -> Found:
        (row,) = connection.execute(_BY_NUMBER, (match.number,)).fetchall()
        try:
            original = rows.original_from(row).original
        except StoreCorrupt:
            # The rest is served, and this one is not passed over: a missing answer must not look like none.
            (names,) = connection.execute(_NAMES, (match.number,)).fetchall()
            ref, session_id, entry_id, kind = (rows.shown_text(name) for name in names)
            return Found(ref, session_id, entry_id, kind, _DAMAGED, match.score)
        entry = original.entry
        return Found(original.ref, original.session_id, entry.id, entry.type, match.snippet, match.score)

    def _connected(self) -> apsw.Connection:
        if self._closed:
            raise StoreError(f"{self.path}: the store is closed; open it again")
        if self._process != os.getpid():
            raise StoreError(f"{self.path}: the store was opened before a fork; open another one in this process")
        if self._frozen is not None and self._frozen != read_only.state(self.path):
            self._drop()
        if self._connection is None:
            with _as_store_errors(self.path):
                self._connection = self._reconnected()
        elif self._identity != files.identity(self.path):
            # What is written to a file without a name is gone with the process, so nothing may be acknowledged.
            self._drop()
            raise StoreError(f"{self.path}: the file was moved or deleted while it was in use; put it back or restart")
        return self._connection

    def _reconnected(self) -> apsw.Connection:
        self._is_makeshift, self._frozen = False, None
        try:
            connection = connect(self.path, self.busy_timeout_ms)
        except (apsw.Error, OSError) as error:
            unwritable = read_only.is_unwritable(self.path)
            if not unwritable and not (isinstance(error, apsw.Error) and is_without_room(error)):
                raise
            self._frozen = read_only.state(self.path) if unwritable else None
            self._is_makeshift = not unwritable
            connection = _makeshift(self.path, self.busy_timeout_ms, error, is_unwritable=unwritable)
        self._identity = files.identity(self.path)
        return connection

    def _drop(self) -> None:
        connection, self._connection, self._frozen = self._connection, None, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(True)


class _Use:
    """The connection for one who holds the lock; after a fault of the disk, the next use opens a new one (R4).

    A class, as every read comes through here: a generator makes a read a tenth dearer.
    """

    __slots__ = ("_ref", "_store")

    def __init__(self, store: SqliteStore, ref: str = "") -> None:
        self._store, self._ref = store, ref

    def __enter__(self) -> apsw.Connection:
        return self._store._connected()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        store = self._store
        try:
            if isinstance(error, apsw.Error):
                raise self._translated(error) from error
            if isinstance(error, UnicodeDecodeError):  # a flipped bit made a text of what is none
                raise StoreCorrupt(f"{store.path}: a record cannot be read: {error}; {rows.REMEDY}") from error
        finally:
            connection = store._connection
            if connection is not None and (store._is_makeshift or connection.in_transaction):
                store._drop()  # others wait for it; or the roll-back failed as well

    def _translated(self, error: apsw.Error) -> StoreError:
        store = self._store
        if faults.fault_of(error).reopen and not (store._frozen and isinstance(error, apsw.ReadOnlyError)):
            store._drop()  # a refused write of what cannot be written is no fault: another copy would be as good
        about = f"original {self._ref[:64]!r}: " if self._ref else ""
        if isinstance(error, apsw.BusyError) and (pids := holders.holders(store.path, writer=True)):
            about = f"{about}{holders.named(pids)} holds it: "
        return faults.from_driver(error, store.path, about)


def _makeshift(
    path: Path, busy_timeout_ms: int, error: apsw.Error | OSError, *, is_unwritable: bool
) -> apsw.Connection:
    """Open to read where nothing can be written; where that fails as well, the first error is the one to tell."""
    try:
        return read_only.connect_as_it_is(path) if is_unwritable else connect_to_read(path, busy_timeout_ms)
    except (apsw.Error, OSError):
        raise error from None


@contextmanager
def _as_store_errors(place: object) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise faults.from_driver(error, place) from error
    except (OSError, ValueError) as error:
        raise faults.from_system(error, place) from error
