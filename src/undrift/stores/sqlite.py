"""The durable store in one SQLite file: an append-only log of operations, originals with their SHA-256, decisions.

Law: a method that returned has its operation on disk (only marks do not wait for it); a method that raised has changed
nothing. One connection with a lock serves all threads (`stores.database`).
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import apsw

from undrift.errors import InputError
from undrift.stores import checked, indexing, newest, purging, rewinding, rows, search, sweeping, timeline
from undrift.stores import dispatch as dispatch_table
from undrift.stores import documents as documents_table
from undrift.stores import facts as facts_table
from undrift.stores import marks as marks_table
from undrift.stores import readings as readings_table
from undrift.stores import tasks as tasks_table
from undrift.stores.backup import back_up, restore_backup
from undrift.stores.base import Aim, Context, Destroyed, Known, KnownMark, Mark, Moved, Operation, Remains, SessionRow
from undrift.stores.cleaning import clean
from undrift.stores.connection import NAME, SIDE_FILES
from undrift.stores.database import Database
from undrift.stores.document_contract import DocumentChange
from undrift.stores.documents import StoredDocuments
from undrift.stores.embed import Embedder
from undrift.stores.integrity import problems
from undrift.stores.memory_index import Making, StoredMemories
from undrift.stores.memory_values import Heir
from undrift.stores.migrations import transaction
from undrift.stores.operations import (
    OPERATION_COLUMNS,
    OPERATION_SESSION,
    SESSIONS,
    operation_from,
    operation_row,
    session_from,
)
from undrift.stores.pack import pack_some
from undrift.stores.ratings import ratings
from undrift.stores.sqlite_originals import SqliteOriginals
from undrift.stores.write import check_scope, check_since, prepared, write
from undrift.values.closing import Closing
from undrift.values.facts import FactVersion
from undrift.values.readings import Heads, StretchReading
from undrift.values.retention import SessionSize
from undrift.values.scope import Scope
from undrift.values.window import Decision, Tasks

__all__ = ["SqliteStore"]

T = TypeVar("T")

_OWNER = Scope()
"""A folder belongs to one person: a user who can read its file can read all of it."""
_LAST = "SELECT max(seq) FROM operations WHERE session_id = ?"
_OPERATIONS = f"SELECT {OPERATION_COLUMNS} FROM operations WHERE session_id = ? {{}} ORDER BY seq"  # noqa: S608
_NEWEST = "SELECT CAST(session_id AS BLOB) FROM operations ORDER BY seq DESC LIMIT 1"


class SqliteStore(SqliteOriginals, Closing):
    """`undrift.stores.contract.Store` in the file ``undrift.db`` of a home folder; use `open` to get one.

    The contract describes each method; the docstrings here are about the file.
    """

    own_files = (*(f"{NAME}{suffix}" for suffix in SIDE_FILES), newest.NOTED, newest.CHECKED)
    back_up = staticmethod(back_up)
    restore_backup = staticmethod(restore_backup)

    def __init__(self, database: Database, scope: Scope) -> None:
        super().__init__(database)
        self.scope = scope
        self.memories = StoredMemories(database)

    @classmethod
    def open(
        cls, home: str | os.PathLike[str], scope: Scope = _OWNER, *, create: bool = True, busy_timeout_ms: int = 5_000
    ) -> Self:
        """Open the store of a home folder; see `undrift.stores.opening.open_store`.

        The folder (0700) and the file in it (0600) are created for their owner alone.
        """
        if not _OWNER.holds(scope):
            raise InputError(
                f"{os.fspath(home)!r:.200}: a folder keeps the records of one owner, who has no name; it keeps none of {scope}. "
                "Name no organisation, person or project, or use a folder for each"
            )
        return cls(Database.open(home, create=create, busy_timeout_ms=busy_timeout_ms), _OWNER)

    @staticmethod
    def is_there(home: str | os.PathLike[str]) -> bool:
        """Tell whether the file exists, without opening it."""
        return Path(home, NAME).exists()

    @staticmethod
    def written_ns(home: str | os.PathLike[str]) -> int:
        """Return the time of the file's last write."""
        return Path(home, NAME).stat().st_mtime_ns

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def commit(
        self, context: Context, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any] | None = None
    ) -> int:
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
        """Write in one transaction; if the search index is damaged, make it new and write again."""
        with self._database.using() as connection:
            try:
                with transaction(connection):
                    seq = written(connection)
            except apsw.Error as error:
                if not search.damaged(error):
                    raise
                with transaction(connection):  # derived data must not stop a write of the truth
                    search.reset(connection)
                    seq = written(connection)
            newest.note(self.path.parent, seq)
            return seq

    def rewind(
        self, context: Context, then: int, kind: str, changes: Sequence[Any] = (), *, payload: Mapping[str, Any]
    ) -> Moved:
        session_id = context.scope.session
        check_scope(self.scope, context.scope)
        operation = operation_row(session_id, kind, context.at_ms, payload)
        ready = prepared(session_id, changes)
        with self._database.using() as connection, transaction(connection):
            seq = write(connection, session_id, operation, ready)
            change = rewinding.change(connection, rows.key(session_id), then, seq)
            facts_table.rewind(connection, session_id, then, seq)
            if change.touches_buffer(connection):
                search.settle(connection, rows.key(session_id))
            return Moved(seq, *change.counts)

    def state(self, session_id: str, seq: int | None = None) -> dict[str, dict[str, bytes]]:
        return self._database.ask(rewinding.state, rows.key(session_id), seq)

    def notes_at(self, session_id: str, seq: int) -> str:
        with self._database.using() as connection:
            found = timeline.note(connection, rows.key(session_id), seq)
        return str((operation_from(found).payload or {})["scratchpad"]) if found is not None else ""

    def purge(
        self, aims: Sequence[Aim], blank: Callable[[Decision], Decision], *, at_ms: int, heir: Heir | None = None
    ) -> Destroyed | None:
        return purging.purge(self._database, aims, blank, at_ms, heir)

    def clean(self, destroyed: Destroyed, *, search_files: bool = False) -> Remains:
        """Overwrite the remains of a purge in the file, and search the files of the home for more."""
        text = clean(self._database.using, self._database.busy_timeout_ms)
        return purging.traces_of(self._database, destroyed.pieces, search_files)._replace(text=text)

    def sweepable(self) -> tuple[SessionSize, ...]:
        return tuple(self._database.ask(sweeping.sizes))

    def sweep(self, session_id: str, blank: Callable[[Decision], Decision], *, at_ms: int) -> int:
        return sweeping.sweep(self._database.using, session_id, blank, at_ms)

    def search_memories(self, embedder: Embedder | None = None, index: str = "exact") -> StoredMemories:
        """Return the search of memories; LanceDB stores its copy of the vectors next to the file."""
        making: Making | None = None
        if index == "lance":
            from undrift.stores.lance import LanceIndex  # imported only if it is used

            making = partial(LanceIndex, folder=self.path.parent / "vectors")
        return StoredMemories(self._database, embedder, making)

    def next_memory_seq(self) -> int:
        """Return a number greater than the `seq` of every memory: the number of the file's next operation."""
        return int(self._read("SELECT coalesce(max(seq), 0) + 1 FROM operations")[0][0])

    def ratings(self, most: int) -> list[tuple[int, int]]:
        return self._database.ask(ratings, most)

    @contextmanager
    def documents(self, session_id: str) -> Iterator[StoredDocuments]:
        with self._database.using() as connection:
            yield StoredDocuments(connection, session_id)

    def document_owners(self, kind: str) -> list[str]:
        return self._database.ask(documents_table.owners, kind)

    def change_documents(
        self, session_id: str, act: Callable[[DocumentChange], T], *, at_ms: int, payload: Mapping[str, Any]
    ) -> T:
        """Make one change of a session's documents; `act` is called again if the search index was damaged."""
        if not session_id:
            raise InputError("a session id must not be empty")
        operation = operation_row(session_id, "documents", at_ms, payload)
        done: list[T] = []

        def written(connection: apsw.Connection) -> int:
            seq = write(connection, session_id, operation)
            done[:] = [act(StoredDocuments(connection, session_id, seq))]
            return seq

        self._written(written)
        return done[0]

    def sessions(self) -> tuple[SessionRow, ...]:
        return tuple(map(session_from, self._read(SESSIONS)))

    def newest_session(self) -> str | None:
        return next((rows.shown_text(row[0]) for row in self._read(_NEWEST)), None)

    def operations(self, session_id: str, kinds: Collection[str] | None = None) -> tuple[Operation, ...]:
        which = "" if kinds is None else f"AND kind IN ({', '.join('?' * len(kinds))})"
        found = self._of(session_id, _OPERATIONS.format(which), OPERATION_SESSION, *(kinds or ()))
        return tuple(map(operation_from, found))

    def last_seq(self, session_id: str, *, until: int | None = None) -> int:
        if until is None:
            return self._read(_LAST, rows.key(session_id))[0][0] or 0
        return self._database.ask(timeline.last, rows.key(session_id), until)

    def tasks(self, session_id: str, known: Known | None = None) -> Tasks:
        return self._database.ask(tasks_table.find, session_id, known)

    def facts(self, session_id: str, *, as_of: int | None = None) -> tuple[FactVersion, ...]:
        return self._database.ask(facts_table.find, session_id, as_of)

    def facts_state(self, session_id: str) -> tuple[int, int]:
        with self._database.using() as connection:
            return facts_table.last_seq(connection, session_id), facts_table.next_sequence(connection, session_id)

    def rewind_facts(self, session_id: str, to: int, *, at_ms: int) -> int:
        operation = operation_row(session_id, "rewind-facts", at_ms, {"to": to})
        with self._database.using() as connection, transaction(connection):
            seq = write(connection, session_id, operation)
            facts_table.rewind(connection, session_id, to, seq)
            return seq

    def run_records(self, session_id: str, names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any]]:
        return self._database.ask(dispatch_table.find, session_id, names)

    def readings(self, session_id: str, key: str, chosen: Callable[[Heads], Collection[int]]) -> list[StretchReading]:
        return self._database.ask(readings_table.find, session_id, key, chosen)

    def find_marks(self, texts: Sequence[str]) -> tuple[KnownMark, ...]:
        with self._database.using() as connection:
            return tuple(marks_table.find(connection, texts))

    def add_marks(self, session_id: str, marks: Sequence[Mark], *, is_claim: bool = False) -> bool:
        if not session_id:
            raise InputError("a session id must not be empty")
        with self._database.using() as connection:
            try:
                connection.execute("PRAGMA synchronous = NORMAL")  # 0.01 ms a write instead of 4 ms
                with transaction(connection):
                    done = marks_table.add(connection, session_id, marks, is_claim=is_claim)
                connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                self._database.forsake()  # after any error, no connection stays that does not wait for the disk
                raise
            return done

    def rebuild_search(self) -> None:
        with self._database.using() as connection, transaction(connection):
            search.reset(connection)
        indexing.catch_up(self._database.using)

    def pack(self, most_bytes: int) -> int:
        checked.forget(self._database.path)  # the rows that it writes again are read by the next check
        with self._database.using() as connection, transaction(connection):
            return pack_some(connection, most_bytes)

    def integrity(self) -> tuple[str, ...]:
        with self._database.using() as connection:
            return tuple(problems(connection))

    def close(self) -> None:
        self._database.close()
