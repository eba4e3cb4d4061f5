"""A process of another user that asks once; it imports nothing of ours, so that it starts at once.

It is given a JSON object on stdin: ``port``, ``data`` (what is sent, in Latin-1), and ``leaves``, how often it asks and
closes the connection at once; 0: it asks once and prints what comes back.
"""

import json
import os
import socket
import sys

NOBODY = 65_534


def main() -> None:
    """Ask."""
    given = json.load(sys.stdin)
    data = given["data"].encode("latin-1")  # all that is imported is imported by now: Python may be root's alone
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    for _ in range(max(1, given["leaves"])):
        with socket.socket() as connection:
            connection.settimeout(30)
            connection.connect(("127.0.0.1", given["port"]))
            connection.sendall(data)
            while not given["leaves"] and (piece := connection.recv(1 << 16)):
                sys.stdout.buffer.write(piece)


if __name__ == "__main__":
    main()
