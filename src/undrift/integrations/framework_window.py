"""A session's window for a framework: prepared by any thread, and left as it was where undrift fails.

Law: an agent continues after any fault here. The fault is logged with its session, and the request goes out unchanged.
"""

import asyncio
import logging
import threading
from typing import Any

from undrift.errors import InputError, UndriftError
from undrift.session.session import Session
from undrift.values.prepared import Prepared

__all__ = ["FrameworkWindow"]

_log = logging.getLogger("undrift.integrations")


class FrameworkWindow:
    """The window of one session. `wire`: the form in which requests are put to it; see `Session.prepare`."""

    def __init__(self, session: Session, wire: str) -> None:
        self.session = session
        self._wire = wire
        self._lock = threading.Lock()
        self._warned: tuple[str, ...] = ()

    def prepare(self, body: Any) -> Prepared | None:
        """Return what to send, or None if undrift failed; warnings are logged when they change."""
        try:
            with self._lock:
                prepared = self.session.prepare(body, wire=self._wire)
        except UndriftError as error:
            level = logging.WARNING if isinstance(error, InputError) else logging.ERROR
            _log.log(level, "session %.80r: the window goes out as it is: %s", self.session.id, error)
            return None
        if prepared.warnings != self._warned:
            self._warned = prepared.warnings
            for warning in prepared.warnings:
                _log.warning("session %.80r: %s", self.session.id, warning)
        return prepared

    def record(self, reply: Any) -> None:
        """Take in a provider's answer; a fault is logged. An empty one is passed over: some frameworks hide the usage."""
        if not reply:
            return
        try:
            with self._lock:
                self.session.record(reply, wire=self._wire)
        except UndriftError as error:
            level = logging.WARNING if isinstance(error, InputError) else logging.ERROR
            _log.log(level, "session %.80r: the usage was not taken in: %s", self.session.id, error)

    async def aprepare(self, body: Any) -> Prepared | None:
        """See `prepare`; the event loop continues meanwhile."""
        return await asyncio.to_thread(self.prepare, body)

    async def arecord(self, reply: Any) -> None:
        """See `record`."""
        await asyncio.to_thread(self.record, reply)
