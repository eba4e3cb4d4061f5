"""Several open sessions of one home, least recently used first. A lane is one open session with its lock.

Law: a session is used by one thread at a time. The figures of a lane belong to its owner.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from undrift.errors import StoreError
from undrift.session.footprint import Footprint
from undrift.session.identity import Recognised
from undrift.session.recent import Recent, beginning_of, history_of, longest
from undrift.session.session import Session
from undrift.values.project import Place
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["Lane", "Lanes", "key_of"]

F = TypeVar("F")

_LONGEST_END_S = 10.0  # for a session in use, when all are closed


@dataclass(slots=True)
class Lane(Generic[F]):
    """One open session, its lock, and its latest requests."""

    found: Recognised
    place: Place
    figures: F
    session: Session | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    recent: Recent = field(default_factory=Recent)
    footprint: Footprint = field(default_factory=Footprint)
    turn: int = 0
    is_closed: bool = False

    @property
    def key(self) -> str:
        """The key of the session: its id, with the project if there are several."""
        return key_of(self.found.session_id, self.place)

    @property
    def opened(self) -> Session:
        """The session. Raises StoreError: it was closed."""
        if self.session is None:
            raise StoreError(f"session {self.found.session_id[:64]!r} is closed")
        return self.session

    def shut(self) -> None:
        """Close the session, which stores what only it knows; a thread that waits for the lock then uses another lane."""
        self.is_closed = True
        session, self.session = self.session, None
        if session is not None:
            session.close()


def key_of(session_id: str, place: Place) -> str:
    """Return a text that no two sessions of a home share; an id can occur in several projects."""
    return session_id if place.project is None else f"{place.records.name}\0{session_id}"


class Lanes(Generic[F]):
    """The lanes of one home. If they use more than `most_bytes`, the least recently used are closed.

    `figures`: makes what a new lane keeps beside its session.
    """

    def __init__(self, most_bytes: int, figures: Callable[[], F]) -> None:
        self._most_bytes = most_bytes
        self._figures = figures
        self._lock = threading.Lock()  # never held while anything waits for the disk: the event loop takes it too
        self._lanes: OrderedDict[str, Lane[F]] = OrderedDict()
        self._by_beginning: dict[bytes, set[str]] = {}  # a request is compared with few sessions, however many are open
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._lanes)

    @property
    def used_bytes(self) -> int:
        """The estimated memory of all open sessions."""
        return self._bytes

    def all(self) -> list[Lane[F]]:
        """Return the lanes, least recently used first."""
        with self._lock:
            return list(self._lanes.values())

    def get(self, key: str) -> Lane[F] | None:
        """Return the lane with a key. None means: the session is not open."""
        with self._lock:
            return self._lanes.get(key)

    def going_on(self, form: Form, request: Request, place: Place | None = None) -> Lane[F] | None:
        """Return the open session whose newest history this request continues; None if several do, or none.

        `place`: the project that the request tells: conversations of two projects can begin with the same words.
        """
        beginning = beginning_of(form, request, (one for lane in self.all() for one in lane.recent.histories))
        with self._lock:
            lanes = {name: self._lanes[name] for name in self._by_beginning.get(beginning, ())}
        if place is not None:
            lanes = {name: lane for name, lane in lanes.items() if lane.place.records == place.records}
        name = longest((name, lane.recent.length(form, request)) for name, lane in lanes.items())
        return None if name is None else lanes[name]

    def remember(self, lane: Lane[F], form: Form, request: Request) -> None:
        """Keep a request's history, so that the next one finds the session without an id."""
        if (history := history_of(form, request, lane.recent.histories)) is None:
            return
        before = lane.recent.beginnings
        lane.recent.add(history)
        now, name = lane.recent.beginnings, lane.key
        with self._lock:
            if self._lanes.get(name) is lane:
                self._forget(name, before - now)
                for beginning in now - before:
                    self._by_beginning.setdefault(beginning, set()).add(name)

    def locked(self, found: Recognised, place: Place, known: Lane[F] | None, deadline_s: float) -> Lane[F] | None:
        """Return the lane of a session, locked for this thread. None means: another thread kept the lock.

        `place`: its project. `known`: its lane, if that was looked up already. `deadline_s`: on the monotonic clock; the end of the wait.
        """
        key = known.key if known is not None else key_of(found.session_id, place)
        while True:
            with self._lock:
                lane = known or self._lanes.get(key)
                if lane is None:
                    lane = self._lanes[key] = Lane(found, place, self._figures())
                    self._bytes += lane.footprint.bytes
                if key in self._lanes:
                    self._lanes.move_to_end(key)
            if not lane.lock.acquire(timeout=max(0.0, deadline_s - time.monotonic())):
                return None
            if not lane.is_closed:
                return lane
            known = None
            lane.lock.release()

    def grow(self, lane: Lane[F], request: Request) -> None:
        """Note how much memory a session uses after a request."""
        with self._lock:
            if self._lanes.get(lane.key) is lane:
                beginning, has_id = request.bytes_of(0) if request.is_open else b"", lane.found.how == "given"
                self._bytes += lane.footprint.add(beginning, len(request.body), request.count, has_id=has_id)
        self.make_room()

    def make_room(self) -> None:
        """Close the least recently used sessions until the others fit; a session in use stays open."""
        closing: list[Lane[F]] = []
        with self._lock:
            for name in list(self._lanes) if self._is_crowded() else ():
                if self._is_crowded() and self._lanes[name].lock.acquire(blocking=False):
                    closing.append(self._lanes.pop(name))
                    self._forget(name, closing[-1].recent.beginnings)
                    self._bytes -= closing[-1].footprint.bytes
        for lane in closing:
            try:
                lane.shut()
            finally:
                lane.lock.release()

    def close(self) -> None:
        """Close all sessions; one that is in use for too long is left to its thread, which may be this one."""
        with self._lock:
            lanes = list(self._lanes.values())
            self._lanes.clear()
            self._by_beginning.clear()
            self._bytes = 0
        for lane in lanes:
            if lane.lock.acquire(timeout=_LONGEST_END_S):
                try:
                    lane.shut()
                finally:
                    lane.lock.release()

    def _forget(self, name: str, beginnings: Iterable[bytes]) -> None:
        for beginning in beginnings:
            names = self._by_beginning.get(beginning, set())
            names.discard(name)
            if not names:
                self._by_beginning.pop(beginning, None)

    def _is_crowded(self) -> bool:
        return self._bytes > self._most_bytes
