"""``undrift backup`` and ``undrift restore-backup``: the store into one file, and back."""

from pathlib import Path
from typing import Any

import click

from undrift.cli.show import count, echo_json, safe
from undrift.settings import Settings
from undrift.stores.base import Counts
from undrift.stores.opening import engine_of

__all__ = ["backup_command", "restore_backup_command"]

_FILE = click.Path(path_type=Path)


@click.command("backup")
@click.argument("out", type=_FILE)
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def backup_command(out: Path, home: str | None, as_json: bool) -> None:
    """Copy the store into one file, while it is in use.

    OUT is a new file, or an earlier backup, which is replaced in one step. The copy is read whole and compared with its
    hashes before it gets its name; nothing else is ever overwritten.
    """
    folder = _home(home)
    counts = engine_of(folder).back_up(folder, out)
    if as_json:
        echo_json(_as_json(counts, folder, out))
    else:
        click.echo(f"{_what(counts)} of {safe(folder)} are in {safe(str(out))}, every record of it checked")


@click.command("restore-backup")
@click.argument("file", type=_FILE)
@click.option("--home", metavar="DIR", help="The folder of the store (default: the setting home).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def restore_backup_command(file: Path, home: str | None, as_json: bool) -> None:
    """Put a backup in the place of the store.

    FILE is what undrift backup wrote. It is read whole first; the store that it replaces is kept beside it. A store that
    another process has open, or that a newer undrift wrote, is not replaced.
    """
    folder = _home(home)
    counts = engine_of(folder).restore_backup(file, folder)
    if as_json:
        echo_json(_as_json(counts, folder, file))
        return
    click.echo(f"{_what(counts)} are in {safe(folder)} again")
    if counts.kept is not None:
        click.echo(f"what was there before is kept in {safe(str(counts.kept))}")


def _home(given: str | None) -> str:
    return (Settings.from_environment() if given is None else Settings.from_environment(home=given)).home


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
