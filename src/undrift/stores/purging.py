"""A complete purge in short steps, from the first record to the last byte on disk.

Law: other processes write between the steps. If a purge ends in the middle, the same purge again continues.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from undrift.stores import adoption, newest, projects, rows, traces
from undrift.stores.base import Aim, Destroyed
from undrift.stores.cleaning import PAUSE_S, securely
from undrift.stores.database import Database
from undrift.stores.files import PROJECTS
from undrift.stores.migrations import transaction
from undrift.stores.operations import operation_row
from undrift.stores.purge import Doomed, destroy, doomed, in_parts, is_nothing, remove_words
from undrift.stores.traces import Piece
from undrift.stores.write import write
from undrift.values.window import Decision

__all__ = ["purge", "traces_of"]

_NOTES = (adoption.NOTE, projects.NOTE, newest.NOTED, "installed.json")
"""Notes of ours: paths and numbers, and no text of a session. Who deletes one breaks what it is for."""
_PURGES = "SELECT 1 FROM operations WHERE session_id = ? AND kind = 'purge' LIMIT 1"


def purge(
    database: Database, aims: Sequence[Aim], blank: Callable[[Decision], Decision], at_ms: int
) -> Destroyed | None:
    """Destroy the data of the first aim that matches any data.

    A name that was purged before is unknown now, and then only the cleaning is done again.

    Args:
        aims: The possible meanings, in the order of trying; all of one session.
        blank: Returns a decision without its purged original.
        at_ms: The time, in Unix milliseconds.

    Returns:
        None if nothing has that name, and nothing was ever purged.
    """
    with database.using() as connection:
        found = _found(connection, aims)
        if found is None:
            return None
        parts = in_parts(connection, found.refs)
    for refs in parts:
        with database.using() as connection, securely(connection), transaction(connection):
            remove_words(connection, refs)
        time.sleep(PAUSE_S)
    with database.using() as connection, securely(connection), transaction(connection):
        found = _found(connection, aims)
        if found is None:
            return None
        removed = destroy(connection, found, blank)
        payload: dict[str, Any] = {"what": found.aim.kind, "removed": removed}
        session_id = found.aim.session_id
        write(connection, session_id, operation_row(session_id, "purge", at_ms, payload))
        return Destroyed(found.aim.kind, removed, found.tasks, found.pieces)


def traces_of(database: Database, pieces: Sequence[Piece]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return where pieces of the data remain on disk: files, and names of records; see `Remains`."""
    home = database.path.parent
    held = {
        path: some
        for root in _roots(home)
        for path, some in traces.files_with(root, pieces).items()
        if path.name not in _NOTES
    }
    if not held:
        return (), ()
    with database.using() as connection:
        known = traces.copies(connection, set().union(*held.values()))
    own = database.path.name
    left = []
    for path, some in held.items():
        in_store = path.parent == home and path.name in (own, f"{own}-wal")
        if not in_store or some - set(known):
            left.append(path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path))
    return tuple(sorted(left)), tuple(sorted({name for names in known.values() for name in names}))


def _roots(records: Path) -> tuple[Path, ...]:
    """Return the folders in which texts of a store can lie: its own, its agents', and those of the home's top."""
    place = projects.place_at(records)
    if place.project is None:
        return (records,)
    others = (PROJECTS, projects.USER)
    top = sorted(one for one in place.home.iterdir() if one.name not in others and not one.is_symlink())
    taken_over = adoption.adoption_of(place)
    earlier = () if taken_over is None else (Path(taken_over.source, adoption.ADOPTED),)
    return tuple(dict.fromkeys((records, *projects.files_of(place), *earlier, *top)))


def _found(connection: apsw.Connection, aims: Sequence[Aim]) -> Doomed | None:
    for found in (doomed(connection, aim) for aim in aims):
        if found.aim.kind == "session" or not is_nothing(found):
            return found
    if not connection.execute(_PURGES, (rows.key(aims[0].session_id),)).fetchall():
        return None
    return Doomed(aims[0])
