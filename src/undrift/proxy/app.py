"""The gateway as an ASGI application: `Exchange` handles provider routes, this module the gateway's own routes.

Law: deny by default. A request that is not proven to be the owner's gets 401 and nothing else, before its body is read.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from undrift.errors import UndriftError
from undrift.proxy import guard, owner
from undrift.proxy.answers import COME_BACK, UNAUTHORIZED, Receive, Send, failure, respond
from undrift.proxy.config import DEFAULT_UPSTREAMS, GatewayConfig, upstream_of
from undrift.proxy.connection import ABSOLUTE, CONNECTION
from undrift.proxy.exchange import Exchange
from undrift.proxy.incoming import refuse_unread
from undrift.proxy.page import PageProcess
from undrift.proxy.peer import PEER
from undrift.proxy.projects import ProjectStores
from undrift.proxy.routes import OWN, VIA, Route, by_login, route_of
from undrift.proxy.sessions import OpenSessions
from undrift.proxy.shared import Asgi, GatewayContext
from undrift.proxy.upstream import Pool
from undrift.proxy.workers import Workers
from undrift.stores.gateways import Presence, announce, withdraw
from undrift.stores.secret import TOKEN_NAME
from undrift.stores.served import home_path
from undrift.values.project import Place

__all__ = ["Gateway", "is_own"]

_log = logging.getLogger("undrift.proxy")

_THREADS = 16
_NOT_CARRIED = ("TRACE", "TRACK")  # they ask for the request, keys included, to be sent back
_CARRIED = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_HEALTH_S = 1.0  # for so long an answer holds, so that a caller that asks all the time does not write all the time
_WINDOW = f"{OWN}/window/"
_PAGE = (OWN, f"{OWN}/")
_UNKNOWN = (
    f"undrift: this path does not name its provider; put {VIA}anthropic, {VIA}openai or another of the addresses that "
    "`undrift proxy` prints in front of it, as in the client's base URL"
)
_HOW_TO_PROVE_IT = (
    "a request without the token of the home, from no process that the system names as yours, got 401. `undrift proxy` "
    "prints the base URLs with the token; `undrift wrap CLIENT` and `undrift install CLIENT --gateway` set them. The metrics "
    "count what follows"
)


class Gateway:
    """The application; the server calls it.

    `is_full`: whether no more requests can be carried out now; the gateway's own routes answer nevertheless.
    """

    def __init__(
        self, config: GatewayConfig, url: str, port: int, token: str, is_full: Callable[[], bool] = lambda: False
    ) -> None:
        self._config = config
        self._url, self._port = url, port
        self._is_full = is_full
        self._shared: GatewayContext | None = None
        self._token = token
        self._page = PageProcess(home_path(config.settings.home))
        self._is_openai_itself = config.upstreams.get("openai") == upstream_of(DEFAULT_UPSTREAMS["openai"])
        self._health: tuple[float, str] = (-_HEALTH_S, "")
        self._has_told = False  # how a client proves itself

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, or follow the server's start and end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._start()
                except (UndriftError, OSError) as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _start(self) -> None:
        self._shared = self._opened()
        try:
            await asyncio.to_thread(announce, home_path(self._config.settings.home), self._presence())
        except OSError as error:  # the doctor does not find this gateway
            _log.error("%s", json.dumps({"event": "fault", "reason": "home", "at": error.strerror or "OSError"}))

    def _opened(self, projects: ProjectStores | None = None) -> GatewayContext:
        """Return the state of all requests. `projects`: the stores; None: those of the owner's projects."""
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="undrift")
        workers = Workers(threads, _THREADS, self._config.deadline_s, self._config.longest_wait_s)
        return GatewayContext(self._config, OpenSessions(self._config, projects), Pool(self._config.upstreams), workers)

    def _presence(self) -> Presence:
        upstreams: dict[str, str] = {
            name: f"{one.scheme}://{f'[{one.host}]' if ':' in one.host else one.host}:{one.port}{one.path}"
            for name, one in self._config.upstreams.items()
        }
        return Presence(self._url, self._port, os.getpid(), time.time_ns() // 1_000_000, upstreams)

    async def _stop(self) -> None:
        """Close everything, after the answers that are being recorded."""
        if (shared := self._shared) is None:
            return
        await asyncio.to_thread(withdraw, home_path(self._config.settings.home), self._port)
        await self._page.end()
        await self._close(shared)

    async def _close(self, shared: GatewayContext) -> None:
        await shared.pool.close()
        await asyncio.to_thread(shared.workers.threads.shutdown)
        await asyncio.to_thread(shared.sessions.close)
        self._shared = None

    async def _serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        shared = self._shared
        assert shared is not None
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        given, method = dict(pairs), scope["method"]
        shown, path = owner.split(scope.get("raw_path", b"").decode("latin-1"))
        if not await self._is_owners(scope, path, given, shown):
            await self._turn_away(receive, send)
        elif (refusal := guard.refusal(pairs, self._config.host, is_absolute=scope["state"][ABSOLUTE])) is not None:
            await self._refuse(send, refusal[0], f"refused: {refusal[1]}", [(b"connection", b"close")])
        elif path in _PAGE and method in ("GET", "HEAD"):
            await self._show_page(given, shown, send)
        elif is_own(path):
            await self._own(shared, method, path, given, send)
        else:
            query = scope["query_string"].decode("latin-1")
            asgi = Asgi(method, query, pairs, receive, send, scope["state"][CONNECTION])
            await self._carry(asgi, path, given, self._token)

    async def _carry(self, asgi: Asgi, path: str, given: Mapping[str, str], token: str) -> None:
        """Carry a request to its provider, or refuse it.

        `token`: of the owner; no provider may see it. Empty: the caller has looked for what no provider may see.
        """
        shared, send, method = self._shared, asgi.send, asgi.method
        assert shared is not None
        if method in _NOT_CARRIED:
            await self._refuse(send, 405, f"refused: {method}", [(b"allow", _CARRIED)])
        elif guard.climbs(path):
            await self._refuse(send, 400, "refused: path")
        elif owner.is_misplaced(f"{path}?{asgi.query}", token):
            await self._refuse(send, 400, "refused: the token stands at the very beginning of a path, and nowhere else")
        elif "websocket" in given.get("upgrade", "").lower():  # at this status alone Codex continues over HTTP at once
            await self._refuse(send, 426, "websockets are not carried; use HTTP")
        elif (route := route_of(method, path, asgi.query, given)) is None:
            await self._refuse(send, 404, _UNKNOWN)
        elif self._is_full():
            shared.figures.add("refused_total", 'status="503"')
            body = failure(route.provider, 503, "too many connections at once; try again, or raise `ulimit -n`")
            await respond(send, 503, body, more=COME_BACK)
        else:
            if self._is_openai_itself:
                route = by_login(route, given)
            if await self._may_ask(asgi, route):
                await Exchange(shared, asgi, route).run()

    async def _may_ask(self, asgi: Asgi, route: Route) -> bool:  # noqa: ARG002 - a team's gateway uses them
        """Tell whether a provider may be asked; else the refusal has been sent."""
        return True

    async def _is_owners(self, scope: Mapping[str, Any], path: str, given: Mapping[str, str], shown: str) -> bool:
        """Return whether a request is proven to be the owner's. `shown`: the token in front of its path, if any."""
        if owner.is_token(shown, self._token) or guard.has_token(given, self._token, is_own=is_own(path)):
            return True
        return not guard.is_of_a_page(given) and await scope["state"][PEER].is_ours()

    async def _turn_away(self, receive: Receive, send: Send) -> None:
        """Answer who has proved nothing: always alike, so that nothing can be learned from it."""
        assert self._shared is not None
        self._shared.figures.add("refused_total", 'status="401"')
        if not self._has_told:
            self._has_told = True
            _log.warning("%s", json.dumps({"event": "refused", "status": 401, "at": _HOW_TO_PROVE_IT}))
        await refuse_unread(receive, send, 401, UNAUTHORIZED, [(b"connection", b"close")])

    async def _refuse(
        self, send: Send, status: int, message: str, more: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        if self._shared is not None:
            self._shared.figures.add("refused_total", f'status="{status}"')
        body = json.dumps({"error": {"message": message, "type": "undrift"}}).encode("ascii")
        await respond(send, status, body, more=more)

    async def _own(self, shared: GatewayContext, method: str, path: str, given: Mapping[str, str], send: Send) -> None:
        if path == f"{OWN}/health" and method in ("GET", "HEAD"):
            await self._say_health(shared, send)
        elif not guard.has_token(given, self._token, is_own=True):
            await self._refuse(send, 401, f"this route wants the token that stands in {TOKEN_NAME} in the home folder")
        elif path == f"{OWN}/metrics" and method == "GET":
            await self._say_metrics(shared, send)
        elif path.startswith(_WINDOW) and method == "GET":
            await self._say_window(shared, path[len(_WINDOW) :], send)
        elif path == f"{OWN}/sessions" and method == "GET":
            await self._say_sessions(shared, send)
        else:
            await self._refuse(send, 404, "no such route")

    async def _say_sessions(self, shared: GatewayContext, send: Send) -> None:
        await respond(send, 200, json.dumps({"sessions": shared.sessions.open_sessions()}).encode("ascii"))

    async def _say_metrics(self, shared: GatewayContext, send: Send) -> None:
        gauges = {
            "sessions_open": shared.sessions.open_count,
            "sessions_bytes": shared.sessions.used_bytes,
            "sessions_bypassed": shared.sessions.bypassed_count,
            "jobs_overdue": shared.workers.overdue,
            "jobs_waiting": shared.workers.waiting,
            "incoming_bytes": shared.room.taken,
            "process_descriptors": _descriptors(),
        }
        await respond(send, 200, shared.figures.text(gauges).encode("utf-8"), kind="text/plain; version=0.0.4")

    async def _show_page(self, given: Mapping[str, str], shown: str, send: Send) -> None:
        """Send a browser to the page, which another process serves; only one that shows the token learns where."""
        if not (owner.is_token(shown, self._token) or guard.has_token(given, self._token, is_own=True)):
            await self._refuse(send, 401, f"the page wants the token that stands in {TOKEN_NAME} in the home folder")
        elif url := await self._page.address():
            more = [(b"location", url.encode("ascii")), (b"referrer-policy", b"no-referrer")]
            await respond(send, 307, b"", more=more)
        else:
            await self._refuse(send, 503, "the page could not be started; `undrift web` says why")

    async def _say_window(self, shared: GatewayContext, name: str, send: Send, place: Place | None = None) -> None:
        """Answer with the newest window of a session. `place`: of the member who asks; None: the owner asks."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(shared.workers.threads, shared.sessions.window_json, name, place)
        if found is None:
            await self._refuse(send, 404, "no request of this session has come yet")
        else:
            await respond(send, 200, json.dumps(found).encode("ascii"))

    async def _wrong(self, shared: GatewayContext) -> str:
        """Return what is wrong with the store; empty: nothing. One answer holds for a moment."""
        if time.monotonic() - self._health[0] >= _HEALTH_S:
            future = asyncio.get_running_loop().run_in_executor(shared.workers.threads, shared.sessions.health)
            done, _ = await asyncio.wait({future}, timeout=self._config.deadline_s)
            self._health = (time.monotonic(), future.result() if done else "the store does not answer")
        return self._health[1]

    async def _say_health(self, shared: GatewayContext, send: Send) -> None:
        """Write to the store and read it back, and report when each provider last began to answer."""
        wrong, now_s = await self._wrong(shared), time.monotonic()
        body = {
            "status": "degraded" if wrong else "ok",
            "store": "failing" if wrong else "ok",
            "sessions_bypassed": shared.sessions.bypassed_count,
            "streams": shared.figures.streams,
            "upstream_seconds_since_answer": {
                name: round(now_s - then, 1) for name, then in shared.last_success_s.items()
            },
        }
        if wrong:
            _log.error("%s", json.dumps({"event": "fault", "reason": "health", "at": wrong[:300]}))
        await respond(send, 503 if wrong else 200, json.dumps(body).encode("ascii"))


def is_own(path: str) -> bool:
    """Tell whether a path is one of the gateway itself, and of no provider."""
    return path == OWN or path.startswith(f"{OWN}/")


def _descriptors() -> int:
    """Return the number of open files and sockets of this process; 0 if the system does not say."""
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough
    except OSError:
        return 0
