"""The details of many records, stored compactly: parts that several records share are in memory one time."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

__all__ = ["Detail"]


class Detail(Mapping[str, Any]):
    """A read-only mapping in two parts; several mappings can share a part.

    Args:
        common: The first names and values; never changed.
        own: The other ones; never changed. No name is in both. As bytes of JSON they take less memory, and more time.
    """

    __slots__ = ("_common", "_own")

    def __init__(self, common: dict[str, Any], own: dict[str, Any] | bytes) -> None:
        self._common = common
        self._own = own

    def __getitem__(self, name: str) -> Any:
        return self._common[name] if name in self._common else self._rest()[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the default; a session asks this for each of its decisions."""
        return self._common[name] if name in self._common else self._rest().get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._common or name in self._rest()

    def __iter__(self) -> Iterator[str]:
        yield from self._common
        yield from self._rest()

    def __len__(self) -> int:
        return len(self._common) + len(self._rest())

    def __repr__(self) -> str:
        return repr(dict(self))

    def _rest(self) -> dict[str, Any]:
        own = self._own
        return msgspec.json.decode(own, type=dict[str, Any]) if isinstance(own, bytes) else own
