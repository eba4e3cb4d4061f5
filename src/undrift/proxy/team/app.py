"""The gateway of a team as an ASGI application: each request is a member's, and each member has records of its own.

Law: deny by default. A request without a member's key gets 401 and nothing else, before its body is read. Only the two
routes for a balancer need no key; they name no member.
"""

import ipaddress
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from undrift.errors import StoreError
from undrift.proxy import guard, owner
from undrift.proxy.answers import Receive, Send, failure, respond
from undrift.proxy.app import Gateway, is_own
from undrift.proxy.config import GatewayConfig
from undrift.proxy.connection import ABSOLUTE, CONNECTION
from undrift.proxy.incoming import refuse_unread
from undrift.proxy.routes import OWN, Route
from undrift.proxy.shared import Asgi, GatewayContext
from undrift.proxy.team.budgets import MemberAllowance, TeamRefusal
from undrift.proxy.team.meter import Meter
from undrift.proxy.team.people import People, TooManyWrong, client_of
from undrift.proxy.team.places import MemberStores
from undrift.settings.model_table import read_models
from undrift.stores.served import home_path
from undrift.values.member import Credentials, DayCounts, Member, hash_of
from undrift.values.serving import ServeConfig

__all__ = ["KEY_HEADER", "TeamGateway", "TeamParts"]

KEY_HEADER = "x-undrift-key"
"""The header with a member's key."""

_PROJECT_HEADER = "x-undrift-project"
_READY, _HEALTH, _METRICS, _SESSIONS = (f"{OWN}/{name}" for name in ("ready", "health", "metrics", "sessions"))
_WINDOW = f"{OWN}/window/"
_KEY_IN_PATH = re.compile(rf"/([A-Za-z0-9_.~-]{{16,16384}})(?=/via/|{OWN}(?:/|$))")
_NO_KEY = (
    "this gateway serves a team: put your key in front of /via/PROVIDER in the base URL, or in the header "
    f"{KEY_HEADER}. `undrift serve key` makes one; with a server as home, `undrift team key` does"
)
_WRONG_KEY = "this key is not known here, or it has ended. Ask the operator for another one"
_WRONG_KEYS = "too many wrong keys came from this address"
_LATER_S = 2


@dataclass(frozen=True, slots=True)
class TeamParts:
    """The keys and the counters that all gateways of a team share.

    `credentials`: the keys beside those of the configuration; None: there are no others. `counts`: of the budgets.
    """

    counts: DayCounts
    credentials: Credentials | None = None


class TeamGateway(Gateway):
    """The application of a team's gateway.

    Args:
        config: The gateway's own part of the configuration.
        serve: The team's part.
        parts: What a server keeps.
        url: Where it listens.
        is_full: See `Gateway`.
    """

    def __init__(
        self, config: GatewayConfig, serve: ServeConfig, parts: TeamParts, url: str, is_full: Callable[[], bool]
    ) -> None:
        super().__init__(config, url, config.port, "", is_full)
        self._serving = serve
        self._trusted = tuple(ipaddress.ip_network(one) for one in serve.trusted_proxies)
        self._people = People(serve, parts.credentials)
        self._allowance = MemberAllowance(serve, parts.counts)
        self._stores = MemberStores(serve.home, home_path(config.settings.home))
        self._was_ready = False
        self.is_draining = False
        """True after the signal to stop: a balancer is to send nothing more."""

    async def _start(self) -> None:
        shared = self._shared = self._opened(self._stores)
        models = read_models(self._config.settings.models_file)
        shared.meter = Meter(self._allowance, shared.figures, models, self._serving.most_labels)

    async def _stop(self) -> None:
        if self._shared is not None:
            self._people.close()
            await self._close(self._shared)

    async def _serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        shared = self._shared
        assert shared is not None
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        given, method = dict(pairs), scope["method"]
        shown, path = _split(scope.get("raw_path", b"").decode("latin-1"))
        if path in (_READY, _HEALTH) and method in ("GET", "HEAD"):
            await (self._say_ready(shared, send) if path == _READY else self._say_health(shared, send))
        elif (wrong := guard.malformed(pairs, is_absolute=scope["state"][ABSOLUTE])) is not None:
            await self._refuse(send, wrong[0], f"refused: {wrong[1]}", [(b"connection", b"close")])
        elif path in (_METRICS, _SESSIONS) and method == "GET":
            await self._tell_operator(shared, path, shown or guard.bearer(given), send)
        else:
            key = shown or given.get(KEY_HEADER, "") or (guard.bearer(given) if is_own(path) else "")
            member = await self._member(key, scope, given, receive, send)
            if member is not None:
                query = scope["query_string"].decode("latin-1")
                place = self._stores.place_for(member)
                asgi = Asgi(method, query, pairs, receive, send, scope["state"][CONNECTION], member, place)
                await self._serve_member(shared, asgi, path, given, key)

    async def _serve_member(
        self, shared: GatewayContext, asgi: Asgi, path: str, given: Mapping[str, str], key: str
    ) -> None:
        if path.startswith(_WINDOW) and asgi.method == "GET":
            await self._say_window(shared, path[len(_WINDOW) :], asgi.send, asgi.place)
        elif is_own(path):
            await self._refuse(asgi.send, 404, "no such route")
        elif key in f"{path}?{asgi.query}":
            message = "refused: the key stands at the very beginning of a path, and nowhere else"
            await self._refuse(asgi.send, 400, message)
        else:
            await self._carry(asgi, path, given, "")

    async def _member(
        self, key: str, scope: Mapping[str, Any], given: Mapping[str, str], receive: Receive, send: Send
    ) -> Member | None:
        """Return the member who asks. None means: the key is unknown, and the refusal has been sent."""
        client = client_of((scope.get("client") or ("",))[0], given, self._trusted)
        try:
            found = await self._people.find(key, given.get(_PROJECT_HEADER, ""), client)
        except TooManyWrong as wrong:
            await self._close_after(
                receive, send, 429, _error("rate_limit_error", _WRONG_KEYS), math.ceil(wrong.wait_s)
            )
        except StoreError as error:
            await self._close_after(receive, send, 503, _error("api_error", str(error)), _LATER_S)
        else:
            if found is not None:
                return found
            message = _WRONG_KEY if key else _NO_KEY
            await self._close_after(receive, send, 401, _error("authentication_error", message))
        return None

    async def _may_ask(self, asgi: Asgi, route: Route) -> bool:
        member = asgi.member
        refusal = None if member is None else await self._allowance.refusal(member)
        if member is None or refusal is None:
            return True
        assert self._shared is not None
        if self._shared.meter is not None:
            self._shared.meter.refused(member, refusal.reason)
        body = failure(route.provider, 429, refusal.message)
        await self._close_after(asgi.receive, asgi.send, 429, body, refusal.wait_s, more=_no_retry(refusal))
        return False

    async def _close_after(
        self,
        receive: Receive,
        send: Send,
        status: int,
        body: bytes,
        wait_s: int = 0,
        *,
        more: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        """Refuse a request whose body was not read, so that its client reads why. `wait_s`: until it may come again."""
        assert self._shared is not None
        self._shared.figures.add("refused_total", f'status="{status}"')
        retry = [(b"retry-after", str(wait_s).encode("ascii"))] if wait_s else []
        await refuse_unread(receive, send, status, body, [*retry, *more, (b"connection", b"close")])

    async def _tell_operator(self, shared: GatewayContext, path: str, key: str, send: Send) -> None:
        """Answer the operator's routes: figures of all members."""
        wanted = self._serving.metrics_sha256
        if not wanted or not owner.is_token(hash_of(key), wanted):
            await self._refuse(send, 401, "this route wants the key whose hash is metrics.sha256 in the configuration")
        elif path == _METRICS:
            await self._say_metrics(shared, send)
        else:
            await self._say_sessions(shared, send)

    async def _say_ready(self, shared: GatewayContext, send: Send) -> None:
        """Say whether a balancer may send requests: not before the store was reached, and not while it ends."""
        status = "draining" if self.is_draining else "ready"
        if not self.is_draining and await self._wrong(shared):
            status = "store" if self._was_ready else "starting"
        self._was_ready |= status == "ready"
        body = json.dumps({"status": status, "streams": shared.figures.streams}).encode("ascii")
        await respond(send, 200 if status == "ready" else 503, body)


def _split(path: str) -> tuple[str, str]:
    """Return the key in front of a path, if any, and the path without it."""
    shown, rest = owner.split(path)
    if shown or (found := _KEY_IN_PATH.match(path)) is None:
        return shown, rest
    return found[1], path[found.end() :]


def _error(kind: str, message: str) -> bytes:
    """Return an error before the provider is known: readable for the clients of each."""
    return json.dumps({"type": "error", "error": {"type": kind, "message": f"undrift: {message}"}}).encode("ascii")


def _no_retry(refusal: TeamRefusal) -> tuple[tuple[bytes, bytes], ...]:
    """Tell the SDKs not to try again by themselves: a budget comes back tomorrow."""
    return ((b"x-should-retry", b"false"),) if refusal.reason == "budget" else ()
