"""``undrift session list``: the sessions of a home, with names that a person recognises."""

import shlex
from pathlib import Path
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import Whole, home_options
from undrift.cli.place import home_of, is_wide, places_here
from undrift.cli.show import again, count, echo_json, first_line, safe
from undrift.cli.task_view import moment
from undrift.errors import RecallError
from undrift.stores.base import SessionRow
from undrift.stores.contract import Store
from undrift.stores.opening import engine_of, open_store
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = ["sessions_command"]

_REMEDY = "a session is listed once it has stored data; --home DIR names another folder"
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999


@click.command("list")
@click.option("--limit", type=Whole(min=1), default=20, show_default=True, metavar="N", help="List at most N sessions.")
@home_options
def sessions_command(home: str | None, limit: int, as_json: bool) -> None:
    """List the sessions in undrift's data folder, newest first.

    A name is made of the session's folder, the client and the user's first words. Secrets in it are masked.
    Sessions of the gateway, of hooks and of `undrift replay` have a name; others show only an id.

    \b
    undrift session list
    """
    if is_wide():
        _echo_all(home, limit, as_json=as_json)
        return
    homes = lookup.homes_of(home)
    folder, rows = lookup.first(homes, "there is no session", _listed, remedy=_REMEDY)
    shown, elsewhere = rows[:limit], dict(lookup.counted_elsewhere(homes, folder))
    if as_json:
        found = [_row_json(row) for row in shown]
        echo_json({"home": str(folder.absolute()), "count": len(rows), "sessions": found, "elsewhere": elsewhere})
        return
    say(f"{count(len(rows), 'session')} in {safe(str(folder))}", bold=True)
    for row in shown:
        _echo_row(row)
    if len(rows) > len(shown):
        say(f"{len(rows) - len(shown):,} more: use --limit N to see them")
    for other, number in elsewhere.items():
        click.echo()
        say(f"Another folder of yours has {count(number, 'session')}:")
        click.echo(f"  undrift session list{again(other)}")
    where = again(home if str(folder) == homes[0] else str(folder))
    next_commands(
        Show_the_tasks_of_a_session=f"undrift session tasks ID{where}",
        Show_the_history_of_a_session=f"undrift session history --session ID{where}",
    )


def _row_json(row: SessionRow) -> dict[str, Any]:
    return {
        "session_id": row.session_id,
        "name": row.name,
        "operations": row.operations,
        "originals": row.originals,
        "decisions": row.decisions,
        "first_at_ms": row.first_at_ms,
        "last_at_ms": row.last_at_ms,
    }


def _echo_row(row: SessionRow, project: str = "") -> None:
    last = moment(max(0, min(row.last_at_ms, _LATEST_MS)))[:16]
    click.echo()
    say(f"{last}  {first_line(row.name, 200) or 'no name'}")
    say(f"  {count(row.originals, 'original')}, {count(row.decisions, 'decision')}")
    click.echo(f"  {safe(row.session_id)}")
    if project:
        click.echo(f"  --project {shlex.quote(safe(project))}")


def _echo_all(home: str | None, limit: int, *, as_json: bool) -> None:
    """Print the sessions of all projects in one list; `--project` with what is printed names one of them."""
    places = [one for one in places_here(home) if engine_of(one).is_there(one)]
    found: list[tuple[SessionRow, Place]] = []
    for place in places:
        with open_store(place, Scope(), create=False) as store:
            found += [(row, place) for row in store.sessions()]
    if not found:
        raise RecallError(f"there is no session in any project of {home_of(home)}; {_REMEDY}")
    found.sort(key=lambda one: -one[0].last_at_ms)
    shown = found[:limit]
    if as_json:
        rows = [{**_row_json(row), "home": str(place.records), "project": _folder_of(place)} for row, place in shown]
        echo_json({"home": str(home_of(home)), "count": len(found), "sessions": rows, "elsewhere": {}})
        return
    with_any = len({str(place.records) for _, place in found})
    say(f"{count(len(found), 'session')} in {count(with_any, 'project')}", bold=True)
    for row, place in shown:
        _echo_row(row, _folder_of(place))
    if len(found) > len(shown):
        say(f"{len(found) - len(shown):,} more: use --limit N to see them")
    next_commands(Show_the_tasks_of_a_session="undrift session tasks ID --project P")


def _folder_of(place: Place) -> str:
    return "" if place.project is None else place.project.root


def _listed(store: Store, folder: Path) -> tuple[Path, tuple[SessionRow, ...]]:
    if not (rows := store.sessions()):
        raise RecallError("no session")
    return folder, rows
