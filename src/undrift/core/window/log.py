"""The interface through which a window reads a session's decisions, and the place of a decision. Pure."""

from collections.abc import Collection, Mapping
from typing import Protocol

from undrift.values.window import ContextEntry, Decision

__all__ = ["Log", "PLACED", "place_of", "place_rewritten", "taken_at"]

PLACED = ("pinned", "noted")


class Log(Protocol):
    """The interface through which a window reads a session's decisions."""

    @property
    def pins(self) -> Mapping[str, ContextEntry]:
        """Return every pin, by reference."""

    def ruling(self, history: Mapping[str, int]) -> dict[str, Decision]:
        """Return the decision about each entry that counts in a history, by entry id. `history`: chain id -> number."""

    def placed(self, history: Mapping[str, int]) -> dict[str, tuple[Decision, ...]]:
        """Return the pins and notes in each item, by chain id, oldest first."""

    def decided_at(self, place: str) -> Collection[str]:
        """Return the ids of the entries with a decision that was made when this item was the newest."""


def taken_at(decision: Decision) -> str:
    """Return the chain id of the newest item at the time of a decision; empty if it counts in every history."""
    at = decision.detail.get("at", "")
    return at if isinstance(at, str) else ""


def place_rewritten(decision: Decision) -> str:
    """Return the chain id at which a decision rewrote the history; empty if later thinking stays valid.

    Removing stale thinking makes no later thinking stale. The same holds for a fold before the first send, which
    earlier versions could decide and their homes still hold.
    """
    is_none = decision.detail.get("thinking") or decision.detail.get("first_send")
    return "" if is_none else taken_at(decision)


def place_of(entry_id: str) -> str:
    """Return the chain id of the item that holds a block, a pin or a note: the first part of its id."""
    return entry_id.partition(":")[0] if ":" in entry_id else entry_id.rpartition(".")[0]
