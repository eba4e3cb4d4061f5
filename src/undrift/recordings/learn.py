"""Reads from recorded sessions what they teach.

Law: only ever reads. The first message of a sub-agent is its agent's, so such a session teaches nothing.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from undrift.core.memory.lessons import Lesson, lessons
from undrift.errors import TranscriptError
from undrift.recordings.figures import recorded_figures
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

__all__ = ["TaughtSession", "recordings_below", "taught_by"]

_CLIENTS = {"claude-code": "claude"}
"""The hooks' name of a client, if it is not the name of the format."""


@dataclass(frozen=True, slots=True)
class TaughtSession:
    """One recorded session and what it teaches.

    Args:
        session_id: The name under which the hooks record it, as ``claude:ID``.
        cwd: The folder that it worked in; None if the file does not say.
        is_sub_agent: Its user is another agent, so it teaches nothing.
    """

    path: Path
    session_id: str
    format: str
    cwd: str | None
    entries: Sequence[ContextEntry]
    lessons: Sequence[Lesson]
    is_sub_agent: bool = False


def taught_by(path: str | os.PathLike[str]) -> TaughtSession:
    """Read what one recorded session teaches. Raises TranscriptError: the file cannot be read."""
    path = Path(path)
    read = open_recording(path)
    session_id = f"{_CLIENTS.get(read.format, read.format)}:{read.session_id or path.stem}"
    if recorded_figures(path, read.format).sub_agent:
        return TaughtSession(path, session_id, read.format, read.cwd, (), (), is_sub_agent=True)
    return TaughtSession(path, session_id, read.format, read.cwd, read.entries, lessons(read.entries))


def recordings_below(path: Path) -> Iterator[Path]:
    """Yield a file itself, or the files below a folder in the order of their paths; no link is followed.

    Raises TranscriptError: there is nothing of that name.
    """
    if not path.is_dir():
        if not path.exists():
            raise TranscriptError(f"{path}: there is no such file or folder; check the path")
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        yield from (Path(folder) / name for name in sorted(names) if not (Path(folder) / name).is_symlink())
