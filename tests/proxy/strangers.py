"""Another user of the machine: asks by `stranger`, a process that gives up being root."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import PATHS, Heard

needs_other_users = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can start a process of another user"
)
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")


def ask_as_nobody(
    url: str,
    body: Mapping[str, Any],
    *,
    path: str = PATHS["anthropic"],
    headers: Mapping[str, str] | None = None,
    leaves: int = 0,
) -> Heard | None:
    """Send a request as the user 65534; None where it leaves so often before the answer."""
    port, data = urlsplit(url).port, json.dumps(body)
    lines = [f"POST {path} HTTP/1.1", f"host: 127.0.0.1:{port}", f"content-length: {len(data)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    answers = send_as_nobody(url, ["\r\n".join([*lines, "", data])], leaves=leaves)
    if leaves:
        return None
    head, _, answer = answers[0].partition("\r\n\r\n")
    first, *pairs = head.split("\r\n")
    found = {name.lower(): value for name, _, value in (pair.partition(": ") for pair in pairs)}
    return Heard(int(first.split()[1]), found, answer.encode("latin-1"), is_whole=True)


def send_as_nobody(url: str, data: Sequence[str], *, leaves: int = 0) -> list[str]:
    """Send requests as they are as the user 65534, each on a connection of its own; return the answers."""
    given = json.dumps({"port": urlsplit(url).port, "data": data, "leaves": leaves})
    command = [sys.executable, str(Path(__file__).with_name("stranger.py"))]
    done = subprocess.run(command, input=given.encode(), capture_output=True, timeout=60, check=True)
    found: list[str] = json.loads(done.stdout or b"[]")
    return found
