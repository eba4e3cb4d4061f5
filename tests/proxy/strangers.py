"""Another user of the machine: a process that gives up being root and then asks, as ``python -m tests.proxy.strangers``.

It is given a JSON object on stdin: ``port``, ``data`` (what is sent, in Latin-1), and ``leaves``, whether it closes the
connection at once. It prints what came back.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.proxy.builders import PATHS, Heard

NOBODY = 65_534

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
    leaves: bool = False,
) -> Heard | None:
    """Send a request as the user 65534; None where it does not wait for the answer."""
    port, data = urlsplit(url).port, json.dumps(body)
    lines = [f"POST {path} HTTP/1.1", f"host: 127.0.0.1:{port}", f"content-length: {len(data)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    given = json.dumps({"port": port, "data": "\r\n".join([*lines, "", data]), "leaves": leaves})
    command = [sys.executable, "-m", "tests.proxy.strangers"]
    done = subprocess.run(command, input=given.encode(), capture_output=True, timeout=60, cwd=Path.cwd(), check=True)
    if leaves:
        return None
    head, _, answer = done.stdout.partition(b"\r\n\r\n")
    first, *pairs = head.decode("latin-1").split("\r\n")
    found = {name.lower(): value for name, _, value in (pair.partition(": ") for pair in pairs)}
    return Heard(int(first.split()[1]), found, answer, is_whole=True)


def main() -> None:
    """Ask once."""
    given = json.load(sys.stdin)
    data = given["data"].encode("latin-1")  # all that is imported is imported by now: Python may be root's alone
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    with socket.socket() as connection:
        connection.settimeout(30)
        connection.connect(("127.0.0.1", given["port"]))
        connection.sendall(data)
        while not given["leaves"] and (piece := connection.recv(1 << 16)):
            sys.stdout.buffer.write(piece)


if __name__ == "__main__":
    main()
