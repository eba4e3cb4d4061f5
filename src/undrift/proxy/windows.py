"""The newest window of each conversation whose client has named it, for a status line.

Law: only the conversation with the user counts; a sub-agent's window and a request for a title are not shown.
"""

import re
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass

__all__ = ["NAMED_WINDOW", "NewestWindows", "WindowFigures"]

NAMED_WINDOW = re.compile(r"[A-Za-z0-9._@-]{1,128}")
"""The names that are kept; others could not stand in a path."""

_MOST = 4_096


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """The tokens of one request: as the client sent it, as the provider got it, and the most that it may have."""

    tokens_before: int
    tokens_after: int
    budget_tokens: int


class NewestWindows:
    """The newest windows, by the client's own session id. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[str, WindowFigures]] = OrderedDict()

    def keep(self, name: str | None, session_id: str, figures: WindowFigures) -> None:
        """Keep the newest window of a session; the one that was used longest ago makes place."""
        if not name or not NAMED_WINDOW.fullmatch(name):
            return
        with self._lock:
            self._kept[name] = session_id, figures
            self._kept.move_to_end(name)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def of(self, name: str) -> tuple[str, dict[str, int]] | None:
        """Return our id of a session and its newest window. None means: it has sent no request since the start."""
        with self._lock:
            found = self._kept.get(name)
        return None if found is None else (found[0], asdict(found[1]))
