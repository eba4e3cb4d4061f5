"""When a fault of ours is one too many: how long a session is left alone. Pure; time is passed in.

Source: issue "Gateway", item 3; RELIABILITY R20.
"""

__all__ = ["Breaker"]


class Breaker:
    """Counts the faults of one session in a row.

    Args:
        faults_to_open: After so many the session is left alone.
        recovery_s: So long, before health may be asked.
    """

    def __init__(self, faults_to_open: int, recovery_s: float) -> None:
        self._limit = faults_to_open
        self._recovery_s = recovery_s
        self._faults = 0
        self._until_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the session is left alone."""
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
