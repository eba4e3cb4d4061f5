"""Many short processes that run the same code: forked off one interpreter that has read the modules already.

Law: a child is a process of its own from its first line on. It opens its own files, and a signal ends it alone.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from io import TextIOWrapper
from types import TracebackType
from typing import Self

__all__ = ["Child", "Forks"]

_SERVER = """
import json, os, socket, sys, traceback
calls = socket.socket(fileno=int(sys.argv[1]))
code = compile(sys.argv[2], "<forked>", "exec")
exec(compile(sys.argv[3], "<modules>", "exec"))
while True:
    data, descriptors, *_ = socket.recv_fds(calls, 65_536, 2)
    if not data:
        break
    request = json.loads(data)
    if "wait" in request:
        answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
    elif not (answer := os.fork()):
        calls.close()
        os.dup2(descriptors[0], 1)
        os.dup2(descriptors[1], 2)
        sys.argv = ["-c", *request["arguments"]]
        try:
            exec(code, {"__name__": "__main__"})
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    for one in descriptors:
        os.close(one)
    calls.send(json.dumps(answer).encode())
"""


class Child:
    """One forked process, with the names of a ``Popen``."""

    def __init__(self, forks: "Forks", pid: int, stdout: int, stderr: int) -> None:
        self._forks = forks
        self.pid = pid
        self.stdout = TextIOWrapper(os.fdopen(stdout, "rb"), encoding="utf-8")
        self.stderr = TextIOWrapper(os.fdopen(stderr, "rb"), encoding="utf-8")
        self.returncode: int | None = None

    def kill(self) -> None:
        """End it at once; it is a child of the interpreter until `wait`, so its id is nobody else's."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end; return its exit code, below 0 for a signal."""
        if self.returncode is None:
            self.returncode = self._forks.waited(self.pid)
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """Return all that it prints from now on, once it has ended; only for a child that prints little."""
        said = self.stdout.read(), self.stderr.read()
        self.wait()
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


class Forks:
    """An interpreter that runs a code in as many children as are asked for.

    `code`: the code of a child, with its arguments in ``sys.argv``. `modules`: the imports that the children share.
    """

    def __init__(self, code: str, modules: str = "") -> None:
        self._calls, theirs = socket.socketpair()
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", _SERVER, str(theirs.fileno()), code, modules],
                pass_fds=(theirs.fileno(),),
            )

    def start(self, *arguments: object) -> Child:
        """Start a child."""
        (out, their_out), (errors, their_errors) = os.pipe(), os.pipe()
        request = json.dumps({"arguments": list(map(str, arguments))}).encode()
        try:
            socket.send_fds(self._calls, [request], [their_out, their_errors])
        finally:
            os.close(their_out)
            os.close(their_errors)
        return Child(self, int(json.loads(self._calls.recv(65_536))), out, errors)

    def waited(self, pid: int) -> int:
        """Return the exit code of a child, once it has ended."""
        self._calls.send(json.dumps({"wait": pid}).encode())
        return int(json.loads(self._calls.recv(65_536)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._calls.close()
        self._server.wait()
