"""Token buckets: how many requests a name may have, with a burst. Pure: the caller gives the time."""

import math
from collections import OrderedDict

__all__ = ["Buckets"]

_MOST = 16_384  # names; the one used longest ago is forgotten, which fills its bucket


class Buckets:
    """One bucket for each name.

    `per_minute`: requests that come back in a minute; None: there is no limit. `burst`: those that may come at once;
    None: as many as in a minute.
    """

    def __init__(self, per_minute: int | None, burst: int | None) -> None:
        self._per_s = None if per_minute is None else per_minute / 60
        self._burst = float(burst or per_minute or 0)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, name: str, now_s: float) -> float:
        """Return the seconds until a request of this name may come; 0: it may come now."""
        if self._per_s is None:
            return 0.0
        left = self._filled(name, now_s)
        return 0.0 if left >= 1 else math.ceil((1 - left) / self._per_s * 1000) / 1000

    def take(self, name: str, now_s: float) -> None:
        """Count a request of this name."""
        if self._per_s is None:
            return
        self._left[name] = max(0.0, self._filled(name, now_s) - 1), now_s
        self._left.move_to_end(name)
        if len(self._left) > _MOST:
            self._left.popitem(last=False)

    def _filled(self, name: str, now_s: float) -> float:
        left, then_s = self._left.get(name, (self._burst, now_s))
        return min(self._burst, left + max(0.0, now_s - then_s) * (self._per_s or 0.0))
