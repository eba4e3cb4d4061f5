"""``undrift status``: what undrift gave back and saved, what is wrong, what sessions cost, and how their caches stand."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import Whole, home_options
from undrift.cli.own import client_folders, own_recordings
from undrift.cli.place import is_wide, places_here
from undrift.cli.setup_parts import calls_undrift
from undrift.cli.show import echo_json, first_line
from undrift.cli.status_costs import budget_price_of, costs_as_json, managed_in, show_costs
from undrift.cli.status_found import examined_in
from undrift.cli.status_given import effect_as_json, effect_of, show_comparisons, show_effect, show_findings
from undrift.cli.status_scope import scope_of
from undrift.cli.status_waiting import show_waiting, waiting_sessions
from undrift.doctor import failing
from undrift.errors import TranscriptError
from undrift.hooks.call import CLIENTS
from undrift.recordings.costs import RecordedCost, costs_in
from undrift.settings import Settings, working_folder
from undrift.settings.model_table import read_models
from undrift.stores.projects import project_of
from undrift.values.clock import now_ms
from undrift.values.project import Place, Project

__all__ = ["status_command"]

_RECENT_S = 7 * 86_400


@click.command("status")
@click.option("--limit", type=Whole(min=1), default=50, show_default=True, metavar="N", help="Look at N sessions.")
@client_folders
@home_options
def status_command(home: str | None, limit: int, as_json: bool, **folders: Path | None) -> None:
    """Show what undrift gave back after compactions, what is wrong, and what your sessions cost.

    It counts the compactions that this project lived through, and what the agent used of the text that came back. If
    there are enough sessions, it compares compactions before the hooks were installed and with them. It lists what is
    wrong. Costs are usage that providers reported: what was paid, what undrift saved, and what the next message costs.

    \b
    undrift status
    undrift status --all-projects
    """
    settings = Settings.from_environment()
    models = read_models(settings.models_file)
    places, at_ms = places_here(home), now_ms()
    project = _project(places[0])
    scope = scope_of(project, _words(project))
    homes = tuple(dict.fromkeys(place.home for place in places))
    stores = tuple(str(place.records) for place in places)
    managed, unreadable = managed_in(stores, limit)
    found = list(costs_in(_newest(limit, folders), scope.holds, models))
    sessions, unread = examined_in([Path(one.path) for one in found], places[0].home, models)
    effect = effect_of(homes, sessions, {one.path: one.folder for one in found}, scope, unread)
    here = None if project is None else Path(project.root)
    findings = [*unreadable, *failing(list(map(str, homes)), stores, _used_clients(found, folders, at_ms), here)]
    price = budget_price_of(settings, managed)
    if as_json:
        costs = costs_as_json(managed, found, models, at_ms)
        wrong = [{"name": one.name, "text": one.text, "remedy": one.remedy, "home": one.home} for one in findings]
        folder = None if project is None else project.root
        waiting = {"waiting": waiting_sessions(places)}
        echo_json(
            {"project": folder, **effect_as_json(effect), "wrong": wrong, **waiting, **costs, "budget_price": price}
        )
    else:
        show_effect(effect, scope.words)
        show_findings(findings)
        show_waiting(places)
        show_comparisons(effect, scope.words)
        show_costs(managed, found, models, words=scope.words, at_ms=at_ms, price=price)
        _show_next(places[0].home, folders, found=bool(found or managed), wide=project is None)
    if unreadable:
        sys.exit(1)


def _project(here: Place) -> Project | None:
    """Return the project that is meant; None means: all of them. `here`: the first place that the command looks at."""
    if is_wide():
        return None
    return here.project or project_of(working_folder())


def _words(project: Project | None) -> str:
    if project is None or project.root == project_of(working_folder()).root:
        return "this project"
    return f"project {first_line(project.name, 40)}"


def _show_next(home: Path, folders: Mapping[str, Path | None], *, found: bool, wide: bool) -> None:
    if found:
        more = {} if wide else {"See_all_your_projects": "undrift status --all-projects"}
        next_commands(See_what_compactions_removed="undrift autopsy", **more)
    else:
        none = "you have no recordings" if wide else "none of your newest recordings is of this project"
        say(f"No session tells what it cost: {none}.")
        more = {} if calls_undrift(home, folders) else {"Set_undrift_up_for_your_clients": "undrift setup"}
        next_commands(**more, See_your_other_sessions="undrift autopsy")


def _used_clients(found: Sequence[RecordedCost], folders: Mapping[str, Path | None], at_ms: int) -> dict[str, Path]:
    """Return the clients with hooks that were used in the last days, each with its own folder."""
    formats = {one.format for one in found if (idle_s := one.watch.idle_seconds(at_ms)) is None or idle_s <= _RECENT_S}
    return {
        name: folders.get(f"{name}_home") or Path.home() / client.folder
        for name, client in CLIENTS.items()
        if client.format in formats
    }


def _newest(limit: int, homes: dict[str, Path | None]) -> Sequence[Path]:
    try:
        return own_recordings("undrift status", **homes)[:limit]
    except TranscriptError:  # no client has recorded anything here
        return ()
