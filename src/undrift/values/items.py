"""The items of a history, as a value that costs nothing to make."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from undrift.values.window import Item

__all__ = ["Items"]


class Items(Sequence[Item]):
    """The items of a history: the first so many of a list that only ever grows, so that a longer history shares it.

    Args:
        all_items: Nothing of it is ever changed or removed.
        count: How many of them are meant; all that there are now where it is not given.
    """

    __slots__ = ("_all", "_count")

    def __init__(self, all_items: list[Item], count: int | None = None) -> None:
        self._all = all_items
        self._count = len(all_items) if count is None else count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        return islice(self._all, self._count)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> list[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | list[Item]:
        if isinstance(place, slice):
            start, stop, step = place.indices(self._count)
            return self._all[start:stop:step] if step > 0 else [self._all[n] for n in range(start, stop, step)]
        return self._all[range(self._count)[place]]
