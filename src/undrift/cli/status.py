"""``undrift status``: the cost of the sessions of this folder, and how their prompt caches stand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import Whole
from undrift.cli.own import client_folders, own_recordings
from undrift.cli.show import count, echo_json, first_line
from undrift.core.guard import CacheWatch, Notice, Rewrites, money, size
from undrift.errors import TranscriptError
from undrift.recordings.costs import RecordedCost, costs_in
from undrift.settings import Settings
from undrift.settings.model_table import read_models
from undrift.values.clock import now_ms

__all__ = ["status_command"]


@click.command("status")
@click.option("--limit", type=Whole(min=1), default=50, show_default=True, metavar="N", help="Look at N sessions.")
@client_folders
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def status_command(limit: int, as_json: bool, **homes: Path | None) -> None:
    """Show the cost of your sessions in this folder, and what the next message will cost.

    The figures are the usage that your clients recorded: what was paid for prompts, and what was written to the
    provider's prompt cache again. If a session was used in the last 24 hours, it says when its cache is cold.

    \b
    undrift status
    """
    models = read_models(Settings.from_environment().models_file)
    found = list(costs_in(_newest(limit, homes), Path.cwd(), models))
    at_ms = now_ms()
    if as_json:
        sums = _sum(found)
        echo_json({"folder": str(Path.cwd()), "recordings": [_as_json(one, at_ms) for one in found], "totals": sums})
        return
    if not found:
        say("No recorded session of this folder tells what it cost.", bold=True)
        next_commands(See_what_your_sessions_lost="undrift autopsy", Show_your_sessions="undrift replay")
        return
    _show(found, at_ms)


def _newest(limit: int, homes: dict[str, Path | None]) -> Sequence[Path]:
    try:
        return own_recordings("undrift status", **homes)[:limit]
    except TranscriptError:  # no client has recorded anything here
        return ()


def _show(found: Sequence[RecordedCost], at_ms: int) -> None:
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
    next_commands(See_what_compactions_removed="undrift autopsy", See_what_pruning_would_save="undrift replay")


def _rewrites(one: Rewrites) -> str:
    priced = f", {money(one.usd)}" if one.priced == one.prompts else ""
    return f"{count(one.prompts, 'prompt')}, {size(one.tokens)} tokens{priced}"


def _all(found: Sequence[RecordedCost], name: str) -> Rewrites:
    each: list[Rewrites] = [getattr(one.watch, name) for one in found]
    return Rewrites(
        sum(one.prompts for one in each), sum(one.tokens for one in each),
        sum(one.usd for one in each), sum(one.priced for one in each),
    )  # fmt: skip


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
    return {"prompts": one.prompts, "tokens": one.tokens, "usd": one.usd if one.priced == one.prompts else None}


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
