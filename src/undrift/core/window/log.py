"""What a window asks of the decisions of a session, and where a decision stands. Pure."""

from collections.abc import Collection, Mapping
from typing import Protocol

from undrift.values.window import ContextEntry, Decision

__all__ = ["Log", "PLACED", "place_of", "place_rewritten", "taken_at"]

PLACED = ("pinned", "noted")


class Log(Protocol):
    """What a window asks of the decisions of a session."""

    @property
    def pins(self) -> Mapping[str, ContextEntry]:
        """Return each pin under its reference."""

    def ruling(self, history: Mapping[str, int]) -> dict[str, Decision]:
        """Return entry id to the decision that counts in a history, given as the number of each chain id."""

    def placed(self, history: Mapping[str, int]) -> dict[str, tuple[Decision, ...]]:
        """Return chain id to the pins and notes that were put into that item, oldest first."""

    def decided_at(self, place: str) -> Collection[str]:
        """Return the ids of the entries about which something was decided at an item."""


def taken_at(decision: Decision) -> str:
    """Return the chain id of the newest item when a decision was taken; empty where it counts in every history."""
    at = decision.detail.get("at", "")
    return at if isinstance(at, str) else ""


def place_rewritten(decision: Decision) -> str:
    """Where something was rewritten. Removing stale thinking makes no later thinking stale.

    Nor does a fold before the first send: earlier versions could decide that, and their homes still hold it.
    """
    is_none = decision.detail.get("thinking") or decision.detail.get("first_send")
    return "" if is_none else taken_at(decision)


def place_of(entry_id: str) -> str:
    """The chain id of the item that a block, a pin or a note stands in: what its id begins with."""
    return entry_id.partition(":")[0] if ":" in entry_id else entry_id.rpartition(".")[0]
