"""The view of the bill: what prompts cost, by day, project, model, session and cause, and what undrift saved.

Law: prices are those of the provider's own counts of prompts; answers are not in them, as no table of ours has their price. A
prompt whose model has no price is counted and named, not guessed.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from undrift.core.guard import Balance
from undrift.errors import StoreError
from undrift.settings.model_table import lookup
from undrift.values.clock import day_of, now_ms
from undrift.web.causes import Sums, day_sums, priced_prompts, summed
from undrift.web.now import name_of
from undrift.web.source import PageSource
from undrift.window.ledgers import stored_ledgers

__all__ = ["bill", "priced_prompts"]

_DAY_MS = 86_400_000
_DAYS = 7
_GROUPS = ("day", "project", "model", "session")


def bill(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the prompts' price of the last days. `query`: ``days``, from 1 to 366."""
    given = query.get("days", "")
    days = min(366, max(1, int(given))) if given.isdecimal() and len(given) < 9 else _DAYS
    since_ms = (now_ms() // _DAY_MS - days + 1) * _DAY_MS
    since, until = day_of(since_ms), day_of(now_ms() + _DAY_MS)  # a day that is far off is a wrong clock, or a trick
    whole: Sums = defaultdict(float)
    groups: dict[str, dict[str, Sums]] = {name: {} for name in _GROUPS}
    names: dict[str, str] = {}
    undated = 0
    for one in source.sessions():
        if all(row.at_ms and row.at_ms < since_ms for row in one.figures.prompts):
            continue  # a session of other days need not be read
        names[one.key] = name_of(source, one)
        for (day, model), sums in day_sums(source, one).items():
            if not day or day > until:
                undated += int(sums["prompts"])
            if not since <= day <= until:
                continue
            _add(whole, sums)
            keys = (day, one.project, model or "unknown", one.key)
            for by, key in zip(_GROUPS, keys, strict=True):
                _add(groups[by].setdefault(key, defaultdict(float)), sums)
    rows = {by: [_row(name, sums) for name, sums in found.items()] for by, found in groups.items()}
    for by, found in rows.items():
        found.sort(key=lambda row: row["name"] if by == "day" else -(row["usd"] or 0.0))
    for row in rows["session"]:
        row["title"] = names[row["name"]]
    return {"days": days, **summed(whole), "undated": undated, "by": rows, "saved": _saved(source)}


def _row(name: str, sums: Sums) -> dict[str, Any]:
    """Return the sums of one group. Each cause is its price alone: a year of days stays small."""
    whole = summed(sums)
    figures = {key: whole[key] for key in ("prompts", "unpriced", "tokens", "usd")}
    return {"name": name, **figures, "causes": {cause: found["usd"] for cause, found in whole["causes"].items()}}


def _add(sums: Sums, more: Sums) -> None:
    for name, value in more.items():
        sums[name] += value


def _saved(source: PageSource) -> dict[str, Any]:
    """Return the balance of all managed sessions, as `undrift status` counts it; null if there is none."""
    ledgers = []
    for place in source.places():
        try:
            with source.store(place) as store:
                rows = () if store is None else store.sessions()
                ledgers += [found for row in rows if store and (found := stored_ledgers(store, row.session_id))]
        except StoreError:
            continue
    if not ledgers:
        return {"sessions": 0}
    balance = Balance.of(ledgers, lambda model: lookup(model, source.models).input_usd_per_million)
    figures = {name: getattr(balance, name) for name in ("saved", "rewrites", "fetched", "open", "total")}
    return {"sessions": len(ledgers), **figures, "is_usd": balance.is_usd, "text": balance.notice().text}
