"""Reads from a request how long it asks the provider to keep its prompt in the cache. Pure; never raises.

Law: what the markers of the history say counts, as a prune rewrites the history; those before it only if it has none.
The longest of several counts: a cache that is still warm is never taken for a cold one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from undrift.wire.form import View, marker_of

__all__ = [
    "LONG_SECONDS",
    "SHORT_SECONDS",
    "names_cache",
    "retention_of",
    "seconds_asked",
    "seconds_beside",
    "seconds_of",
]

SHORT_SECONDS = 300
LONG_SECONDS = 3_600

_RETENTIONS = {"in_memory": LONG_SECONDS, "in-memory": LONG_SECONDS, "24h": 86_400}
"""OpenAI: in memory up to an hour, else up to a day (as of 2026-11). Both are the most, none is promised."""

_LEAST_LIVES = {"30m": 1_800}
"""OpenAI since GPT-5.6: `prompt_cache_options.ttl` is the least time; the provider may keep a prefix longer."""

_LIVES = {"5m": SHORT_SECONDS, "30m": 1_800, "1h": LONG_SECONDS, "12h": 43_200}
"""The markers of Anthropic and OpenAI, as a form reads them."""

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


def seconds_asked(fields: Mapping[str, Any]) -> int | None:
    """Return the cache lifetime that a request to OpenAI asks for. None means: it names none."""
    return max(filter(None, (retention_of(fields), _least_life(fields))), default=None)


def retention_of(fields: Mapping[str, Any]) -> int | None:
    """Return the most seconds that OpenAI keeps a prompt, as a request asks or an answer says; None: it does not say."""
    retention = fields.get("prompt_cache_retention")
    return _RETENTIONS.get(retention) if isinstance(retention, str) else None


def names_cache(fields: Mapping[str, Any]) -> bool:
    """Return whether a request names a prompt that the provider holds (Gemini): its life and its reading are not ours.

    Usage counts reading it like reading the history, and it lives as long as its maker has said elsewhere.
    """
    return bool(fields.get("cachedContent") or fields.get("cached_content"))


def _least_life(fields: Mapping[str, Any]) -> int | None:
    options = fields.get("prompt_cache_options")
    ttl = options.get("ttl") if isinstance(options, Mapping) else None
    return _LEAST_LIVES.get(ttl) if isinstance(ttl, str) else None


def _parts(fields: Mapping[str, Any]) -> Iterator[Any]:
    for name in ("tools", "system"):
        parts = fields.get(name)
        yield from parts if isinstance(parts, list) else ()


def _ttl(holder: Any) -> str | None:
    return marker_of(holder) if isinstance(holder, Mapping) else None


def _longest(ttls: Iterable[str | None]) -> int | None:
    return max((_LIVES[ttl] for ttl in ttls if ttl is not None), default=None)
