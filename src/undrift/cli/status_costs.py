"""The costs in ``undrift status``: the balance of managed sessions, the recorded prompts, and the state of their caches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.draw import say
from undrift.cli.show import count, first_line, safe
from undrift.core.budget_price import budget_price
from undrift.core.guard import Balance, CacheWatch, ClientRewrites, Notice, Rewrites, money, size
from undrift.core.ledger import Ledger
from undrift.doctor import Finding
from undrift.errors import StoreError
from undrift.recordings.costs import RecordedCost
from undrift.settings import Settings
from undrift.settings.model_table import Model
from undrift.settings.model_table import lookup as model_of
from undrift.stores.base import SessionRow
from undrift.stores.opening import open_store
from undrift.values.scope import Scope
from undrift.window.asked import client_rewrites
from undrift.window.ledgers import stored_ledgers

__all__ = ["ManagedSession", "budget_price_of", "costs_as_json", "managed_in", "show_costs"]

_MOST_SESSIONS = 2
"""So many sessions are shown one by one; --json has all."""


@dataclass(frozen=True, slots=True)
class ManagedSession:
    """A session that went through undrift, with its ledgers by model.

    `rewrites`: the prompts that its client made the provider write again; None without any.
    """

    home: str
    row: SessionRow
    ledgers: Mapping[str, Ledger]
    rewrites: ClientRewrites | None = None


def managed_in(homes: Sequence[str], limit: int) -> tuple[list[ManagedSession], list[Finding]]:
    """Return the newest sessions with a bill, and a finding for each store that cannot be read."""
    found: list[ManagedSession] = []
    unreadable: list[Finding] = []
    for home in homes:
        try:
            found += _managed_in(home, limit) if lookup.has_store(home) else []
        except StoreError as error:
            unreadable.append(Finding("store", "wrong", str(error), "`undrift doctor` says more", home))
    return found, unreadable


def _managed_in(home: str, limit: int) -> list[ManagedSession]:
    found: list[ManagedSession] = []
    with open_store(home, Scope(), create=False) as store:
        for row in store.sessions()[:limit]:
            ledgers = {m: one for m, one in stored_ledgers(store, row.session_id).items() if one.reports_cache}
            if ledgers:
                found.append(ManagedSession(home, row, ledgers, client_rewrites(store, row.session_id)))
    return found


def budget_price_of(settings: Settings, managed: Sequence[ManagedSession]) -> str | None:
    """Return the price of the active fixed budget for these sessions. None means: it is auto, or nothing is known."""
    total = Ledger()
    for one in managed:
        for ledger in one.ledgers.values():
            total = total.plus(ledger)
    if total.share is None or not isinstance(settings.budget_tokens, int):
        return None
    return f"{budget_price(settings.budget_tokens, share=total.share)}, if these sessions ran under it"


def show_costs(
    managed: Sequence[ManagedSession],
    found: Sequence[RecordedCost],
    models: Sequence[Model],
    *,
    words: str,
    at_ms: int,
    price: str | None,
) -> None:
    """Print what prompts cost: one sum, then the sessions whose next message has a price.

    Args:
        words: Names the sessions that are counted, as in ``this project``.
        price: The price of the fixed budget; None: there is none.
    """
    if found:
        _show_recorded(found, words, at_ms)
    if managed:
        click.echo()
        many = count(len(managed), "session")
        say(f"undrift in {many} through the gateway: {_balance(managed, models).notice().text}")
    if price is not None:
        say(f"The price of your fixed budget: {price}.")
    for one in [one for one in managed if one.rewrites is not None][:_MOST_SESSIONS]:
        say(first_line(one.row.name, 60) or safe(one.row.session_id))
        if one.rewrites is not None:
            say(f"  {safe(one.rewrites.notice().text)}", hang="  ")


def _show_recorded(found: Sequence[RecordedCost], words: str, at_ms: int) -> None:
    click.echo()
    sums = _sum(found)
    usd = "" if sums["usd"] is None else f"{money(sums['usd'])} for "
    say(f"{usd}{count(sums['prompts'], 'prompt')} in {count(len(found), 'session')} of {words}", bold=True)
    parts = [
        f"{count(again.prompts, 'prompt')} {cause}, {size(again.tokens)} tokens{_priced(again)}"
        for cause, name in (("after a pause", "after_pauses"), ("without a pause", "without_pause"))
        if (again := _all(found, name)).prompts
    ]
    if parts:
        say(f"A part of that was written whole again: {'; '.join(parts)}.")
    shown = [(one, next(_of_cache(one, at_ms), None)) for one in found if one.is_live(at_ms)]
    older = [one for one in found if not one.is_live(at_ms)]
    if older and not shown:
        shown = [(older[0], next(_of_cache(older[0], at_ms), None))]
    for one, notice in [pair for pair in shown if pair[1] is not None][:_MOST_SESSIONS]:
        say(first_line(one.title, 76) or "no title")
        say(f"  {notice.text}" if notice else "", hang="  ")
    cold = sum(one.watch.is_cold(at_ms) for one in older)
    if cold:
        say(f"{count(cold, 'session')} not used for a day {'has' if cold == 1 else 'have'} a cold cache.")


def _of_cache(one: RecordedCost, at_ms: int) -> Iterator[Notice]:
    return (notice for notice in one.notices(at_ms) if notice.kind != "rewrites")


def _priced(one: Rewrites) -> str:
    return "" if one.known_usd is None else f", {money(one.known_usd)}"


def _balance(managed: Sequence[ManagedSession], models: Sequence[Model]) -> Balance:
    return Balance.of((one.ledgers for one in managed), lambda model: model_of(model, models).input_usd_per_million)


def _all(found: Sequence[RecordedCost], name: str) -> Rewrites:
    each: list[Rewrites] = [getattr(one.watch, name) for one in found]
    return Rewrites(
        sum(one.prompts for one in each), sum(one.tokens for one in each),
        sum(one.usd for one in each), sum(one.priced for one in each),
    )  # fmt: skip


def costs_as_json(
    managed: Sequence[ManagedSession], found: Sequence[RecordedCost], models: Sequence[Model], at_ms: int
) -> dict[str, Any]:
    """Return all figures of costs, as JSON."""
    sessions = [
        {"home": one.home, "session_id": one.row.session_id, "name": one.row.name}
        | _balance_json(_balance([one], models))
        | {"client_rewrites": None if one.rewrites is None else _client_json(one.rewrites)}
        for one in managed
    ]
    return {
        "sessions": sessions,
        "balance": _balance_json(_balance(managed, models)) if managed else None,
        "recordings": [_as_json(one, at_ms) for one in found],
        "totals": _sum(found),
    }


def _client_json(found: ClientRewrites) -> dict[str, Any]:
    return {name: getattr(found, name) for name in ("prompts", "part", "byte")}


def _balance_json(balance: Balance) -> dict[str, Any]:
    figures = {name: getattr(balance, name) for name in ("saved", "rewrites", "fetched", "open", "total")}
    return {**figures, "unit": "usd" if balance.is_usd else "plain input tokens", "text": balance.notice().text}


def _sum(found: Sequence[RecordedCost]) -> dict[str, Any]:
    prices = [one.usd for one in found if one.usd is not None]
    return {
        "sessions": len(found),
        "prompts": sum(one.prompts for one in found),
        "tokens": sum(one.tokens for one in found),
        "usd": sum(prices) if found and len(prices) == len(found) else None,
        "after_pauses": _rewrites_json(_all(found, "after_pauses")),
        "without_pause": _rewrites_json(_all(found, "without_pause")),
    }


def _rewrites_json(one: Rewrites) -> dict[str, Any]:
    return {"prompts": one.prompts, "tokens": one.tokens, "usd": one.known_usd}


def _as_json(one: RecordedCost, at_ms: int) -> dict[str, Any]:
    return {
        "path": one.path,
        "format": one.format,
        "title": one.title,
        "folder": one.folder,
        "model": one.model or None,
        "prompts": one.prompts,
        "tokens": one.tokens,
        "usd": one.usd,
        "after_pauses": _rewrites_json(one.watch.after_pauses),
        "without_pause": _rewrites_json(one.watch.without_pause),
        "cache": _cache_json(one.watch, at_ms),
        "notices": [_notice_json(notice) for notice in one.notices(at_ms)],
    }


def _cache_json(watch: CacheWatch, at_ms: int) -> dict[str, Any]:
    is_known = watch.life_seconds is not None and watch.at_ms is not None
    return {
        "life_seconds": watch.life_seconds,
        "idle_seconds": watch.idle_seconds(at_ms),
        "is_cold": watch.is_cold(at_ms) if is_known else None,
        "tokens": watch.tokens or None,
    }


def _notice_json(notice: Notice) -> dict[str, Any]:
    return {
        "kind": notice.kind,
        "text": notice.text,
        "tokens": notice.tokens,
        "usd": notice.usd,
        "seconds": notice.seconds,
    }
