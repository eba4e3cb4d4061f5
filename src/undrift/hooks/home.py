"""The hooks' part of the home: folders, small files, log and lock.

Law: 0700 and 0600 from the first byte on; no link is followed or written through; what lies here is derived and may be
deleted at any time, the store apart.
"""

import contextlib
import os
import shlex
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from undrift.errors import InputError
from undrift.stores.served import home_path

__all__ = [
    "LOG",
    "LOG_BYTES",
    "RULES_LOCK",
    "RULES_WAIT_MS",
    "folder_of",
    "home_folder",
    "locked",
    "note",
    "open_log",
    "read_small",
    "recall_command",
    "write_small",
]

LOG = "hooks.log"
RULES_LOCK = "rules.lock"
"""In a session's folder: held while the file with its rules is written."""

RULES_WAIT_MS = 2_000

LOG_BYTES = 256 << 10
"""A log that reaches this size makes place: one older one is kept."""

_SMALL_BYTES = 1 << 20
_LONGEST_NOTE_CHARACTERS = 400

if sys.platform == "win32":
    _NOFOLLOW = _NONBLOCK = 0
else:
    _NOFOLLOW, _NONBLOCK = os.O_NOFOLLOW, os.O_NONBLOCK


def home_folder(given: str | None) -> Path:
    """Return the home of the hooks: the given absolute path, else ``~/.undrift``.

    Raises InputError: it is a relative path: a hook runs in whichever project's folder. Raises RuntimeError: the user's
    home folder is not known.
    """
    home = home_path(given) if given else Path.home() / ".undrift"
    if not home.is_absolute():
        raise InputError(f"--home {given}: must be an absolute path")
    return home


def recall_command(home: Path) -> str:
    """Return the command by which an agent recalls an original, for any PATH of its shell."""
    words = [sys.executable, "-P", "-m", "undrift", "recall", "--find", "WORDS", "--home", str(home)]
    return " ".join(map(shlex.quote, words))


def folder_of(home: Path, name: str) -> Path:
    """Return a session's folder below ``hooks/`` of the home; create it if it is absent.

    `home`: absolute. `name`: safe as a file name (`undrift.stores.files.safe_name`). Raises OSError: a link or a file
    stands in its place, or the system refuses.
    """
    real = Path(os.path.realpath(home))  # the user's own links count, one planted below does not
    if not real.is_dir():
        real.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = real
    for step in ("hooks", name):
        folder = folder / step
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise NotADirectoryError(20, "it is a link or a file where a folder is to be", str(folder))
    return folder


def write_small(path: Path, content: bytes) -> None:
    """Replace a file in one step, readable only by its owner (0600). Raises OSError: the system refuses."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        scratch.unlink()
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def read_small(path: Path) -> bytes | None:
    """Return a file that `write_small` wrote. None means: there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NOFOLLOW | _NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = file.read(_SMALL_BYTES + 1)
    return content if len(content) <= _SMALL_BYTES else None


@contextlib.contextmanager
def locked(path: Path, wait_ms: int) -> Iterator[bool]:
    """Hold a lock between processes while the block runs; it ends with the process.

    Args:
        path: The lock's file, made if it is absent.
        wait_ms: How long to wait for another holder; 0 does not wait.

    Yields:
        True if it was got; without it the work may be done twice, which is harmless.
    """
    if sys.platform == "win32":  # no such lock there
        yield True
        return
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
    deadline = time.monotonic() + wait_ms / 1000
    got = False
    try:
        while not got:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                got = True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    break
                time.sleep(0.01)
        yield got
    finally:
        os.close(descriptor)


def note(home: Path | None, text: str) -> None:
    """Write one line to the hooks' log; a failure to write is ignored.

    Args:
        home: Where ``hooks.log`` is; None for the default home.
        text: One line; what is not printable is written as its escape. Never content of a session.
    """
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        home = home or home_folder(None)
        if not home.is_dir():
            home.mkdir(mode=0o700, parents=True)
        shown = text[:_LONGEST_NOTE_CHARACTERS]
        line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        descriptor = open_log(home)
        try:
            os.write(descriptor, f"{stamp} {line}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)


def open_log(home: Path) -> int:
    """Open the log for appending and return the descriptor; a log that is too large is replaced first.

    Raises OSError: something else stands in its place, or the system refuses.
    """
    path = home / LOG
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NOFOLLOW | _NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        if status.st_size <= LOG_BYTES:
            return descriptor
        os.close(descriptor)
        path.replace(path.with_name(f"{LOG}.1"))
        return os.open(path, flags | os.O_EXCL, 0o600)
    os.close(descriptor)
    raise OSError(22, "it is not a file of its own", str(path))
