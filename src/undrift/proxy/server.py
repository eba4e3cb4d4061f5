"""The gateway as a running server: it announces itself when it listens, and lets streams end before it stops."""

import contextlib
import gc
import json
import logging
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from undrift.errors import SettingsError, StoreError
from undrift.proxy.app import Gateway
from undrift.proxy.config import GatewayConfig
from undrift.proxy.owner import base_url
from undrift.proxy.routes import OWN
from undrift.stores.secret import http_token
from undrift.stores.served import home_path
from undrift.values.extras import command_for
from undrift.values.provider import PROVIDERS, Provider

__all__ = ["Server"]

_log = logging.getLogger("undrift.proxy")

_BACKLOG = 2_048
_KEPT_FREE = 64  # descriptors for the store, the log and what is being opened
_DESCRIPTORS_PER_REQUEST = 2
_WANTED_DESCRIPTORS = 65_536
_NAP_S = 0.005
_FULL_COLLECTION_AFTER = 10_000
"""Collections of younger objects before one of all. With 1,000 open sessions, one of all stops every request for a second.

A closed session holds no cycles, so that its memory is free at once.
"""


class Server:
    """A gateway on a port; `run` serves until it is stopped, `with` does so in a thread.

    `listening`: a socket that takes connections already, in place of the configured host and port. Raises
    SettingsError: the port cannot be had, an upstream is the gateway itself, or a package is missing.
    """

    def __init__(self, config: GatewayConfig, listening: socket.socket | None = None) -> None:
        try:
            import aiohttp  # noqa: F401 - before we say that we listen
            import uvicorn

            from undrift.proxy.heads import Waiting, protocol_of
        except ImportError as error:
            raise SettingsError(
                f"the gateway needs aiohttp, httptools and uvicorn ({error}): {command_for('proxy')}"
            ) from error
        self._socket = listening or _listening(config.host, config.port)
        _send_at_once(self._socket)
        self.port: int = self._socket.getsockname()[1]
        for upstream in config.upstreams.values():
            if upstream.port == self.port and upstream.host in (config.host, "localhost", "127.0.0.1", "::1"):
                self._socket.close()
                raise SettingsError(f"the upstream is this gateway itself (port {self.port}): choose another --port")
        self.url = f"http://{f'[{config.host}]' if ':' in config.host else config.host}:{self.port}"
        self.base_urls: dict[Provider, str] = {}
        """The base URLs of the owner's clients, each with the token."""
        self.page_url = ""
        """The address of the page."""
        self._thread: threading.Thread | None = None
        self._most = _most_connections()
        most_waiting = min(config.most_waiting, (self._most or config.most_waiting) // 2 or 1)
        self._waiting = Waiting(most_waiting, config.head_deadline_s)
        self._server: Any = uvicorn.Server(
            uvicorn.Config(
                self._application(config),
                http=protocol_of(self._waiting),
                lifespan="on",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                ws="none",
                backlog=_BACKLOG,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=int(config.shutdown_s),
            )
        )

    def _application(self, config: GatewayConfig) -> Gateway:
        """Return the application that answers; it is made once."""
        token = _token(home_path(config.settings.home))
        self.base_urls = {name: base_url(self.url, token, name) for name in PROVIDERS}
        self.page_url = f"{self.url}/{token}{OWN}/" if token else f"{self.url}{OWN}/"
        return Gateway(config, self.url, self.port, token, self._is_full)

    def _on_signal(self, number: int, frame: Any) -> None:
        """Begin the end, on a signal to stop."""
        self._server.handle_exit(number, frame)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until a signal or `stop`; a second signal does not wait for streams.

        `ready`: called once a signal ends the server in order. Raises SettingsError: it could not start.
        """
        self._server.capture_signals = contextlib.nullcontext  # its own raises the signal again once all is closed
        former, thresholds = _on_signals(self._on_signal), gc.get_threshold()
        gc.set_threshold(*thresholds[:2], _FULL_COLLECTION_AFTER)
        try:
            ready()
            self._server.run(sockets=[self._socket])
        finally:
            gc.set_threshold(*thresholds)
            for number, handler in former.items():
                signal.signal(number, handler)
            self._socket.close()
        if not self._server.started:
            raise SettingsError("the gateway could not start: is undrift[proxy] installed?")

    def _is_full(self) -> bool:
        """True if there are too few descriptors for more connections and their connections to providers."""
        return self._most is not None and len(self._server.server_state.connections) > self._most

    def stop(self) -> None:
        """Let the streams end, then make `run` return."""
        self._server.should_exit = True

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(_NAP_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()


def _token(home: Path) -> str:
    """Return the home's token; a home without one gets a temporary token that is printed."""
    try:
        return http_token(home)
    except StoreError as error:  # requests go through all the same
        _log.error("%s", json.dumps({"event": "fault", "reason": "token", "at": str(error)}))
        return secrets.token_hex(32)


def _on_signals(handler: Callable[[int, Any], None]) -> dict[int, Any]:
    """Let stop signals call a handler, in the main thread only; return the previous handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}


def _listening(host: str, port: int) -> socket.socket:
    """Open a listening socket, so that a client can connect as soon as it knows the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio asks this number, not the kernel
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(_BACKLOG)
    except OSError as error:
        found.close()
        raise SettingsError(f"{host}:{port} cannot be listened on ({error.strerror}): choose another --port") from error
    return found


def _send_at_once(listening: socket.socket) -> None:
    """Send each part of an answer at once; the default would wait 40 ms for the client's acknowledgement.

    Accepted connections inherit the option. asyncio sets it only on sockets that were made with the number of TCP, and one
    that a starter hands over need not be.
    """
    with contextlib.suppress(OSError):  # without it the gateway is slower, but it serves
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _most_connections() -> int | None:
    """Return how many connections the process's file descriptors allow; later clients must try again."""
    if sys.platform == "win32":  # no such limit there
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _WANTED_DESCRIPTORS)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return max(1, (soft - _KEPT_FREE) // _DESCRIPTORS_PER_REQUEST)
