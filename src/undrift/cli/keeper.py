"""Keeps a gateway alive for as long as one process lives: starts it, restarts it, and says so if it cannot.

Law: stands apart from the process that it serves, so that this can be replaced by a client, stopped or killed at any moment;
what it leaves behind is its log. It holds the address from beginning to end, so that no other process can listen there meanwhile.
"""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NoReturn

from undrift.errors import SettingsError, StoreError
from undrift.proxy.answers import UNAUTHORIZED
from undrift.proxy.guard import has_token, is_of_a_page
from undrift.proxy.owner import is_token, split
from undrift.proxy.peer import is_ours
from undrift.stores import files
from undrift.stores.secret import http_token
from undrift.values.running import is_running

__all__ = ["LOG", "LOG_BYTES", "keep", "open_log", "start", "wait_for_end"]

LOG = "gateway.log"
LOG_BYTES = 8 << 20
"""A log of this size makes place: one older one is kept."""


_BACKLOG = 2_048
_SOON_S = 10.0
_MOST_FALLS = 3  # so often in a row, each within that time of its start, and it is not started again
_LOOK_S = 1.0
_SILENT_S = 10  # for so long a client may be silent
_ERROR_BYTES = 4_096


def open_log(path: Path) -> int:
    """Return a descriptor that appends to a log, made for its owner alone (0600).

    Raises OSError: it cannot be made, or a link stands in its place.
    """
    files.make_folder(path.parent)
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_size > LOG_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)


def start(command: Sequence[str], log: Path) -> str:
    """Start a gateway that serves for as long as this process lives; return its URL once it listens.

    `command`: ``undrift proxy`` with its options, without those that are added here. `log`: gets what the gateway
    writes to stderr. Raises OSError: the log cannot be made. Raises SettingsError: it could not start; the message is
    its own.
    """
    if sys.platform == "win32":
        raise SettingsError("a gateway beside a client needs a POSIX system")
    owner, descriptor = os.getpid(), open_log(log)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.setsid()  # what the terminal sends to the client is not for the gateway
        if os.fork() == 0:
            _serve(command, owner, log, descriptor, writer)
        os._exit(0)
    os.close(writer)
    os.close(descriptor)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as said:
        answer = json.loads(said.read() or b'{"error": "the gateway could not be started"}')
    if "url" not in answer:
        raise SettingsError(answer["error"])
    return str(answer["url"])


def _serve(command: Sequence[str], owner: int, path: Path, log: int, writer: int) -> NoReturn:
    """In the process that stands apart."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, to in ((0, nothing), (1, nothing), (2, log)):
            os.dup2(to, number)

        def say(answer: dict[str, str]) -> None:
            os.write(writer, json.dumps(answer).encode("ascii"))
            os.close(writer)

        keep(command, owner, log, say, str(path))
    except BaseException as error:  # noqa: BLE001 - no caller is left to catch it
        _note(log, event="fault", reason="keeper", at=repr(error)[:300])
    finally:
        os._exit(0)


def keep(command: Sequence[str], owner: int, log: int, say: Callable[[dict[str, str]], None], where: str) -> None:
    """Run a gateway until a process ends; returns then, or at once where the gateway never listened.

    `log`: a descriptor. `say`: receives ``url``, or ``error``, once.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as listening:
        words = [*command, "--json", f"--socket={listening.fileno()}", f"--while-pid={owner}"]
        has_listened, falls, home = False, 0, Path()
        while falls < _MOST_FALLS:
            began_s, began_at = time.monotonic(), os.lseek(log, 0, os.SEEK_END)
            with subprocess.Popen(  # noqa: S603 - this program itself
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, pass_fds=[listening.fileno()]
            ) as gateway:
                assert gateway.stdout is not None
                if line := gateway.stdout.readline():
                    _note(log, event="started", pid=gateway.pid)
                    if not has_listened:
                        has_listened, said = True, json.loads(line)
                        home = Path(said["home"])
                        say({"url": said["url"]})
            if not has_listened:
                say({"error": _last_words(log, began_at)})
                return
            if is_running(owner) is False:
                return
            falls = falls + 1 if time.monotonic() - began_s < _SOON_S else 1
            _note(log, event="ended", status=gateway.returncode, in_a_row=falls)
        _say_why(listening, owner, where, home)


def _note(log: int, **fields: Any) -> None:
    os.write(log, f"{json.dumps(fields)}\n".encode("ascii"))


def _last_words(log: int, began_at: int) -> str:
    if sys.platform == "win32":
        return ""
    said = os.pread(log, _ERROR_BYTES, began_at).decode("utf-8", "replace").strip().splitlines()
    return said[-1].removeprefix("undrift: ") if said else "the gateway ended before it accepted requests"


def wait_for_end(process: int) -> None:
    """Return when a process has ended; never on Windows, which does not say it."""
    if sys.platform == "linux":
        try:
            descriptor = os.pidfd_open(process)
        except ProcessLookupError:
            return
        except OSError:
            pass  # an older kernel
        else:
            select.select([descriptor], [], [])
            os.close(descriptor)
            return
    while is_running(process) is not False:
        time.sleep(_LOOK_S)


def _say_why(listening: socket.socket, owner: int, where: str, home: Path) -> None:
    """Answer why no request can be served, in a form that every client reads, until the process ends.

    As the gateway did: who does not prove to be the owner of the home gets 401 and nothing else.
    """
    message = f"undrift: the gateway has ended and could not be started again; {where} says why"
    error = {"type": "api_error", "message": message, "code": 503, "status": "UNAVAILABLE", "param": None}
    body = json.dumps({"type": "error", "error": error}).encode("ascii")
    token = _token(home)

    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENT_S

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self._refuse
            raise AttributeError(name)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            """Say nothing."""

        def _refuse(self) -> None:
            given = {name.lower(): value for name, value in self.headers.items()}
            is_known = is_token(split(self.path)[0], token) or has_token(given, token, is_own=False)
            if is_known or (not is_of_a_page(given) and is_ours(self.connection)):
                with contextlib.suppress(ValueError, TimeoutError):
                    self.rfile.read(max(0, int(given.get("content-length", 0))))
                self._say(503, body)
            else:
                self._say(401, UNAUTHORIZED)

        def _say(self, status: int, text: bytes) -> None:
            self.send_response_only(status)
            for name, value in (("content-type", "application/json"), ("content-length", str(len(text)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

    with ThreadingHTTPServer(listening.getsockname(), Handler, bind_and_activate=False) as server:
        server.socket.close()
        server.socket = listening
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        wait_for_end(owner)
        server.shutdown()


def _token(home: Path) -> str:
    try:
        return http_token(home)
    except StoreError:  # the log says so
        return ""
