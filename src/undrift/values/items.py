"""The items of a history; each is built on first use."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self, SupportsIndex, TypeVar, overload

from undrift.values.window import Item

__all__ = ["Growing", "Items", "Outline", "are_made", "outlined"]

T = TypeVar("T")


class Outline(NamedTuple):
    """The id and tokens of an item that is not built, and the pair ids of its blocks.

    The id of a block is that of its item and its number, joined by a point.
    """

    id: str
    tokens: int
    pairs: Sequence[str | None]

    @property
    def blocks(self) -> list[str]:
        """The ids of its blocks."""
        return [f"{self.id}.{number}" for number in range(len(self.pairs))]


class Growing(list[T]):
    """A list whose first values are built on first use.

    `outline`: number to what is known of a value that is not made; None if it has to be made.
    """

    __slots__ = ("_make", "_outline", "_unmade")

    def __init__(
        self,
        count: int = 0,
        make: Callable[[int], T] | None = None,
        outline: Callable[[int], Outline | None] | None = None,
    ) -> None:
        super().__init__([None] * count)  # type: ignore[list-item]
        self._make = make
        self._outline = outline
        self._unmade = count

    @classmethod
    def of(cls, values: Iterable[T]) -> Self:
        """Return a list of values that are made."""
        found = cls()
        found.extend(values)
        return found

    def has(self, number: int) -> bool:
        """Tell whether a value was made already."""
        return super().__getitem__(number) is not None

    @property
    def is_made(self) -> bool:
        """Tell whether all values are made."""
        return not self._unmade

    def outline(self, number: int) -> Outline | None:
        """Return the outline of a value that is not made yet; None if it is made, or has to be."""
        return None if self._outline is None or not self._unmade or self.has(number) else self._outline(number)

    @overload
    def __getitem__(self, place: SupportsIndex) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        if not self._unmade:
            return found
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        if found is None and self._make is not None:
            number = range(len(self))[place]
            found = self._make(number)
            self[number] = found
            self._unmade -= 1
        return found

    def __iter__(self) -> Iterator[T]:
        return map(self.__getitem__, range(len(self))) if self._unmade else super().__iter__()

    def __reversed__(self) -> Iterator[T]:
        return map(self.__getitem__, range(len(self) - 1, -1, -1)) if self._unmade else super().__reversed__()


class Items(Sequence[Item]):
    """The first items of a growing list; a longer history shares the same list.

    `all_items`: nothing of it is ever changed or removed.
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

    @property
    def tokens(self) -> int:
        """Tokens of all items together."""
        outlines = ((number, self.outline(number)) for number in range(self._count))
        return sum(self._all[number].tokens if one is None else one.tokens for number, one in outlines)

    @property
    def is_made(self) -> bool:
        """See `Growing.is_made`."""
        return not isinstance(self._all, Growing) or self._all.is_made

    def outline(self, number: int) -> Outline | None:
        """See `Growing.outline`."""
        return self._all.outline(number) if isinstance(self._all, Growing) else None


def are_made(items: Sequence[Item]) -> bool:
    """Tell whether all items are made: then none has an outline."""
    return not isinstance(items, Items) or items.is_made


def outlined(items: Sequence[Item], number: int) -> Outline | None:
    """Return the outline of an item that is not built yet. None means: use the item itself."""
    return items.outline(number) if isinstance(items, Items) else None
