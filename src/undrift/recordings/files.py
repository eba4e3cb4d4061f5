"""The files in which agents record their sessions: finds, opens and reads them.

Law: only ever reads; every error names the file and what to do about it.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from undrift import transcripts
from undrift.errors import TranscriptError
from undrift.transcripts import Recording

__all__ = ["Homes", "LONGEST_LINE_BYTES", "open_recording", "own_sessions"]

LONGEST_LINE_BYTES = 64 << 20
"""Four times the largest body that a provider takes; what is longer is another kind of file, or a damaged one."""


_STATE = "base_state.json"
_EVENT = re.compile(r"event-(\d{5,})-[0-9A-Za-z-]+\.json", re.ASCII)
_OPEN_ALREADY = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""The folders for a shell's pipes that a process writes into; opening any other pipe may wait for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """The folders of the clients that record sessions. None means: skip this client.

    `gemini`: Gemini CLI's, usually ``~/.gemini``. `cn`: Continue's, usually ``~/.continue``.
    """

    claude: Path | None = None
    codex: Path | None = None
    gemini: Path | None = None
    copilot: Path | None = None
    pi: Path | None = None
    qwen: Path | None = None
    kimi: Path | None = None
    cline: Path | None = None
    cn: Path | None = None

    @property
    def folders(self) -> dict[Path, tuple[str, ...]]:
        """The folders with sessions, and the pattern of the session files in each."""
        found: dict[Path, tuple[str, ...]] = {}
        for home, folder, *patterns in (
            (self.claude, "projects", "*/*.jsonl"),
            (self.codex, "sessions", "**/*.jsonl"),
            (self.gemini, "tmp", "*/chats/session-*.json", "*/chats/session-*.jsonl"),
            (self.copilot, "session-state", "*.jsonl", "*/events.jsonl"),
            (self.pi, "sessions", "*/*.jsonl"),
            (self.qwen, "projects", "*/chats/*.jsonl"),
            (self.kimi, "sessions", "*/*/agents/main/wire.jsonl"),
            (self.cline, "sessions", "*/*.messages.json"),
            (self.cn, "sessions", "*-*.json"),
        ):
            if home is not None:
                found[home / folder] = (*found.get(home / folder, ()), *patterns)
        return found


def open_recording(path: str | os.PathLike[str], *, format: str | None = None) -> Recording:  # noqa: A002
    """Read a recorded session from its file, in any known format.

    Bytes that are no UTF-8 become U+FFFD; a last line that is still being written is counted, not an error.

    `path`: the client's own session file, a pipe of the shell that gives one, or what OpenHands keeps of a
    conversation: the folder, its ``base_state.json``, or one of its events. Raises TranscriptError: it cannot be read,
    has no known format, holds no message, or has a line of more than `LONGEST_LINE_BYTES`; the message names the file
    and the remedy.
    """
    name = os.fspath(path)
    try:
        pieces = _pieces(Path(path))
        if pieces:
            return transcripts.read(_joined(pieces), format=format)
        _check_kind(name)
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


def _check_kind(name: str) -> None:
    mode = os.stat(name).st_mode  # noqa: PTH116 - as given: a path object would drop what names a folder
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (stat.S_ISFIFO(mode) and name.startswith(_OPEN_ALREADY)):
        return
    raise TranscriptError("is no regular file; write what it gives into one, and name that")


def _pieces(path: Path) -> list[Path]:
    """Find the files of a conversation that is kept as one file an event: its state first; none for any other path."""
    if path.name == _STATE:
        path = path.parent
    elif _EVENT.fullmatch(path.name):
        path = path.parent.parent if path.parent.name == "events" else path.parent
    if not path.is_dir():
        return []
    folder = path / "events" if (path / "events").is_dir() else path
    found = [(int(known[1]), piece) for piece in folder.iterdir() if (known := _EVENT.fullmatch(piece.name))]
    states = [state for state in (path / _STATE, folder.parent / _STATE) if state.is_file()]
    return [*states[:1], *(piece for _, piece in sorted(found))] if found else []


def _joined(pieces: list[Path]) -> Iterator[str]:
    """Yield each file as one line; one with nothing in it was being written, and is a line that is cut."""
    for piece in pieces:
        _check_kind(str(piece))
        with piece.open("rb") as file:
            content = file.read(LONGEST_LINE_BYTES + 1)
        if len(content) > LONGEST_LINE_BYTES:
            raise TranscriptError(
                f"{piece.name} is larger than {LONGEST_LINE_BYTES >> 20} MiB, which no agent writes; leave it out of a "
                "copy of the folder, and give the copy"
            )
        line = content.decode("utf-8", "surrogateescape").replace("\n", " ").replace("\r", " ")
        yield (line if line.strip() else "{") + "\n"


def _lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines with their ends; memory stays within one line."""
    number = 0
    while line := file.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if len(line) > LONGEST_LINE_BYTES:
            raise TranscriptError(
                f"line {number} is longer than {LONGEST_LINE_BYTES >> 20} MiB, which no agent writes. "
                f"In a recorded session, take the line out of a copy (sed {number}d) and give the copy"
            )
        yield line.decode("utf-8", "surrogateescape")
    if not number:
        raise TranscriptError("is empty; give a session in which the agent has been asked something")


def own_sessions(homes: Homes) -> tuple[Path, ...]:
    """Find the user's own recorded sessions, most recently written first.

    Gemini CLI copies a chat that it continues from its older form into the newer one: the copy counts.

    Returns:
        Regular files; equally new ones in the order of their paths. Folders that cannot be read give none.
    """
    found: dict[Path, int] = {}
    for folder, patterns in homes.folders.items():
        for pattern in patterns:
            for path in folder.glob(pattern):
                try:
                    if path.is_file():
                        found[path] = -path.stat().st_mtime_ns
                except OSError:
                    continue  # gone in the meantime, or not ours to see
    current = [path for path in found if path.with_name(f"{path.name}l") not in found]
    return tuple(sorted(current, key=lambda path: (found[path], path)))
