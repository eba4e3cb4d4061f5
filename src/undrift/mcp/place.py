"""The home and the session of a server's calls.

Law: every call opens the store and closes it again: nothing is kept that another process can change, calls of several
clients run side by side, and SQLite puts their writings in order. The engine is loaded by the first call: a client waits
for the server's start, and asks for no memory in it.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from undrift.errors import StoreBusy, StoreConflict, StoreError
from undrift.mcp.slot import SessionClaim
from undrift.mcp.values import ToolArguments
from undrift.settings import Settings, environment, working_folder
from undrift.settings.folder import named_folder

if TYPE_CHECKING:
    from undrift.session.session import Session
    from undrift.stores.base import SessionRow
    from undrift.stores.contract import Store
    from undrift.values.project import Place

__all__ = ["ServedHome"]

T = TypeVar("T")

_ATTEMPTS = 8
"""So often a change is made on top of what another process wrote meanwhile: one of 12 writers is the last of them to win."""


class ServedHome:
    """The project of a home that a server works on.

    Args:
        home: The home; its token and its servers' claims lie there.
        settings: The active settings.
        place: The project's place, if the user named it; else the client's folder tells it.
        shares: Whether a home without records keeps each project's apart.
        session: The session's id; None: the process has a session of its own.
    """

    def __init__(
        self,
        home: Path,
        settings: Settings,
        place: "Place | None" = None,
        *,
        shares: bool = False,
        session: str | None = None,
    ) -> None:
        self.home = home.absolute()
        self.settings = settings
        self.wants_folder = place is None and named_folder(environment()) is None
        self._shares = shares
        self._place = place
        self._folder = working_folder()
        self._bound = self._chosen = session or None
        self._client = ""
        self._lock = threading.Lock()
        self._slot = SessionClaim(self.home, str(self._folder))

    @property
    def place(self) -> "Place":
        """The place of the project's records. Raises StoreError: the user's home folder is not known."""
        if self._place is None:
            from undrift.stores.projects import place_of

            self._place = place_of(self.home, self._folder, shares=self._shares)
        return self._place

    def meet(self, client: str, folder: str = "") -> None:
        """Note the client's name: the process's own session gets the name of the first client.

        `folder`: the folder that the client works in; empty if it does not say. The first call decides.
        """
        self._client = self._client or client
        if self._place is None and folder and os.path.isdir(folder):  # noqa: PTH112 - it does not raise
            with self._lock:
                if self._chosen is None and Path(folder) != self._folder:
                    self._slot = SessionClaim(self.home, folder)
                self._folder = Path(folder)

    def is_bound(self, named: str = "") -> bool:
        """Return whether a session was named: then no data of other sessions is returned."""
        return bool(named or self._bound)

    def session_id(self, named: str = "", *, to_write: bool = False) -> str:
        """Return the named session, else the process's own session.

        `to_write`: the name is taken now. Until it is, it is the one that would be taken: a look makes nothing.
        """
        if named:
            return named
        with self._lock:
            if self._chosen is None:
                if not to_write:
                    return self._slot.free(self._client)
                self._chosen = self._slot.claim(self._client)
            return self._chosen

    @contextmanager
    def session(self, named: str = "") -> "Iterator[Session]":
        """Open the session for one call. Raises StoreError: the store cannot be opened."""
        from undrift.session.session import Session

        id_ = self.session_id(named, to_write=True)
        with Session.open(id_, home=self.place, settings=self.settings) as session:
            yield session

    @contextmanager
    def look(self, named: str = "") -> "Iterator[Session | None]":
        """Open the session only to read it, without its notes. None means: nothing is recorded yet.

        Raises StoreError: the store cannot be opened.
        """
        place = self.place if self.has_store() else self._everywhere()
        if place is None:
            yield None
            return
        from undrift.session.session import Session

        id_ = self.session_id(named)
        with Session.open(id_, home=place, settings=self.settings, keeps_notes=False) as session:
            yield session

    def _everywhere(self) -> "Place | None":
        """Return the place of the memories that hold in every project. None means: there are none yet."""
        from undrift.stores.opening import engine_of
        from undrift.stores.projects import place_at, user_records

        records = user_records(self.place)
        return place_at(records) if engine_of(records).is_there(records) else None

    def sessions(self) -> "tuple[SessionRow, ...]":
        """Return the sessions of the project, the newest first. Raises StoreError: the store cannot be opened."""
        if not self.has_store():
            return ()
        with self.store() as store:
            return store.sessions()

    def has_store(self) -> bool:
        """Return whether the project has a store."""
        from undrift.stores.opening import engine_of

        return engine_of(self.place).is_there(self.place)

    @contextmanager
    def store(self) -> "Iterator[Store]":
        """Open the store to read. Raises StoreError: there is no store yet, or it cannot be opened."""
        from undrift.stores.opening import open_store
        from undrift.values.scope import Scope

        with open_store(self.place, Scope(), create=False) as store:
            yield store

    def change(self, call: ToolArguments, work: "Callable[[Session], T]") -> T:
        """Run a function that writes; if another process wrote at the same time, run it again.

        Raises StoreError: it could not be written; nothing has changed. Raises Stopped: the client has taken the call
        back; nothing has changed.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self.session(call.session) as session:
                    return work(session)
            except StoreError as error:
                if attempt == _ATTEMPTS or type(error) not in (StoreError, StoreBusy, StoreConflict):
                    raise
                call.step(attempt, _ATTEMPTS, "another process was writing; trying again")
        raise AssertionError  # the last attempt returns or raises
