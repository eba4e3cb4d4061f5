"""The decisions of a session, and the histories in which each one counts. No I/O.

Law: a decision holds in every history that contains the message at which it was made, and in no other. So the same
history always gives the same window, no matter what else the session has seen. Why:
docs/adr/0009-conversations-know-themselves.md.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import takewhile

from undrift.core.text.refs import ref_of
from undrift.core.window.additions import is_loose, loosened
from undrift.core.window.log import PLACED, place_of, taken_at
from undrift.errors import StoreCorrupt
from undrift.values.window import ContextEntry, Decision, Original

__all__ = ["Decisions"]


class Decisions:
    """Every decision of a session: removed or shortened entries, and the places of pins and notes."""

    def __init__(
        self,
        session_id: str,
        decisions: Iterable[Decision],
        pins: Iterable[Original],
        unpinned: AbstractSet[str] = frozenset(),
    ) -> None:
        self._session_id = session_id
        self._about: dict[str, Decision | dict[str, Decision]] = {}  # entry id -> its decision, or each by its place
        self.pins = _held(pins, unpinned)
        self.unpinned = unpinned
        """The references of undone pins."""

        self._placed: dict[str, list[Decision]] = {}
        self.placed_pins: set[str] = set()
        """The references of the pins that were ever placed in a history."""

        self._by_task: dict[str, list[str]] = {}  # task id -> references that it evicted, oldest first
        self._at: dict[str, list[str]] = {}  # place of decisions -> ids of the entries that they are about
        self.version = 0
        self.add(decisions)

    @property
    def pinned(self) -> dict[str, ContextEntry]:
        """The pins that stand in every history, by reference; without those that are placed once, or only kept."""
        return {ref: pin for ref, pin in self.pins.items() if not (pin.meta("made_of") or is_loose(pin))}

    def ref_of(self, entry_id: str) -> str:
        """Return the reference under which `recall` finds an entry."""
        return ref_of(self._session_id, entry_id)

    def about(self, entry_id: str) -> tuple[Decision, ...]:
        """Return the decisions about an entry, oldest first; a history uses at most one of them."""
        return tuple(self._by_place(entry_id).values())

    def _by_place(self, entry_id: str) -> dict[str, Decision]:
        """Return the decisions about an entry, by the place of each; nearly always there is one."""
        found = self._about.get(entry_id)
        return {} if found is None else {taken_at(found): found} if isinstance(found, Decision) else found

    def has(self, decision: Decision) -> bool:
        """Return whether the same entry has a decision with the same place."""
        return taken_at(decision) in self._by_place(decision.entry_id)

    def ruling(self, history: Mapping[str, int]) -> dict[str, Decision]:
        """Return the decision about each entry that counts in a history, by entry id; see `core.window.log.Log`.

        A decision counts in every history that contains the item at which it was made. So a fork, or a client that goes
        back, finds its messages as they were sent then. From there it decides on its own.
        """
        found = {}
        for entry_id, one in self._about.items():
            for decision in (one,) if isinstance(one, Decision) else reversed(one.values()):
                if not (at := taken_at(decision)) or at in history:
                    found[entry_id] = decision
                    break
        return found

    def placed(self, history: Mapping[str, int]) -> dict[str, tuple[Decision, ...]]:
        """Return the pins and notes in each item of a history, by chain id, oldest first."""
        return {anchor: tuple(found) for anchor, found in self._placed.items() if anchor in history}

    def decided_at(self, place: str) -> Collection[str]:
        """Return the ids of the entries with a decision that was made when this item was the newest."""
        return self._at.get(place, ())

    def partial_prunes(self, history: Mapping[str, int]) -> int | None:
        """Return how many of the last prunes in a row did not touch the history's beginning. None means: no prune yet.

        `history`: chain id of each item to its number.
        """
        found: dict[int, int] = {}
        for entry_id in self._about:
            for at, decision in self._by_place(entry_id).items():
                if at in history and "stays_tokens" in decision.detail:
                    found[history[at]] = decision.detail["stays_tokens"]
        return None if not found else len([*takewhile(lambda number: found[number], sorted(found, reverse=True))])

    @property
    def places(self) -> AbstractSet[str]:
        """The chain ids of the items with decisions; empty for decisions that count everywhere."""
        return self._at.keys()

    def is_furthest(self, history: Mapping[str, int]) -> bool:
        """Return whether no decision about an item of a history was made further on than the history goes.

        A client that compacts begins a new history: what was decided in the old one is about none of its items.
        """
        beyond = (about for at, about in self._at.items() if at and at not in history)
        return not any(place_of(entry_id) in history for about in beyond for entry_id in about)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The ids of all tasks whose logs were evicted."""
        return tuple(task_id for task_id, refs in self._by_task.items() if any(refs))

    def evicted_by(self, task_id: str) -> tuple[str, ...]:
        """Return the references of a task's evicted logs, oldest first; a purged original has no reference."""
        return tuple(filter(None, self._by_task.get(task_id, ())))

    def reset(
        self, decisions: Iterable[Decision], pins: Iterable[Original], unpinned: AbstractSet[str] = frozenset()
    ) -> None:
        """Replace all decisions; the conversations keep this object."""
        for kept in (self._about, self._placed, self.placed_pins, self._by_task, self._at):
            kept.clear()
        self.hold(pins, unpinned)
        self.add(decisions)

    def hold(self, pins: Iterable[Original], unpinned: AbstractSet[str]) -> None:
        """Replace the pins; every conversation uses them from its next turn on."""
        before = self.pins, self.unpinned
        self.pins, self.unpinned = _held(pins, unpinned), unpinned
        self.version += (self.pins, self.unpinned) != before

    def add(self, decisions: Iterable[Decision]) -> None:
        """Add decisions; every conversation uses them from its next turn on.

        Raises StoreCorrupt: one places a pin that is gone.
        """
        for decision in decisions:
            if decision.kind in PLACED and (pin := decision.detail.get("pin", "")) and pin not in self.pins:
                raise StoreCorrupt(
                    f"session {self._session_id!r}: the pin {pin} is in its windows and no longer in the store. "
                    "`undrift doctor` lists the damage, `undrift store restore` puts a backup in the store's place"
                )
            at, entry_id = taken_at(decision), decision.entry_id
            if entry_id in self._about:
                others = self._by_place(entry_id)
                others[at] = decision
                self._about[entry_id] = decision if len(others) == 1 else others
            else:
                self._about[entry_id] = decision
            self._at.setdefault(at, []).append(entry_id)
            if decision.kind in PLACED:
                self.placed_pins.add(decision.detail.get("pin", ""))
                self._placed.setdefault(decision.detail["anchor"], []).append(decision)
            if decision.kind == "evicted":
                self._by_task.setdefault(decision.detail["task"], []).append(decision.ref)
        self.version += 1


def _held(pins: Iterable[Original], unpinned: AbstractSet[str]) -> dict[str, ContextEntry]:
    return {pin.ref: loosened(pin.entry) if pin.ref in unpinned else pin.entry for pin in pins}
