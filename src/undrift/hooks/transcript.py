"""Reads a client's session file without trusting it, from the position where the last call stopped.

Law: only a regular file below the client's own folder is opened, no link on the way is followed, nothing is written.
"""

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from undrift.errors import InputError
from undrift.hooks.home import read_small

__all__ = ["LONGEST_LINE_BYTES", "ReadPosition", "Transcript", "TranscriptLine", "lines_before", "stored_position"]

LONGEST_LINE_BYTES = 32 << 20
"""More than any provider takes as one request; a longer line is passed over, in pieces."""

_CHUNK_BYTES = 1 << 20
_PROOF_BYTES = 4096

if sys.platform == "win32":
    _FLAGS = os.O_RDONLY | os.O_BINARY
    _FOLDER = 0
else:
    _FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    _FOLDER = os.O_DIRECTORY


def lines_before(count: int) -> Iterator[str]:
    """Stand in for the lines before a part of a transcript, so that numbers, which become ids, are those of the file.

    The first says that the session is the user's own: a part that happens to begin with a sub-agent's record is not
    that sub-agent's session.
    """
    if count:
        yield '{"isSidechain": false}\n'
    yield from repeat("\n", count - 1)


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """The position up to which a file was read.

    Args:
        device: The file's device; with `inode` its identity.
        proof: SHA-256 of the last bytes before it: a rewritten file does not pass for the old one.
    """

    device: int = 0
    inode: int = 0
    offset: int = 0
    lines: int = 0
    proof: str = ""


def stored_position(path: Path) -> ReadPosition:
    """Return the position that was written into a small file; the beginning if there is none, or a damaged one."""
    try:
        return ReadPosition(**json.loads(read_small(path) or b"{}"))
    except (ValueError, TypeError):
        return ReadPosition()


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One line with its end, and the offset after it; `text` is empty if the line is too long."""

    text: str
    end: int


class Transcript:
    """An open session file; a context manager."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self.name = name
        status = os.fstat(file.fileno())
        self.identity = (status.st_dev, status.st_ino)
        self.modified_ms = status.st_mtime_ns // 1_000_000

    @classmethod
    def open(cls, path: str, folder: Path) -> Self:
        """Open a session file below a folder.

        `path`: absolute, as a payload names it. `folder`: the client's folder of sessions; the user's own links in it
        count. Raises InputError: the path leads elsewhere, or is none. Raises OSError: there is no such file, a link is
        in the way, or the system refuses.
        """
        if not path.startswith("/") and not os.path.isabs(path):  # noqa: PTH117 - of a hostile text, no Path yet
            raise InputError("the transcript's path is not absolute")
        if "\0" in path:
            raise InputError("the transcript's path holds a NUL")
        steps = _steps_below(Path(path), folder)
        descriptor = _descend(Path(os.path.realpath(folder)), steps)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InputError("the transcript is not a regular file")
        return cls(os.fdopen(descriptor, "rb", buffering=_CHUNK_BYTES), steps[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def size(self) -> int:
        """The current size of the file in bytes."""
        return os.fstat(self._file.fileno()).st_size

    def lines(self, start: int = 0) -> Iterator[TranscriptLine]:
        """Yield the complete lines from an offset on; an incomplete last line waits for the next call."""
        self._file.seek(start)
        end = start
        while line := self._file.readline(LONGEST_LINE_BYTES):
            end += len(line)
            if line.endswith(b"\n"):
                yield TranscriptLine(line.decode("utf-8", "replace"), end)
            elif len(line) < LONGEST_LINE_BYTES:
                return
            else:
                while line and not line.endswith(b"\n"):
                    line = self._file.readline(_CHUNK_BYTES)
                    end += len(line)
                if not line:
                    return
                yield TranscriptLine("\n", end)

    def head(self, most_bytes: int) -> list[str]:
        """Return the complete lines among the first bytes."""
        self._file.seek(0)
        return self._file.read(most_bytes).decode("utf-8", "replace").split("\n")[:-1]

    def batch(self, start: int, most_bytes: int) -> list[TranscriptLine]:
        """Read complete lines from an offset on, up to a size."""
        found: list[TranscriptLine] = []
        for line in self.lines(start):
            found.append(line)
            if line.end - start >= most_bytes:
                break
        return found

    def skip(self, start: int) -> tuple[int, int]:
        """Find the first line that begins at `start` or later; return its offset and the number of lines before it."""
        self._file.seek(0)
        lines, left, last = 0, start, b"\n"
        while left and (chunk := self._file.read(min(_CHUNK_BYTES, left))):
            lines += chunk.count(b"\n")
            left -= len(chunk)
            last = chunk
        while not last.endswith(b"\n") and (last := self._file.readline(_CHUNK_BYTES)):
            lines += last.endswith(b"\n")
        return self._file.tell(), lines

    def position(self, offset: int, lines: int) -> ReadPosition:
        """Return a position that says: everything before the offset was read."""
        return ReadPosition(*self.identity, offset, lines, self._proof(offset))

    def knows(self, position: ReadPosition) -> bool:
        """Tell whether a position belongs to this file, and the part before it is unchanged."""
        same = (position.device, position.inode) == self.identity and 0 < position.offset <= self.size
        return same and self._proof(position.offset) == position.proof

    def _proof(self, offset: int) -> str:
        start = max(0, offset - _PROOF_BYTES)
        self._file.seek(start)
        return hashlib.sha256(self._file.read(offset - start)).hexdigest()


def _steps_below(path: Path, folder: Path) -> tuple[str, ...]:
    """The names that lead from the folder to the path; the folder may be named as it is or by where its links lead."""
    for top in (folder, Path(os.path.realpath(folder))):
        if path.is_relative_to(top):
            steps = path.relative_to(top).parts
            if steps and ".." not in steps:
                return steps
    raise InputError(f"the transcript is not below {folder}")


def _descend(top: Path, steps: tuple[str, ...]) -> int:
    """Open name by name from a folder on, so that no link on the way is followed; where the system cannot, look first."""
    if os.open not in os.supports_dir_fd:
        at = top
        for step in steps:
            at = at / step
            if stat.S_ISLNK(at.lstat().st_mode):
                raise InputError("a link leads to the transcript")
        return os.open(at, _FLAGS)
    folder = os.open(top, os.O_RDONLY | _FOLDER)
    try:
        for step in steps[:-1]:
            inner = os.open(step, _FLAGS | _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(steps[-1], _FLAGS, dir_fd=folder)
    finally:
        os.close(folder)
