"""The note of a check, in a file next to the store: the next check reads only what is newer.

Law: a file that is absent, incomplete or about another store means that everything is read again. It costs no promise:
a damage of old records is found by the next full check, at the latest after `FULL_EVERY_MS`.
"""

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from undrift.stores import newest
from undrift.stores.migrations import MIGRATIONS

__all__ = ["Checked", "FULL_EVERY_MS", "NOTHING", "begin", "forget", "note", "noted"]

FULL_EVERY_MS = 7 * 86_400_000
"""After so long, everything is read again."""
_LINE = re.compile(rb"(\d{20}) (\d{20}) (\d{20}) (\d{20}) (\d{20}) (\d{20}) ([0-9a-f]{64})\n")
_NOW = """SELECT (SELECT coalesce(max(seq), 0) FROM operations), (SELECT coalesce(max(number), 0) FROM segments),
    (SELECT coalesce(max(number), 0) FROM originals)"""
_OPERATION = "SELECT record_sha256 FROM operations WHERE seq = ?"
_DESTROYED = "SELECT 1 FROM operations WHERE seq > ? AND kind IN ('purge', 'sweep') LIMIT 1"
"""Both may rewrite old rows, and the numbers of deleted rows may be given again."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The state of a store up to which its records were checked.

    Args:
        seq: The newest operation.
        segment: The highest number of a segment.
        original: The highest number of an original.
        records: The number of records that were read up to there.
        full_ms: The time of the last check that read everything.
        last_ms: The time of the last check.
    """

    seq: int = 0
    segment: int = 0
    original: int = 0
    records: int = 0
    full_ms: int = 0
    last_ms: int = 0


NOTHING = Checked()


def begin(connection: apsw.Connection) -> Checked:
    """Return the state of a store before it is read; a later write counts as new in the next check."""
    found: list[Any] = connection.execute(_NOW).fetchall()
    return Checked(*found[0])


def noted(path: Path, connection: apsw.Connection, now_ms: int) -> Checked:
    """Return how far this store was checked; `NOTHING` means: everything is to be read.

    Args:
        path: The file of the store.
        now_ms: The time, in Unix milliseconds.
    """
    before, digest = _read(path.with_name(newest.CHECKED))
    if not 0 <= now_ms - before.full_ms < FULL_EVERY_MS or before.last_ms > now_ms:
        return NOTHING
    there = begin(connection)
    if there.seq < before.seq or there.segment < before.segment or there.original < before.original:
        return NOTHING
    if digest != _digest(path, connection, before) or connection.execute(_DESTROYED, (before.seq,)).fetchall():
        return NOTHING
    return before


def note(path: Path, connection: apsw.Connection, state: Checked) -> None:
    """Write down a check without findings; if that fails, the next check reads everything."""
    with suppress(OSError):
        numbers = _numbers(state)
        newest.put(path.with_name(newest.CHECKED), b"%s %s\n" % (numbers, _digest(path, connection, state)))


def forget(path: Path) -> None:
    """Delete the note: old rows of the store were written again."""
    with suppress(OSError):
        path.with_name(newest.CHECKED).unlink(missing_ok=True)


def _numbers(state: Checked) -> bytes:
    numbers = (state.seq, state.segment, state.original, state.records, state.full_ms, state.last_ms)
    return b" ".join(b"%020d" % number for number in numbers)


def _digest(path: Path, connection: apsw.Connection, state: Checked) -> bytes:
    """Return the digest of a state, and of the one file that it is about."""
    found: list[Any] = connection.execute(_OPERATION, (state.seq,)).fetchall()
    file = path.stat()
    text = f"{file.st_dev} {file.st_ino} {len(MIGRATIONS)} {found!r} {_numbers(state)!r}"
    return hashlib.sha256(text.encode()).hexdigest().encode()


def _read(path: Path) -> tuple[Checked, bytes]:
    with suppress(OSError):
        if not path.is_symlink() and path.is_file():
            with path.open("rb") as file:
                found = _LINE.match(file.read(1_000))
            if found:
                *numbers, digest = found.groups()
                return Checked(*map(int, numbers)), digest
    return NOTHING, b""
