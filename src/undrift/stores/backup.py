"""Backups of a store that is in use, and the restore of a store from a backup.

Law: a backup gets its name only after it was read whole; a replaced store is kept next to the new one.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from undrift.errors import InputError, StoreBusy, StoreError
from undrift.stores import copies, faults, files, holders, newest, read_only
from undrift.stores.base import Counts
from undrift.stores.connection import NAME, prepare_file
from undrift.stores.integrity import problems
from undrift.stores.migrations import MIGRATIONS, identify

__all__ = ["back_up", "check_of", "counts_of", "in_use", "restore_backup"]

_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
_BUSY_TIMEOUT_MS = 5_000
_STATED = "SELECT (SELECT count(*) FROM operations), (SELECT count(*) FROM originals), (SELECT count(*) FROM decisions)"


def back_up(home: str | os.PathLike[str], target: str | os.PathLike[str]) -> Counts:
    """Copy a home's store into one file by SQLite's online backup, and check every record of the copy.

    The store may be in use; writes of that time are not in the backup.

    Args:
        home: The folder; nothing in it is changed.
        target: An absent file, or an earlier backup, which is replaced in one step.

    Raises:
        InputError: Something else stands under that name.
        StoreError: There is no store, or it cannot be read or written; nothing was changed.
        StoreCorrupt: The store is damaged; nothing was changed.
    """
    path = Path(os.path.abspath(target))  # noqa: PTH100 - no link in it is resolved
    with _as_store_errors(path):
        store = prepare_file(Path(os.path.realpath(home)), create=False)
        if path.exists() and path.samefile(store):
            raise InputError(f"{path}: is the store itself; choose another name for the backup")
        if path.parent.resolve() == store.parent and path.name.startswith(f"{NAME}-"):
            raise InputError(f"{path}: SQLite deletes a file of this name; choose another one for the backup")
        if not path.parent.is_dir():
            raise InputError(f"{path.parent}: is no folder; make it first, or choose another name")
        with closing(_source(store)) as source:
            copies.copy(source, path, check_of(source))
        return counts_of(path)


def _source(store: Path) -> apsw.Connection:
    """Open the store that is backed up; in a read-only folder as it is."""
    with _as_store_errors(store):
        if read_only.is_unwritable(store):
            return read_only.connect_as_it_is(store)
        source = apsw.Connection(str(store), flags=_WRITE)
        try:
            source.set_busy_timeout(_BUSY_TIMEOUT_MS)
            source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            check_of(source)  # a file of another program is refused before anything is written to it
            source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except BaseException:
            source.close(True)
            raise
        return source


def restore_backup(source: str | os.PathLike[str], home: str | os.PathLike[str]) -> Counts:
    """Replace a home's store with a backup; the old store is kept next to it.

    The backup is copied and read whole before anything is changed. A store is not replaced if another process has it
    open, or if a newer undrift has written it.

    Args:
        source: A backup by `back_up`; it is not changed.
        home: The folder, created if absent.

    Raises:
        InputError: It is not a backup.
        StoreVersionError: A newer undrift has written the backup or the store.
        StoreBusy: Another process has the store open.
        StoreCorrupt: The backup is damaged.
        StoreError: The system refuses. In every case the store is unchanged.
    """
    given, folder = Path(os.path.realpath(source)), Path(os.path.realpath(home))
    with _as_store_errors(given):
        _refuse_what_is_none(given)
    with _as_store_errors(folder):
        files.make_folder(folder)
        path = folder / NAME
        for suffix in ("", "-wal", "-shm", "-journal"):
            files.check_regular(Path(f"{path}{suffix}"))
        fresh = folder / f"{NAME}.restoring"
        try:
            with closing(apsw.Connection(str(given), flags=_READ)) as backup:
                copies.copy(backup, fresh, check_of(backup))
            counts = counts_of(fresh)
            kept = _replace(path, fresh)
        finally:
            fresh.unlink(missing_ok=True)
    return Counts(counts.operations, counts.originals, counts.decisions, counts.size_bytes, kept)


def _refuse_what_is_none(given: Path) -> None:
    if not given.is_file():
        raise InputError(f"{given}: there is no such file; give one that `undrift store backup` wrote")
    if not copies.is_copy(given):
        raise InputError(
            f"{given}: it is no backup of undrift; nothing was changed. "
            "A copy of a store's file alone may lack its newest operations: make a backup with `undrift store backup`"
        )


def check_of(connection: apsw.Connection) -> copies.Check:
    """Return the check for copies of this file: every record of a current store, else SQLite's own check.

    Raises StoreVersionError, StoreError: a newer undrift or another program has written it, or it is empty.
    """
    version = identify(connection)
    if version == 0:
        raise StoreError(f"{connection.filename}: nothing was ever stored in it; there is nothing to copy")
    return problems if version == len(MIGRATIONS) else copies.structure


def counts_of(path: Path) -> Counts:
    """Return the numbers of records in a file."""
    with closing(apsw.Connection(str(path), flags=_READ)) as connection:
        ((operations, originals, decisions),) = connection.execute(_STATED).fetchall()
    return Counts(operations, originals, decisions, path.stat().st_size)  # type: ignore[arg-type]


def _replace(path: Path, new: Path) -> Path | None:
    """Replace the old file with the new one and keep a copy of the old one; at any moment one of them exists."""
    log = Path(f"{path}-wal")
    kept = None
    if any(file.exists() and file.stat().st_size for file in (path, log)):
        kept = _free_name(path)
        if not path.exists() or not path.stat().st_size:
            _copy_bytes(path, kept)  # a log alone: SQLite would delete it
        else:
            with _alone(path) as old:
                if old is None:
                    _copy_bytes(path, kept)
                else:
                    copies.copy(old, kept, lambda _: iter(()))
                _put(path, new)
                return kept
    _put(path, new)
    return kept


def _put(path: Path, new: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    newest.forget(path.parent)
    files.sync_folder(path.parent)  # the new file must not meet a log of the old one
    new.replace(path)
    files.sync_folder(path.parent)


@contextmanager
def _alone(path: Path) -> Iterator[apsw.Connection | None]:
    """Lock all other processes out of the old store and merge its WAL. None means: it is too damaged.

    Raises StoreBusy: another process has it open. Raises StoreVersionError: it was written by a newer undrift.
    """
    with closing(apsw.Connection(str(path), flags=_WRITE)) as old:
        old.set_busy_timeout(0)
        old.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        held: apsw.Connection | None = old
        try:
            identify(old)
            old.pragma("journal_mode", "delete")
            old.execute(
                "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT"
            ).fetchall()  # in this mode the lock stays
        except (apsw.BusyError, apsw.LockedError) as error:
            raise in_use(path) from error
        except (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.IOError) as error:
            if holders.holders(path):
                raise in_use(path) from error
            held = None
        yield held


def in_use(path: Path) -> StoreBusy:
    who = holders.named(holders.holders(path)) or "another process"
    return StoreBusy(f"{path}: {who} has the store open; end it, then try again. Nothing was changed")


def _copy_bytes(path: Path, kept: Path) -> None:
    """Copy a file that SQLite cannot read, with its WAL, byte for byte."""
    for suffix in ("", "-wal"):
        source, target = Path(f"{path}{suffix}"), Path(f"{kept}{suffix}")
        if source.exists():
            files.create_file(target)
            with source.open("rb") as given, target.open("r+b") as copied:
                shutil.copyfileobj(given, copied)
                copied.flush()
                os.fsync(copied.fileno())


def _free_name(path: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = (
        path.with_name(f"{path.name}.replaced-{stamp}{more}") for more in ("", *(f"-{n}" for n in range(2, 1_000)))
    )
    return next(name for name in names if not os.path.lexists(name))


@contextmanager
def _as_store_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise faults.from_driver(error, place) from error
    except (OSError, ValueError) as error:
        raise faults.from_system(error, getattr(error, "filename", None) or place) from error
