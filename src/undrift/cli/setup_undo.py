"""``undrift setup --undo``: every entry of ours out of every client's settings, and what was made for them.

Law: recorded sessions and memories stay; a settings file that never held an entry of ours is left alone, even if it cannot be read.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from undrift.cli.change import ChangeDeclined, ChangeReport, ChangeUnasked, Given, SettingsChange
from undrift.cli.draw import say
from undrift.cli.install_entry import EntryChange, has_plugin, is_newest, uninstall_entry
from undrift.cli.install_gateway import uninstall_gateway
from undrift.cli.setup_parts import home_of
from undrift.cli.show import echo_json, safe
from undrift.clients import CLIENTS, SERVED, place
from undrift.clients.addressed import ADDRESSED
from undrift.clients.base import EntryScope
from undrift.clients.plugin import PLUGIN_UNINSTALL
from undrift.errors import UndriftError
from undrift.stores.secret import TOKEN_NAME

__all__ = ["undo"]

_SCRATCH = re.compile(r"\.(?:installed\.json\.undrift-|service\.json\.)\d{1,10}")
_MADE_WITH_THE_GATEWAY = frozenset({TOKEN_NAME, ".gitignore"})
_MARK = b"undrift"
_MOST_BYTES = 16 << 20


_Step = tuple[str, Path, Callable[[], None]]


def undo(given: Given, *, as_json: bool) -> None:
    """Undo everything. Exits with 1 if something could not be undone, or there is no terminal to ask at."""
    report = _UndoReport(as_json=as_json)
    failed: list[str] = []
    left, unasked = False, False
    for name, path, step in _steps(given, report):
        try:
            step()
        except ChangeDeclined:
            left = True
        except ChangeUnasked:
            left = unasked = True
        except (UndriftError, OSError) as error:
            if _may_hold_ours(given.data_home(), path):
                failed.append(f"{ADDRESSED[name].title}: {safe(str(error))}")
    if not left and not failed:
        _clear(given.data_home())
    _end(report, failed, given, unasked=unasked)


class _UndoReport(ChangeReport):
    """The changes, and the clients whose settings they are in."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__(as_json=as_json)
        self.changes: list[dict[str, Any]] = []
        self.titles: dict[str, None] = {}
        self.notes: dict[str, None] = {}

    def add(self, found: dict[str, Any]) -> None:
        """Keep a change, and not that nothing had to be changed."""
        if found["diff"]:
            self.changes.append(found)
            if found["changed"]:
                self.titles[ADDRESSED[found["client"]].title] = None

    def same(self, change: SettingsChange, state: str, notes: Sequence[str]) -> None:
        """Leave out what needed no change."""

    def changed(self, change: SettingsChange, line: str, notes: Sequence[str], *, restarts: bool) -> None:  # noqa: ARG002
        """Say what was undone."""
        say(line)
        self.titles[change.client.title] = None
        self.notes |= dict.fromkeys(notes)


def _steps(given: Given, report: ChangeReport) -> Sequence[_Step]:
    """Return every change to undo, with its client and file; of several in one file the newest comes first."""
    gateways: list[_Step] = []
    for name, client in ADDRESSED.items():
        path = client.paths(EntryScope(given.client_home(name, client.folder)))[0]
        gateways.append((name, path, partial(uninstall_gateway, client, given, report)))
    newest: list[_Step] = []
    older: list[_Step] = []
    for is_served, known in ((True, SERVED), (False, CLIENTS)):
        for name, entry in known.items():
            scope = EntryScope(given.client_home(name, entry.folder), is_own=given.own(name) is not None)
            step = (name, entry.settings(scope), partial(_remove, name, given, report, is_served))
            (newest if _is_newest(name, given, is_served) else older).append(step)
    return [*newest, *gateways, *older]


def _is_newest(name: str, given: Given, is_served: bool) -> bool:
    with suppress(UndriftError, OSError):
        return is_newest(EntryChange.of(name, given, ChangeReport(as_json=True), is_served=is_served))
    return False


def _remove(name: str, given: Given, report: ChangeReport, is_served: bool) -> None:
    uninstall_entry(EntryChange.of(name, given, report, is_served=is_served))


def _may_hold_ours(home: Path, path: Path) -> bool:
    """Tell whether a file that cannot be read as settings was ever changed by us, or names us."""
    if place.recall(home, path) is not None:
        return True
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return False
        return _MARK in path.read_bytes()
    except OSError:
        return False


def _clear(home: Path) -> None:
    """Remove what a killed setup left in the home; with nothing else in it, the token and the home itself."""
    with suppress(OSError):
        for path in home.iterdir():
            if _SCRATCH.fullmatch(path.name):
                path.unlink()
        if {path.name for path in home.iterdir()} <= _MADE_WITH_THE_GATEWAY:
            for name in _MADE_WITH_THE_GATEWAY:
                (home / name).unlink(missing_ok=True)
            home.rmdir()


def _end(report: _UndoReport, failed: Sequence[str], given: Given, *, unasked: bool) -> None:
    if report.as_json:
        echo_json({"changed": bool(report.titles), "changes": report.changes, "failed": list(failed)})
    else:
        _say_end(report, failed, given, unasked=unasked)
    if failed or unasked:
        raise click.exceptions.Exit(1)


def _plugins(given: Given) -> Iterator[str]:
    """Yield how to remove our plugin, for each client that has it: the client itself manages it."""
    for name, command in PLUGIN_UNINSTALL.items():
        with suppress(UndriftError, OSError):
            if has_plugin(EntryChange.of(name, given, ChangeReport(as_json=True), is_served=False)):
                yield f"{ADDRESSED[name].title} still has the undrift plugin. To remove it: {command}"


def _say_end(report: _UndoReport, failed: Sequence[str], given: Given, *, unasked: bool) -> None:
    home = given.data_home()
    click.echo()
    for line in report.notes:
        say(line)
    if report.titles:
        say(f"undrift is out of {', '.join(report.titles)}. Restart what is running.", bold=True)
    elif unasked:
        say(
            "Nothing was changed: there is no terminal to ask at. To undo it: undrift setup --undo --yes",
            bold=True,
        )
    elif not failed:
        say("undrift is not set up for any client. Nothing was changed.", bold=True)
    for line in failed:
        say(f"Not done: {line}")
    for line in _plugins(given):
        say(line)
    if home.exists() and not unasked:
        say(f"The recorded data stays in {safe(home_of(home))}. Delete that folder if you do not want it.")
