"""``undrift store backup`` and ``undrift store restore``: the store into one file, and back."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.lookup import MAKES_OWN, has_store, no_store
from undrift.cli.of_session import one_home_options
from undrift.cli.place import place_here
from undrift.cli.show import again, at_terminal, count, echo_json, safe
from undrift.errors import InputError, StoreError
from undrift.stores.base import Counts
from undrift.stores.opening import engine_of

__all__ = ["backup_command", "restore_backup_command"]

_FILE = click.Path(path_type=Path)


@click.command("backup")
@click.argument("out", type=_FILE)
@one_home_options
def backup_command(out: Path, home: str | None, as_json: bool) -> None:
    """Copy the store into one file. Other programs may use the store meanwhile.

    OUT is a new file, or an earlier backup, which the copy then replaces. Any other file is refused. Every record
    of the copy is checked before OUT is written.

    \b
    undrift store backup undrift-backup.db
    """
    folder = _home(home)
    if not has_store(folder):
        raise StoreError(no_store((folder,), MAKES_OWN))
    counts = engine_of(folder).back_up(folder, out)
    if as_json:
        echo_json(_as_json(counts, folder, out))
    else:
        say(f"Copied {_what(counts)} of {safe(folder)}; every record is checked.")
        next_commands(To_restore_it=f"undrift store restore {shlex.quote(safe(str(out)))}{again(home)}")


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
    if as_json:
        echo_json(_as_json(counts, folder, file))
        return
    say(f"Restored {_what(counts)} into {safe(folder)}.")
    if counts.kept is not None:
        kept = safe(str(counts.kept))
        say(f"The replaced store is {kept}")
        next_commands(To_get_it_back=f"undrift store restore {shlex.quote(kept)}{again(home)}")


def _home(given: str | None) -> str:
    return str(place_here(given).records)


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
