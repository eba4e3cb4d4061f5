"""The agent's notes of one session, active_context.md: read and written by the library, the agent and its people.

Law: the file is the agent's own; it is rewritten only on request. It exists from the first write, or once an agent was
given its path (docs/adr/0033). A text is masked before it enters a window or the store.
"""

import logging
from pathlib import Path

from undrift.core.text.refs import ref_of
from undrift.core.text.secrets import mask
from undrift.errors import InputError, StoreError
from undrift.stores.exports import Exports
from undrift.values.window import ContextEntry

__all__ = ["ScratchpadFile"]

_log = logging.getLogger("undrift.window")

_TITLE = "[active_context.md: the notes of this session, as they are now]\n"
_OFF = "this session has no scratchpad: it was opened with keeps_notes=False"


class ScratchpadFile:
    """The file with the notes of one session; it stays when a task ends.

    `mask_secrets`: whether secrets are masked before a text enters a window or the store.
    """

    def __init__(self, exports: Exports | None, session_id: str, *, mask_secrets: bool) -> None:
        self._exports = exports
        self._session_id = session_id
        self._mask = mask_secrets

    @property
    def is_on(self) -> bool:
        """True if the session has notes at all."""
        return self._exports is not None

    @property
    def path(self) -> Path:
        """The path of the notes: ``<home>/archives/<session>/active_context.md``.

        Reading it creates the file if there is none, so that an agent that gets the path can edit it.

        Raises InputError: the session has none.
        """
        found = self._open().scratchpad_path(self._session_id)
        self.start()
        return found

    @property
    def is_there(self) -> bool:
        """True if the notes were ever written, or an agent was given their path."""
        return self._exports is not None and self._exports.has_scratchpad(self._session_id)

    def read(self) -> str:
        """Return the notes; empty if there are none.

        Raises InputError: the session has none. Raises StoreError: their name is not a file, or the disk fails.
        """
        return self._open().read_scratchpad(self._session_id).text

    def write(self, text: str) -> str:
        """Replace all notes by a text; return a warning if they are too large for the window, else "".

        Raises InputError: the session has none. Raises StoreError: the former notes are unchanged.
        """
        return self._open().write_scratchpad(self._session_id, text).warning

    def append(self, text: str) -> str:
        """Add a text after the notes, on a line of its own; return a warning as `write` does.

        Raises InputError: the session has none. Raises StoreError: the former notes are unchanged.
        """
        return self._open().append_scratchpad(self._session_id, text).warning

    def drop(self, title: str) -> str:
        """Remove all sections ``## title`` from the notes; return a warning as `write` does.

        Raises:
            InputError: There is no such section, or the session has no notes.
            StoreError: The notes are unchanged.
        """
        return self._open().drop_section(self._session_id, title).warning

    def start(self) -> None:
        """Create the notes if there are none, because an agent is about to be given their path.

        An obstacle is logged, and the session continues without notes.
        """
        try:
            if self._exports is not None:
                self._exports.start_scratchpad(self._session_id)
        except StoreError as error:
            _log.error("session %.80r: no scratchpad: %s", self._session_id, error)

    def note(self, warnings: list[str]) -> str:
        """Return the notes for a window: only their end if they are too long, secrets masked."""
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
        """Return the notes as an entry to be stored at a task's boundary; None if there are none.

        The same notes make the same entry.
        """
        try:
            text = self._exports.read_scratchpad(self._session_id).text if self._exports is not None else ""
        except StoreError as error:
            _log.error("session %.80r: no snapshot of the scratchpad: %s", self._session_id, error)
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
