"""The files in which agents record their sessions: found, opened and read.

Law: only ever reads; every error names the file and what to do about it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from undrift import transcripts
from undrift.errors import TranscriptError
from undrift.transcripts import Recording

__all__ = ["LONGEST_LINE_BYTES", "open_recording", "own_sessions"]

LONGEST_LINE_BYTES = 64 << 20
"""Four times the largest body that a provider takes; what is longer is another kind of file, or a damaged one."""


def open_recording(path: str | os.PathLike[str], *, format: str | None = None) -> Recording:  # noqa: A002
    """Read a recorded session from its file, whichever known format it is in.

    Bytes that are no UTF-8 become U+FFFD; a last line that is still being written is counted, not an error.

    Args:
        path: The client's own session file, or a pipe that gives one.
        format: A key of `undrift.transcripts.FORMATS`; None to detect it.

    Raises:
        TranscriptError: It cannot be read, has no known format, holds no message, or has a line of more than
            `LONGEST_LINE_BYTES`; the message names the file and the remedy.

    Source: issue item "replay"; A2-12.
    """
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            return transcripts.read(_lines(file), format=format)
    except TranscriptError as error:
        raise TranscriptError(f"{name}: {error}") from error
    except IsADirectoryError as error:
        raise TranscriptError(f"{name}: is a folder; name a session file in it") from error
    except FileNotFoundError as error:
        raise TranscriptError(f"{name}: there is no such file; check the path") from error
    except PermissionError as error:
        raise TranscriptError(f"{name}: may not be read; check its owner and permissions") from error
    except OSError as error:
        raise TranscriptError(
            f"{name}: cannot be read ({error.strerror or error}); check the file or its disk"
        ) from error
    except ValueError as error:  # a path that no system takes
        raise TranscriptError(f"{name!r}: is no path of a file ({error}); check the path") from error


def _lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines with their ends; memory stays within one line."""
    number = 0
    while line := file.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if len(line) > LONGEST_LINE_BYTES:
            raise TranscriptError(
                f"line {number} is longer than {LONGEST_LINE_BYTES >> 20} MiB, which no agent writes; if this is a "
                f"recorded session, take that line out of a copy of it (sed {number}d) and give the copy"
            )
        yield line.decode("utf-8", "surrogateescape")
    if not number:
        raise TranscriptError("is empty; give a session in which the agent has been asked something")


def own_sessions(claude_home: Path, codex_home: Path) -> tuple[Path, ...]:
    """Find the user's own recorded sessions, the one written last first.

    Args:
        claude_home: Claude Code's folder, usually ``~/.claude``; its sessions are ``projects/*/*.jsonl``.
        codex_home: Codex's folder, usually ``~/.codex``; its sessions are ``sessions/**/*.jsonl``.

    Returns:
        Regular files; equally new ones in the order of their paths. Folders that cannot be read give none.
    """
    found: list[tuple[int, Path]] = []
    for folder, pattern in ((claude_home / "projects", "*/*.jsonl"), (codex_home / "sessions", "**/*.jsonl")):
        for path in folder.glob(pattern):
            try:
                if path.is_file():
                    found.append((-path.stat().st_mtime_ns, path))
            except OSError:
                continue  # gone in the meantime, or not ours to see
    return tuple(path for _, path in sorted(found))
