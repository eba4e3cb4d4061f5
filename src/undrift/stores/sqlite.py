"""The durable store in one SQLite file: an append-only log of operations, originals with their SHA-256, decisions.

Law: a method that returned has its operation on disk (marks alone do not wait for it); one that raised has changed nothing. One connection behind a lock
serves all threads (`stores.database`).
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import apsw

from undrift.errors import InputError, RecallError, StoreCorrupt
from undrift.stores import dispatch as dispatch_table
from undrift.stores import documents as documents_table
from undrift.stores import facts as facts_table
from undrift.stores import marks as marks_table
from undrift.stores import newest, purging, rewinding, rows, search, timeline
from undrift.stores import tasks as tasks_table
from undrift.stores.base import Context, Found, Known, KnownMark, Mark, Operation, SessionRow
from undrift.stores.cleaning import clean
from undrift.stores.database import Database
from undrift.stores.decisions import DECISION_COLUMNS, decision_from
from undrift.stores.documents import DocumentChange, DocumentReading
from undrift.stores.integrity import problems
from undrift.stores.known import DECISIONS, PINS, read
from undrift.stores.memory_index import MemoryTable
from undrift.stores.migrations import transaction
from undrift.stores.operations import (
    OPERATION_COLUMNS,
    OPERATION_SESSION,
    SESSIONS,
    operation_from,
    operation_row,
    session_from,
)
from undrift.stores.originals import BUFFER, ORIGINAL_COLUMNS, ORIGINAL_SESSION, original_from
from undrift.stores.purge import Aim
from undrift.stores.purging import Destroyed, Traces
from undrift.stores.ratings import ratings
from undrift.stores.traces import Piece
from undrift.stores.write import check_scope, check_since, prepared, write
from undrift.values.closing import Closing
from undrift.values.facts import FactVersion
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Original, Tasks

__all__ = ["SqliteStore"]

T = TypeVar("T")

_ORIGINALS = f"SELECT {ORIGINAL_COLUMNS} FROM originals "  # noqa: S608
_BY_REF = _ORIGINALS + "WHERE ref = ?"
_BY_NUMBER = _ORIGINALS + "WHERE number = ?"
_BY_ENTRY = _ORIGINALS + "WHERE session_id = ? AND entry_id = ? AND to_seq IS NULL ORDER BY number DESC LIMIT 1"
_LAST = "SELECT max(seq) FROM operations WHERE session_id = ?"
_DECISION = f"""SELECT {DECISION_COLUMNS} FROM decisions
    WHERE ref = ? AND to_seq IS NULL ORDER BY number DESC LIMIT 1"""  # noqa: S608
_OPERATIONS = f"SELECT {OPERATION_COLUMNS} FROM operations WHERE session_id = ? {{}} ORDER BY seq"  # noqa: S608
_NEWEST = "SELECT CAST(session_id AS BLOB) FROM operations ORDER BY seq DESC LIMIT 1"
_NAMES = """SELECT CAST(ref AS BLOB), CAST(session_id AS BLOB), CAST(entry_id AS BLOB), CAST(type AS BLOB)
    FROM originals WHERE number = ?"""
_DECIDED = "SELECT 1 FROM decisions WHERE session_id = ? AND entry_id = ? AND to_seq IS NULL AND ref IS NOT NULL"
_WRONG_WAY = f"an index of the file is damaged; {rows.REMEDY}"
_DAMAGED = "(damaged on disk: what is there does not match its SHA-256)"


class SqliteStore(Closing):
    """`undrift.stores.base.Store` in the file ``undrift.db`` of a home folder; made by `open`."""

    scope = Scope()
    """A file is one person's: what it holds is theirs, whatever the session."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        return cls(Database.open(home, create=create, busy_timeout_ms=busy_timeout_ms))

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def commit(
        self, context: Context, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any] | None = None
    ) -> int:
        """Write one operation and its changes in one transaction; see `Store.commit`."""
        session_id, based_on = context.scope.session, context.based_on
        check_scope(self.scope, context.scope)
        operation = operation_row(session_id, kind, context.at_ms, payload)
        ready = prepared(session_id, changes)

        def written(connection: apsw.Connection) -> int:
            if based_on is not None:
                check_since(connection, session_id, based_on)
            return write(connection, session_id, operation, ready)

        return self._written(written)

    def _written(self, written: Callable[[apsw.Connection], int]) -> int:
        """Write in one transaction; where the search index stands in the way, it is rebuilt first."""
        with self._database.using() as connection:
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
        self, context: Context, then: int, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any]
    ) -> tuple[int, rewinding.Change]:
        """Activate what was active in a session right after an operation; nothing is deleted.

        Args:
            context: Whose operation it is; what other sessions have changed stays.
            then: The operation; 0 for before the first.
            kind: Of this operation, for the log: ``rewind`` or ``undo``.
            changes: Written with it.
            payload: JSON values for the log.

        Returns:
            This operation's number, and what was closed and opened.

        Raises:
            StoreError: Nothing has changed.
        """
        session_id = context.scope.session
        check_scope(self.scope, context.scope)
        operation = operation_row(session_id, kind, context.at_ms, payload)
        ready = prepared(session_id, changes)
        with self._database.using() as connection, transaction(connection):
            seq = write(connection, session_id, operation, ready)
            change = rewinding.change(connection, rows.key(session_id), then, seq)
            facts_table.rewind(connection, session_id, then, seq)
            if change.touches_buffer(connection):
                search.rebuild(connection)
            return seq, change

    def state(self, session_id: str, seq: int | None) -> dict[str, dict[str, bytes]]:
        """Return what is in force in a session: kind of record to key to digest, now or right after an operation."""
        with self._database.using() as connection:
            return rewinding.state(connection, rows.key(session_id), seq)

    def last_operation(self) -> int:
        """Return the sequence number of the newest operation of the home; 0 when there is none."""
        return self._read("SELECT max(seq) FROM operations")[0][0] or 0

    def notes_at(self, session_id: str, seq: int) -> str:
        """Return the reference of a session's notes as they were last stored before a moment; empty where there were none."""
        with self._database.using() as connection:
            found = timeline.note(connection, rows.key(session_id), seq)
        return str((operation_from(found).payload or {})["scratchpad"]) if found is not None else ""

    def purge(self, aims: Sequence[Aim], blank: Callable[[Decision], Decision], *, at_ms: int) -> Destroyed | None:
        """Destroy what the first of some aims names that names anything; see `purging.purge`."""
        return purging.purge(self._database, aims, blank, at_ms)

    def clean(self) -> int:
        """Take out of the file what deleted records left in it; see `cleaning.clean`."""
        return clean(self._database.using, self._database.busy_timeout_ms)

    def traces(self, pieces: Sequence[Piece]) -> Traces:
        """Look in every file of the home for pieces of what was destroyed; see `purging.traces_of`."""
        return purging.traces_of(self._database, pieces)

    @property
    def memories(self) -> MemoryTable:
        """The long-term memories of the home."""
        return MemoryTable(self._database)

    def ratings(self, most: int) -> list[tuple[int, int]]:
        """Return how many results the newest rated searches had, and how many of these were of use; the newest first."""
        with self._database.using() as connection:
            return ratings(connection, most)

    @contextmanager
    def documents(self, session_id: str) -> Iterator[DocumentReading]:
        """Give the documents of a session to read; others of this process wait until that is done."""
        with self._database.using() as connection:
            yield DocumentReading(connection, session_id)

    def document_owners(self, kind: str) -> list[str]:
        """Return the sessions that have documents of a kind."""
        with self._database.using() as connection:
            return documents_table.owners(connection, kind)

    def change_documents(
        self, session_id: str, act: Callable[[DocumentChange], T], *, at_ms: int, payload: Mapping[str, Any]
    ) -> T:
        """Make one change of a session's documents, whole or not at all, and return what it returns.

        `act` reads and writes; what it raises is raised, and then nothing was written. It may be called again where the
        search index was damaged and had to be rebuilt first.
        """
        if not session_id:
            raise InputError("a session id must not be empty")
        operation = operation_row(session_id, "documents", at_ms, payload)
        done: list[T] = []

        def written(connection: apsw.Connection) -> int:
            seq = write(connection, session_id, operation)
            done[:] = [act(DocumentChange(connection, session_id, seq))]
            return seq

        self._written(written)
        return done[0]

    def decided(self, session_id: str, known: Known | None = None) -> tuple[Decision, ...]:
        """Return every decision of a session; see `Store.decided`."""
        with self._database.using() as connection:
            return tuple(read(connection, session_id, DECISIONS, known.decisions if known else None))

    def decisions(self, session_id: str) -> dict[str, Decision]:
        """Return the newest decision about each entry; see `Store.decisions`."""
        return {decision.entry_id: decision for decision in self.decided(session_id)}

    def decision(self, ref: str) -> Decision | None:
        """Return the newest decision that carries this reference, or None."""
        found = next(map(decision_from, self._read(_DECISION, rows.key(ref))), None)
        if found is not None and found.ref != ref:
            raise StoreCorrupt(f"decision about {ref!r}: {_WRONG_WAY}")
        return found

    def buffer(self, session_id: str) -> tuple[ContextEntry, ...]:
        """Return the buffer entries that no ``pruned`` decision removed, oldest first; `seq` is the store's own number."""
        found = map(original_from, self._of(session_id, BUFFER, ORIGINAL_SESSION))
        return tuple(replace(stored.original.entry, seq=stored.number) for stored in found)

    def pins(self, session_id: str, known: Known | None = None) -> tuple[Original, ...]:
        """Return the originals with source ``pin``, oldest first; see `Store.decided`."""
        with self._database.using() as connection:
            return tuple(read(connection, session_id, PINS, known.pins if known else None))

    def original(self, ref: str) -> Original:
        """Return an original; see `Store.original`."""
        for row in self._read(_BY_REF, rows.key(ref), ref=ref):
            found = original_from(row).original
            if found.ref == ref:
                return found
            raise StoreCorrupt(f"original {ref!r}: {_WRONG_WAY}")
        if self._read(_DECISION, rows.key(ref)):  # no answer and a damaged index must not look alike
            raise StoreCorrupt(f"original {ref!r} is not found, though a decision names it; {_WRONG_WAY}")
        raise RecallError(f"no original {ref[:64]!r} in {self.path.parent}; check the reference and --home")

    def by_entry(self, session_id: str, entry_id: str) -> Original:
        """Return the newest original of an entry; see `Store.original`."""
        for row in self._read(_BY_ENTRY, rows.key(session_id), rows.key(entry_id)):
            found = original_from(row).original
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
        with self._database.using() as connection:
            matches = search.matches(connection, query, session_id, limit)
            found = [self._found(connection, match) for match in matches]
        # The index compares session ids by their words; this one compares them exactly.
        return tuple(one for one in found if session_id is None or one.session_id == session_id)

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return every session of the home, the one written last first."""
        return tuple(map(session_from, self._read(SESSIONS)))

    def newest_session(self) -> str | None:
        """Return the session that was written last, without a look at the others; None where there is none."""
        return next((rows.shown_text(row[0]) for row in self._read(_NEWEST)), None)

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        """Return the log of a session, or its operations of some kinds, oldest first."""
        which = "" if kinds is None else f"AND kind IN ({', '.join('?' * len(kinds))})"
        found = self._of(session_id, _OPERATIONS.format(which), OPERATION_SESSION, *(kinds or ()))
        return tuple(map(operation_from, found))

    def last_seq(self, session_id: str, *, until: int | None = None) -> int:
        """Return the sequence number of the session's newest operation, or of its newest up to a number; 0: none."""
        if until is None:
            return self._read(_LAST, rows.key(session_id))[0][0] or 0
        with self._database.using() as connection:
            return timeline.last(connection, rows.key(session_id), until)

    def tasks(self, session_id: str, known: Known | None = None) -> Tasks:
        """Return the tasks of a session and the tags of its calls; see `Store.tasks`."""
        with self._database.using() as connection:
            return tasks_table.find(connection, session_id, known)

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        """Return the versions of the facts of a session; see `Store.facts`."""
        with self._database.using() as connection:
            return facts_table.find(connection, session_id, as_of)

    def facts_state(self, session_id: str) -> tuple[int, int]:
        """Return how far the facts of a session have come; see `Store.facts_state`."""
        with self._database.using() as connection:
            return facts_table.last_seq(connection, session_id), facts_table.next_sequence(connection, session_id)

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        """Make the facts of a session what they were; see `Store.rewind_facts`."""
        operation = operation_row(session_id, "rewind-facts", at_ms, {"to": to})
        with self._database.using() as connection, transaction(connection):
            seq = write(connection, session_id, operation)
            facts_table.rewind(connection, session_id, to, seq)
            return seq

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """Return what a dispatcher keeps of a run; see `Store.run_records`."""
        with self._database.using() as connection:
            return dispatch_table.find(connection, session_id, names)

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        """Return which of these marks sessions have left; see `Store.find_marks`."""
        with self._database.using() as connection:
            return tuple(marks_table.find(connection, texts))

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        """Leave marks of a session; see `Store.add_marks`."""
        if not session_id:
            raise InputError("a session id must not be empty")
        with self._database.using() as connection:
            try:
                connection.execute("PRAGMA synchronous = NORMAL")  # 0.01 ms a write instead of 4 ms
                with transaction(connection):
                    done = marks_table.add(connection, session_id, marks, is_claim=is_claim)
                connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                self._database.forsake()  # whatever happened, no connection stays that does not wait for the disk
                raise
            return done

    def rebuild_search(self) -> None:
        """Make the search index anew from the originals; the same answers come out."""
        with self._database.using() as connection, transaction(connection):
            search.rebuild(connection)

    def integrity(self) -> tuple[str, ...]:
        """Read everything and return what is wrong, in sentences; empty when all is well."""
        with self._database.using() as connection:
            return tuple(problems(connection))

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self._database.close()

    def _read(self, sql: str, *bindings: str | bytes, ref: str = "") -> list[rows.Row]:
        with self._database.using(ref) as connection:
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
            original = original_from(row).original
        except StoreCorrupt:
            # The rest is served, and this one is not passed over: a missing answer must not look like none.
            (names,) = connection.execute(_NAMES, (match.number,)).fetchall()
            ref, session_id, entry_id, kind = (rows.shown_text(name) for name in names)
            return Found(ref, session_id, entry_id, kind, _DAMAGED, match.score)
        entry = original.entry
        return Found(original.ref, original.session_id, entry.id, entry.type, match.snippet, match.score)
