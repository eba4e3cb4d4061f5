"""Documents that agent frameworks keep under a session: read as they are now, changed as one.

Law: a change reads what it changes inside its own transaction, so that of two processes none overwrites what it has not
seen; when it returns it is on disk. Nothing is decided here about what a document means.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import apsw

from undrift.errors import InputError
from undrift.settings import Settings
from undrift.stores import documents
from undrift.stores.documents import Document, Path
from undrift.stores.sqlite import SqliteStore
from undrift.values.clock import now_ms
from undrift.values.closing import Closing

__all__ = ["Change", "Documents", "Reading"]

_LAST_SEQ = "SELECT max(seq) FROM operations"

T = TypeVar("T")


class Reading:
    """The documents of one session, as they are now."""

    def __init__(self, connection: apsw.Connection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    def find(self, kind: str, path: Path) -> Document | None:
        """Return the document under a path, or None."""
        return documents.find(self._connection, self._session_id, kind, path)

    def under(
        self, kind: str, prefix: Path = (), *, last: int | None = None, with_content: bool = True
    ) -> list[Document]:
        """Return the documents whose path begins with a prefix; see `documents.under`."""
        return documents.under(self._connection, self._session_id, kind, prefix, last=last, with_content=with_content)

    def numbers(self, kind: str) -> set[int]:
        """Return the numbers of the documents of a kind: two equal sets are the same documents."""
        return documents.numbers(self._connection, self._session_id, kind)


class Change(Reading):
    """One change while it is made: what it reads is what it changes."""

    def __init__(self, connection: apsw.Connection, session_id: str, seq: int) -> None:
        super().__init__(connection, session_id)
        self._seq = seq

    def put(self, kind: str, document: Document) -> None:
        """Write a document under its path."""
        documents.put(self._connection, self._session_id, kind, document, self._seq)

    def close(self, gone: Iterable[Document]) -> None:
        """Take documents away that this change has read."""
        documents.close(self._connection, gone, self._seq)


class Documents(Closing):
    """The documents of the sessions of one home; opened by `open`, a context manager. Threads may share it.

    Args:
        store: Open; closed by `close`.
        settings: In force.
        clock: Gives Unix milliseconds.
    """

    def __init__(self, store: SqliteStore, settings: Settings, clock: Callable[[], int]) -> None:
        self.settings = settings
        self.now_ms = clock
        self._store = store

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        clock: Callable[[], int] | None = None,
    ) -> Self:
        """Open the documents of a home folder; see `Session.open` for the arguments.

        Raises:
            SettingsError: A setting is wrong.
            StoreError: The store cannot be opened; the message says why and what to do.
        """
        chosen = settings if settings is not None else Settings.from_environment()
        store = SqliteStore.open(home if home is not None else chosen.home)
        return cls(store, chosen, clock or now_ms)

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self._store.close()

    @contextmanager
    def reading(self, session_id: str) -> Iterator[Reading]:
        """Give the documents of a session to read; others of this process wait until that is done."""
        with self._store.using() as connection:
            yield Reading(connection, session_id)

    def owners(self, kind: str) -> list[str]:
        """Return the sessions that have documents of a kind."""
        with self._store.using() as connection:
            return documents.owners(connection, kind)

    def change(self, session_id: str, act: Callable[[Change], T], *, about: str) -> T:
        """Make one change of a session's documents, whole or not at all, and return what it returns.

        Args:
            session_id: Whose; not empty.
            act: Reads and writes. What it raises is raised, and then nothing was written. It may be called again where
                the search index was damaged and had to be made anew first.
            about: What this is, for the log of operations.

        Raises:
            StoreError: Nothing was written.
        """
        if not isinstance(session_id, str) or not session_id:
            raise InputError(f"a session id must be a non-empty string, not {session_id!r}")
        done: list[T] = []

        def also(connection: apsw.Connection) -> None:
            seqs: Sequence[Any] = connection.execute(_LAST_SEQ).fetchall()  # of the operation that was just written
            done[:] = [act(Change(connection, session_id, seqs[0][0]))]

        self._store.commit(session_id, "documents", at_ms=self.now_ms(), payload={"about": about}, also=also)
        return done[0]
