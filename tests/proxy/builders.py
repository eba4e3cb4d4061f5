"""A gateway in front of an upstream that a test scripts, and a client that shows what came byte for byte."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from undrift import Settings
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.values.provider import PROVIDERS

PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3.1-pro:generateContent",
}
MODELS = {
    "anthropic": "claude-opus-5-5",
    "openai-chat": "gpt-5.5",
    "openai-responses": "gpt-5.5",
    "gemini": "gemini-3.1-pro",
}


@dataclass(frozen=True)
class Heard:
    """What a client saw of one response; `is_whole` is False where its framing broke off."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def gateway(home: Path, url: str, settings: Settings | None = None, **config: Any) -> Iterator[Server]:
    """A running gateway whose three upstreams are one."""
    given = settings or Settings(home=str(home), token_counter="characters/4")
    upstreams = {provider: upstream_of(url) for provider in PROVIDERS}
    with Server(GatewayConfig(settings=given, upstreams=upstreams, port=0, **config)) as server:
        yield server


def ask(
    url: str,
    path: str = PATHS["anthropic"],
    body: bytes | Mapping[str, Any] = b"",
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Heard:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, path, data, {"content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        try:
            read, is_whole = response.read(), True
        except http.client.IncompleteRead as cut:
            read, is_whole = cut.partial, False
        return Heard(response.status, {k.lower(): v for k, v in response.getheaders()}, read, is_whole)
    finally:
        connection.close()


def token(home: Path) -> str:
    return (home / "http-token").read_text().strip()


def metrics(url: str, home: Path) -> str:
    heard = ask(url, "/undrift/metrics", method="GET", headers={"authorization": f"Bearer {token(home)}"})
    assert heard.status == 200
    return heard.body.decode()


def stream_of(wire: str, answer: Mapping[str, Any]) -> list[bytes]:
    """The events in which a provider streams a whole answer, one piece each."""
    return list(_STREAMS[wire](answer))


def _event(data: Any, name: str = "") -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _anthropic(answer: Mapping[str, Any]) -> Iterator[bytes]:
    usage = answer["usage"]
    start = {**answer, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event({"type": "message_start", "message": start}, "message_start")
    yield _event({"type": "ping"}, "ping")
    for index, block in enumerate(answer["content"]):
        empty, deltas = dict(block), []
        if block["type"] == "text":
            empty["text"], half = "", len(block["text"]) // 2
            deltas = [{"type": "text_delta", "text": t} for t in (block["text"][:half], block["text"][half:])]
        elif block["type"] == "thinking":
            empty |= {"thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        elif block["type"] == "tool_use":
            empty["input"], text = {}, json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": t} for t in (text[:3], text[3:])]
        yield _event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield _event({"type": "content_block_stop", "index": index}, "content_block_stop")
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    delta = {"type": "message_delta", "delta": ending, "usage": {"output_tokens": usage["output_tokens"]}}
    yield _event(delta, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def _chat(answer: Mapping[str, Any]) -> Iterator[bytes]:
    base = {**{k: v for k, v in answer.items() if k not in ("choices", "usage")}, "object": "chat.completion.chunk"}
    message, finish = answer["choices"][0]["message"], answer["choices"][0]["finish_reason"]

    def chunk(delta: Any, finish: Any = None) -> bytes:
        return _event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    if message.get("content"):
        yield chunk({"content": message["content"]})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        opened = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield chunk({"tool_calls": [opened]})
        text = function["arguments"]
        for piece in (text[:2], text[2:]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, finish)
    yield _event({**base, "choices": [], "usage": answer["usage"]})
    yield _event("[DONE]")


def _responses(answer: Mapping[str, Any]) -> Iterator[bytes]:
    started = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield _event({"type": "response.created", "response": started}, "response.created")
    for index, item in enumerate(answer["output"]):
        kind = "response.output_item.added"
        yield _event({"type": kind, "output_index": index, "item": {**item, "status": "in_progress"}}, kind)
        kind = "response.output_item.done"
        yield _event({"type": kind, "output_index": index, "item": item}, kind)
    yield _event({"type": "response.completed", "response": dict(answer)}, "response.completed")


def _gemini(answer: Mapping[str, Any]) -> Iterator[bytes]:
    candidate = answer["candidates"][0]
    parts = candidate["content"]["parts"]
    for number, part in enumerate(parts):
        given: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if number == len(parts) - 1:
            given["finishReason"] = candidate["finishReason"]
        yield _event({**answer, "candidates": [given]})


_STREAMS = {"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses, "gemini": _gemini}
