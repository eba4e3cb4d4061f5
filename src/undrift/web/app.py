"""The page as an ASGI application: its files, the views as JSON, and the stream of what is live.

Law: deny by default. Without the home's token in front of the path there is 401 and nothing else. A view only reads; what
changes something is an action, asked for by POST with JSON. A fault is an answer with its sentence, never a broken page.
"""

import asyncio
import gzip
import json
import logging
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from undrift.errors import InputError, UndriftError
from undrift.proxy import guard, owner
from undrift.web.actions import ACTIONS
from undrift.web.answers import Receive, Send, begin_stream, respond, respond_json, stream_event
from undrift.web.source import PageSource
from undrift.web.views import VIEWS

__all__ = ["PATH", "PageApp"]

_log = logging.getLogger("undrift.web")

PATH = "/undrift"
"""Below it stands the page: ``/undrift/``."""

_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_MOST_BYTES = 64 << 10
_TICK_S = 2.0
_BEAT_TICKS = 8


class PageApp:
    """The application. `host`: on which it listens."""

    def __init__(self, source: PageSource, token: str, host: str = "127.0.0.1") -> None:
        self._source = source
        self._token = token
        self._host = host
        self._files = {
            one.name: one.read_bytes() for one in files("undrift.web").joinpath("static").iterdir() if one.is_file()
        }
        self._small = {name: gzip.compress(body, mtime=0) for name, body in self._files.items()}

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request of a server of its own."""
        if scope["type"] != "http":
            return
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        shown, path = owner.split(scope.get("raw_path", b"").decode("latin-1"))
        if not owner.is_token(shown, self._token) or guard.refusal(pairs, self._host, is_absolute=False) is not None:
            await respond_json(send, 401, {"error": "unauthorized: open the address that `undrift web` prints"})
        else:
            await self.serve(scope, path, receive, send)

    async def serve(self, scope: Mapping[str, Any], path: str, receive: Receive, send: Send) -> None:
        """Answer a request that is proven to be the owner's. `path`: without the token."""
        method, rest = scope["method"], path.removeprefix(PATH).lstrip("/")
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if method == "GET" and rest == "api/live":
            await self._stream(receive, send)
        elif method == "GET" and rest.startswith("api/"):
            view = VIEWS.get(rest.removeprefix("api/"))
            await self._answer(send, None if view is None else lambda: view(self._source, query))
        elif method == "POST" and rest.startswith("api/"):
            act = ACTIONS.get(rest.removeprefix("api/"))
            body = None if act is None else await _body(scope, receive)
            await self._answer(send, None if act is None else lambda: act(self._source, _given(body)))
        elif method == "GET" and (rest or "index.html") in self._files:
            name = rest or "index.html"
            takes_gzip = b"gzip" in dict(scope["headers"]).get(b"accept-encoding", b"")
            body = self._small[name] if takes_gzip else self._files[name]
            kind = _KINDS.get(name.rpartition(".")[2], "text/plain")
            await respond(send, 200, body, kind, is_gzip=takes_gzip)
        else:
            await respond_json(send, 404, {"error": "no such page"})

    async def _answer(self, send: Send, work: Callable[[], object] | None) -> None:
        """Do the work in a thread and send its value; a fault becomes its sentence."""
        if work is None:
            await respond_json(send, 404, {"error": "no such view"})
            return
        try:
            value = await asyncio.to_thread(work)
        except UndriftError as error:
            await respond_json(send, 400, {"error": str(error)})
        except Exception:  # noqa: BLE001 - one broken file must not take the page with it
            _log.exception("the page could not answer")
            await respond_json(send, 500, {"error": "undrift failed here; its log says why"})
        else:
            await respond_json(send, 200, value)

    async def _stream(self, receive: Receive, send: Send) -> None:
        """Send the live sessions whenever they change, until the page closes."""
        gone = asyncio.ensure_future(_closed(receive))
        await begin_stream(send)
        last, quiet = "", 0
        try:
            while not gone.done():
                now = await asyncio.to_thread(VIEWS["now"], self._source, {})
                text = json.dumps(now["sessions"])
                if text != last:
                    last, quiet = text, 0
                    await stream_event(send, "now", now)
                elif (quiet := quiet + 1) % _BEAT_TICKS == 0:
                    await stream_event(send, "", None)
                await asyncio.wait({gone}, timeout=_TICK_S)
        finally:
            gone.cancel()


async def _body(scope: Mapping[str, Any], receive: Receive) -> bytes | None:
    """Return the body of an action; None: it is too long, or no JSON by its type, which no form of a page can send."""
    if dict(scope["headers"]).get(b"content-type", b"").partition(b";")[0].strip() != b"application/json":
        return None
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += bytes(message.get("body", b""))
        if len(body) > _MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return body
    return None


def _given(body: bytes | None) -> Mapping[str, Any]:
    """Return what an action was given. Raises InputError: it is no JSON object, or too long."""
    try:
        found = json.loads(body or b"")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"an action takes one JSON object of at most {_MOST_BYTES >> 10} kB, as application/json")
    return found


async def _closed(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
