"""Stands between a client and its gateway and keeps each body as it left the client: ``python -m tests.clients.tap FOLDER PROGRAM ...``.

Starts the program with the gateway's address replaced by its own, wherever it stands in arguments and environment, and
ends with its status.
"""

import http.client
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["main"]

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_OF_THE_CONNECTION = {"connection", "transfer-encoding", "keep-alive"}


def main(arguments: list[str]) -> int:
    """Run the program; return its status.

    Args:
        arguments: A folder, and the program with its arguments.
    """
    folder, *words = arguments
    found = _ADDRESS.search("\n".join([*words, *os.environ.values()]))
    if found is None:
        return subprocess.run(words, check=False).returncode
    with _Server(("127.0.0.1", 0), _handler(Path(folder), found[0])) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        own = f"http://127.0.0.1:{server.server_address[1]}"
        environment = {name: value.replace(found[0], own) for name, value in os.environ.items()}
        status = subprocess.run(
            [word.replace(found[0], own) for word in words], env=environment, check=False
        ).returncode
        server.shutdown()
    return status


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client may leave when it likes."""


def _handler(folder: Path, gateway: str) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one class
    numbers = count(1)
    at = urlsplit(gateway)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Say nothing."""

        def _relay(self) -> None:
            body = self._body()
            if self.command == "POST":
                (folder / f"{next(numbers):04}.body").write_bytes(body)
            connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=120)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "transfer-encoding":
                    connection.putheader(name, value)
            if self.headers.get("transfer-encoding"):
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _OF_THE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("connection", "close")
            self.end_headers()
            while piece := answer.read1(1 << 16):
                self.wfile.write(piece)
                self.wfile.flush()
            self.close_connection = True
            connection.close()

        def _body(self) -> bytes:
            if "chunked" not in (self.headers.get("transfer-encoding") or ""):
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            body = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        do_GET = do_HEAD = do_POST = _relay  # noqa: N815 - the base class names them so

    return Handler


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
