"""Claude Code's status line: how full the window is and what left it, as the gateway counts it, and when the cache is cold.

Law: one short line or nothing. The client runs it again and again and waits for it: no error is printed, no heavy module is
loaded, and a gateway that does not answer at once is not waited for.
"""

import json
import re
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from undrift.errors import InputError
from undrift.hooks.call import CLIENTS
from undrift.hooks.costs import notices_of
from undrift.hooks.transcript import Transcript
from undrift.values.clock import now_ms

__all__ = ["start_line", "status_line"]

_SESSION = re.compile(r"[A-Za-z0-9._@-]{1,128}", re.ASCII)
_TOKEN = re.compile(r"[0-9a-f]{64}")
_PORT = re.compile(r"gateway-([0-9]{1,5})\.json", re.ASCII)
_FOLDERS = (("--home=", ".undrift"), ("--client-home=", ".claude"))
_WAIT_S = 0.2
_MOST_BYTES = 8 << 10
_MOST_INPUT_BYTES = 1 << 20
_MOST_GATEWAYS = 3
_THOUSAND, _MILLION = 1_000, 1_000_000


def start_line(arguments: Sequence[str]) -> None:
    """Read the client's JSON from stdin, and print the line; on any fault nothing. `arguments`: those after the event."""
    try:
        given = sys.stdin.buffer.read(_MOST_INPUT_BYTES)
        home, client_home = (_folder(arguments, option, usual) for option, usual in _FOLDERS)
        line = status_line(given, home, client_home)
        sys.stdout.buffer.write(line.encode("utf-8"))
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - a status line never shows an error
        return


def _folder(arguments: Sequence[str], option: str, usual: str) -> Path:
    given = [word.partition("=")[2] for word in arguments if word.startswith(option)]
    return Path(given[-1]) if given else Path.home() / usual


def status_line(given: bytes, home: Path, client_home: Path) -> str:
    """Return the line, or nothing if neither a gateway nor the session's file tells anything of it.

    Raises ValueError: the client's JSON is malformed.
    """
    payload = json.loads(given)
    if not isinstance(payload, dict):
        return ""
    shown = [_window(payload.get("session_id"), home), _cache(payload.get("transcript_path"), client_home)]
    parts = [part for part in shown if part]
    return f"undrift {' · '.join(parts)}" if parts else ""


def _cache(path: Any, client_home: Path) -> str:
    """Return the most urgent sentence about the session's cache; on any fault nothing."""
    client = CLIENTS["claude"]
    try:
        if not isinstance(path, str):
            return ""
        with Transcript.open(path, client_home / client.sessions) as transcript:
            return next((one.short for one in notices_of(transcript, client.format, now_ms())), "")
    except (InputError, OSError, ValueError):
        return ""


def _window(session: Any, home: Path) -> str:
    """Return the session's newest window; nothing if no gateway of the home knows the session."""
    if not isinstance(session, str) or not _SESSION.fullmatch(session):
        return ""
    try:
        token = (home / "http-token").read_text(encoding="ascii").strip()
        if not _TOKEN.fullmatch(token):
            return ""
        found = ((path.stat().st_mtime, name[1]) for path in home.iterdir() if (name := _PORT.fullmatch(path.name)))
        for _, port in sorted(found, reverse=True)[:_MOST_GATEWAYS]:
            if (window := _asked(int(port), session, token)) is not None:
                return _line(window)
    except (OSError, ValueError, KeyError, TypeError):  # a home without a gateway, or another program on its port
        return ""
    return ""


def _asked(port: int, session: str, token: str) -> Any:
    """Return the session's newest window. None means: this gateway does not know it, or does not answer."""
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


def _line(window: Any) -> str:
    before, after, budget = (window[name] for name in ("tokens_before", "tokens_after", "budget_tokens"))
    shown = f"{_short(after)} of {_short(budget)}"
    return shown if before <= after else f"{shown} · {_short(before - after)} left, all recallable"


def _short(tokens: int) -> str:
    """Return tokens in at most four characters: 950, 84k, 1.2M."""
    if tokens < _THOUSAND:
        return str(tokens)
    if tokens < _MILLION - _THOUSAND // 2:
        return f"{round(tokens / _THOUSAND)}k"
    return f"{tokens / _MILLION:.1f}M"
