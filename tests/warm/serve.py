"""A process that has loaded the package, and forks for each start of the program: ``python -m tests.warm.serve SOCKET``.

Before the fork it runs nothing but imports. What it forks has its own streams, variables and folder, and ends as any
interpreter does. Each has a keeper, which tells whoever started it how it ended.
"""

import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import sys
import time
from typing import Any

__all__ = ["DESCRIPTORS", "main"]

DESCRIPTORS = 5
"""What comes with a request: where it is read, where the status is written, and the three streams of the program."""
_ROOMS = ("undrift.cli", "undrift.hooks", "undrift.mcp", "undrift.proxy")

_STREAMS = (
    (0, "stdin", "rb", "surrogateescape"),
    (1, "stdout", "wb", "surrogateescape"),
    (2, "stderr", "wb", "backslashreplace"),
)


def main(number: int) -> None:
    """Fork for each request until the other end is closed."""
    for room in _ROOMS:
        for info in pkgutil.iter_modules(importlib.import_module(room).__path__, f"{room}."):
            importlib.import_module(info.name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a keeper
    with socket.socket(fileno=number) as control:
        while True:
            said, given, _, _ = socket.recv_fds(control, 1, DESCRIPTORS)
            if not said:
                return
            if os.fork() == 0:
                break
            for one in given:
                os.close(one)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _keep(*given)


def _keep(request: int, status: int, *streams: int) -> None:
    """Start the program; tell its number and, when it has ended, its status."""
    with os.fdopen(request, "rb") as file:
        asked = json.loads(file.read())
    if process := os.fork():
        for one in streams:
            os.close(one)
        os.write(status, b"%d\n" % process)
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        os._exit(0)
    for at, one in enumerate(streams):
        os.dup2(one, at)
    os.closerange(3, 256)
    _become(asked)


def _become(asked: dict[str, Any]) -> None:
    """Run the program as a new interpreter would, with these words, variables and folder."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for at, name, mode, errors in _STREAMS:
        file = open(at, mode, buffering=0 if at_once and at else -1, closefd=False)  # noqa: SIM115 - the interpreter's own
        stream = io.TextIOWrapper(file, "utf-8", errors, line_buffering=at == 2 or file.isatty(), write_through=at_once)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = ["undrift", *asked["words"]]
    from undrift.__main__ import run

    run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
