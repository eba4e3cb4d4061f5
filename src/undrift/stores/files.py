"""Private folders, files and names: mode 0700 or 0600 from the start; no link is followed, no names collide.

Law: raises OSError only; `undrift.stores.faults` turns it into a StoreError with a remedy.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

__all__ = [
    "PROJECTS",
    "PURGED",
    "check_regular",
    "create_file",
    "identity",
    "make_folder",
    "replace_file",
    "safe_name",
    "sync_folder",
]

PROJECTS = "projects"
"""In a shared home: a folder for each project, with its store."""

PURGED = "purged"
"""An empty file in a session's folder of the hooks: the person purged the session, and nothing of it is kept again."""

_READABLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])", re.ASCII)
"""Device names of Windows, in any case and with any extension."""

_HOME = ".undrift"
_GITIGNORE = b"# What undrift records holds whole sessions: it is not for a repository.\n*\n"


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents for their owner alone (0700); existing folders do not change.

    A home that has the default name, or that is created inside a repository, ignores itself for git.

    Raises OSError: it cannot be created, or a file has its name.
    """
    missing = []
    for candidate in (folder, *folder.parents):
        if candidate.exists():
            break
        missing.append(candidate)
    for candidate in reversed(missing):
        candidate.mkdir(mode=0o700, exist_ok=True)  # another process may have been first
        sync_folder(candidate.parent)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    home = next((one for one in (folder, *folder.parents) if one.name == _HOME), None)
    if home is None and missing:
        home = _new_home(folder, missing)
    if home is not None:
        _keep_out_of_git(home)


def _new_home(folder: Path, missing: Collection[Path]) -> Path | None:
    """Return the home if it was created inside a repository: the folder, or the one that its project lies in."""
    home = next((one.parent for one in (folder, *folder.parents) if one.name == PROJECTS), folder)
    return home if home in missing and any(os.path.lexists(one / ".git") for one in home.parents) else None


def _keep_out_of_git(home: Path) -> None:
    """Write a .gitignore into a home, so that ``git add .`` skips it; ignore a failure."""
    path = home / ".gitignore"
    with suppress(OSError):
        if path.exists() or home.is_symlink():
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_GITIGNORE)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file in one step, durably, readable only by its owner (0600).

    Raises OSError: it cannot be written; the former file is as it was.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.unlink(missing_ok=True)
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def create_file(path: Path) -> bool:
    """Create an empty file for its owner alone (0600), durably. False means: the name exists.

    Raises OSError: it cannot be created.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        return False
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(path.parent)
    return True


def check_regular(path: Path) -> None:
    """Refuse a path that is a link or no regular file; an absent file is allowed.

    Raises:
        OSError: It is a link, a second name of a file (SQLite loses data through those), a folder, a pipe or a device.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode) or status.st_nlink > 1:
        raise OSError(errno.ELOOP, "it is a link to another place", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode numbers of a file. None means: there is no such file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - at every use of a store, and Path.stat takes twice as long
    except OSError:
        return None
    return status.st_dev, status.st_ino


def sync_folder(folder: Path) -> None:
    """Make new file names in a folder durable, if the system can (Windows cannot)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def safe_name(hostile_id: str) -> str:
    """Return a file name for an id; different ids get different names, even if upper and lower case are equal.

    An id of ``[a-z0-9_-]{1,64}`` is its own name. An id with capitals gets a hash after a dot. Any other id is replaced
    by its hash, and so is an id that starts with ``-`` or is a device name of Windows. The dot cannot occur in an id that
    is its own name.

    Returns:
        1 to 97 characters of ``[A-Za-z0-9_.-]``, never starting with ``-`` or ``.``.
    """
    digest = hashlib.sha256(hostile_id.encode("utf-8", "surrogatepass")).hexdigest()
    if not _READABLE.fullmatch(hostile_id) or _RESERVED.fullmatch(hostile_id):
        return f"id.{digest}"
    return hostile_id if hostile_id == hostile_id.lower() else f"{hostile_id}.{digest[:32]}"
