"""When a fault of ours is one too many: how long a session is left alone. Time is passed in."""

import threading

__all__ = ["Breaker", "Breakers"]


class Breaker:
    """Counts the faults of one session in a row. `faults_to_open`: after so many the session is left alone."""

    def __init__(self, faults_to_open: int, recovery_s: float) -> None:
        self._limit = faults_to_open
        self._recovery_s = recovery_s
        self._faults = 0
        self._until_s = 0.0

    @property
    def is_open(self) -> bool:
        """True if the session is left alone."""
        return self._faults >= self._limit

    def may_ask(self, now_s: float) -> bool:
        """Tell whether it is time to ask for health."""
        return now_s >= self._until_s

    def failed(self, now_s: float) -> None:
        """Take in a fault, or that health has not returned."""
        self._faults += 1
        self._until_s = now_s + self._recovery_s

    def worked(self) -> None:
        """Take in that a request was managed."""
        self._faults = 0


class Breakers:
    """The breakers of all sessions; the one without a name is the store's. Any thread may ask.

    `most`: above so many, those without a fault are forgotten.
    """

    def __init__(self, faults_to_open: int, recovery_s: float, most: int) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, Breaker] = {}
        self._limits = (faults_to_open, recovery_s)
        self._most = most

    @property
    def open_count(self) -> int:
        """The number of sessions that are left alone."""
        return sum(breaker.is_open for breaker in list(self._made.values()))

    def is_open(self, session_id: str) -> bool:
        """Tell whether a session is left alone."""
        breaker = self._made.get(session_id)
        return breaker is not None and breaker.is_open

    def of(self, session_id: str) -> Breaker:
        """Return the breaker of a session."""
        with self._lock:
            if session_id not in self._made:
                if len(self._made) > self._most:
                    self._made = {name: one for name, one in self._made.items() if one.is_open or not name}
                self._made[session_id] = Breaker(*self._limits)
            return self._made[session_id]
