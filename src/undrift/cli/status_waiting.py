"""The sessions of this machine that wait for a sync with a server, for `undrift status`."""

from collections.abc import Sequence
from contextlib import suppress

from undrift.cli.draw import say
from undrift.cli.show import count
from undrift.errors import StoreError
from undrift.stores.moving.waiting import waiting_in
from undrift.values.clock import day_of
from undrift.values.project import Place

__all__ = ["show_waiting", "waiting_sessions"]


def waiting_sessions(places: Sequence[Place]) -> list[str]:
    """Return the sessions that the last syncs do not know; none of places that were never synced."""
    return [name for place in places for name in _waiting(place)[0]]


def show_waiting(places: Sequence[Place]) -> None:
    """Print how many sessions wait for a sync, and since when."""
    found = [waiting for place in places if (waiting := _waiting(place))[0]]
    if found:
        names = sum(len(some) for some, _ in found)
        since = day_of(min(at_ms for _, at_ms in found))
        say(f"{count(names, 'session')} to sync, last synced on {since}: undrift store sync")


def _waiting(place: Place) -> tuple[list[str], int]:
    with suppress(StoreError):  # what is wrong with the store, the findings say
        return waiting_in(place.records)
    return [], 0
