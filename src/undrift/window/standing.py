"""The items of a history whose state depends on others: those that load tools, and those that a compaction replaces. No I/O.

Law: the state is a function of the history and of the tools that the request offers. So a restart and a rewind see the
same. The first result that loads a deferred tool stays: so the calls come after it, and the beginning of the window does
not change. The part before a provider's own compaction is sent unchanged, and counts for nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from undrift.values.window import ContextEntry, Item
from undrift.wire.form import Replaces, View
from undrift.wire.loading import joined, loads_needed
from undrift.wire.offered import Offered, announced_tools

__all__ = ["Standing"]

_SPOKEN = ("user", "system")


@dataclass(frozen=True, slots=True)
class _Loader:
    """A block that loads tools: its place, its pair id, and the tools with their definitions."""

    number: int
    place: int
    pair_id: str | None
    loads: tuple[tuple[str, str], ...]


class Standing:
    """The blocks of one history that load tools or replace what is before them, in order."""

    def __init__(self) -> None:
        self.stays: frozenset[str] = frozenset()
        """Pair ids of what loads tools that the request needs; no decision about them counts."""
        self._listed: list[tuple[int, Offered]] = []
        self._announced: list[tuple[int, frozenset[str]]] = []
        self._loaders: list[_Loader] = []
        self._compactions: list[tuple[int, int, Replaces]] = []  # number, place
        self._pinned: frozenset[tuple[int, int]] = frozenset()
        self._replaced: tuple[int, int, Replaces] = (0, 0, "")

    def take(self, number: int, view: View, pair_ids: Iterable[str | None]) -> None:
        """Note what an item loads, adds and replaces."""
        for place, (block, pair_id) in enumerate(zip(view.blocks, pair_ids, strict=True)):
            if block.loads:
                self._loaders.append(_Loader(number, place, pair_id, block.loads))
            if block.replaces:
                self._compactions.append((number, place, block.replaces))
            if block.offers is not None:
                self._listed.append((number, block.offers))
            if block.kind == "text" and view.role in _SPOKEN and (names := announced_tools(block.text)):
                self._announced.append((number, names))

    @property
    def listed(self) -> list[Offered]:
        """The tools that items of the history add to those of the request."""
        return [offered for _, offered in self._listed]

    @property
    def names(self) -> set[str]:
        """The names of all tools that items of the history list or announce."""
        listed = (offered.names for offered in self.listed)
        return {*chain.from_iterable(listed), *chain.from_iterable(names for _, names in self._announced)}

    def forget(self, known: int) -> None:
        """Forget the items from a number on; the others are unchanged."""
        self._loaders = [one for one in self._loaders if one.number < known]
        self._compactions = [one for one in self._compactions if one[0] < known]
        self._listed = [one for one in self._listed if one[0] < known]
        self._announced = [one for one in self._announced if one[0] < known]
        self._pinned, self._replaced, self.stays = frozenset(), (0, 0, ""), frozenset()

    def changed(self, offered: Offered, as_read: Callable[[int], Item]) -> dict[int, Item]:
        """Return the items that are others from this request on, by number. `as_read`: an item unchanged."""
        last = self._compactions[-1] if self._compactions else (0, 0, "")
        needed = list(self._needed(joined(offered, self.listed), last))
        pinned = frozenset((one.number, one.place) for one in needed)
        self.stays = frozenset(one.pair_id for one in needed if one.pair_id is not None)
        numbers = {number for number, _ in pinned ^ self._pinned}
        if last != self._replaced:
            numbers.update(range(last[0] + 1))
        self._pinned, self._replaced = pinned, last
        return {number: self._item(as_read(number), last) for number in sorted(numbers)}

    def _needed(self, offered: Offered, last: tuple[int, int, Replaces]) -> Iterator[_Loader]:
        """Yield what loads tools for the first time after the last compaction, as far as the request needs them."""
        known: set[tuple[str, str]] = set()
        for one in self._loaders if offered.defers else ():
            if (one.number, one.place) < last[:2]:
                continue
            needed = loads_needed(one.loads, offered)
            if needed - known:
                known |= needed
                yield one

    def _item(self, item: Item, last: tuple[int, int, Replaces]) -> Item:
        """Return an item as it counts in this request."""
        number, place, replaces = last
        if replaces and item.number < number and (replaces == "all" or item.role not in _SPOKEN):
            return replace(item, entries=(), tokens=0, is_replaced=True)
        dropped = place if replaces == "all" and item.number == number else 0
        entries = [
            _dropped(e) if at < dropped else replace(e, type="spec") if (item.number, at) in self._pinned else e
            for at, e in enumerate(item.entries)
        ]
        return replace(item, entries=tuple(entries), tokens=sum(e.token_count for e in entries))


def _dropped(entry: ContextEntry) -> ContextEntry:
    """Return a block that stands before the compaction in its message: it stays, and costs nothing."""
    return replace(entry, type="spec", token_count=0, metadata={**(entry.metadata or {}), "kind": "other"})
