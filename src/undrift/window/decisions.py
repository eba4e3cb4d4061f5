"""Every decision of a session, and in which histories each one holds. No I/O.

Law: a decision holds in every history that contains the message at which it was taken, and in no other. The same history
thus always gives the same window, whatever else the session has seen. Why: docs/adr/0009-conversations-know-themselves.md.
"""

from collections.abc import Container, Iterable, Mapping
from itertools import takewhile

from undrift.core.text.refs import ref_of
from undrift.values.window import Decision, Original

__all__ = ["Decisions", "taken_at"]

_PLACED = ("pinned", "noted")


class Decisions:
    """Every decision of a session: what left, what was cut, and where its pins and notes stand."""

    def __init__(self, session_id: str, decisions: Iterable[Decision], pins: Iterable[Original]) -> None:
        self._session_id = session_id
        self._about: dict[str, dict[str, Decision]] = {}  # entry id -> where it was taken -> decision
        self.pins = {pin.ref: pin.entry for pin in pins}
        self._placed: dict[str, list[Decision]] = {}
        self._by_task: dict[str, list[str]] = {}  # task id -> references of what it let go, oldest first
        self.places: set[str] = set()  # where decisions were taken
        self.version = 0
        self.add(decisions)

    def ref_of(self, entry_id: str) -> str:
        """Return the reference under which `recall` finds an entry."""
        return ref_of(self._session_id, entry_id)

    def about(self, entry_id: str) -> tuple[Decision, ...]:
        """Return the decisions about an entry, oldest first; at most one holds in a history."""
        return tuple(self._about.get(entry_id, {}).values())

    def has(self, decision: Decision) -> bool:
        """Tell whether a decision about the same entry was taken at the same place."""
        return taken_at(decision) in self._about.get(decision.entry_id, {})

    def in_force(self, entry_id: str, history: Container[str]) -> Decision | None:
        """Return the decision about an entry that holds in a history.

        A decision holds in every history that contains the message at which it was taken. A fork, or a client that goes
        back, thus meets its messages as they were sent at that point, and decides on its own from there.
        """
        found = self._about.get(entry_id)
        if found is None:
            return None
        return next((d for at, d in reversed(found.items()) if not at or at in history), None)

    def partial_prunes(self, history: Mapping[str, int]) -> int | None:
        """Return how many of the newest prunes of a history in a row have left its beginning alone; None without any.

        Args:
            history: Chain id of each item to its number.
        """
        found: dict[int, int] = {}
        for about in self._about.values():
            for at, decision in about.items():
                if at in history and "stays_tokens" in decision.detail:
                    found[history[at]] = decision.detail["stays_tokens"]
        return None if not found else len([*takewhile(lambda number: found[number], sorted(found, reverse=True))])

    def placed_at(self, message_id: str, history: Container[str]) -> list[Decision]:
        """Return the pins and notes that stand in a message of a history, in the order in which they were put there."""
        found = self._placed.get(message_id, ())
        return [d for d in found if self.in_force(d.entry_id, history) is d]

    def notes(self, history: Mapping[str, int]) -> list[Decision]:
        """Return the notes that stand in a history, in its order.

        Args:
            history: Chain id of each item to its number.
        """
        anchors = sorted((anchor for anchor in self._placed if anchor in history), key=history.__getitem__)
        return [d for anchor in anchors for d in self.placed_at(anchor, history) if d.kind == "noted"]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Ids of the tasks that let something go."""
        return tuple(task_id for task_id, refs in self._by_task.items() if any(refs))

    def let_go_by(self, task_id: str) -> tuple[str, ...]:
        """Return the references of what a task let go, oldest first; what was purged has none."""
        return tuple(filter(None, self._by_task.get(task_id, ())))

    def reset(self, decisions: Iterable[Decision], pins: Iterable[Original]) -> None:
        """Forget everything and take in these; the conversations keep this object."""
        for kept in (self._about, self._placed, self._by_task, self.places):
            kept.clear()
        self.pins = {pin.ref: pin.entry for pin in pins}
        self.add(decisions)

    def add(self, decisions: Iterable[Decision]) -> None:
        """Take in decisions; every conversation applies them at its next turn."""
        for decision in decisions:
            self._about.setdefault(decision.entry_id, {})[taken_at(decision)] = decision
            self.places.add(taken_at(decision))
            if decision.kind in _PLACED:
                self._placed.setdefault(decision.detail["anchor"], []).append(decision)
            if decision.kind == "evicted":
                self._by_task.setdefault(decision.detail["task"], []).append(decision.ref)
        self.version += 1

    def remove(self, decisions: Iterable[Decision]) -> None:
        """Take back decisions that could not be written, or that the provider would refuse."""
        for decision in decisions:
            about = self._about[decision.entry_id]
            del about[taken_at(decision)]
            if not about:
                del self._about[decision.entry_id]
            if decision.kind in _PLACED:
                self._placed[decision.detail["anchor"]].remove(decision)
            if decision.kind == "evicted":
                self._by_task[decision.detail["task"]].remove(decision.ref)
        self.version += 1


def taken_at(decision: Decision) -> str:
    """Return the chain id of the newest message when a decision was taken; empty where it holds in every history."""
    at = decision.detail.get("at", "")
    return at if isinstance(at, str) else ""
