"""The open sessions of this home's gateways, as the gateways themselves say.

Law: only this machine is asked, and briefly: a gateway that does not answer at once has no figures here.
"""

import http.client
import json
import os
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from undrift.stores.gateways import Presence, known

__all__ = ["OpenInGateways"]

_TIMEOUT_S = 0.3
_HOLDS_S = 1.5
_MOST_BYTES = 4 << 20


class OpenInGateways:
    """The open sessions of the gateways of one home."""

    def __init__(self, home: Path, token: str) -> None:
        self._home = home
        self._token = token
        self._found: tuple[float, list[dict[str, Any]]] = (-_HOLDS_S, [])

    def sessions(self) -> list[dict[str, Any]]:
        """Return the figures of each open session; none without a gateway. An answer holds for 1.5 seconds."""
        now_s = time.monotonic()
        if now_s - self._found[0] >= _HOLDS_S:
            found = [one for presence in known(self._home) if _is_ours(presence.pid) for one in self._of(presence)]
            self._found = (now_s, found)
        return self._found[1]

    def _of(self, presence: Presence) -> list[dict[str, Any]]:
        host = "::1" if presence.url.startswith("http://[") else "127.0.0.1"
        try:
            with closing(http.client.HTTPConnection(host, presence.port, timeout=_TIMEOUT_S)) as connection:
                connection.request("GET", "/undrift/sessions", headers={"x-undrift-token": self._token})
                answer = connection.getresponse()
                value: Any = json.loads(answer.read(_MOST_BYTES)) if answer.status == 200 else {}
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            return []
        rows = value.get("sessions") if isinstance(value, dict) else None
        return [row for row in rows if _is_row(row)] if isinstance(rows, list) else []


def _is_ours(pid: int) -> bool:
    """Tell whether a process runs and is this user's: else another one may listen in its place, and would get the token."""
    if sys.platform == "win32":
        return pid > 0
    try:
        return pid > 0 and os.stat(f"/proc/{pid}").st_uid == os.getuid()  # noqa: PTH116
    except FileNotFoundError:
        return not os.path.isdir("/proc/self") and pid > 0  # noqa: PTH112 - a system without it
    except OSError:
        return False


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("session"), str)
        and all(type(row.get(name)) is int for name in ("tokens_before", "tokens_after"))
    )
