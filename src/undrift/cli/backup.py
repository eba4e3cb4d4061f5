"""``undrift store backup`` and ``undrift store restore``: the store into one file, and back."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.lookup import MAKES_OWN, has_store, no_store
from undrift.cli.of_session import home_options, one_home_options
from undrift.cli.place import is_wide, place_here
from undrift.cli.show import again, at_terminal, count, echo_json, safe, typed
from undrift.errors import InputError, StoreError
from undrift.stores.base import Counts
from undrift.stores.faults import from_system
from undrift.stores.files import make_folder
from undrift.stores.opening import engine_of
from undrift.stores.projects import USER, keep, places_in
from undrift.stores.served import server_of

__all__ = ["backup_command", "restore_backup_command"]

_FILE = click.Path(path_type=Path)


@click.command("backup")
@click.argument("out", type=_FILE)
@home_options
def backup_command(out: Path, home: str | None, as_json: bool) -> None:
    """Copy the store into one file. Other programs may use the store meanwhile.

    OUT is a new file, or an earlier backup, which the copy then replaces. Any other file is refused. Every record
    of the copy is checked before OUT is written. With --all-projects OUT is a folder that gets a file for each
    project.

    \b
    undrift store backup undrift-backup.db
    """
    if is_wide():
        _back_up_all(out, home, as_json=as_json)
        return
    folder = _home(home)
    if not has_store(folder):
        raise StoreError(no_store((folder,), MAKES_OWN))
    counts = engine_of(folder).back_up(folder, out)
    if as_json:
        echo_json(_as_json(counts, folder, out))
    else:
        say(f"Copied {_what(counts)} of {safe(folder)}{_checked(folder)}.")
        next_commands(To_restore_it=f"undrift store restore {shlex.quote(safe(str(out)))}{again(home)}")


def _back_up_all(out: Path, home: str | None, *, as_json: bool) -> None:
    """Copy the store of each project into a file of its own, named as the folder of its records."""
    top = place_here(home).home
    folders = [one for one in (*(place.records for place in places_in(top)), top / USER) if has_store(one)]
    if not folders:
        raise StoreError(no_store((str(place_here(home).records),), MAKES_OWN))
    try:
        make_folder(out.absolute())
    except OSError as error:
        raise from_system(error, out) from error
    done = [(one, out / f"{one.name}.db") for one in folders]
    found = [_as_json(engine_of(one).back_up(one, file), str(one), file) for one, file in done]
    if as_json:
        echo_json({"home": str(top), "backups": found})
        return
    say(f"Copied {count(len(found), 'store')} of {typed(top)} into {typed(out)}{_checked(top)}.")
    file = shlex.quote(safe(str(done[0][1])))
    next_commands(To_restore_one=f"undrift store restore {file} --project NAME{again(home)}")


@click.command("restore-backup")
@click.argument("file", type=_FILE)
@click.option("--yes", is_flag=True, help="Do not ask.")
@one_home_options
def restore_backup_command(file: Path, yes: bool, home: str | None, as_json: bool) -> None:
    """Replace the store with a backup.

    FILE is a file that `undrift store backup` wrote. Every record of it is checked first. The old store is kept in
    the same folder under another name, which the command prints. The command refuses if another process uses the
    store, or if a newer undrift wrote it. On a terminal it asks before it replaces a store.

    \b
    undrift store restore undrift-backup.db
    """
    folder = _home(home)
    if not yes and has_store(folder) and at_terminal(sys.stdin):
        question = f"Replace the store in {safe(folder)}? All that is newer than the backup leaves it"
        if not click.confirm(question, err=True):
            raise InputError(f"{folder}: nothing was replaced")
    counts = engine_of(folder).restore_backup(file, folder)
    keep(place_here(home))  # only now: a file that is no backup leaves no trace
    if as_json:
        echo_json(_as_json(counts, folder, file))
        return
    say(f"Restored {_what(counts)} into {safe(folder)}.")
    if counts.kept is not None:
        kept = safe(str(counts.kept))
        if server_of(folder) is not None:
            say(f"The replaced records are in the schema {kept} of the server.")
            return
        say(f"The replaced store is {kept}")
        next_commands(To_get_it_back=f"undrift store restore {shlex.quote(kept)}{again(home)}")


def _home(given: str | None) -> str:
    return str(place_here(given).records)


def _checked(home: str | Path) -> str:
    """Return what else was done to a copy; one of a server is checked when it is put back."""
    return "; every record is checked" if server_of(home) is None else ""


def _what(counts: Counts) -> str:
    originals, decisions = count(counts.originals, "original"), count(counts.decisions, "decision")
    return f"{originals}, {decisions} and {count(counts.operations, 'operation')}"


def _as_json(counts: Counts, home: str, file: Path) -> dict[str, Any]:
    return {
        "home": str(Path(home).absolute()),
        "file": str(file.absolute()),
        "operations": counts.operations,
        "originals": counts.originals,
        "decisions": counts.decisions,
        "size_bytes": counts.size_bytes,
        "kept": None if counts.kept is None else str(counts.kept),
    }
