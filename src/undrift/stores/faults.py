"""The table that maps errors of the driver and the disk to our errors, each with a remedy."""

import errno
from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from undrift.errors import StoreBusy, StoreCorrupt, StoreError

__all__ = ["FAULTS", "Fault", "fault_of", "from_driver", "from_system"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table: our error for an error of the driver.

    Args:
        error: The class that is raised.
        remedy: A hint for the user, as the end of the message.
        reopen: True: the connection is closed and opened again before its next use.
    """

    error: type[StoreError]
    remedy: str
    reopen: bool = False


_OURS = "this is a mistake in undrift, please report it"
_CLOSED = "the connection was closed under the store; use the store from one place at a time"
_DISK = "the disk or its file system fails; check it, or choose another --home"
_WRITE = "nothing can be written there; check free space, owner and permissions, or choose another --home"
_OPEN = "it cannot be opened; check the folder's owner, permissions and free space, or choose another --home"
_DAMAGED = (
    "the file is damaged; it was not changed. `undrift doctor` says where; put a backup in its place with "
    "`undrift store restore` (which keeps the damaged file), or choose another --home; "
    "if integrity() complains about the search index only, rebuild_search() repairs it"
)
_INDEX = "the search index does not match the originals; rebuild_search() rebuilds it, integrity() looks for more"

FAULTS: Mapping[type[apsw.Error], Fault] = {
    # the file
    apsw.BusyError: Fault(StoreBusy, "another process holds the lock; try again, or look for one that hangs"),
    apsw.LockedError: Fault(StoreBusy, "another use of the same connection holds the lock; try again"),
    apsw.FullError: Fault(StoreError, "the disk is full; free some space, or choose another --home"),
    apsw.IOError: Fault(StoreError, _DISK, reopen=True),
    apsw.CantOpenError: Fault(StoreError, _OPEN, reopen=True),
    apsw.ReadOnlyError: Fault(StoreError, _WRITE, reopen=True),
    apsw.PermissionsError: Fault(StoreError, _WRITE, reopen=True),
    apsw.AuthError: Fault(StoreError, _WRITE, reopen=True),
    apsw.CorruptError: Fault(StoreCorrupt, _DAMAGED, reopen=True),
    apsw.NotADBError: Fault(StoreCorrupt, _DAMAGED, reopen=True),
    apsw.FormatError: Fault(StoreCorrupt, _DAMAGED, reopen=True),
    apsw.ProtocolError: Fault(StoreError, "locks do not work there; choose a --home on a local disk", reopen=True),
    apsw.NoLFSError: Fault(StoreError, "the file system refuses files of this size; choose another --home"),
    # the content
    apsw.TooBigError: Fault(StoreError, "an original may have at most one thousand million bytes"),
    apsw.ConstraintError: Fault(StoreError, "it contradicts what is stored already; use another id or reference"),
    apsw.SQLError: Fault(StoreError, f"the search index may be damaged, rebuild_search() rebuilds it; else {_OURS}"),
    # the machine
    apsw.NoMemError: Fault(StoreError, "memory ran out; make less of it at once", reopen=True),
    apsw.InterruptError: Fault(StoreError, "it was interrupted; try again"),
    apsw.AbortError: Fault(StoreError, "it was interrupted; try again"),
    apsw.SchemaChangeError: Fault(StoreError, "another process is migrating the store; try again"),
    apsw.NoFTS5Error: Fault(StoreError, "this SQLite has no full-text search; install apsw from PyPI"),
    apsw.ExtensionLoadingError: Fault(StoreError, "this SQLite is incomplete; install apsw from PyPI"),
    # the use of the driver
    apsw.ThreadingViolationError: Fault(StoreError, _CLOSED),
    apsw.ForkingViolationError: Fault(StoreError, "open a store after the fork, not before"),
    apsw.ConnectionClosedError: Fault(StoreError, _CLOSED, reopen=True),
    apsw.ConnectionNotClosedError: Fault(StoreError, _CLOSED, reopen=True),
    apsw.CursorClosedError: Fault(StoreError, _CLOSED, reopen=True),
    apsw.VFSFileClosedError: Fault(StoreError, _CLOSED, reopen=True),
    apsw.VFSNotImplementedError: Fault(StoreError, _OPEN, reopen=True),
    apsw.MisuseError: Fault(StoreError, _OURS, reopen=True),
    apsw.InternalError: Fault(StoreError, _OURS, reopen=True),
    apsw.NotFoundError: Fault(StoreError, _OURS, reopen=True),
    apsw.EmptyError: Fault(StoreError, _OURS, reopen=True),
    apsw.MismatchError: Fault(StoreError, _OURS),
    apsw.RangeError: Fault(StoreError, _OURS),
    apsw.BindingsError: Fault(StoreError, _OURS),
    apsw.IncompleteExecutionError: Fault(StoreError, _OURS),
    apsw.ExecutionCompleteError: Fault(StoreError, _OURS),
    apsw.ExecTraceAbort: Fault(StoreError, _OURS),
    apsw.InvalidContextError: Fault(StoreError, _OURS),
    apsw.Error: Fault(StoreError, _OURS, reopen=True),
}
"""The one table; a test asks the driver for all its errors and finds each here."""

_SYSTEM: Mapping[int, str] = {
    errno.EACCES: _WRITE,
    errno.EPERM: _WRITE,
    errno.EROFS: _WRITE,
    errno.ENOSPC: "the disk is full; free some space, or choose another --home",
    errno.EDQUOT: "the disk is full; free some space, or choose another --home",
    errno.ENOTDIR: "a file stands where a folder is needed; move it away, or choose another --home",
    errno.EEXIST: "a file stands where a folder is needed; move it away, or choose another --home",
    errno.ELOOP: "links are not followed; remove it, or choose another --home",
    errno.EINVAL: "only a regular file will do; remove it, or choose another --home",
    errno.ENAMETOOLONG: "the path is too long; choose another --home",
}


def fault_of(error: apsw.Error) -> Fault:
    """Return the row for an error; an unknown error counts as a mistake in undrift."""
    return next(FAULTS[kind] for kind in type(error).__mro__ if kind in FAULTS)


def from_driver(error: apsw.Error, path: object, about: str = "") -> StoreError:
    """Return our error for a driver's error; the message names the path, what happened and the remedy."""
    fault = fault_of(error)
    damaged_index = getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB
    return fault.error(f"{path}: {about}{error}; {_INDEX if damaged_index else fault.remedy}")


def from_system(error: OSError | ValueError, path: object) -> StoreError:
    """Return our error for an error of the operating system; ValueError means an illegal path."""
    if isinstance(error, OSError):
        return StoreError(f"{path}: {error.strerror or error}; {_SYSTEM.get(error.errno or 0, _DISK)}")
    return StoreError(f"{str(path)!r}: {error}; choose another --home")
