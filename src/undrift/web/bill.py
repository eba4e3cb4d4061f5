"""The view of the bill: what prompts cost, by day, project, model and cause, and what undrift saved.

Law: prices are those of the provider's own counts of prompts; answers are not in them, as no table of ours has their price. A
prompt whose model has no price is counted and named, not guessed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from undrift.core.guard import Balance, CacheWatch
from undrift.errors import StoreError
from undrift.recordings.costs import prompt_usd
from undrift.settings.model_table import Model, lookup
from undrift.values.clock import day_of, now_ms
from undrift.values.usage import PromptUsage
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession
from undrift.window.ledgers import stored_ledgers

__all__ = ["bill", "priced_prompts"]

_DAY_MS = 86_400_000
_DAYS = 7
_CAUSES = ("read", "new", "again")
"""Read from the cache; written or sent for the first time; written again because the cache was cold or was changed."""


def bill(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the prompts' price of the last days. `query`: ``days``, from 1 to 366."""
    days = min(366, max(1, int(query["days"]))) if query.get("days", "").isdecimal() else _DAYS
    since_ms = (now_ms() // _DAY_MS - days + 1) * _DAY_MS
    sums: dict[str, dict[str, dict[str, float]]] = {name: {} for name in ("day", "project", "model", "session")}
    names: dict[str, str] = {}
    unpriced = prompts = 0
    for one in source.sessions():
        names[one.key] = one.title
        for prompt, causes in priced_prompts(one, source.models):
            if (prompt.at_ms or 0) < since_ms:
                continue
            prompts += 1
            unpriced += causes is None
            model = prompt.model or one.model or "unknown"
            groups = {"day": day_of(prompt.at_ms or 0), "project": one.project, "model": model, "session": one.key}
            for by, name in groups.items():
                row = sums[by].setdefault(name, defaultdict(float))
                row["prompts"] += 1
                for cause, usd in zip(_CAUSES, causes or (), strict=False):
                    row[cause] += usd
    rows = {by: [_row(name, row) for name, row in found.items()] for by, found in sums.items()}
    for by, found in rows.items():
        found.sort(key=lambda row: row["name"] if by == "day" else -row["usd"])
    for entry in rows["session"]:
        entry["title"] = source.named(names[entry["name"]])
    return {"days": days, "prompts": prompts, "unpriced": unpriced, "by": rows, "saved": _saved(source)}


def _row(name: str, sums: Mapping[str, float]) -> dict[str, Any]:
    by_cause = {cause: round(sums.get(cause, 0.0), 6) for cause in _CAUSES}
    return {"name": name, "prompts": int(sums["prompts"]), "usd": round(sum(by_cause.values()), 6), **by_cause}


def priced_prompts(
    one: WatchedSession, models: Sequence[Model]
) -> Iterator[tuple[PromptUsage, tuple[float, float, float] | None]]:
    """Yield each prompt with its price by cause; None: its model has no price."""
    watch = CacheWatch.before(one.figures.prompts[0] if one.figures.prompts else None)
    for event in one.figures.in_order():
        lost = watch.lost_tokens(event) if isinstance(event, PromptUsage) else 0
        watch = watch.then(event, lambda *_: None)
        if isinstance(event, PromptUsage):
            yield event, prompt_usd(event, lost, event.model or one.model, models)


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
