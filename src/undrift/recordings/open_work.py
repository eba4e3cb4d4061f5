"""Finds the recorded session whose open work another agent is to continue, and keeps its originals for it.

Law: only the beginning of a recording is read to see where it worked; a sub-agent's session is passed over.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from undrift.errors import TranscriptError
from undrift.hooks.call import CLIENTS, HookCall
from undrift.hooks.work import record
from undrift.profiles import PROFILES
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

__all__ = ["OpenWork", "keep_originals", "open_work", "sessions_of"]

_MOST_LOOKED_AT = 200
_MOST_FILES = 5_000
_HEAD_BYTES = 256 << 10
_FIRST_BYTES = 16 << 10
_AFTER = 4_096
_CWD = re.compile(rb'"cwd":\s?("(?>(?:[^"\\]|\\.){1,4000})")')
_SIDE = re.compile(rb'"isSidechain":\s?true|"subagent":\s?[{"]')
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OpenWork:
    """One recorded session.

    Args:
        client: The client that recorded it, by the name that one types; empty if no profile has the format.
        session_id: The client's own id of it.
        cwd: The folder that it worked in; empty if the file does not say.
    """

    path: Path
    client: str
    session_id: str
    cwd: str
    entries: Sequence[ContextEntry]


def sessions_of(paths: Iterable[Path], is_here: Callable[[str], bool]) -> Iterator[Path]:
    """Yield the sessions of a project, in the order given; of the first 200 that are no sub-agent's, in at most 5,000 files.

    `is_here`: whether a folder belongs to the project.
    """
    known: dict[str, bool] = {}
    own = ((path, cwd) for path in islice(paths, _MOST_FILES) if (cwd := _cwd_of(path)))
    for path, cwd in islice(own, _MOST_LOOKED_AT):
        if cwd not in known:
            known[cwd] = is_here(cwd)
        if known[cwd]:
            yield path


def _cwd_of(path: Path) -> str:
    """Return the folder that a session began in; empty for a sub-agent's, and for one that does not say."""
    try:
        with path.open("rb") as file:
            head = file.read(_FIRST_BYTES)
            found = _CWD.search(head)
            if found is None or found.end() + _AFTER > len(head):
                head += file.read(_HEAD_BYTES - _FIRST_BYTES)
                found = _CWD.search(head)
    except OSError:
        return ""
    if found is None or _SIDE.search(head[: found.end() + _AFTER]):
        return ""
    try:
        return str(json.loads(found[1].decode("utf-8", "replace")))
    except ValueError:
        return ""


def open_work(path: Path) -> OpenWork:
    """Read a session. Raises TranscriptError: the file cannot be read, or holds no session."""
    read = open_recording(path)
    client = next((name for name, profile in PROFILES.items() if profile.format == read.format), "")
    named = _UUID.search(path.stem)  # a session that was resumed holds the ids of others too
    session_id = named[0] if named else read.session_id or path.stem
    return OpenWork(path, client, session_id, read.cwd or "", read.entries)


def keep_originals(work: OpenWork, home: Path, cwd: Path) -> bool:
    """Record the session in the store of a folder's project, so that its originals can be recalled there.

    Returns:
        False: undrift does not record the sessions of this client, or the file has no id that can be used.

    Raises:
        StoreError: The store refuses. OSError: the home does.
    """
    if work.client not in CLIENTS or not _SESSION_ID.fullmatch(work.session_id):
        return False
    path = work.path.resolve()
    call = HookCall(work.client, work.session_id, "", str(path), str(cwd), path.parent, home.absolute())
    try:
        with call.open() as transcript:
            record(call, transcript)
    except TranscriptError:
        return False
    return True
