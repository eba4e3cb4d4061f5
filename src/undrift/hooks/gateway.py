"""Asks the gateways of a home for the newest window of a session, and for what is true of its cache.

Law: no heavy module is loaded, a gateway that does not answer at once is not waited for, and its answer is not trusted.
"""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["sentences", "window_of"]

_SESSION = re.compile(r"[A-Za-z0-9._@-]{1,128}", re.ASCII)
_TOKEN = re.compile(r"[0-9a-f]{64}")
_PORT = re.compile(r"gateway-([0-9]{1,5})\.json", re.ASCII)
_WAIT_S = 0.2
_MOST_BYTES = 8 << 10
_MOST_GATEWAYS = 3
_MOST_NOTICES = 8
_LONGEST_CHARACTERS = 300


def window_of(session: Any, home: Path) -> Any:
    """Return the session's newest window. None means: no gateway of the home knows it."""
    if not isinstance(session, str) or not _SESSION.fullmatch(session):
        return None
    try:
        token = (home / "http-token").read_text(encoding="ascii").strip()
        if not _TOKEN.fullmatch(token):
            return None
        found = ((path.stat().st_mtime, name[1]) for path in home.iterdir() if (name := _PORT.fullmatch(path.name)))
        for _, port in sorted(found, reverse=True)[:_MOST_GATEWAYS]:
            if (window := _asked(int(port), session, token)) is not None:
                return window
    except (OSError, ValueError):  # a home without a gateway, or another program on its port
        return None
    return None


def sentences(window: Any, form: str, *kinds: str) -> Iterator[str]:
    """Yield the sentences of these kinds in a window. `form`: ``text``, or ``short``."""
    notices = window.get("notices") if isinstance(window, dict) else None
    for notice in notices[:_MOST_NOTICES] if isinstance(notices, list) else ():
        text = notice.get(form) if isinstance(notice, dict) and notice.get("kind") in kinds else None
        if isinstance(text, str) and text.isprintable() and len(text) <= _LONGEST_CHARACTERS:
            yield text


def _asked(port: int, session: str, token: str) -> Any:
    head = f"GET /undrift/window/{session} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-undrift-token: {token}\r\n"
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), _WAIT_S) as connection:
            connection.sendall(f"{head}connection: close\r\n\r\n".encode("ascii"))
            while len(answer) < _MOST_BYTES and (piece := connection.recv(_MOST_BYTES)):
                answer += piece
    except OSError:
        return None
    first, _, body = answer.partition(b"\r\n\r\n")
    return json.loads(body) if first.startswith(b"HTTP/1.1 200 ") else None
