"""The incremental pruner: the same decisions as `core.prune`, without a full pass over the window.

Law: an `IncrementalWindow` performs no I/O and reads no clock. After every `add` and `prune` it holds exactly the
entries of the plain rule (a property test compares them). An `add` costs O(log n). A heap by order finds the oldest
unit, a heap by size finds oversize units, and a short sorted list holds the last N tool results.
"""

import heapq
from bisect import insort
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from undrift.core.window.prune import Order, unit_key
from undrift.errors import WindowError
from undrift.values.window import PINNED_TYPES, ContextEntry

__all__ = ["IncrementalWindow", "Pruned"]

_STALE_ALLOWED = 64


@dataclass(slots=True)
class _Group:
    key: Hashable
    order: Order = (0, 0, 0)
    tokens: int = 0
    holds: int = 0  # how many pins and anchors keep it
    members: dict[str, Order] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pruned:
    """The removed entries, oldest first, and the ids of entries that are too large even alone."""

    removed: tuple[ContextEntry, ...] = ()
    oversize_ids: tuple[str, ...] = ()
    groups: tuple[_Group, ...] = field(default=(), repr=False)  # what `IncrementalWindow.restore` puts back


class IncrementalWindow:
    """A window that is pruned as it grows. Raises WindowError: the window already has an entry with this id."""

    def __init__(self, *, keep_tool_results: int, entries: Iterable[ContextEntry] = ()) -> None:
        self._keep = keep_tool_results
        self._entries: dict[str, ContextEntry] = {}
        self._groups: dict[Hashable, _Group] = {}
        self._slots: dict[Hashable, str] = {}
        self._last: list[tuple[Order, str]] = []  # the last N results, oldest first
        self._oldest: list[tuple[Order, int, Hashable]] = []
        self._largest: list[tuple[int, int, Hashable]] = []
        self._number = 0  # breaks ties, also in the heaps: their keys need not be comparable
        self.total_tokens = 0
        self.pinned_tokens = 0
        for entry in entries:
            self.add(entry)

    @property
    def entries(self) -> tuple[ContextEntry, ...]:
        """All entries, ascending by time."""
        return tuple(sorted(self._entries.values(), key=self._order_of))

    @property
    def anchored_ids(self) -> tuple[str, ...]:
        """The last N tool results, newest first."""
        return tuple(id_ for _, id_ in reversed(self._last))

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: ContextEntry, *, at_ms: int | None = None) -> Pruned:
        """Add an entry; return the older version that it replaces, or nothing.

        `entry`: its id must be new to the window. `at_ms`: its time; by default its timestamp.
        """
        if entry.id in self._entries:
            raise WindowError(f"entry id {entry.id!r} is already in the window; pinning and recall use the id")
        self._number += 1
        order = (entry.timestamp if at_ms is None else at_ms, entry.seq, self._number)
        self._entries[entry.id] = entry
        group = self._groups.setdefault(unit_key(entry), _Group(unit_key(entry)))
        group.members[entry.id] = order
        group.order = max(group.order, order)
        group.tokens += entry.token_count
        self.total_tokens += entry.token_count
        if group.holds:
            self.pinned_tokens += entry.token_count
        superseded = Pruned()
        if entry.type in PINNED_TYPES:
            self._hold(group)
            superseded = self._supersede(entry, order)
        elif entry.type == "tool_result":
            self._anchor(entry, order, group)
        self._queue(group)
        return superseded

    def prune(self, token_budget: int) -> Pruned:
        """Remove entries until the window fits `token_budget` (at least 0), as `core.prune` would; return them."""
        room = token_budget - self.pinned_tokens
        leaving: list[_Group] = []
        oversize: list[str] = []
        while room >= 0 and (group := self._top_largest()) is not None and group.tokens > room:
            oversize.extend(sorted(group.members, key=group.members.__getitem__))
            leaving.append(group)
            self._detach(group)
        while self.total_tokens - self.pinned_tokens > room and (group := self._top_oldest()) is not None:
            leaving.append(group)
            self._detach(group)
        return self._leave(leaving, tuple(oversize))

    def remove(self, entry_ids: Iterable[str]) -> Pruned:
        """Remove these entries, and the other entries of their units, if they may leave the window."""
        keys = {unit_key(self._entries[id_]) for id_ in entry_ids if id_ in self._entries}
        groups = [self._groups[key] for key in keys if not self._groups[key].holds]
        for group in groups:
            self._detach(group)
        return self._leave(groups)

    def restore(self, pruned: Pruned) -> None:
        """Put removed entries back in their places because the removal could not be written."""
        entries = {entry.id: entry for entry in pruned.removed}
        for group in pruned.groups:
            self._groups[group.key] = group
            self._entries.update((id_, entries[id_]) for id_ in group.members)
            self.total_tokens += group.tokens
            self._queue(group)

    def _order_of(self, entry: ContextEntry) -> Order:
        return self._groups[unit_key(entry)].members[entry.id]

    def _queue(self, group: _Group) -> None:
        if not group.holds:
            self._number += 1
            heapq.heappush(self._oldest, (group.order, self._number, group.key))
            heapq.heappush(self._largest, (-group.tokens, self._number, group.key))
            if len(self._largest) > 2 * len(self._groups) + _STALE_ALLOWED:
                self._rebuild()

    def _rebuild(self) -> None:
        """Remove outdated units from the heaps; this is rare, so an add stays O(log n) on average."""
        free = [group for group in self._groups.values() if not group.holds]
        self._oldest = [(group.order, number, group.key) for number, group in enumerate(free)]
        self._largest = [(-group.tokens, number, group.key) for number, group in enumerate(free)]
        heapq.heapify(self._oldest)
        heapq.heapify(self._largest)

    def _top_oldest(self) -> _Group | None:
        while self._oldest:
            order, _, key = self._oldest[0]
            group = self._groups.get(key)
            if group is not None and not group.holds and group.order == order:
                return group
            heapq.heappop(self._oldest)  # stale: the unit has left, is newer now, or is held
        return None

    def _top_largest(self) -> _Group | None:
        while self._largest:
            negative_tokens, _, key = self._largest[0]
            group = self._groups.get(key)
            if group is not None and not group.holds and group.tokens == -negative_tokens:
                return group
            heapq.heappop(self._largest)
        return None

    def _hold(self, group: _Group) -> None:
        if not group.holds:
            self.pinned_tokens += group.tokens
        group.holds += 1

    def _release(self, group: _Group) -> None:
        group.holds -= 1
        if not group.holds:
            self.pinned_tokens -= group.tokens
            self._queue(group)

    def _anchor(self, entry: ContextEntry, order: Order, group: _Group) -> None:
        self._hold(group)
        insort(self._last, (order, entry.id))
        if len(self._last) > self._keep:
            _, displaced = self._last.pop(0)
            self._release(self._groups[unit_key(self._entries[displaced])])

    def _supersede(self, entry: ContextEntry, order: Order) -> Pruned:
        slot = (entry.metadata or {}).get("slot")
        if not isinstance(slot, str) or not slot:
            return Pruned()
        key = (entry.type, slot)
        other = self._slots.get(key)
        if other is None:
            self._slots[key] = entry.id
            return Pruned()
        newer_is_given = self._order_of(self._entries[other]) < order
        if newer_is_given:
            self._slots[key] = entry.id
        loser = self._entries[other if newer_is_given else entry.id]
        group = self._groups[unit_key(loser)]
        self._release(group)
        if group.holds:
            return Pruned()
        self._detach(group)
        return self._leave([group])

    def _detach(self, group: _Group) -> None:
        del self._groups[group.key]
        self.total_tokens -= group.tokens

    def _leave(self, groups: list[_Group], oversize_ids: tuple[str, ...] = ()) -> Pruned:
        order = {id_: place for group in groups for id_, place in group.members.items()}
        removed = tuple(self._entries.pop(id_) for id_ in sorted(order, key=order.__getitem__))
        return Pruned(removed, oversize_ids, tuple(groups))
