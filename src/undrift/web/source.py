"""The sources of the page: the clients' recordings, the homes of the projects, and a gateway in this process.

Law: it only opens what the person's own commands open. A reading of a file is kept until the file changes.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.errors import InputError, StoreError
from undrift.recordings.files import Homes, own_sessions
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.model_table import Model
from undrift.stores.contract import Store
from undrift.stores.opening import engine_of, open_store
from undrift.stores.projects import place_of, places_in
from undrift.values.project import Place
from undrift.values.scope import Scope
from undrift.web.agents import AgentBook, WatchedAgent
from undrift.web.unrecorded import stored_sessions
from undrift.web.watching import WatchedSession

__all__ = ["PageSource"]

_LOOK_AGAIN_S = 10.0
"""For so long the list of files holds; those that are known are looked at each time."""

_MOST_FILES = 200
_MOST_VALUES = 20
_MOST_NOTES = 2_000
_TITLE_CHARACTERS = 120
T = TypeVar("T")


@dataclass
class PageSource:
    """The sources of the views.

    Args:
        home: The home of undrift.
        homes: The folders of the clients.
        models: The models of the settings, before those of the table.
        open_sessions: The open sessions of a gateway in this process; None: there is none.
    """

    home: Path
    homes: Homes
    models: Sequence[Model] = ()
    open_sessions: Callable[[], list[dict[str, Any]]] | None = None
    _watched: dict[Path, WatchedSession] = field(default_factory=dict)
    _looked_s: float = -_LOOK_AGAIN_S
    _values: OrderedDict[tuple[Path, str], tuple[int | None, object]] = field(default_factory=OrderedDict)
    _notes: OrderedDict[tuple[Path, str], tuple[object, object]] = field(default_factory=OrderedDict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _unrecorded: tuple[object, list[WatchedSession]] = field(default=(None, []))
    _placed: dict[str, Place] = field(default_factory=dict)
    conflicts: tuple[float, int] = (float("-inf"), 0)
    """When the open conflicts of the memory were counted, by a clock that only runs forward, and their number."""

    _agents: AgentBook = field(default_factory=AgentBook)

    def sessions(self, newest: int | None = None) -> list[WatchedSession]:
        """Return the newest recorded sessions, up to 200, each as it stands in its file now, the newest first.

        `newest`: look into no more files than that takes; None: into all, which takes seconds the first time.
        """
        found: list[WatchedSession] = []
        watched = self._listed()
        for one in watched:
            if self._looked_at(one).is_session:
                found.append(one)
            if newest is not None and len(found) >= newest:
                break
        return sorted([*found, *self._stored(watched)], key=lambda one: -one.last_ms)

    def session(self, key: str) -> WatchedSession:
        """Return the session with a key. Raises InputError: there is none."""
        watched = self._listed()
        for one in watched:
            if one.key == key and self._looked_at(one).is_session:
                return one
        for one in self._stored(watched):
            if one.key == key:
                return one
        raise InputError("this session is not recorded here any more; go back to the list")

    def _listed(self) -> list[WatchedSession]:
        """Return the newest files, the newest first, as they were when the list was made."""
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._looked_s >= _LOOK_AGAIN_S:
                self._looked_s = now_s
                paths = own_sessions(self.homes)[:_MOST_FILES]
                known = self._watched
                self._watched = {path: known.get(path) or WatchedSession(path, self.models) for path in paths}
            return list(self._watched.values())

    def _looked_at(self, one: WatchedSession) -> WatchedSession:
        with self._lock:
            one.look()
        return one

    def _stored(self, watched: Sequence[WatchedSession]) -> list[WatchedSession]:
        """Return the sessions of the stores that no recording is of, as they were when the list of files was made."""
        with self._lock:
            if self._unrecorded[0] != self._looked_s:
                found: list[WatchedSession] = []
                for place in self.places():
                    with suppress(StoreError), self.store(place) as store:
                        rows = () if store is None else store.sessions()
                        self._placed |= {row.session_id.partition(":")[2]: place for row in rows if row.decisions}
                        found += stored_sessions(place, rows, watched, self.models)
                self._unrecorded = (self._looked_s, found)
            return self._unrecorded[1]

    def agents(self, one: WatchedSession) -> list[WatchedAgent]:
        """Return the sub-agents of a session, each as it stands in its recording now, the first one first."""
        watched = [self._looked_at(other) for other in self._listed()]  # any file may be that of a sub-agent
        with self._lock:
            self._agents.models = self.models
            return self._agents.of(one, watched)

    def agent_paths(self, one: WatchedSession) -> list[Path]:
        """Return the recordings of a session's sub-agents, the newest first, without a look into them."""
        with self._lock:
            return self._agents.paths(one, self._watched.values())

    def open_here(self) -> dict[str, dict[str, Any]]:
        """Return the figures of the gateway's open sessions, by our id; none without a gateway in this process."""
        return {} if self.open_sessions is None else {one["session"]: one for one in self.open_sessions()}

    def kept(self, one: WatchedSession, name: str, make: Callable[[], T]) -> T:
        """Return what was made of a session's file, as long as the file stays as it is; make it if it has changed."""
        stamp, value = self._values.get((one.path, name), (None, None))
        if stamp != one.last_ms:
            stamp, value = one.last_ms, make()
            self._values[one.path, name] = (stamp, value)
            while len(self._values) > _MOST_VALUES:
                self._values.popitem(last=False)
        return value  # type: ignore[return-value]

    def noted(self, one: WatchedSession, name: str, stamp: object, make: Callable[[], T]) -> T:
        """Return a small value about a session as long as its stamp stays the same; make it if it has changed."""
        known, value = self._notes.get((one.path, name), (None, None))
        if known != stamp:
            value = make()
            self.note(one, name, stamp, value)
        return value  # type: ignore[return-value]

    def note(self, one: WatchedSession, name: str, stamp: object, value: object) -> None:
        """Keep a small value about a session for `noted`; of too many the oldest leave."""
        with self._lock:
            self._notes[one.path, name] = (stamp, value)
            while len(self._notes) > _MOST_NOTES:
                self._notes.popitem(last=False)

    def named(self, title: str) -> str:
        """Return a session's title for the page: one line, without secrets."""
        return label(mask(title).text, _TITLE_CHARACTERS) or "no name yet"

    def place_of(self, one: WatchedSession) -> Place:
        """Return the records of a session: those that hold what left it, else those of its project.

        A gateway that a request does not tell its folder keeps them with its own.
        """
        return one.place or self._placed.get(one.session_id) or self.place(one.folder)

    def place(self, folder: str) -> Place:
        """Return the records of the project in which a session worked."""
        is_folder = folder and "\0" not in folder  # a recording may name what no system can have
        return place_of(self.home, Path(folder) if is_folder else self.home, shares=True)

    def places(self) -> tuple[Place, ...]:
        """Return the records of all projects that have some."""
        return tuple(one for one in places_in(self.home) if engine_of(one).is_there(one))

    def opened(self, session_id: str, place: Place) -> Session:
        """Open a session for an action or a search, as a command does; its caller closes it. Raises StoreError."""
        settings = Settings.from_environment(None, home=str(place.records))
        return Session.open(session_id, home=place, settings=settings, keeps_notes=False)

    @contextmanager
    def store(self, place: Place) -> Iterator[Store | None]:
        """Open the store of a project; None if it has none."""
        if not engine_of(place).is_there(place):
            yield None
            return
        with open_store(place, Scope(), create=False) as store:
            yield store
