"""The agent's notes of one session, active_context.md: read and written by the library, the agent and its people.

Law: the file is the agent's own; nothing here rewrites it unasked. What of it goes into a window or into the store is
masked first.
"""

import logging
from pathlib import Path

from undrift.core.text.refs import ref_of
from undrift.core.text.secrets import mask
from undrift.errors import InputError, StoreError
from undrift.stores.exports import Exports
from undrift.values.window import ContextEntry

__all__ = ["ScratchpadFile"]

_log = logging.getLogger("undrift.session.session")

_TITLE = "[active_context.md: the notes of this session, as they are now]\n"
_OFF = "this session has no scratchpad: it was opened with keeps_notes=False"


class ScratchpadFile:
    """The notes of one session; they survive the end of every task.

    Args:
        exports: The folder that holds them; None where the session has none.
        session_id: Whose.
        mask_secrets: Whether secrets are masked in what goes into a window or the store.

    Source: CONTRACT `session.scratchpad`; R3-01, R3-19, A3-20.
    """

    def __init__(self, exports: Exports | None, session_id: str, *, mask_secrets: bool) -> None:
        self._exports = exports
        self._session_id = session_id
        self._mask = mask_secrets

    @property
    def is_on(self) -> bool:
        """Whether the session has notes at all."""
        return self._exports is not None

    @property
    def path(self) -> Path:
        """Where the notes are: ``<home>/archives/<session>/active_context.md``.

        Raises:
            InputError: The session has none.
        """
        return self._open().scratchpad_path(self._session_id)

    def read(self) -> str:
        """Return the notes; empty where there are none.

        Raises:
            InputError: The session has none.
            StoreError: Something else than a file stands under their name, or the disk fails.
        """
        return self._open().read_scratchpad(self._session_id).text

    def write(self, text: str) -> str:
        """Put a text in place of all notes; return a warning when they are too large for the window, else "".

        Raises:
            InputError: The session has none.
            StoreError: The former notes are as they were.
        """
        return self._open().write_scratchpad(self._session_id, text).warning

    def append(self, text: str) -> str:
        """Add a text behind the notes, on a line of its own; return a warning as `write` does.

        Raises:
            InputError: The session has none.
            StoreError: What was there before is as it was.
        """
        return self._open().append_scratchpad(self._session_id, text).warning

    def drop(self, title: str) -> str:
        """Take all sections ``## title`` out of the notes; return a warning as `write` does.

        Raises:
            InputError: There is no such section, or the session has no notes.
            StoreError: The notes are as they were.
        """
        return self._open().drop_section(self._session_id, title).warning

    def start(self) -> bool:
        """Create the notes where there are none; return whether it did, and the session thus is a new one.

        What stands in the way is logged, a session goes on without.
        """
        try:
            return self._exports is not None and self._exports.start_scratchpad(self._session_id)
        except StoreError as error:
            _log.warning("session %.80r: no scratchpad: %s", self._session_id, error)
            return False

    def note(self, warnings: list[str]) -> str:
        """Return the notes as they stand in a window: their end where they are too long, secrets masked."""
        if self._exports is None:
            return ""
        try:
            found = self._exports.read_scratchpad(self._session_id)
        except StoreError as error:
            warnings.append(f"the scratchpad cannot be read: {error}")
            return ""
        if found.warning:
            warnings.append(found.warning)
        text = found.window_text.strip()
        return f"{_TITLE}{self._masked(text)}" if text else ""

    def snapshot(self, at_ms: int) -> ContextEntry | None:
        """Return the notes as an entry to be stored at a task's boundary; None where there are none.

        The same notes make the same entry.
        """
        try:
            text = self._exports.read_scratchpad(self._session_id).text if self._exports is not None else ""
        except StoreError as error:
            _log.warning("session %.80r: no snapshot of the scratchpad: %s", self._session_id, error)
            return None
        if not text.strip():
            return None
        text = self._masked(text)
        return ContextEntry(f"scratchpad:{ref_of(self._session_id, text)}", "summary", text, 0, at_ms)

    def _open(self) -> Exports:
        if self._exports is None:
            raise InputError(_OFF)
        return self._exports

    def _masked(self, text: str) -> str:
        return mask(text).text if self._mask else text
