"""The scripted provider itself: Anthropic Messages and OpenAI Responses on one loopback port.

Law: answers from the script alone; what it was asked is kept in the order in which it came, keys and cookies left out.
"""

import gzip
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from undrift.testing.forms import (
    Events,
    anthropic_events,
    anthropic_message,
    responses_events,
    responses_object,
)
from undrift.testing.script import Answer, Kind, Say, Seen, Turn, answer_to, kind_of

__all__ = ["ScriptedProvider"]

_SECRET_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key", "cookie", "proxy-authorization"})
_LARGEST_BODY_BYTES = 64 << 20
_CHARACTERS_A_TOKEN = 4


class ScriptedProvider:
    """A provider that answers each request of a session with the next turn of a script.

    A compaction's request is answered with `summary` and takes no turn, a side request (a title, a token count) with
    ``ok``. After the last turn it says that it is done.

    Args:
        turns: The script.
        summary: What a compaction's request is answered.
        port: Of 127.0.0.1; 0 takes a free one.

    Source: issue "Restore", "What it must show".
    """

    def __init__(
        self, turns: Sequence[Turn] = (), *, summary: str = "A summary of the session.", port: int = 0
    ) -> None:
        self._turns = list(turns)
        self._summary = summary
        self._seen: list[Seen] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self._respond))
        self._server.daemon_threads = True
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address, without ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> tuple[Seen, ...]:
        """All requests so far, in the order in which they came."""
        with self._lock:
            return tuple(self._seen)

    def of_kind(self, kind: Kind) -> tuple[Seen, ...]:
        """Return the requests of one kind."""
        return tuple(seen for seen in self.requests if seen.kind == kind)

    def say(self, *turns: Turn) -> None:
        """Add turns to the script."""
        with self._lock:
            self._turns += turns

    def close(self) -> None:
        """Stop; a second call does nothing."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.server_close()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _respond(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> "_Reply":
        route = path.partition("?")[0].rstrip("/").removeprefix("/v1")
        given = body if isinstance(body, dict) else {}
        kept = {name: value for name, value in headers.items() if name not in _SECRET_HEADERS}
        with self._lock:
            kind: Kind = "side"
            reply = _Reply(404, {"type": "error", "error": {"type": "not_found_error", "message": "no such route"}})
            if method == "HEAD":
                reply = _Reply(200, {})
            elif route == "/models":
                reply = _Reply(200, {"object": "list", "data": [], "models": [], "has_more": False})
            elif route == "/messages/count_tokens":
                reply = _Reply(200, {"input_tokens": _tokens(given)})
            elif route == "/messages" and method == "POST":
                kind, answer = self._answer(given.get("messages"), _anthropic_tools(given))
                whole = anthropic_message(answer, len(self._seen) + 1, str(given.get("model")), _tokens(given))
                reply = _Reply(200, whole, anthropic_events(whole) if given.get("stream") else None)
            elif route == "/responses" and method == "POST":
                kind, answer = self._answer(given.get("input"), _responses_tools(given))
                whole = responses_object(answer, len(self._seen) + 1, str(given.get("model")), _tokens(given))
                reply = _Reply(200, whole, responses_events(whole) if given.get("stream") else None)
            self._seen.append(Seen(kind, method, path, kept, body))
        return reply

    def _answer(self, messages: Any, tools: Mapping[str, Any]) -> tuple[Kind, Answer]:
        kind = kind_of(messages if isinstance(messages, list) else [messages], tools)
        if kind == "summary":
            return kind, Answer(self._summary)
        if kind == "side":
            return kind, Answer("ok")
        return kind, answer_to(self._turns.pop(0) if self._turns else Say("The script is done."), tools)


class _Reply:
    """Status, the whole answer, and the events of it where it is streamed."""

    def __init__(self, status: int, whole: Mapping[str, Any], events: Events | None = None) -> None:
        self.status = status
        if events is None:
            self.type, self.content = "application/json", json.dumps(whole).encode("utf-8")
        else:
            self.type = "text/event-stream; charset=utf-8"
            lines = (f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
            self.content = "".join(lines).encode("utf-8")


def _tokens(body: Mapping[str, Any]) -> int:
    return len(json.dumps(body)) // _CHARACTERS_A_TOKEN


def _anthropic_tools(body: Mapping[str, Any]) -> dict[str, Any]:
    return {tool["name"]: tool["input_schema"] for tool in body.get("tools") or [] if "input_schema" in tool}


def _responses_tools(body: Mapping[str, Any]) -> dict[str, Any]:
    listed = [tool for tool in body.get("tools") or [] if isinstance(tool, dict)]
    for item in body.get("input") or []:
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            listed += item.get("tools") or []
    return {tool["name"]: tool.get("parameters") for tool in listed if tool.get("type") == "function"}


def _handler(respond: Callable[[str, str, Mapping[str, str], Any], _Reply]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Say nothing."""

        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            if length > _LARGEST_BODY_BYTES or "chunked" in (self.headers.get("transfer-encoding") or ""):
                self.close_connection = True
                self.send_error(413)
                return
            raw = self.rfile.read(length)
            if self.headers.get("content-encoding") == "gzip":
                raw = gzip.decompress(raw)
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = None
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = respond(self.command, self.path, headers, body)
            self.send_response(reply.status)
            self.send_header("content-type", reply.type)
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.content)

        do_GET = do_HEAD = do_POST = _serve  # noqa: N815 - the base class names them so

    return Handler
