"""Reads from a request's cache markers how long the provider keeps its prompt in the cache. Pure; never raises.

Law: what the markers of the history say counts, as a prune rewrites the history; those before it only if it has none.
The longest of several counts: a cache that is still warm is never taken for a cold one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from undrift.wire.form import View

__all__ = ["LONG_SECONDS", "SHORT_SECONDS", "seconds_beside", "seconds_of"]

SHORT_SECONDS = 300
LONG_SECONDS = 3_600

_MARKERS = 4  # the provider takes no more, so that a long history need not be looked through


def seconds_of(views: Sequence[View], fields: Mapping[str, Any]) -> int | None:
    """Return the requested cache lifetime of the history, in seconds. None means: the request names none.

    `fields`: the body's fields; a marker of the whole request counts as one on the newest block.
    """
    found = (block.marker for view in reversed(views) for block in view.blocks if block.marker)
    return _longest((*islice(found, _MARKERS), _ttl(fields)))


def seconds_beside(fields: Mapping[str, Any]) -> int | None:
    """Return the requested cache lifetime of system prompt and tools. None means: the request names none."""
    return _longest(_ttl(part) for part in _parts(fields))


def _parts(fields: Mapping[str, Any]) -> Iterator[Any]:
    for name in ("tools", "system"):
        parts = fields.get(name)
        yield from parts if isinstance(parts, list) else ()


def _ttl(holder: Any) -> str | None:
    marker = holder.get("cache_control") if isinstance(holder, Mapping) else None
    if not isinstance(marker, Mapping):
        return None
    return "1h" if marker.get("ttl") == "1h" else "5m"


def _longest(ttls: Iterable[str | None]) -> int | None:
    found = {ttl for ttl in ttls if ttl is not None}
    return None if not found else LONG_SECONDS if "1h" in found else SHORT_SECONDS
