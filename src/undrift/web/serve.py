"""The page on a port of its own, for who runs no gateway.

Law: it listens on 127.0.0.1 alone, and says so only when it does.
"""

import socket
import threading

import uvicorn

from undrift.errors import SettingsError
from undrift.web.app import PATH, PageApp
from undrift.web.source import PageSource

__all__ = ["PageServer"]

_HOST = "127.0.0.1"
_BACKLOG = 128


class PageServer:
    """A server that listens already; `run` answers until it is stopped.

    `port`: 0 picks a free one. Raises SettingsError: it is taken.
    """

    def __init__(self, source: PageSource, token: str, port: int) -> None:
        self._source = source
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((_HOST, port))
            self._socket.listen(_BACKLOG)  # a browser may come before the server runs: it waits
        except OSError as error:
            self._socket.close()
            raise SettingsError(
                f"port {port} cannot be used ({error.strerror or error}); another undrift web may run: --port 0 picks a free one"
            ) from error
        self.url = f"http://{_HOST}:{self._socket.getsockname()[1]}/{token}{PATH}/"
        config = uvicorn.Config(
            PageApp(source, token, _HOST),
            log_level="critical",  # it would call an open page that Ctrl-C ends an error
            lifespan="off",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,  # a page that is open would keep its stream for ever
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer until Ctrl-C or `stop`."""
        threading.Thread(target=self._source.sessions, daemon=True).start()  # the first reading takes seconds
        with self._socket:
            self._server.run([self._socket])

    def stop(self) -> None:
        """Let `run` return; from any thread."""
        self._server.should_exit = True
        self._server.force_exit = True
