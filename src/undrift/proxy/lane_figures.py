"""An open session of a gateway: its name, its figures, and the notices that were logged about it."""

from collections import Counter
from dataclasses import dataclass, field

from undrift.proxy.naming import Kind, Name
from undrift.session.lanes import Lane
from undrift.window.context import SessionContext
from undrift.window.sent_recorder import SentRecorder
from undrift.window.session_log import SessionLog

__all__ = ["GatewayLane", "LaneFigures"]


@dataclass(slots=True)
class LaneFigures:
    """The figures of an open session."""

    name: Name = field(default_factory=Name)
    named_by: Kind | None = None
    is_stored: bool = False
    is_price_said: bool = False
    logged_ms: dict[str, int] = field(default_factory=dict)
    requests: Counter[Kind] = field(default_factory=Counter)
    tokens_before: int = 0
    tokens_after: int = 0
    last_s: float = 0.0
    agent: str = ""  # of the newest request
    read_to: str = ""  # chain id of the newest item in which reports of sub-agents were looked for
    reports: set[str] = field(default_factory=set)  # that are kept as facts, by their keys
    own_name: str = ""  # by which its client calls the conversation
    log: SessionLog | None = None  # of the session that was opened last
    sent: SentRecorder | None = None  # of the same

    def opened(self, context: SessionContext) -> SentRecorder:
        """Take over the log of a session that is opened; return what notes its requests."""
        self.log, self.sent = context.log, SentRecorder(context)
        return self.sent

    def note_restored(self, count: int) -> None:
        """Note that files stand in place of so many blocks of the newest request."""
        if count and self.sent is not None:
            self.sent.note_restored(count)


GatewayLane = Lane[LaneFigures]
