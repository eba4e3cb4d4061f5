"""The view of a session's compactions: what the client's summary held of what was needed, what was read again, which rules got lost.

Law: the findings are those of `undrift autopsy`; texts are masked and cut to a line.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from undrift.core.autopsy.findings import Compaction, Fetch, Held
from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.hooks.given import GivenText, given_back
from undrift.recordings.autopsy import Postmortem, examine
from undrift.web.causes import read_again_usd
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["compactions"]

_MOST_FETCHES = 50
_WORDS_CHARACTERS = 300
_CLOCK_SLIP_MS = 5_000
"""The client writes a compaction down about when its hook asks for the text: either may be first."""


def compactions(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what each compaction of a session removed. `query`: ``key``."""
    one = source.session(query.get("key", ""))
    found = source.kept(one, "compactions", lambda: examine(one.path, models=source.models))
    prices = read_again_usd(source, one)
    records = _records(source, one)
    rows = []
    for compaction in found.autopsy.compactions:
        ends_ms = next((row.at_ms for row in found.autopsy.compactions[compaction.number :] if row.at_ms), None)
        rows.append(_json(found, compaction, prices) | {"hooks": _given(records, compaction.at_ms, ends_ms)})
    return {"compactions": rows}


def _json(found: Postmortem, one: Compaction, prices: Mapping[str, float | None]) -> dict[str, Any]:
    fetches = one.fetches_in_window
    known = [usd for fetch in fetches if (usd := prices.get(fetch.entry_id)) is not None]
    return {
        "number": one.number,
        "at_ms": one.at_ms,
        "trigger": one.trigger,
        "tokens_before": one.tokens_before,
        "tokens_after": one.tokens_after,
        "is_encrypted": one.encrypted,
        "window_calls": one.window_calls,
        "needed": {"identifiers": one.identifiers, "lines": one.lines},
        "texts": {
            "summary": asdict(one.native),
            "undrift": _held(one.ours),
            "given": None if one.given is None else asdict(one.given.held),
            "read_again": asdict(one.fetched),
        },
        "fetches": [_fetch(fetch, prices) for fetch in fetches[:_MOST_FETCHES]],
        "fetched": {"count": len(fetches), "usd": round(sum(known), 6) if known else None},
        "rules": {"before": one.rules, "lost": [_words(rule.text) for rule in one.lost_rules]},
        "usd": found.usd(one.cost.total),
    }


def _held(held: Held | None) -> dict[str, int] | None:
    return None if held is None else asdict(held)


def _fetch(fetch: Fetch, prices: Mapping[str, float | None]) -> dict[str, Any]:
    usd = prices.get(fetch.entry_id)
    return {
        "call": fetch.call,
        "tool": label(fetch.tool),
        "what": _words(fetch.what),
        "tokens": fetch.tokens,
        "known_tokens": fetch.known_tokens,
        "usd": None if usd is None else round(usd, 6),
    }


def _records(source: PageSource, one: WatchedSession) -> list[GivenText]:
    """Return what the hooks wrote down for a session, the oldest first."""

    def found() -> list[GivenText]:
        return [row for row in given_back(source.home) if row.session_id in (one.session_id, one.key)]

    return sorted(source.kept(one, "given back", found), key=lambda row: row.at_ms)


def _given(records: list[GivenText], at_ms: int | None, ends_ms: int | None) -> dict[str, Any] | None:
    """Return the counts of the text that the hooks gave back after a compaction; None: no record is of it."""
    if at_ms is None:
        return None
    for row in records:
        if at_ms - _CLOCK_SLIP_MS <= row.at_ms and (ends_ms is None or row.at_ms < ends_ms - _CLOCK_SLIP_MS):
            return {"at_ms": row.at_ms, "counts": asdict(row.contents), "text": row.contents.sentence()}
    return None


def _words(text: str) -> str:
    return label(mask(text).text, _WORDS_CHARACTERS)
