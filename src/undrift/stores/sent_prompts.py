"""The file of what a session sent: a line of marks for each request, and no text.

Law: it may be lost at any time. A line is appended in one write; a torn or damaged one is passed over. Only its owner can read it, and any
purge in the session deletes it.
"""

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from undrift.stores import files

__all__ = ["append_sent", "delete_sent", "has_sent", "sent_lines", "sent_sessions"]

_FOLDER = "sent"
_ID = "session_id"
"""The field of a file's first line, which names its session: a file's name may be shortened."""

_LONGEST_HEAD = 16 << 10
_MOST_BYTES = 4 << 20
"""A file that has grown beyond this is emptied."""


def append_sent(records: Path, session_id: str, record: Mapping[str, Any]) -> None:
    """Append one request. Raises OSError: it cannot be written.

    `records`: the folder of the project's store.
    """
    path = _path(records, session_id)
    line = msgspec.json.encode(record) + b"\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        files.make_folder(path.parent)
        descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size > _MOST_BYTES:
            os.ftruncate(descriptor, 0)
        if not 0 < size <= _MOST_BYTES:
            line = msgspec.json.encode({_ID: session_id}) + b"\n" + line
        if os.write(descriptor, line) != len(line):
            raise OSError(errno.EIO, "only a part was written", str(path))
    finally:
        os.close(descriptor)


def has_sent(records: Path, session_id: str, *, most_bytes: int = _MOST_BYTES) -> bool:
    """Tell whether a session has a file that is not empty and has at most so many bytes."""
    try:
        return 0 < _path(records, session_id).lstat().st_size <= most_bytes
    except OSError:
        return False


def sent_lines(records: Path, session_id: str) -> list[Any]:
    """Return what was appended, oldest first; nothing if there is no file of ours."""
    path = _path(records, session_id)
    found = []
    with suppress(OSError):
        files.check_regular(path)
        for line in path.read_bytes()[: 2 * _MOST_BYTES].split(b"\n"):
            with suppress(msgspec.DecodeError, ValueError, RecursionError):
                found.append(msgspec.json.decode(line))
    return found


def sent_sessions(records: Path) -> list[str]:
    """Return the sessions that have a file, in no order."""
    found = []
    with suppress(OSError):
        for path in (records / _FOLDER).iterdir():
            with suppress(OSError, msgspec.DecodeError, ValueError, RecursionError, AttributeError):
                files.check_regular(path)
                with path.open("rb") as file:
                    session_id = msgspec.json.decode(file.readline(_LONGEST_HEAD)).get(_ID)
                if isinstance(session_id, str):
                    found.append(session_id)
    return found


def delete_sent(records: Path, session_id: str) -> bool:
    """Delete the file of a session; tell whether there was one. Raises OSError: it cannot be deleted."""
    try:
        _path(records, session_id).unlink()
    except FileNotFoundError:
        return False
    return True


def _path(records: Path, session_id: str) -> Path:
    return records / _FOLDER / f"{files.safe_name(session_id)}.jsonl"
