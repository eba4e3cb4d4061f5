"""Start the program out of a process that has loaded it: in 20 ms of the processor in place of 500.

For tests of what it shows and keeps. What a start itself costs and loads is measured with a new interpreter.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Self

__all__ = ["Started", "run"]

ROOT = Path(__file__).parents[2]


@cache
def _server() -> socket.socket:
    """Start the process that forks, once for all tests; it ends when this process does."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.warm.serve", str(theirs.fileno())]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    server = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths, "PYTHONUTF8": "1"}, pass_fds=[theirs.fileno()]
    )
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


class Started:
    """The program, started; of `subprocess.Popen` what the tests need.

    Args:
        words: Its arguments.
        env: All of its variables; those of this process if there are none.
        cwd: Its folder.
        stdin: A descriptor, `PIPE` or `DEVNULL`; None leaves it ours, and so for the others.
        stdout: The same, for what it prints.
        stderr: The same, for its errors; `STDOUT` puts them into `stdout`.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        asked = {
            "words": list(words),
            "environment": dict(os.environ if env is None else env),
            "folder": str(cwd or Path.cwd()),
        }
        self.returncode: Any = None  # as in typeshed: an int once it has ended
        self._theirs: list[int] = []
        request, request_end = os.pipe()
        self._status, status_end = os.pipe()
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        self.stderr: IO[Any] | None = None
        given = [self._stream("stdin", stdin, 0), self._stream("stdout", stdout, 1), self._stream("stderr", stderr, 2)]
        if stderr == subprocess.STDOUT:
            given[2] = given[1]
        socket.send_fds(_server(), [b"x"], [request, status_end, *given])
        for one in (request, status_end, *self._theirs):
            os.close(one)
        with os.fdopen(request_end, "wb") as file:
            file.write(json.dumps(asked).encode())
        self._said = os.fdopen(self._status, "rb")
        self.pid = int(self._said.readline())

    def _stream(self, name: str, asked: Any, ours: int) -> int:
        """Return the descriptor for the program; keep the other end of a pipe."""
        if asked is None or asked == subprocess.STDOUT:
            return ours
        if asked == subprocess.DEVNULL:
            self._theirs.append(os.open(os.devnull, os.O_RDWR))
            return self._theirs[-1]
        if asked != subprocess.PIPE:
            return asked if isinstance(asked, int) else asked.fileno()
        read, write = os.pipe()
        theirs, kept = (read, os.fdopen(write, "wb")) if name == "stdin" else (write, os.fdopen(read, "rb"))
        setattr(self, name, kept)
        self._theirs.append(theirs)
        return theirs

    def poll(self) -> int | None:
        """Return its status if it has ended."""
        if self.returncode is None and select.select([self._said], [], [], 0)[0]:
            return self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its status."""
        if self.returncode is None:
            if not select.select([self._said], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("undrift", timeout or 0)
            self.returncode = int(self._said.readline())
            self._said.close()
        return self.returncode

    def communicate(self, given: bytes | None = None, timeout: float | None = 60) -> tuple[bytes, bytes]:
        """Write into its stdin, read all that it prints, and wait for its end."""
        found: dict[str, bytes] = {}

        def read(name: str, file: IO[bytes]) -> None:
            found[name] = file.read()

        readers = [
            threading.Thread(target=read, args=(name, file))
            for name, file in (("stdout", self.stdout), ("stderr", self.stderr))
            if file is not None
        ]
        for one in readers:
            one.start()
        if self.stdin is not None:
            with suppress(BrokenPipeError):
                self.stdin.write(given or b"")
            self.stdin.close()
        for one in readers:
            one.join(timeout)
        self.wait(timeout)
        for file in (self.stdout, self.stderr):
            if file is not None:
                file.close()
        return found.get("stdout", b""), found.get("stderr", b"")

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.stdin, self.stdout, self.stderr):
            if file is not None:
                file.close()
        self.wait()


def run(
    words: Sequence[str], *, env: Mapping[str, str], cwd: Path, given: bytes = b""
) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end; return its status and what it printed."""
    pipe = subprocess.PIPE
    with Started(words, env=env, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe) as running:
        out, err = running.communicate(given)
    return subprocess.CompletedProcess(list(words), running.wait(), out.decode(), err.decode())
