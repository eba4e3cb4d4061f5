"""The sessions of one client's agents: which open session it calls by a name, and what that session knows.

Law: only a session of the same project counts, and no request waits long for another session.
"""

from collections.abc import Iterator
from typing import Any

from undrift.proxy.lane_figures import GatewayLane, LaneFigures
from undrift.session.lanes import Lanes
from undrift.values.window import ContextEntry

__all__ = ["newest_entries", "relative_of"]

_WAIT_S = 0.2  # a parent waits for its sub-agent, and a sub-agent that has ended asks nothing: its lane is free
_MOST_CHARACTERS = 500_000


def relative_of(lanes: Lanes[LaneFigures], lane: GatewayLane, name: str) -> GatewayLane | None:
    """Return the newest open session of a session's project that its client calls by a name."""
    for one in reversed(lanes.all()):
        if one is not lane and one.figures.own_name == name and one.place.records == lane.place.records:
            return one
    return None


def newest_entries(relative: GatewayLane) -> list[ContextEntry]:
    """Return the newest entries of a session, as its client sent them last; none if another thread uses it."""
    if not relative.lock.acquire(timeout=_WAIT_S):
        return []
    try:
        log = relative.figures.log
        conversation = None if log is None else log.along
        return [] if conversation is None else list(_newest(conversation.window.items))[::-1]
    finally:
        relative.lock.release()


def _newest(items: Any) -> Iterator[ContextEntry]:
    """Yield entries from the newest on."""
    left = _MOST_CHARACTERS
    for number in range(len(items) - 1, -1, -1):
        for entry in reversed(items[number].entries):
            left -= len(entry.content)
            yield entry
        if left <= 0:
            return
