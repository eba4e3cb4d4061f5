"""The number of the newest committed operation, in a file next to the store: it reveals that a WAL was deleted.

Law: a number is noted here after its commit, so a store that ends earlier has lost operations. The note costs a write
without a wait: it outlives the process. A power cut may undo it, but never further than the store itself.
"""

import os
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

__all__ = ["CHECKED", "Loss", "NOTED", "accept", "forget", "held", "loss", "note", "noted", "put"]

NOTED = "undrift.newest"
CHECKED = "undrift.checked"
"""How far the store was checked; see `stores.checked`."""
_LOST = "undrift.lost"
"""The loss, kept until a user has seen it: the next operation takes the number of a missing one."""
_LINE = re.compile(rb"(\d{1,20}) ([0-9a-f]{8})\n")
_NEWEST = "SELECT coalesce(max(seq), 0) FROM operations"


class Loss(tuple[int, int]):
    """A loss of operations: the newest that was committed, and the newest that the store then contained."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the loss as a sentence."""
        acknowledged, held = self
        return (
            f"{acknowledged - held:,} acknowledged operation{'' if acknowledged - held == 1 else 's'} are missing: the store "
            f"ended at {held:,}, and {acknowledged:,} was written. Its -wal was deleted, or the file replaced by an older one"
        )


def note(home: Path, seq: int) -> None:
    """Write down the number of a committed operation; if that fails, a loss may not be detected."""
    with suppress(OSError):
        put(home / NOTED, _line(seq))


def noted(home: Path) -> int:
    """Return the newest number written down; 0 if unknown. Call it before you read the store."""
    return _read(home / NOTED)[0]


def held(connection: apsw.Connection) -> int:
    """Return the number of the newest operation in a store; 0 if there is none."""
    rows: list[Any] = connection.execute(_NEWEST).fetchall()
    return int(rows[0][0])


def loss(home: Path, connection: apsw.Connection | None, known: int) -> Loss | None:
    """Return the loss, detected now or earlier. None means: no loss is known.

    Args:
        connection: A connection to the store; None if it holds nothing at all.
        known: The result of `noted` before the connection was made.
    """
    there = 0 if connection is None else held(connection)
    if there < known:
        return Loss((known, there))
    acknowledged, then = _read(home / _LOST)
    return Loss((acknowledged, then)) if acknowledged > then else None


def accept(home: Path, lost: Loss) -> bool:
    """Write down a loss and restart the numbers; return True if the loss is new."""
    path, text = home / _LOST, b"".join(map(_line, lost))
    if _read(path) == tuple(lost):
        return False
    with suppress(OSError):
        path.unlink(missing_ok=True)
        put(path, text)
    note(home, lost[1])
    return True


def forget(home: Path) -> None:
    """Delete the number, the loss and the note of a check, because another store replaces this one. Raises OSError: it cannot be deleted."""
    for name in (NOTED, _LOST, CHECKED):
        (home / name).unlink(missing_ok=True)


def put(path: Path, text: bytes) -> None:
    """Overwrite the beginning of a file that only its owner may read; no link is followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "pwrite"):  # not on Windows; `make powercut` can play it back
            os.pwrite(descriptor, text, 0)
        else:
            os.write(descriptor, text)
    finally:
        os.close(descriptor)


def _line(seq: int) -> bytes:
    digits = b"%020d" % seq  # all lines have one length, so that a line covers the line before
    return b"%s %08x\n" % (digits, zlib.crc32(digits))


def _read(path: Path) -> tuple[int, int]:
    """Read two numbers; a line that is absent or incomplete after a power cut counts as 0."""
    try:
        if path.is_symlink() or not path.is_file():
            return 0, 0
        with path.open("rb") as file:
            lines = _LINE.findall(file.read(100))
    except OSError:
        return 0, 0
    numbers = [int(digits) if int(crc, 16) == zlib.crc32(digits) else 0 for digits, crc in lines]
    first, second, *_ = *numbers, 0, 0
    return first, second
