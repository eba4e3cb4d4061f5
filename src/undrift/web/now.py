"""The view of now: the sessions that are alive, what fills their windows, and what the next message costs.

Law: a figure that is not known is null. Tokens are the provider's own where it reported them.
"""

from collections.abc import Mapping
from typing import Any

from undrift.core.guard import LEAST_TOKENS
from undrift.core.text.safe_lines import label
from undrift.values.clock import now_ms
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["now", "session_json"]

_LIVE_MS = 60 * 60_000
"""A session that was written to within an hour is alive."""

_MOST_LIVE = 50
_NAME_CHARACTERS = 200


def now(source: PageSource, _: Mapping[str, str]) -> dict[str, Any]:
    """Return the newest sessions, those that are alive first, and whether a gateway serves this page."""
    at_ms = now_ms()
    found = source.sessions()[:_MOST_LIVE]
    open_here = source.open_here()
    rows = [session_json(source, one, at_ms, open_here) for one in found]
    return {"at_ms": at_ms, "gateway": source.open_sessions is not None, "sessions": rows}


def session_json(source: PageSource, one: WatchedSession, at_ms: int, open_here: Mapping[str, Any]) -> dict[str, Any]:
    """Return one session for the page. `open_here`: the gateway's figures of its open sessions, by our id."""
    managed = next((row for name, row in open_here.items() if one.is_named(name)), None)
    parts = one.parts()
    return {
        "key": one.key,
        "name": source.named(one.title),
        "client": one.client,
        "project": label(one.project, _NAME_CHARACTERS),
        "folder": label(one.folder, _NAME_CHARACTERS),
        "model": label(one.model, _NAME_CHARACTERS),
        "last_ms": one.last_ms,
        "is_live": at_ms - one.last_ms <= _LIVE_MS,
        "is_managed": managed is not None,
        "turns": len(one.figures.prompts),
        "compactions": len(one.figures.boundaries),
        "window": {
            "limit_tokens": one.window_tokens,
            "used_tokens": one.used_tokens,
            "parts": parts,
            "left_tokens": max(0, managed["tokens_before"] - managed["tokens_after"]) if managed else 0,
            "is_counted": bool(one.figures.prompts),
        },
        "cache": _cache(one),
    }


def _cache(one: WatchedSession) -> dict[str, Any]:
    """Return when the cache is cold, and the price of the next prompt until then and after it."""
    watch = one.cache
    is_known = watch.at_ms is not None and watch.life_seconds is not None and watch.tokens >= LEAST_TOKENS
    return {
        "cold_ms": watch.at_ms + watch.life_seconds * 1_000 if is_known else None,  # type: ignore[operator]
        "life_s": watch.life_seconds,
        "tokens": watch.tokens,
        "warm_usd": one.usd_of(watch.tokens, is_cold=False) if watch.tokens else None,
        "cold_usd": one.usd_of(watch.tokens, is_cold=True) if watch.tokens else None,
    }
