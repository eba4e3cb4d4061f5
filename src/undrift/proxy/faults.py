"""Decides after how many faults, and for how long, a session's requests pass unchanged. The caller passes the time."""

import threading

__all__ = ["Breaker", "Breakers"]


class Breaker:
    """Counts the faults of one session in a row. After `faults_to_open` faults its requests pass unchanged."""

    def __init__(self, faults_to_open: int, recovery_s: float) -> None:
        self._limit = faults_to_open
        self._recovery_s = recovery_s
        self._faults = 0
        self._until_s = 0.0

    @property
    def is_open(self) -> bool:
        """True if the session's requests pass unchanged because of faults."""
        return self._faults >= self._limit

    def may_ask(self, now_s: float) -> bool:
        """Tell whether it is time to check the store's health again."""
        return now_s >= self._until_s

    def failed(self, now_s: float) -> None:
        """Count a fault, or a failed check of health."""
        self._faults += 1
        self._until_s = now_s + self._recovery_s

    def worked(self) -> None:
        """Note that a request was managed without a fault."""
        self._faults = 0


class Breakers:
    """The breakers of all sessions; the empty name means the store's. Any thread may use them.

    `most`: above so many, those without a fault are forgotten.
    """

    def __init__(self, faults_to_open: int, recovery_s: float, most: int) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, Breaker] = {}
        self._limits = (faults_to_open, recovery_s)
        self._most = most

    @property
    def open_count(self) -> int:
        """The number of sessions whose requests pass unchanged because of faults."""
        return sum(breaker.is_open for breaker in list(self._made.values()))

    def is_open(self, session_id: str) -> bool:
        """Tell whether a session's requests pass unchanged because of faults."""
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
