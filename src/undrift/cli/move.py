"""``undrift store move``: a home goes to a server, or back into a folder, and the command proves that nothing was lost."""

import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from undrift.cli.autopsy import progress
from undrift.cli.draw import Column, draw, say
from undrift.cli.lookup import MAKES_OWN, has_store, no_store
from undrift.cli.of_session import home_options
from undrift.cli.place import home_of, is_wide, place_here
from undrift.cli.show import count, echo_json, note, safe, typed
from undrift.errors import InputError, StoreError
from undrift.stores.moving.homes import Pair, move_pair, pairs_between, sha256_of
from undrift.stores.moving.move import Move
from undrift.stores.projects import USER, places_in
from undrift.stores.served import home_path, server_of
from undrift.values.project import Place

__all__ = ["move_command", "shown_home"]

_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class _MovedProject:
    """One project that was moved, and how long it took."""

    pair: Pair
    moved: Move
    seconds: float


@click.command("move")
@click.option("--to", "to", required=True, metavar="HOME", help="A folder, or an address: postgresql://HOST/DATABASE.")
@home_options
def move_command(to: str, home: str | None, as_json: bool) -> None:
    """Move this project's records to a server, or back into a folder.

    It copies every record, reads both homes again and compares them. The old home stays as it is: remove it when you
    need it no more. Nothing in the new home is overwritten. Run the same command again after an interruption: it
    continues. Close the clients of the project first.

    \b
    undrift store move --to postgresql://db.example.com/undrift --all-projects
    """
    target = home_path(to)
    places = _places(home)
    if os.path.realpath(places[0].home) == os.path.realpath(target):
        raise InputError(f"{safe(to)}: is the home itself; name another one")
    done = []
    with progress(as_json, 100) as show:
        for pair in pairs_between(places, target):
            began = time.monotonic()
            moved = move_pair(pair, lambda at, whole, name: show(min(99, 100 * at // max(whole, 1)), Path(name)))
            if moved is not None:
                done.append(_MovedProject(pair, moved, time.monotonic() - began))
    if not done:
        raise StoreError(no_store([str(one.records) for one in places], MAKES_OWN))
    is_proved = all(one.moved.is_proved for one in done)
    if as_json:
        echo_json({"home": str(places[0].home), "to": shown_home(target), **_as_json(done), "is_proved": is_proved})
    else:
        _show(done, target, is_proved=is_proved)
    if not is_proved:
        raise click.exceptions.Exit(1)


def _places(home: str | None) -> list[Place]:
    """Return the places whose records go. Raises StoreError: there are none."""
    if not is_wide():
        place = place_here(home)
        if not has_store(place.records):
            raise StoreError(no_store((str(place.records),), MAKES_OWN))
        return [place]
    top = home_of(home)
    alone = [Place(top, one, one) for one in (top / USER, top)]
    found = [one for one in (*places_in(top), *alone) if has_store(one.records)]
    if not found:
        raise StoreError(no_store((str(top),), MAKES_OWN))
    return found


def shown_home(target: Path) -> str:
    """Return a home for people: an address without its password."""
    address = server_of(target)
    if address is None:
        return str(target)
    from undrift.stores.postgres.address import without_password

    return without_password(address)


def _show(done: list[_MovedProject], target: Path, *, is_proved: bool) -> None:
    for one in done:
        moved = one.moved
        whole = count(len(moved.moved), "session")
        more = f", continued {len(moved.continued):,}" if moved.continued else ""
        same = f", {len(moved.same):,} were there already" if moved.same else ""
        say(f"{safe(one.pair.name)}: moved {whole}{more}{same}, in {one.seconds:,.1f} s.", bold=True)
        for sentence in moved.conflicts[:_MOST_SHOWN]:
            say(f"  stays behind: {safe(sentence)}", hang="  ")
        if len(moved.conflicts) > _MOST_SHOWN:
            say(f"  and {len(moved.conflicts) - _MOST_SHOWN:,} more")
        for sentence in moved.left_behind:
            say(f"  not moved: {safe(sentence)}", hang="  ")
        if moved.renumbered:
            say(f"  {count(len(moved.renumbered), 'session')} with new numbers of steps", hang="  ")
    kinds = sorted({kind for one in done for kind in (*one.moved.source.counts, *one.moved.target.counts)})
    rows = [[kind, *(f"{sum(side.counts[kind] for side in sides):,}" for sides in _sides(done))] for kind in kinds]
    draw([Column("record", words=True), Column("old home"), Column("new home")], rows)
    old, new = _hashes(done)
    say(f"SHA-256 of all, old home: {old}")
    say(f"SHA-256 of all, new home: {new}")
    if is_proved:
        say("Both are equal: nothing was lost.", bold=True)
        note(f"The old home stays as it is. Use the new one with UNDRIFT_HOME={shlex.quote(safe(shown_home(target)))}")
        return
    say("Not everything is in the new home. The old home has all of it, as before.", bold=True)


def _sides(done: list[_MovedProject]) -> tuple[list[Any], list[Any]]:
    return [one.moved.source for one in done], [one.moved.target for one in done]


def _hashes(done: list[_MovedProject]) -> tuple[str, str]:
    """Return the SHA-256 of all in the old home, and in the new one."""
    names = [one.pair.name for one in done]
    old, new = (sha256_of([(name, p.sha256) for name, p in zip(names, sides, strict=True)]) for sides in _sides(done))
    return old, new


def _as_json(done: list[_MovedProject]) -> dict[str, Any]:
    old, new = _hashes(done)
    return {"sha256": {"old": old, "new": new}, "projects": [_project(one) for one in done]}


def _project(one: _MovedProject) -> dict[str, Any]:
    moved = one.moved
    return {
        "project": one.pair.name,
        "from": typed(one.pair.source),
        "seconds": round(one.seconds, 3),
        **{
            name: getattr(moved, name)
            for name in ("moved", "continued", "same", "renumbered", "conflicts", "left_behind")
        },
        "records": {"old": dict(moved.source.counts), "new": dict(moved.target.counts)},
        "sha256": {"old": moved.source.sha256, "new": moved.target.sha256},
        "is_proved": moved.is_proved,
    }
