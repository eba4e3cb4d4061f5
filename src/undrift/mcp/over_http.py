"""The server over streamable HTTP, for this machine only.

Law: bound to 127.0.0.1; every request to every route, known or not, passes the guard first: a missing or wrong token gets
401 and nothing else, a foreign Host 421, a foreign Origin 403. Denied by default.
"""

import asyncio
import hmac
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from undrift.errors import InputError
from undrift.mcp.serving import build, quick_imports
from undrift.mcp.values import Surface

__all__ = ["Guard", "PATH", "application", "names_of", "run_http"]

PATH = "/mcp"

_log = logging.getLogger("undrift.mcp")

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_GRACE_S = 2
_BACKLOG = 128
_HEAD_S = 10.0

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_REFUSALS: Mapping[int, str] = {
    421: "this server answers to its own address only: use http://127.0.0.1:PORT",
    403: "requests from another site's page are refused",
    401: "unauthorized",
}


def names_of(port: int) -> tuple[str, ...]:
    """Return the Host headers that a server on a port answers to."""
    return tuple(f"{name}:{port}" for name in _LOOPBACK)


class Guard:
    """Checks every request before the application gets it. `hosts`: the allowed Host headers."""

    def __init__(self, app: App, hosts: tuple[str, ...], token: str) -> None:
        self._app = app
        self._hosts = frozenset(host.encode() for host in hosts)
        self._origins = frozenset(f"http://{host}".encode() for host in hosts)
        self._credentials = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif status := self._refusal(scope["headers"]):
            await _refuse(send, status)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> int:
        """Return the status of the refusal; 0 if the request may pass."""

        def all_of(name: bytes) -> list[bytes]:
            return [value for key, value in headers if key.lower() == name]

        hosts, origins, credentials = all_of(b"host"), all_of(b"origin"), all_of(b"authorization")
        if len(credentials) != 1 or not hmac.compare_digest(credentials[0], self._credentials):
            return 401
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421
        return 403 if any(origin.lower() not in self._origins for origin in origins) else 0


def application(surface: Surface, port: int) -> Any:
    """Return the application with the guard in front."""
    server = build(surface)
    with quick_imports():
        from mcp.server.transport_security import TransportSecuritySettings

    hosts = list(names_of(port))
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])
    return server.streamable_http_app(streamable_http_path=PATH, transport_security=security)


def run_http(surface: Surface, *, port: int, token: str, ready: Callable[[str], None]) -> None:
    """Serve until a signal ends the process. `port`: 0 picks a free one.

    Raises InputError: the port is taken, or the package is not installed.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(f"port {port}: {error.strerror}; choose another --port, or 0 for any") from error
        listener.listen(_BACKLOG)
        port = listener.getsockname()[1]
        app = Guard(application(surface, port), names_of(port), token)
        with quick_imports():
            import uvicorn

        config = uvicorn.Config(
            app,
            http=_protocol(),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        ready(f"http://127.0.0.1:{port}{PATH}")
        _log.info("serving on port %s", port)
        uvicorn.Server(config).run(sockets=[listener])


def _protocol() -> type[asyncio.Protocol]:
    """Return the server's protocol whose heads have a limited size, with a limited time for the first one.

    Who has proved nothing has no second one: the connection ends with the refusal.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(_HEAD_S, self._late)

        def _late(self) -> None:
            if self.cycle is None:
                self.transport.close()

    return Protocol


async def _refuse(send: Send, status: int) -> None:
    body = json.dumps({"error": _REFUSALS[status]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    headers += [(b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
