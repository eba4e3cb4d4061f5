"""The processes that lock a file, if the system lists them; only Linux does.

Law: changes nothing and never fails; an empty answer means "not known".
"""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["holders", "named"]

_LOCKS = Path("/proc/locks")
_LINE = re.compile(r"^\d+: POSIX +ADVISORY +(READ|WRITE) +(\d+) +([0-9a-f]+):([0-9a-f]+):(\d+) +(\d+) +(\d+|EOF)", re.M)
"""A lock that is held; the lines of those who wait for it have an arrow behind the number."""

_WRITER = 120
"""Byte of the ``-shm`` file that the one writer of a WAL database locks (SQLite's file format, "WAL locks")."""


def holders(database: Path, *, writer: bool = False) -> tuple[int, ...]:
    """Return the ids of other processes that hold a lock on a database or its ``-shm``, ascending.

    `database`: the file; it is not opened. `writer`: true: only the process that writes at this moment.
    """
    if sys.platform == "win32":  # it does not say who holds a lock
        return ()
    known = {}
    for suffix in ("", "-shm"):
        with suppress(OSError):
            status = Path(f"{database}{suffix}").stat()
            known[os.major(status.st_dev), os.minor(status.st_dev), status.st_ino] = suffix
    found = set()
    with suppress(OSError):
        for kind, pid, major, minor, inode, start, _ in _LINE.findall(
            _LOCKS.read_text(encoding="ascii", errors="replace")
        ):
            of = known.get((int(major, 16), int(minor, 16), int(inode)))
            writes = kind == "WRITE" and of == "-shm" and int(start) == _WRITER
            if of is not None and int(pid) != os.getpid() and (writes or not writer):
                found.add(int(pid))
    return tuple(sorted(found))


def named(pids: tuple[int, ...]) -> str:
    """Return the processes as text, such as ``process 12 (python3)``; empty for none."""
    words = []
    for pid in pids:
        name = ""
        with suppress(OSError):
            name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
        words.append(f"process {pid}" + (f" ({name})" if name.isprintable() and name else ""))
    return ", ".join(words)
