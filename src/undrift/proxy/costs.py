"""Sentences about the prompt caches of open sessions: each is logged when it becomes true, and a status line can ask.

Law: one sentence is logged one time, not with each request. The caller holds the lane's lock.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from undrift.core.guard import Notice
from undrift.proxy.lane_figures import GatewayLane
from undrift.proxy.observe import log_line, safe_id

__all__ = ["CostNotices"]


class CostNotices:
    """Says what is true of a lane. `clock`: gives Unix milliseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def before(self, lane: GatewayLane) -> None:
        """Log that the request that has come writes its prompt again, because the cache is cold."""
        watch = None if lane.session is None else lane.session.costs.watch
        now_ms = self._clock()
        if watch is None or watch.at_ms is None or not watch.is_cold(now_ms):
            return
        if lane.figures.logged_ms.get("away") != watch.at_ms:
            lane.figures.logged_ms["away"] = watch.at_ms
            self._log(lane, "away", "free_prune", now_ms=now_ms)

    def answered(self, lane: GatewayLane) -> None:
        """Log the first prompt that the client itself made the provider write again."""
        if "rewrites" not in lane.figures.logged_ms and lane.opened.costs.watch.by_client.prompts:
            lane.figures.logged_ms["rewrites"] = 0
            self._log(lane, "rewrites", now_ms=self._clock())

    def as_json(self, lane: GatewayLane) -> list[dict[str, Any]]:
        """Return what is true now; [] if the session was closed."""
        return [asdict(notice) for notice in self._now(lane, self._clock())]

    @staticmethod
    def _now(lane: GatewayLane, now_ms: int) -> tuple[Notice, ...]:
        return () if lane.session is None else lane.session.costs.notices(now_ms)

    def _log(self, lane: GatewayLane, *kinds: str, now_ms: int) -> None:
        for notice in self._now(lane, now_ms):
            if notice.kind in kinds:
                log_line({"event": "cost", "session": safe_id(lane.found.session_id), "said": notice.text})
