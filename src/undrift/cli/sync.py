"""``undrift store sync``: this machine and a server each get what the other has."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from undrift.cli.autopsy import progress
from undrift.cli.draw import say
from undrift.cli.lookup import has_store
from undrift.cli.move import shown_home
from undrift.cli.of_session import home_options
from undrift.cli.place import home_of, is_wide, kept_place
from undrift.cli.show import count, echo_json, note, safe
from undrift.errors import InputError, StoreError
from undrift.stores.faults import from_system
from undrift.stores.moving.homes import Pair, pairs_between, sync_pair
from undrift.stores.moving.sync_state import machine_of, server_noted
from undrift.stores.projects import USER, places_in
from undrift.stores.served import home_path, server_of
from undrift.values.clock import now_ms
from undrift.values.project import Place
from undrift.window.blanking import blanked

__all__ = ["sync_command"]

_MOST_SHOWN = 10


@click.command("sync")
@click.option("--with", "address", metavar="ADDRESS", help="The server (default: that of the last sync).")
@home_options
def sync_command(address: str | None, home: str | None, as_json: bool) -> None:
    """Bring this machine's records and a server's together.

    Each gets what the other has. Nothing is overwritten: a session that both continued is NAME@MACHINE here, and
    a memory that both changed becomes an open conflict. A purge on one side reaches the other. Your own
    memories that hold in every project go to your own scope. Run it again after an interruption.

    \b
    undrift store sync --with postgresql://db.example.com/undrift
    """
    top = home_of(home)
    if server_of(top) is not None:
        raise InputError(f"{safe(str(top))}: its records are on a server; there is nothing to sync")
    target, machine = _server(top, address), _machine(top)
    places = _places(home)
    done: list[tuple[Pair, Any]] = []
    with progress(as_json, 100) as show:
        done += [(pair, _synced(pair, machine, show)) for pair in pairs_between(places, target)]
    if as_json:
        projects = [{"project": pair.name, **_as_json(one)} for pair, one in done]
        echo_json({"home": str(top), "with": shown_home(target), "machine": machine, "projects": projects})
    else:
        for pair, one in done:
            _show(pair, one)
    if any(one.problems for _, one in done):
        raise click.exceptions.Exit(1)


def _server(top: Path, address: str | None) -> Path:
    try:
        known = server_noted(top, address)
    except OSError as error:
        raise from_system(error, top) from error
    if known is None:
        raise InputError("no server is known yet; name it once with --with postgresql://HOST/DATABASE")
    target = home_path(known)
    if server_of(target) is None:
        raise InputError(f"{safe(known)}: is no address of a server; `undrift store move` takes a folder")
    return target


def _machine(top: Path) -> str:
    try:
        return machine_of(top)
    except OSError as error:
        raise from_system(error, top) from error


def _places(home: str | None) -> list[Place]:
    """Return the places to sync: this project's or all, and what holds in every project."""
    top = home_of(home)
    own = [kept_place(home)] if not is_wide() else [*places_in(top)]
    alone = [Place(top, one, one) for one in (top / USER, top)]
    found = [*own, *(one for one in alone if has_store(one.records) and (is_wide() or one.records.name == USER))]
    first: dict[str, Place] = {}
    for one in found:
        first.setdefault(os.path.realpath(one.records), one)
    return list(first.values())


def _synced(pair: Pair, machine: str, show: Any) -> Any:
    now = now_ms()
    try:
        return sync_pair(
            pair,
            machine,
            partial(blanked, act="purged", at_ms=now),
            at_ms=now,
            tell=lambda at, whole, name: show(min(99, 100 * at // max(whole, 1)), Path(name)),
        )
    except StoreError as error:
        raise type(error)(f"{error}; the rest waits for the next sync") from error


def _show(pair: Pair, one: Any) -> None:
    parts = [f"sent {count(len(one.pushed), 'session')}", f"got {len(one.pulled):,}"]
    if one.purged:
        parts.append(f"purged {count(len(one.purged), 'record')}")
    say(f"{safe(pair.name)}: {', '.join(parts)}.", bold=True)
    for name, fork in one.forks.items():
        say(f"  {safe(name)} is {safe(fork)} here from now on: the server has continued it too", hang="  ")
    if one.disputed:
        say(
            f"  {count(len(one.disputed), 'memory', 'memories')} changed on both sides: undrift memory conflicts",
            hang="  ",
        )
    for sentence in one.problems[:_MOST_SHOWN]:
        note(f"not synced: {safe(sentence)}")
    if len(one.problems) > _MOST_SHOWN:
        note(f"and {len(one.problems) - _MOST_SHOWN:,} more")


def _as_json(one: Any) -> dict[str, Any]:
    names = ("pushed", "pulled", "forks", "purged", "disputed", "problems")
    return {name: getattr(one, name) for name in names}
