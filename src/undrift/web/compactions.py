"""The view of a session's compactions: what the client's summary held of what was needed, what was read again, which rules got lost.

Law: the findings are those of `undrift autopsy`; texts are masked and cut to a line.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from undrift.core.autopsy.findings import Compaction, Fetch, Held
from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.recordings.autopsy import Postmortem, examine
from undrift.web.source import PageSource

__all__ = ["compactions"]

_MOST_FETCHES = 50
_WORDS_CHARACTERS = 300


def compactions(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what each compaction of a session removed. `query`: ``key``."""
    one = source.session(query.get("key", ""))
    found = source.kept(one, "compactions", lambda: examine(one.path, models=source.models))
    return {"compactions": [_json(found, compaction) for compaction in found.autopsy.compactions]}


def _json(found: Postmortem, one: Compaction) -> dict[str, Any]:
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
        "fetches": [_fetch(fetch) for fetch in one.fetches_in_window[:_MOST_FETCHES]],
        "rules": {"before": one.rules, "lost": [_words(rule.text) for rule in one.lost_rules]},
        "usd": found.usd(one.cost.total),
    }


def _held(held: Held | None) -> dict[str, int] | None:
    return None if held is None else asdict(held)


def _fetch(fetch: Fetch) -> dict[str, Any]:
    return {"call": fetch.call, "tool": label(fetch.tool), "what": _words(fetch.what), "tokens": fetch.tokens}


def _words(text: str) -> str:
    return label(mask(text).text, _WORDS_CHARACTERS)
