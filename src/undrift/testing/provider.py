"""The scripted provider itself: the interfaces of Anthropic, OpenAI, Gemini, Bedrock and Vertex AI on one loopback port.

Law: what is said comes from the script alone, and each request is judged by the simulator of its provider first; what it
was asked is kept in the order in which it came, keys and cookies left out. The time is the caller's.
"""

import gzip
import json
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from undrift.testing.clouds import cloud_request, framed
from undrift.testing.forms import stream_of
from undrift.testing.script import Kind, Say, Seen, Turn, answer_to, filled, kind_of
from undrift.testing.simulators import Bill, ModelTurn, Refused, Simulator, simulator_for
from undrift.values.closing import Closing

__all__ = ["ScriptedProvider"]

_SECRET_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key", "cookie", "proxy-authorization"})
_LARGEST_BODY_BYTES = 64 << 20
_CHARACTERS_A_TOKEN = 4
_OWN_GROUP = "functions"  # the group of a client's own tools, which are called without its name
_WIRES = {
    "/messages": "anthropic",
    "/anthropic/v1/messages": "anthropic",  # Microsoft Foundry
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/backend-api/codex/responses": "openai-responses",  # Codex with a login of ChatGPT
}
_OF_OTHERS = re.compile(
    r"/openai(?:/v1|/deployments/[^/]+)?(?=/)"
)  # before the paths of OpenAI at Azure and at Bedrock
_HISTORIES = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}
_GEMINI = re.compile(
    r"(?:/v1(?:beta|alpha|beta1)?)?(?:/projects/[^/]+/locations/[^/]+/publishers/google)?/models/(?P<model>[^/:]+):(?P<act>\w+)"
)


class ScriptedProvider(Closing):
    """A provider that answers each request of a session with the next turn of a script.

    A compaction's request is answered with `summary` and takes no turn. A side request (a title, a token count) is
    answered with ``ok``, or with the least that its schema allows. After the last turn it says that it is done. A
    request that the real provider would refuse is refused in its words, and takes no turn either.

    Each answer is billed by the prompt cache of its provider, and the reply's usage says so; `bill` is the sum.

    `summary`: the answer to a compaction's request. `port`: of 127.0.0.1; 0 takes a free one. `without_tools`: True: a
    request that offers no tools takes a turn as well, as those of aider do. `clock`: gives Unix milliseconds, by which
    the cache expires; without one nothing expires.

    >>> import json, urllib.request
    >>> from undrift.testing import Say, ScriptedProvider
    >>> body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    >>> with ScriptedProvider([Say("Done.")], without_tools=True) as scripted:
    ...     with urllib.request.urlopen(f"{scripted.url}/v1/messages", json.dumps(body).encode()) as answer:
    ...         json.load(answer)["content"][0]["text"], len(scripted.requests)
    ('Done.', 1)
    """

    def __init__(
        self,
        turns: Sequence[Turn] = (),
        *,
        summary: str = "A summary of the session.",
        port: int = 0,
        without_tools: bool = False,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._turns = list(turns)
        self._clock = clock
        self._summary = summary
        self._without_tools = without_tools
        self._seen: list[Seen] = []
        self._accounts: dict[str, Simulator] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _handler(self._respond))
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

    @property
    def bill(self) -> Bill:
        """The sum of all bills so far."""
        return sum((seen.bill for seen in self.requests), Bill())

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

    def _respond(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> "_Reply":
        path = target.partition("?")[0].rstrip("/")
        route = _OF_OTHERS.sub("", path, count=1) if path.startswith("/openai/") else path.removeprefix("/v1")
        body = _json(raw)
        given = body if isinstance(body, dict) else {}
        kept = {name: value for name, value in headers.items() if name not in _SECRET_HEADERS}
        found = _GEMINI.fullmatch(path)
        act, model = (found["act"], found["model"]) if found else ("", None)
        wire = "gemini" if act in ("generateContent", "streamGenerateContent") else _WIRES.get(route, "")
        with self._lock:
            kind: Kind = "side"
            now_ms = self._clock() if self._clock is not None else None
            try:
                cloud = cloud_request(path, given, headers)
            except Refused as error:
                self._seen.append(Seen(kind, method, target, kept, body, raw, error.text, at_ms=now_ms))
                return _Reply.of(error.status, error.body)
            reply = _Reply.of(404, {"type": "error", "error": {"type": "not_found_error", "message": "no such route"}})
            if method == "HEAD":
                reply = _Reply.of(200, {})
            elif headers.get("upgrade"):
                reply = _Reply.of(426, {"error": {"message": "no websockets here"}})
            elif path == "/backend-api/wham/accounts/check":  # where Codex asks first with a login of ChatGPT
                account = {
                    "id": headers.get("chatgpt-account-id", ""),
                    "workspace_backend_origin": "https://chatgpt.com",
                }
                reply = _Reply.of(200, {"accounts": [{**account, "account_routing_override": "NO_CONSTRAINT"}]})
            elif route in ("/models", "/v1beta/models", "/backend-api/codex/models"):
                reply = _Reply.of(200, {"object": "list", "data": [], "models": [], "has_more": False})
            elif cloud is not None:
                asked = _ModelRequest("anthropic", cloud.body, cloud.headers, cloud.model, cloud.is_streamed, now_ms)
                kind, reply = self._answer(asked)
                if cloud.is_framed and not reply.refused:
                    reply = replace(reply, type="application/vnd.amazon.eventstream", content=framed(reply.content))
            elif route == "/messages/count_tokens" or act == "countTokens" or path.endswith("/count-tokens:rawPredict"):
                reply = _Reply.of(200, {"input_tokens": _tokens(given), "totalTokens": _tokens(given)})
            elif wire and method == "POST":
                is_streamed = act == "streamGenerateContent" or bool(given.get("stream"))
                kind, reply = self._answer(_ModelRequest(wire, given, headers, model, is_streamed, now_ms))
            self._seen.append(Seen(kind, method, target, kept, body, raw, reply.refused, reply.bill, now_ms))
        return reply

    def _answer(self, asked: "_ModelRequest") -> tuple[Kind, "_Reply"]:
        wire, body = asked.wire, asked.body
        messages, tools = body.get(_HISTORIES[wire]), _tools(wire, body)
        kind = kind_of(messages if isinstance(messages, list) else [messages], tools)
        if kind == "side" and self._without_tools:
            kind = "main"
        if kind == "main":
            turn = answer_to(self._turns[0] if self._turns else Say("The script is done."), tools, body)
        else:
            turn = ModelTurn(self._summary if kind == "summary" else _side(wire, body))
        if wire not in self._accounts:
            self._accounts[wire] = simulator_for(wire, model=asked.model or str(body.get("model")))
        account, turn = self._accounts[wire], _thought(wire, body, turn)
        try:
            answered = account.send(body, asked.headers, turn=turn, model=asked.model, now_ms=asked.now_ms)
        except Refused as error:
            return kind, replace(_Reply.of(error.status, error.body), refused=error.text)
        if kind == "main":
            del self._turns[:1]
        _group(answered.body.get("output") or ())
        if not asked.is_streamed:
            return kind, replace(_Reply.of(200, answered.body), bill=answered.bill)
        events = stream_of(wire, answered.body, with_usage=_wants_usage(wire, body))
        return kind, _Reply(200, "text/event-stream; charset=utf-8", events, bill=answered.bill)


@dataclass(frozen=True, slots=True)
class _ModelRequest:
    """A request to a model, in the provider's own form."""

    wire: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    model: str | None
    is_streamed: bool
    now_ms: int | None


@dataclass(frozen=True, slots=True)
class _Reply:
    """Status and content of an answer; `refused`: in the provider's words."""

    status: int
    type: str
    content: bytes
    refused: str = ""
    bill: Bill = field(default_factory=Bill)

    @classmethod
    def of(cls, status: int, value: Mapping[str, Any]) -> Self:
        return cls(status, "application/json", json.dumps(value).encode("utf-8"))


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None


def _tokens(body: Mapping[str, Any]) -> int:
    return len(json.dumps(body)) // _CHARACTERS_A_TOKEN


def _group(output: Sequence[dict[str, Any]]) -> None:
    """Write calls of tools of a group as the Responses form has them: the group's name beside the tool's."""
    for item in output:
        group, dot, name = str(item.get("name", "")).rpartition(".")
        if dot:
            item |= {"name": name, "namespace": group}


def _thought(wire: str, body: Mapping[str, Any], turn: ModelTurn) -> ModelTurn:
    """The turn with thinking, where the request asks for any: signatures and reasoning items belong to the true shape."""
    asked = {
        "anthropic": (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"),
        "openai-responses": bool(body.get("reasoning")) or "reasoning.encrypted_content" in (body.get("include") or ()),
        "gemini": True,
    }
    return ModelTurn(turn.text, turn.calls, "A thought of the script.") if asked.get(wire) else turn


def _wants_usage(wire: str, body: Mapping[str, Any]) -> bool:
    """Tell whether a stream ends with its usage: in Chat Completions only where the request asks for it."""
    return wire != "openai-chat" or bool((body.get("stream_options") or {}).get("include_usage"))


def _side(wire: str, body: Mapping[str, Any]) -> str:
    """Answer a side request: with the least that a schema allows, if it asks for one."""
    config = body.get("generationConfig") or {} if wire == "gemini" else {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    return json.dumps(filled(schema)) if schema else "ok"


def _tools(wire: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The client's own tools: name to the schema of the input; None for a tool that takes text."""
    listed = [tool for tool in body.get("tools") or [] if isinstance(tool, dict)]
    if wire == "anthropic":
        return {tool["name"]: tool["input_schema"] for tool in listed if "input_schema" in tool}
    if wire == "openai-chat":
        functions = [tool["function"] for tool in listed if tool.get("type") == "function"]
    elif wire == "gemini":
        functions = [function for tool in listed for function in tool.get("functionDeclarations") or []]
    else:
        items = body.get("input")
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and item.get("type") == "additional_tools":
                listed += item.get("tools") or []
        listed += [tool for group in listed if group.get("name") == _OWN_GROUP for tool in group.get("tools") or []]
        functions = [tool for tool in listed if tool.get("type") in ("custom", "function")]
    return {one["name"]: one.get("parametersJsonSchema") or one.get("parameters") for one in functions}


def _decoded(raw: bytes, coding: str) -> bytes:
    """Return a body without its coding: the two that real clients use."""
    if coding == "gzip":
        return gzip.decompress(raw)
    if coding != "zstd":
        return raw
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.decompress(raw)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client may leave when it likes."""


def _handler(respond: Callable[[str, str, Mapping[str, str], bytes], _Reply]) -> type[BaseHTTPRequestHandler]:
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
            raw = _decoded(raw, self.headers.get("content-encoding", ""))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = respond(self.command, self.path, headers, raw)
            self.send_response(reply.status)
            self.send_header("content-type", reply.type)
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.content)

        do_GET = do_HEAD = do_POST = _serve  # noqa: N815 - the base class names them so

    return Handler
