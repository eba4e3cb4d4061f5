"""Documents that agent frameworks keep under a session: read as they are now, changed as one.

Law: a change reads what it changes inside its own transaction, so that of two processes none overwrites what it has not
seen; when it returns it is on disk. Nothing is decided here about what a document means.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

from undrift.errors import InputError
from undrift.settings import Settings, working_folder
from undrift.stores.contract import Store
from undrift.stores.document_contract import DocumentChange, DocumentReading
from undrift.stores.opening import open_store
from undrift.stores.projects import place_for
from undrift.values.clock import now_ms
from undrift.values.closing import Closing
from undrift.values.scope import Scope

__all__ = ["DocumentChange", "DocumentReading", "Documents"]

T = TypeVar("T")


class Documents(Closing):
    """The documents of the sessions of one home; opened by `open`, a context manager. Threads may share it."""

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], int]) -> None:
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

        Raises SettingsError: a setting is wrong. Raises StoreError: the store cannot be opened; the message says why
        and what to do.
        """
        chosen = settings if settings is not None else Settings.from_environment()
        store = open_store(place_for(home, chosen.home, working_folder()), Scope())
        return cls(store, chosen, clock or now_ms)

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self._store.close()

    @contextmanager
    def reading(self, session_id: str) -> Iterator[DocumentReading]:
        """Give the documents of a session to read; others of this process wait until that is done."""
        with self._store.documents(session_id) as reading:
            yield reading

    def owners(self, kind: str) -> list[str]:
        """Return the sessions that have documents of a kind."""
        return self._store.document_owners(kind)

    def change(self, session_id: str, act: Callable[[DocumentChange], T], *, about: str) -> T:
        """Make one change of a session's documents, whole or not at all, and return what it returns.

        `session_id`: whose; not empty. `act`: reads and writes. Its errors are raised, and then nothing was written. It
        may be called again if the search index was damaged and had to be rebuilt first. Raises StoreError: nothing was
        written.
        """
        if not isinstance(session_id, str) or not session_id:
            raise InputError(f"a session id must be a non-empty string, not {session_id!r}")
        return self._store.change_documents(session_id, act, at_ms=self.now_ms(), payload={"about": about})
