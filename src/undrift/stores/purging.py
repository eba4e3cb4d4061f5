"""A complete purge in short steps, from the first record to the last byte on disk.

Law: other processes write between the steps. If a purge ends in the middle, the same purge again continues.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import apsw

from undrift.stores import adoption, newest, projects, rows, traces
from undrift.stores.base import Aim, Destroyed, Remains
from undrift.stores.cleaning import securely
from undrift.stores.database import Database
from undrift.stores.files import PROJECTS
from undrift.stores.memory_values import Heir
from undrift.stores.migrations import transaction
from undrift.stores.operations import operation_row
from undrift.stores.purge import Doomed, destroy, doomed, is_nothing
from undrift.stores.purge_steps import in_steps
from undrift.stores.traces import Piece
from undrift.stores.write import write
from undrift.values.window import Decision

__all__ = ["purge", "traces_of"]

_NOTES = (adoption.NOTE, projects.NOTE, newest.NOTED, newest.CHECKED, "installed.json")
"""Notes of ours: paths and numbers, and no text of a session. Who deletes one breaks what it is for."""
_MOST_BYTES = 16 << 20
_MOST_FILES = 5_000
_PURGES = "SELECT 1 FROM operations WHERE session_id = ? AND kind = 'purge' LIMIT 1"


def purge(
    database: Database,
    aims: Sequence[Aim],
    blank: Callable[[Decision], Decision],
    at_ms: int,
    heir: Heir | None = None,
) -> Destroyed | None:
    """Destroy the data of the first aim that matches any data.

    A name that was purged before is unknown now, and then only the cleaning is done again.

    Args:
        aims: The possible meanings, in the order of trying; all of one session.
        blank: Returns a decision without its purged original.
        at_ms: The time, in Unix milliseconds.
        heir: Returns what other sessions said of a memory of a purged session.

    Returns:
        None if nothing has that name, and nothing was ever purged.
    """
    with database.using() as connection:
        found = _found(connection, aims)
    if found is None:
        return None
    before = in_steps(database.using, found, blank, heir)
    with database.using() as connection, securely(connection), transaction(connection):
        found = doomed(connection, found.aim, found)
        removed = dict(Counter(destroy(connection, found, blank, heir)) + before)
        removed.pop("figures", None)  # parts of the decisions, which are counted
        payload: dict[str, Any] = {"what": found.aim.kind, "removed": removed}
        session_id = found.aim.session_id
        write(connection, session_id, operation_row(session_id, "purge", at_ms, payload))
        return Destroyed(found.aim.kind, removed, found.tasks, found.pieces)


def traces_of(database: Database, pieces: Sequence[Piece], search_files: bool = False) -> Remains:
    """Return where pieces of the data remain on disk: files, and names of records; see `Remains`.

    Args:
        search_files: Search every file; else up to `_MOST_BYTES` in all, the smallest first.
    """
    if not pieces:
        return Remains()
    home = database.path.parent
    chosen, unsearched = _chosen(traces.files(_roots(home), _NOTES), None if search_files else _MOST_BYTES)
    own = {home / database.path.name, home / f"{database.path.name}-wal"}
    if own.intersection(unsearched):  # else each record with the same words would count as a trace
        chosen = [path for path in chosen if path not in own]
    held = {path: some for path in chosen for some in [_held(path, pieces, own)] if some}
    known: dict[Piece, list[str]] = {}
    if not own.intersection(unsearched):
        with database.using() as connection:
            known = traces.copies(connection, set().union(*held.values()))
            for piece, names in traces.packed_copies(connection, pieces).items():  # compressed, no file shows them
                known.setdefault(piece, []).extend(names)
    left = [path for path, some in held.items() if path not in own or some - set(known)]
    return Remains(
        _shown(left, home),
        tuple(sorted({name for names in known.values() for name in names})),
        unsearched=_shown(unsearched, home),
    )


def _held(path: Path, pieces: Sequence[Piece], own: Collection[Path]) -> set[Piece]:
    found = traces.held(path, pieces)
    return found if path in own else found | traces.held_packed(path, [one for one in pieces if one not in found])


def _chosen(files: Mapping[Path, int], most_bytes: int | None) -> tuple[list[Path], list[Path]]:
    """Divide files by their sizes: those that are searched, the smallest first, and the others."""
    order = sorted(files, key=lambda path: (files[path], path))
    if most_bytes is None:
        return order, []
    sums = list(accumulate(files[path] for path in order))
    number = min(bisect_right(sums, most_bytes), _MOST_FILES)
    return order[:number], order[number:]


def _shown(paths: Iterable[Path], home: Path) -> tuple[str, ...]:
    return tuple(
        sorted(path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path) for path in paths)
    )


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
