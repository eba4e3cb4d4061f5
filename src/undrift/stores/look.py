"""The report on a home's store in any state: its content and its problems.

Law: changes nothing: nothing is created, migrated, rebuilt or repaired; damage is an answer, never an exception. Who
asks for it has a check without findings written down beside the store.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw

from undrift.errors import StoreError
from undrift.stores import checked, copies, faults, holders, newest, read_only, sweeping
from undrift.stores.connection import NAME, prepare_file
from undrift.stores.integrity import OF_THE_INDEX, CheckRun, problems
from undrift.stores.migrations import MIGRATIONS, identify
from undrift.stores.ratings import ratings
from undrift.values.retention import SessionSize

__all__ = ["Look", "look", "modes", "sqlite_version"]

_STATED = """SELECT (SELECT count(*) FROM operations), (SELECT count(*) FROM originals),
    (SELECT count(*) FROM decisions), (SELECT count(DISTINCT session_id) FROM operations)"""
_BUSY_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True)
class Look:
    """The report on a store.

    Args:
        is_there: False: there is no store, and all that follows is empty.
        version: The version of its shape; 0 if nothing was written yet, None if it could not be read.
        newest: The version that this undrift writes.
        log_bytes: The size of the ``-wal`` next to it.
        operations, originals, decisions, sessions: The number of each in it.
        refused: Why it cannot be opened, with the remedy; empty: it can.
        damaged: Records that do not match their hash or cannot be read, in sentences.
        index: Problems of the search index, which can be rebuilt.
        users: Ids of other processes that have it open, as far as known.
        rated: Number of results and of useful ones for each of the newest rated searches.
        sweepable: The sessions that have originals to sweep.
        lost: A sentence about acknowledged operations that are missing; empty if none are known.
        read: The number of records that were read.
        before: The earlier check, whose records were not read again; `checked.NOTHING`: everything was read.
    """

    path: Path
    is_there: bool
    version: int | None = None
    newest: int = len(MIGRATIONS)
    size_bytes: int = 0
    log_bytes: int = 0
    operations: int = 0
    originals: int = 0
    decisions: int = 0
    sessions: int = 0
    refused: str = ""
    damaged: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    users: tuple[int, ...] = ()
    rated: tuple[tuple[int, int], ...] = ()
    sweepable: tuple[SessionSize, ...] = ()
    lost: str = ""
    read: int = 0
    before: checked.Checked = checked.NOTHING


def look(home: str | os.PathLike[str], *, rated: int = 0, full: bool = True, noted_at_ms: int | None = None) -> Look:
    """Read a home's store and report on it.

    Args:
        rated: The most rated searches in the answer.
        full: True: read everything. False: only what is newer than the last check that was written down, if it still counts.
        noted_at_ms: The time, in Unix milliseconds; then a check without findings is written down. None: it is not.
    """
    path = Path(os.path.realpath(home)) / NAME
    if not os.path.lexists(path) and not os.path.lexists(f"{path}-wal"):
        return Look(path, is_there=False)
    seen: dict[str, Any] = {"size_bytes": _size(path), "log_bytes": _size(Path(f"{path}-wal"))}
    seen["users"] = holders.holders(path)
    known = newest.noted(path.parent)
    try:
        prepare_file(path.parent, create=False)
        with closing(_open(path)) as connection:
            reading, state = CheckRun(), checked.NOTHING
            with suppress(apsw.Error, StoreError):  # damage is reported
                if noted_at_ms is not None and identify(connection) == len(MIGRATIONS):
                    state = checked.begin(connection)
                    reading.since = checked.NOTHING if full else checked.noted(path, connection, noted_at_ms)
            seen.update(_inside(connection, rated, reading))
            with suppress(apsw.Error):  # damage is reported
                seen["lost"] = str(newest.loss(path.parent, connection if seen["version"] else None, known) or "")
            seen |= {"read": reading.records, "before": reading.since}
            if noted_at_ms is not None and not any(map(seen.get, ("damaged", "index", "lost"))):
                _note(path, connection, state, reading, noted_at_ms)
    except (StoreError, apsw.Error, OSError, ValueError) as error:
        seen["refused"] = str(_as_ours(error, path))
    return Look(path, is_there=True, **seen)


def modes(home: Path) -> Iterator[tuple[Path, int]]:
    """Yield the paths that other users can read or write: the folder, the store's files and their copies."""
    for path in (home, *sorted(home.glob(f"{NAME}*"))):
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue
        if mode & 0o077 and os.name != "nt":
            yield path, mode


def sqlite_version() -> str:
    """Return the version of SQLite that is in use."""
    return apsw.sqlite_lib_version()


def _open(path: Path) -> apsw.Connection:
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        connection.pragma("user_version")  # the log is opened at the first reading
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        if not read_only.is_unwritable(path):
            raise
        return read_only.connect_as_it_is(path)
    return connection


def _note(path: Path, connection: apsw.Connection, state: checked.Checked, reading: CheckRun, now_ms: int) -> None:
    """Write down a check of a store of the newest version in which nothing was wrong."""
    if state == checked.NOTHING:
        return
    since = reading.since
    full_ms = now_ms if reading.is_full else since.full_ms
    done = replace(state, records=since.records + reading.records, full_ms=full_ms, last_ms=now_ms)
    with suppress(apsw.Error):
        checked.note(path, connection, done)


def _inside(connection: apsw.Connection, rated: int, reading: CheckRun) -> dict[str, Any]:
    version = identify(connection)
    if version < len(MIGRATIONS):
        return {"version": version, "damaged": tuple(copies.structure(connection))}
    found = tuple(problems(connection, reading))
    if found and not reading.is_full:  # the list of what is damaged is to be whole
        return _inside(connection, rated, _from_the_start(reading))
    index = tuple(one for one in found if one.startswith(OF_THE_INDEX))
    damaged = tuple(one for one in found if not one.startswith(OF_THE_INDEX))
    seen: dict[str, Any] = {"version": version, "index": index, "damaged": damaged}
    try:
        ((operations, originals, decisions, sessions),) = connection.execute(_STATED).fetchall()
        seen["rated"] = tuple(ratings(connection, rated))
        seen["sweepable"] = tuple(sweeping.sizes(connection))
    except (apsw.Error, StoreError):
        if not reading.is_full:
            return _inside(connection, rated, _from_the_start(reading))
        return seen  # the problems are in `damaged`
    return {**seen, "operations": operations, "originals": originals, "decisions": decisions, "sessions": sessions}


def _from_the_start(reading: CheckRun) -> CheckRun:
    reading.since, reading.records = checked.NOTHING, 0
    return reading


def _as_ours(error: Exception, path: Path) -> Exception:
    if isinstance(error, apsw.Error):
        return faults.from_driver(error, path)
    if isinstance(error, StoreError):
        return error
    return faults.from_system(error, path) if isinstance(error, OSError | ValueError) else error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
