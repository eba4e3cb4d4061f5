"""One checked call of a hook, its options, and the folders where each client records its sessions."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift.hooks.home import folder_of
from undrift.hooks.transcript import Transcript
from undrift.settings import environment, working_folder
from undrift.settings.folder import existing_folder, named_folder
from undrift.values.project import Place

__all__ = ["CLIENTS", "FIRST_PARTS", "HookCall", "Layout", "Options", "text_of"]

FIRST_PARTS = 2
"""The parts that the entries of an earlier version ask for, which do not say how many they are."""

_LONGEST_CHARACTERS = 4_096


@dataclass(frozen=True, slots=True)
class Layout:
    """The places where a client records its sessions.

    `in_bytes`: it bounds a hook's text by its bytes in UTF-8, not by its UTF-16 units.
    """

    folder: str
    sessions: str
    format: str
    in_bytes: bool = False


CLIENTS: Mapping[str, Layout] = {
    "claude": Layout(".claude", "projects", "claude-code"),
    "codex": Layout(".codex", "sessions", "codex", in_bytes=True),
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options in the command that ``undrift install`` has registered.

    `home`: absolute path; None for ``~/.undrift``. `client_home`: the client's own folder, absolute; None for the usual
    one. `part`: of the text, from 1. `parts`: how many the client asks for. `now`: do the slow work in this process and not in one of its own.
    """

    client: str = "claude"
    home: str | None = None
    client_home: str | None = None
    part: int = 1
    parts: int = FIRST_PARTS
    now: bool = False


@dataclass(frozen=True, slots=True)
class HookCall:
    """One checked call of a hook.

    Args:
        source: Why a session starts: ``startup``, ``resume``, ``clear``, ``compact``; else empty.
        at_ms: When a compaction was announced; None if it is over.
        trigger: Of that compaction: ``auto`` or ``manual``; empty if it is not said.
        payload: As the client gave it; what is not a field above is not checked.
    """

    client: str
    session_id: str
    source: str
    transcript: str
    cwd: str
    sessions: Path
    home: Path
    at_ms: int | None = None
    trigger: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    options: Options = Options()

    @property
    def format(self) -> str:
        return CLIENTS[self.client].format

    def place(self) -> Place:
        """Return the place of the session's project; create the folder of its records.

        Raises StoreError: the system refuses.
        """
        from undrift.stores.projects import keep, place_of

        folder = named_folder(environment()) or existing_folder(self.cwd) or working_folder()
        return keep(place_of(self.home, folder, shares=True))

    def folder(self) -> Path:
        """Return this session's folder in the home; create it if it is absent."""
        from undrift.stores.files import safe_name

        return folder_of(self.home, safe_name(f"{self.client}-{self.session_id}"))

    def is_purged(self, session_id: str = "") -> bool:
        """Tell whether the person purged a session of this client: nothing of it is kept any more, and nothing is given.

        `session_id`: another one than the call's.
        """
        from undrift.stores.files import PURGED

        return self.has(PURGED, session_id)

    def has(self, name: str, session_id: str = "") -> bool:
        """Tell whether the folder of a session holds a file of this name; no folder is created.

        `session_id`: another one than the call's.
        """
        from undrift.stores.files import safe_name

        folder = safe_name(f"{self.client}-{session_id or self.session_id}")
        return os.path.lexists(Path(os.path.realpath(self.home), "hooks", folder, name))

    def open(self) -> Transcript:
        """Open the session's file; it raises the same errors as `Transcript.open`."""
        return Transcript.open(self.transcript, self.sessions)


def text_of(payload: Mapping[str, Any], name: str) -> str:
    """Return a text of a payload; empty if it is none, or too long to be one."""
    value = payload.get(name)
    return value if isinstance(value, str) and len(value) <= _LONGEST_CHARACTERS else ""
