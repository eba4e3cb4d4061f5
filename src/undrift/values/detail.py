"""What records have in common, kept once: a mapping that shares its names and values with others of its kind."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, TypeVar

__all__ = ["Detail", "Shared"]

T = TypeVar("T", bound=Hashable)


class Detail(Mapping[str, Any]):
    """A small mapping of a third of a dict's size that is looked through from the front.

    Args:
        names: Of the values.
        values: As many.
    """

    __slots__ = ("_names", "_values")

    def __init__(self, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
        self._names = names
        self._values = values

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[self._names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


class Shared:
    """Values that were met before: of equal ones the first is kept."""

    def __init__(self) -> None:
        self._met: dict[Any, Any] = {}

    def one(self, value: T) -> T:
        """Return the value that was met first of those equal to this one; 1, 1.0 and true are three."""
        found: T = self._met.setdefault((type(value), value), value)
        return found

    def detail(self, given: Mapping[str, Any]) -> Detail:
        """Return a mapping that shares what it can."""
        met, keys, values = self._met, tuple(given), tuple(given.values())
        names = met.get(keys) or met.setdefault(keys, tuple(map(self.one, keys)))
        try:  # nearly always: a loop in C, as a session has tens of thousands
            return Detail(names, tuple(map(met.setdefault, zip(map(type, values), values, strict=True), values)))
        except TypeError:  # a list
            return Detail(names, tuple([self.one(v) if isinstance(v, Hashable) else v for v in values]))
