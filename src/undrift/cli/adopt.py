"""``undrift store adopt``: the records of an earlier home become those of a project, and back."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from undrift.cli.draw import next_commands, say
from undrift.cli.of_session import one_home_options
from undrift.cli.place import place_here
from undrift.cli.show import again, at_terminal, count, echo_json, note, safe, typed
from undrift.errors import InputError, RecallError
from undrift.settings import working_folder
from undrift.stores.adoption import ADOPTED, adopt, give_back
from undrift.stores.contract import Store
from undrift.stores.opening import engine_of, open_store
from undrift.stores.projects import FILES
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = ["adopt_command"]

_MOST_NAMES = 5


@click.command("adopt")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--undo", is_flag=True, help="Give the records back to the folder they came from.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@one_home_options
def adopt_command(folder: Path | None, undo: bool, yes: bool, home: str | None, as_json: bool) -> None:
    """Take over the records of an earlier version into this project.

    FOLDER is a home of an earlier version (default: .undrift in the current folder, else ~/.undrift). All its
    sessions and memories become those of this project. The command says what it does, and asks. The old file is kept
    beside, under another name. --undo puts it back, byte for byte.

    \b
    undrift store adopt
    """
    place = place_here(home)
    if undo:
        _give_back(place, yes=yes, as_json=as_json)
        return
    source = folder if folder is not None else _earlier(place)
    if engine_of(source).is_there(source) and not as_json:
        _explain(source, place)
    if not yes and not (at_terminal(sys.stdin) and click.confirm("Take them over?", err=True)):
        raise InputError("nothing was taken over; --yes does it without asking")
    done = adopt(source, place)
    kept = source.absolute() / ADOPTED
    if as_json:
        echo_json({"source": str(source.absolute()), "records": str(place.records), "kept": str(kept)} | _numbers(done))
        return
    say(f"Took over {count(done.operations, 'operation')} and {count(done.originals, 'original')}.")
    note(f"The old file is kept: {typed(kept)}")
    next_commands(
        See_the_sessions=f"undrift session list{again(home)}", Give_it_back=f"undrift store adopt --undo{again(home)}"
    )


def _numbers(done: object) -> dict[str, object]:
    return {name: value for name, value in asdict(done).items() if name != "kept"}  # type: ignore[call-overload]


def _earlier(place: Place) -> Path:
    """Return the home of an earlier version that is nearest. Raises RecallError: there is none."""
    near = (working_folder() / FILES, place.home)
    found = next((one for one in near if engine_of(one).is_there(one)), None)
    if found is None:
        raise RecallError(f"no earlier version left records in {' or '.join(map(str, near))}; name their folder")
    return found


def _explain(source: Path, place: Place) -> None:
    with open_store(source, Scope(), create=False) as store:
        rows, memories = store.sessions(), _memories(store)
    say(f"{count(len(rows), 'session')} and {count(memories, 'memory', 'memories')} of {typed(source)}", bold=True)
    for row in rows[:_MOST_NAMES]:
        say(f"  {safe(row.name or row.session_id)}")
    if len(rows) > _MOST_NAMES:
        say(f"  and {len(rows) - _MOST_NAMES:,} more")
    root = "" if place.project is None else f" ({safe(place.project.root)})"
    say(f"All of them become records of this project{root}, also those of other folders.")
    say(f"{typed(source / 'undrift.db')} is renamed to {ADOPTED}. Close the clients that use it first.")


def _memories(store: Store) -> int:
    return len(store.memories.seen(None))


def _give_back(place: Place, *, yes: bool, as_json: bool) -> None:
    if not yes and not (at_terminal(sys.stdin) and click.confirm("Give the records back?", err=True)):
        raise InputError("nothing was given back; --yes does it without asking")
    known, kept = give_back(place)
    if as_json:
        echo_json({**asdict(known), "kept": None if kept is None else str(kept)})
        return
    say(f"The records are in {typed(Path(known.source))} again, byte for byte (SHA-256 {known.sha256[:16]}).")
    if kept is not None:
        note(f"The project has written more since; that store is kept: {typed(kept)}")
