"""Every place of a JSON value, and the same value with something else at one of them."""

import copy
from collections.abc import Iterator
from typing import Any

__all__ = ["places", "put"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a value, its own included."""
    yield path
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield from places(one, (*path, step))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of a value with something else at one path."""
    if not path:
        return new
    out = copy.copy(value)
    out[path[0]] = put(value[path[0]], path[1:], new)
    return out
