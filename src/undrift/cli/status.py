"""``undrift status``: what undrift saved in a home, the cost of this folder's sessions, and how their caches stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import Whole, home_options
from undrift.cli.own import client_folders, own_recordings
from undrift.cli.show import count, echo_json, first_line, safe
from undrift.core.budget_price import budget_price
from undrift.core.guard import Balance, CacheWatch, ClientRewrites, Notice, Rewrites, money, size
from undrift.core.ledger import Ledger
from undrift.errors import TranscriptError
from undrift.recordings.costs import RecordedCost, costs_in
from undrift.settings import Settings
from undrift.settings.model_table import Model, read_models
from undrift.settings.model_table import lookup as model_of
from undrift.stores.base import SessionRow
from undrift.stores.opening import open_store
from undrift.values.clock import now_ms
from undrift.values.scope import Scope
from undrift.window.asked import client_rewrites
from undrift.window.ledgers import stored_ledgers

__all__ = ["status_command"]


@dataclass(frozen=True, slots=True)
class _ManagedSession:
    """A session that went through undrift, with its ledgers by model.

    `rewrites`: the prompts that its client made the provider write again; None without any.
    """

    home: str
    row: SessionRow
    ledgers: Mapping[str, Ledger]
    rewrites: ClientRewrites | None = None


@click.command("status")
@click.option("--limit", type=Whole(min=1), default=50, show_default=True, metavar="N", help="Look at N sessions.")
@client_folders
@home_options
def status_command(home: str | None, limit: int, as_json: bool, **folders: Path | None) -> None:
    """Show what undrift saved, what your sessions in this folder cost, and what the next message will cost.

    The figures are usage that providers reported. The balance of a session compares what was paid for its prompts with
    sending everything. For the sessions that your clients recorded in this folder it says what was paid and what was
    written to the prompt cache again. If a session was used in the last 24 hours, it says when its cache is cold.

    \b
    undrift status
    """
    settings = Settings.from_environment()
    models = read_models(settings.models_file)
    managed = _managed(lookup.homes_of(home), limit)
    found = list(costs_in(_newest(limit, folders), Path.cwd(), models))
    if as_json:
        echo_json(_report(managed, found, models) | {"budget_price": _budget_price(settings, managed)})
        return
    if managed:
        _show_managed(managed, models)
        if (price := _budget_price(settings, managed)) is not None:
            say(f"The price of your fixed budget: {price}.")
    if found:
        _show(found, now_ms(), after=bool(managed))
    if not managed and not found:
        looked_at = f"none of your newest {limit:,} recordings is of this folder"
        say(f"No session tells what it cost: none went through undrift, {looked_at}.", bold=True)
        next_commands(Start_a_client_with_undrift="undrift wrap claude", See_your_other_sessions="undrift autopsy")
        return
    next_commands(See_what_compactions_removed="undrift autopsy", See_what_pruning_would_save="undrift replay")


def _managed(homes: Sequence[str], limit: int) -> list[_ManagedSession]:
    """Return the newest sessions with a bill. Raises StoreError: a store cannot be read."""
    found: list[_ManagedSession] = []
    for home in homes:
        if lookup.has_store(home):
            with open_store(home, Scope(), create=False) as store:
                for row in store.sessions()[:limit]:
                    ledgers = {m: one for m, one in stored_ledgers(store, row.session_id).items() if one.reports_cache}
                    if ledgers:
                        found.append(_ManagedSession(home, row, ledgers, client_rewrites(store, row.session_id)))
    return found


def _balance(managed: Sequence[_ManagedSession], models: Sequence[Model]) -> Balance:
    return Balance.of((one.ledgers for one in managed), lambda model: model_of(model, models).input_usd_per_million)


def _budget_price(settings: Settings, managed: Sequence[_ManagedSession]) -> str | None:
    """Return the price of the active fixed budget for these sessions. None means: it is auto, or nothing is known."""
    total = Ledger()
    for one in managed:
        for ledger in one.ledgers.values():
            total = total.plus(ledger)
    if total.share is None or not isinstance(settings.budget_tokens, int):
        return None
    return f"{budget_price(settings.budget_tokens, share=total.share)}, if these sessions ran under it"


def _show_managed(managed: Sequence[_ManagedSession], models: Sequence[Model]) -> None:
    say(f"undrift in {count(len(managed), 'session')}: {_balance(managed, models).notice().text}", bold=True)
    for one in managed if len(managed) > 1 else ():
        click.echo()
        say(first_line(one.row.name, 200) or safe(one.row.session_id))
        say(f"  {_balance([one], models).notice().text}")
    for one in managed:
        if one.rewrites is not None:
            click.echo()
            say(first_line(one.row.name, 200) or safe(one.row.session_id))
            say(f"  {safe(one.rewrites.notice().text)}", hang="  ")


def _newest(limit: int, homes: dict[str, Path | None]) -> Sequence[Path]:
    try:
        return own_recordings("undrift status", **homes)[:limit]
    except TranscriptError:  # no client has recorded anything here
        return ()


def _show(found: Sequence[RecordedCost], at_ms: int, *, after: bool) -> None:
    if after:
        click.echo()
    sums = _sum(found)
    usd = "" if sums["usd"] is None else f"{money(sums['usd'])} for "
    say(f"{usd}{count(sums['prompts'], 'prompt')} in {count(len(found), 'session')} of this folder", bold=True)
    for what, name in (("after a pause", "after_pauses"), ("without a pause", "without_pause")):
        again = _all(found, name)
        if again.prompts:
            say(f"Written again {what}: {_rewrites(again)}.")
    for one in found:
        notices = one.notices(at_ms)
        if notices:
            click.echo()
            say(first_line(one.title, 200) or "no title")
            for notice in notices:
                say(f"  {notice.text}", hang="  ")


def _rewrites(one: Rewrites) -> str:
    priced = "" if one.known_usd is None else f", {money(one.known_usd)}"
    return f"{count(one.prompts, 'prompt')}, {size(one.tokens)} tokens{priced}"


def _all(found: Sequence[RecordedCost], name: str) -> Rewrites:
    each: list[Rewrites] = [getattr(one.watch, name) for one in found]
    return Rewrites(
        sum(one.prompts for one in each), sum(one.tokens for one in each),
        sum(one.usd for one in each), sum(one.priced for one in each),
    )  # fmt: skip


def _report(managed: Sequence[_ManagedSession], found: Sequence[RecordedCost], models: Sequence[Model]) -> Any:
    """Return all figures, as JSON."""
    at_ms = now_ms()
    sessions = [
        {"home": one.home, "session_id": one.row.session_id, "name": one.row.name}
        | _balance_json(_balance([one], models))
        | {"client_rewrites": None if one.rewrites is None else _client_json(one.rewrites)}
        for one in managed
    ]
    return {
        "folder": str(Path.cwd()),
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
