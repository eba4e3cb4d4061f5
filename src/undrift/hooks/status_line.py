"""Claude Code's status line: how full the window is and what left it, as the gateway counts it, and when the cache is cold.

Law: one short line or nothing. The client runs it again and again and waits for it: no error is printed, no heavy module is
loaded, and a gateway that does not answer at once is not waited for.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from undrift.errors import InputError
from undrift.hooks.call import CLIENTS
from undrift.hooks.costs import notices_of
from undrift.hooks.gateway import sentences, window_of
from undrift.hooks.transcript import Transcript
from undrift.values.clock import now_ms

__all__ = ["start_line", "status_line"]

_FOLDERS = (("--home=", ".undrift"), ("--client-home=", ".claude"))
_MOST_INPUT_BYTES = 1 << 20
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
    window = window_of(payload.get("session_id"), home)
    shown = [_cache(payload.get("transcript_path"), client_home)] if window is None else _shown(window)
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


def _shown(window: Any) -> list[str]:
    """Return the parts of the line that a gateway tells; none if it was another program that answered."""
    try:
        return [_line(window), next(sentences(window, "short", "away", "cold_in"), "")]
    except (KeyError, TypeError):
        return []


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
