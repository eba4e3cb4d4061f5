"""The sessions that a process has read: each is brought up to date before it is used.

Law: one thread at a time uses a session. A session that is kept here may be lost at any time.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from undrift.stores.postgres.log import Home, loaded
from undrift.stores.postgres.session_state import SessionState
from undrift.values.readings import StretchReading

__all__ = ["KnownSession", "Sessions"]

_MOST = 512
"""Sessions that a process keeps; the one that was used longest ago goes first."""


class KnownSession:
    """One session as this process last saw it. `heads`: those of its readings, and the moment that they are of."""

    def __init__(self, name: str) -> None:
        self.lock = threading.RLock()
        self.state = SessionState(name)
        self.is_known = False
        self.heads: tuple[tuple[str, int, int], list[tuple[int, StretchReading]]] | None = None

    def refresh(self, home: Home) -> bool:
        """Read what is new; True: there was something."""
        before = (self.state.number, self.state.epoch, self.state.last_seq)
        self.state = loaded(home, self.state.name, self.state if self.is_known else None)
        self.is_known = True
        return before != (self.state.number, self.state.epoch, self.state.last_seq)


class Sessions:
    """The sessions of one scope.

    Args:
        home: Returns whose sessions are meant; it raises if the store is closed.
    """

    def __init__(self, home: Callable[[], Home]) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._known: OrderedDict[str, KnownSession] = OrderedDict()

    @contextmanager
    def held(self, name: str) -> Iterator[KnownSession]:
        """Hold a session as this process last saw it."""
        with self._lock:
            one = self._known.setdefault(name, KnownSession(name))
            self._known.move_to_end(name)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        with one.lock:
            yield one

    @contextmanager
    def read(self, name: str, *, is_quiet: bool = False) -> Iterator[SessionState]:
        """Hold a session as the server has it now.

        `is_quiet`: a balancer sends all turns of it here, so that what this process knows is all there is.
        """
        home = self._home()
        with self.held(name) as one:
            if not (is_quiet and one.is_known):
                one.refresh(home)
            yield one.state
