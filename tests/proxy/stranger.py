"""A process of another user that asks; it imports nothing of ours, so that it starts at once.

It is given a JSON object on stdin: ``port``, ``data`` (a list of what is sent, in Latin-1), and ``leaves``, how often it
sends the first and closes the connection at once; 0: it sends each and prints a list of what comes back.
"""

import json
import os
import socket
import sys

NOBODY = 65_534


def main() -> None:
    """Ask."""
    given = json.load(sys.stdin)
    data = [
        one.encode("latin-1") for one in given["data"]
    ]  # all that is imported is imported by now: Python may be root's alone
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    for _ in range(given["leaves"]):
        sent(given["port"], data[0], waits=False)
    if not given["leaves"]:
        print(json.dumps([sent(given["port"], one).decode("latin-1") for one in data]))


def sent(port: int, data: bytes, *, waits: bool = True) -> bytes:
    """Send bytes on a connection of their own; return all that comes back, if it is waited for."""
    answer = b""
    with socket.socket() as connection:
        connection.settimeout(30)
        connection.connect(("127.0.0.1", port))
        connection.sendall(data)
        while waits and (piece := connection.recv(1 << 16)):
            answer += piece
    return answer


if __name__ == "__main__":
    main()
