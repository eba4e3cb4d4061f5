"""Copies of a database that is in use: each copy is checked and gets its name in one step.

Law: a name leads to a copy only after all of it is on disk and was read again. A copy may replace an earlier copy of
ours, never a store.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw

from undrift.errors import InputError, StoreCorrupt
from undrift.stores import files
from undrift.stores.migrations import APPLICATION_ID

__all__ = ["Check", "copy", "is_copy", "refuse_foreign", "structure"]

Check = Callable[[apsw.Connection], Iterator[str]]

_SIDE_FILES = ("-wal", "-shm", "-journal")
_PAGES_AT_ONCE = -1  # all of them: one moment of the source, and writers do not wait for it


def copy(source: apsw.Connection, target: Path, check: Check) -> None:
    """Copy the current content of a database into one file that only its owner may read (0600).

    Args:
        source: An open database; other processes may continue to write.
        target: An absent file, or an earlier copy of ours; that copy stays unchanged until the new one is complete.
        check: Reads the copy and yields its problems.

    Raises:
        InputError: Something else has this name; it was not changed.
        StoreCorrupt: The copy, and so the source, is damaged; the name was not touched.
        apsw.Error, OSError: SQLite or the system refuses; the name was not touched.
    """
    refuse_foreign(target)
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        scratch.unlink(missing_ok=True)  # an earlier process with our number left it, and was killed
        if not files.create_file(scratch):
            raise InputError(f"{scratch}: another process put it there; try again, or choose another folder")
        found = _filled(source, scratch, check)
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise StoreCorrupt(
                f"{source.filename}: it is damaged, so {target} was not written: {found[0]}{more}. "
                "`undrift doctor` lists what is damaged; keep a copy of all files of the folder"
            )
        _sync(scratch)
        refuse_foreign(target)
        scratch.replace(target)
        files.sync_folder(target.parent)
    finally:
        for suffix in ("", *_SIDE_FILES):
            Path(f"{scratch}{suffix}").unlink(missing_ok=True)


def is_copy(path: Path) -> bool:
    """Tell whether `copy` wrote a file: it has the mark of a copy and no WAL mode.

    A file with side files is in use and is not opened: closing it would drop the locks that this process holds on it.

    Raises OSError: it cannot be read.
    """
    files.check_regular(path)
    if any(Path(f"{path}{suffix}").exists() for suffix in _SIDE_FILES):
        return False
    with path.open("rb") as file:
        head = file.read(72)
    return (
        head[:16] == b"SQLite format 3\0" and head[18:20] == b"\1\1" and head[68:] == APPLICATION_ID.to_bytes(4, "big")
    )


def refuse_foreign(target: Path) -> None:
    """Refuse a path if it is anything but a copy of ours.

    Raises InputError: something else has this name; it was not changed. Raises OSError: it cannot be looked at.
    """
    try:
        free = not target.is_symlink() and (not target.exists() or is_copy(target))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EINVAL):
            raise  # without a look there is no judgement
        free = False
    if not free:
        raise InputError(
            f"{target}: is there already and is no backup of undrift; it was not changed. Choose another name, or move it away"
        )


def structure(connection: apsw.Connection) -> Iterator[str]:
    """Yield the problems that SQLite's own check finds; the file may have any version."""
    for (finding,) in connection.execute("PRAGMA integrity_check(100)"):
        if finding != "ok":
            yield str(finding)


def _filled(source: apsw.Connection, scratch: Path, check: Check) -> list[str]:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    with closing(apsw.Connection(str(scratch), flags=flags)) as target:
        target.set_busy_timeout(0)
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES_AT_ONCE)
        target.pragma("journal_mode", "delete")
    with closing(
        apsw.Connection(str(scratch), flags=flags)
    ) as target:  # opened again, so that nothing comes from a cache of ours
        return list(check(target))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
