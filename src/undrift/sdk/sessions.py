"""The sessions of one managed client: the one that was given, or those that its requests show.

Law: one session is used by one thread at a time. After a fork each process opens its own store, and leaves its parent's alone.
"""

import itertools
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from undrift.errors import InputError, StoreBusy
from undrift.session.identity import Recognised, given_id, recognise
from undrift.session.lanes import Lane, Lanes
from undrift.session.session import Session
from undrift.settings import Settings, working_folder
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.stores.projects import place_for
from undrift.values.clock import now_ms
from undrift.values.closing import check_process
from undrift.values.scope import Scope
from undrift.window.context import SessionContext
from undrift.window.request import Request
from undrift.wire.beginning import Beginning
from undrift.wire.form import Form

__all__ = ["FoundSessions", "GivenSession", "Seat", "SessionFinder", "Turns"]

_MOST_BYTES = 256 << 20
"""The memory of all open sessions; those used longest ago are closed beyond it, and read again when they are needed."""
_LOOKED_AT = 64  # sessions, newest first; most differ from a request within its first bytes
_LONGEST_WAIT_S = 60.0  # for another request of the same session


@dataclass(slots=True)
class Turns:
    """The number of a session's prompts, the warnings that were logged last, and the beginning of the newest prompt."""

    count: int = 0
    warned: tuple[str, ...] = ()
    beginning: Beginning | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """A session that this thread alone uses. `key`: finds it again for the answer."""

    key: str
    session: Session
    turns: Turns


class SessionFinder(Protocol):
    """Finds the session of a request."""

    def beginnings(self) -> Iterable[Beginning]:
        """Yield the beginnings of the newest prompts, by which a request of a long history is read quickly."""
        ...

    def at(self, form: Form, request: Request, named: str) -> AbstractContextManager[Seat]:
        """Give the session of a request to this thread. Raises UndriftError: it cannot be had.

        `named`: the id in the request's header; empty without one.
        """
        ...

    def again(self, key: str) -> AbstractContextManager[Seat | None]:
        """Give a session to this thread again. None: it was closed meanwhile."""
        ...

    def close(self) -> None:
        """Close what was opened here; a request that comes all the same opens it again.

        A client may have two halves, and one of them is closed while the other one is used.
        """
        ...


class GivenSession:
    """An open session of the program, for all requests; it stays open."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._turns = Turns()

    def beginnings(self) -> Iterable[Beginning]:
        """See `SessionFinder`."""
        return () if self._turns.beginning is None else (self._turns.beginning,)

    @contextmanager
    def at(self, form: Form, request: Request, named: str) -> Iterator[Seat]:  # noqa: ARG002 - see `SessionFinder`
        """See `SessionFinder`."""
        if named and named != self._session.id:
            raise InputError(f"the header x-undrift-session names {named[:64]!r}, but the client was given a session")
        with self._seat() as seat:
            yield seat

    @contextmanager
    def again(self, key: str) -> Iterator[Seat | None]:  # noqa: ARG002 - see `SessionFinder`
        """See `SessionFinder`."""
        with self._seat() as seat:
            yield seat

    def close(self) -> None:
        """See `SessionFinder`."""

    @contextmanager
    def _seat(self) -> Iterator[Seat]:
        check_process(self._process, f"session {self._session.id[:64]!r}")  # first: the lock's owner may be gone
        with self._lock:
            yield Seat(self._session.id, self._session, self._turns)


@dataclass(slots=True)
class _OpenHome:
    """The store and the open sessions of one process."""

    store: Store
    lanes: Lanes[Turns] = field(default_factory=lambda: Lanes(_MOST_BYTES, Turns))
    process: int = field(default_factory=os.getpid)


class FoundSessions:
    """The sessions that requests show: by a header, else by an id in the body, else by the conversation itself.

    `session_id`: the session of all requests without that header; None: each shows its own. Raises StoreError: the
    store cannot be opened.
    """

    def __init__(self, home: str | os.PathLike[str] | None, settings: Settings, session_id: str | None) -> None:
        self._settings = settings
        self._session_id = session_id
        self._place = place_for(home, settings.home, working_folder())
        self._process = os.getpid()
        self._opening = threading.RLock()
        self._opened: _OpenHome | None = self._open()

    def beginnings(self) -> Iterable[Beginning]:
        """See `SessionFinder`."""
        newest = itertools.islice(reversed(self._here().lanes.all()), _LOOKED_AT)
        return (lane.figures.beginning for lane in newest if lane.figures.beginning is not None)

    @contextmanager
    def at(self, form: Form, request: Request, named: str) -> Iterator[Seat]:
        """See `SessionFinder`."""
        opened = self._here()
        lanes = opened.lanes
        found, known = self._find(opened, form, request, named)
        lane = lanes.locked(found, self._place, known, time.monotonic() + _LONGEST_WAIT_S)
        if lane is None:
            raise StoreBusy(f"session {found.session_id[:64]!r}: its request before this one is not done yet")
        try:
            if lane.session is None:
                lane.session = self._session(opened, lane)
            yield Seat(lane.key, lane.session, lane.figures)
            if lane.found.how != "given" and form.delta(request.fields) is None:
                lanes.remember(lane, form, request)
            lanes.grow(lane, request)
        finally:
            lane.lock.release()

    @contextmanager
    def again(self, key: str) -> Iterator[Seat | None]:
        """See `SessionFinder`."""
        opened = self._opened
        lane = None if opened is None or opened.process != os.getpid() else opened.lanes.get(key)
        if lane is None:
            yield None
            return
        with lane.lock:
            yield None if lane.session is None else Seat(key, lane.session, lane.figures)

    def close(self) -> None:
        """See `SessionFinder`."""
        opened, self._opened = self._opened, None
        if opened is None or opened.process != os.getpid():
            return
        opened.lanes.close()
        opened.store.close()

    def _here(self) -> _OpenHome:
        """Return what is open in this process, or open it again."""
        if self._process != os.getpid():
            self._process, self._opening, self._opened = os.getpid(), threading.RLock(), None
        with self._opening:
            opened = self._opened
            if opened is None:
                opened = self._opened = self._open()
            return opened

    def _open(self) -> _OpenHome:
        return _OpenHome(open_store(self._place, Scope()))

    def _find(
        self, opened: _OpenHome, form: Form, request: Request, named: str
    ) -> tuple[Recognised, Lane[Turns] | None]:
        if given := named or self._session_id or given_id(form, request.fields):
            return Recognised(given, "given"), None
        if form.delta(request.fields) is None:
            request.open()
            if (lane := opened.lanes.going_on(form, request)) is not None:
                return lane.found, lane
        return recognise(opened.store, form, request), None

    def _session(self, opened: _OpenHome, lane: Lane[Turns]) -> Session:
        context = SessionContext.of(lane.found.session_id, opened.store, self._settings, now_ms, home=self._place)
        return Session(context, recognised=lane.found, closes_store=False)
