"""The view of now: the sessions that are alive, what fills their windows, and what the next message costs.

Law: a figure that is not known is null. Tokens are the provider's own where it reported them.
"""

from collections.abc import Mapping
from typing import Any

from undrift.core.guard import LEAST_TOKENS
from undrift.core.text.safe_lines import label
from undrift.core.window.log import PLACED
from undrift.errors import StoreError
from undrift.values.clock import now_ms
from undrift.web.causes import price_so_far
from undrift.web.memory import conflict_count
from undrift.web.read_again import system_texts_tokens
from undrift.web.source import PageSource
from undrift.web.watching import KINDS as OWN_KINDS
from undrift.web.watching import WatchedSession
from undrift.window.pinning import KINDS, unpinned_in

__all__ = ["name_of", "now", "session_json"]

_LIVE_MS = 60 * 60_000
"""A session that was written to within an hour is alive."""

_MOST_LIVE = 50
_NAME_CHARACTERS = 200


def now(source: PageSource, _: Mapping[str, str]) -> dict[str, Any]:
    """Return the newest sessions, those that are alive first, and whether a gateway has open sessions."""
    at_ms = now_ms()
    found = source.sessions(_MOST_LIVE)[:_MOST_LIVE]
    open_here = source.open_here()
    rows = [session_json(source, one, at_ms, open_here) for one in found]
    return {"at_ms": at_ms, "gateway": bool(open_here), "conflicts": conflict_count(source), "sessions": rows}


def session_json(source: PageSource, one: WatchedSession, at_ms: int, open_here: Mapping[str, Any]) -> dict[str, Any]:
    """Return one session for the page. `open_here`: the gateway's figures of its open sessions, by our id."""
    managed = next((row for name, row in open_here.items() if one.is_named(name)), None)
    pinned_tokens, left_tokens = source.noted(one, "stored", one.last_ms, lambda: _stored(source, one))
    stored_left = left_tokens
    if managed:
        left_tokens = max(0, managed["tokens_before"] - managed["tokens_after"])
    usd, unpriced = price_so_far(source, one)
    return {
        "key": one.key,
        "name": name_of(source, one),
        "client": one.client,
        "project": label(one.project, _NAME_CHARACTERS),
        "folder": label(one.folder, _NAME_CHARACTERS),
        "model": label(one.model, _NAME_CHARACTERS),
        "last_ms": one.last_ms,
        "is_live": at_ms - one.last_ms <= _LIVE_MS,
        "is_managed": managed is not None,
        "is_recorded": one.is_recorded,
        "turns": len(one.figures.prompts),
        "compactions": len(one.figures.boundaries),
        "window": {
            "limit_tokens": one.window_tokens,
            "used_tokens": one.used_tokens,
            "parts": _parts(source, one, pinned_tokens, stored_left),
            "left_tokens": left_tokens,
            "is_counted": bool(one.figures.prompts),
        },
        "cache": _cache(one),
        "usd": usd,
        "unpriced": unpriced,
    }


def name_of(source: PageSource, one: WatchedSession) -> str:
    """Return a session's name for the page, without that of its project."""
    title = one.title.removeprefix(one.project) if one.project else one.title
    return source.named(title.removeprefix(" · "))


def _parts(source: PageSource, one: WatchedSession, pinned_tokens: int, left_tokens: int) -> dict[str, int]:
    """Return the tokens of the window by kind.

    ``system`` is system prompt and tools together, unless the client records its system prompt: then there is ``tools``
    for the rest. ``pins`` is what undrift put in; the provider counts it, and no client records it.
    """
    parts = dict(one.parts())
    rest = left_tokens  # the recording has it still, the window has not
    for kind in ("results", "calls", "answers"):
        gone = min(parts[kind], rest)
        parts[kind], rest = parts[kind] - gone, rest - gone
    parts["system"] = max(0, one.used_tokens - sum(parts[kind] for kind in OWN_KINDS))
    pins = min(parts["system"], pinned_tokens)
    if pins:
        parts |= {"system": parts["system"] - pins, "pins": pins}
    texts = system_texts_tokens(source, one)
    if texts and one.figures.prompts:
        system = min(texts, parts["system"])
        parts |= {"system": system, "tools": parts["system"] - system}
    return parts


def _stored(source: PageSource, one: WatchedSession) -> tuple[int, int]:
    """Return the tokens of the pins that undrift put into the window, and of what left it; 0 if no store says so."""
    pinned = left = 0
    try:
        with source.store(source.place_of(one)) as store:
            if store is None:
                return 0, 0
            for session_id in one.ids_in(store):
                decisions = store.decisions(session_id).values()
                left += sum(decision.tokens_saved for decision in decisions if decision.kind not in PLACED)
                placed = {decision.ref: -decision.tokens_saved for decision in decisions if decision.kind == "pinned"}
                undone = unpinned_in(store.operations(session_id, KINDS)) if placed else ()
                pinned += sum(tokens for ref, tokens in placed.items() if ref not in undone)
    except StoreError:
        return 0, 0
    return pinned, left


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
