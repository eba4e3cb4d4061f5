"""A relay on loopback between a client and a server: it adds delay, stalls, and cuts connections in the middle of answers.

Law: it changes no byte. A plan is called for each part of the stream and decides what happens to it.
"""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any

from undrift.values.closing import Closing

__all__ = ["Act", "Plan", "Relay", "passing", "relay_process"]

_PART_BYTES = 1 << 16
_LATE_S = 0.3
_STALL_S = 0.4


class Act(Enum):
    """The fate of a part of the stream."""

    PASS = 0
    CUT = 1
    """Half of it arrives, and the connection ends on both sides."""
    LOSE = 2
    """Nothing of it arrives, and the connection ends on both sides."""
    STALL = 3
    """It arrives after `_STALL_S`."""
    LATE = 4
    """The sender's connection ends at once; the part arrives after `_LATE_S`, when the sender has long asked again."""


Plan = Callable[[bool, bytes], Act]
"""Returns what happens to a part. True: it is an answer of the server."""


def passing(_: bool, __: bytes) -> Act:
    """The plan of a relay that does nothing."""
    return Act.PASS


class Relay(Closing):
    """Accepts on 127.0.0.1 and passes on to a server's socket.

    Args:
        target: The path of the server's socket.
        delay_s: What a round trip takes longer; half of it each way.
        plan: What happens to each part; it may be changed at any time.
    """

    def __init__(self, target: Path, *, delay_s: float = 0.0, plan: Plan = passing) -> None:
        self.plan = plan
        self.did: list[Act] = []
        self._target = target
        self._delay_s = delay_s / 2
        self._open: set[socket.socket] = set()
        self._clients: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for one in list(self._open):
            _end(one)

    def cut(self) -> None:
        """End all connections of clients; the server continues with the requests that it has received."""
        for one in list(self._clients):
            _end(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self._target))
            except OSError:  # the server is away
                client.close()
                server.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open |= {client, server}
            self._clients.add(client)
            for ends in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: Any, target: Any, is_answer: bool) -> None:
        with suppress(OSError):
            while part := source.recv(_PART_BYTES):
                if self._delay_s:
                    time.sleep(self._delay_s)
                act = self.plan(is_answer, part)
                if act is not Act.PASS:
                    self.did.append(act)
                if act is Act.STALL:
                    time.sleep(_STALL_S)
                elif act is Act.CUT:
                    target.sendall(part[: len(part) // 2])
                    break
                elif act is Act.LOSE:
                    break
                elif act is Act.LATE:
                    _end(source)
                    time.sleep(_LATE_S)
                    target.sendall(part)
                    time.sleep(_LATE_S)
                    break
                target.sendall(part)
        for one in (source, target):
            _end(one)
            self._open.discard(one)
            self._clients.discard(one)


@contextmanager
def relay_process(target: Path, delay_s: float) -> Iterator[int]:
    """Yield the port of a relay in a process of its own, whose threads take no time of this one."""
    command = [sys.executable, "-m", "tests.proof.server_relay", str(target), str(delay_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


if __name__ == "__main__":
    with Relay(Path(sys.argv[1]), delay_s=float(sys.argv[2])) as made:
        print(made.port, flush=True)
        sys.stdin.read()
