"""The real SDKs without a network: what each makes of a recorded answer, and the bytes that it would send.

A test that imports this is skipped visibly where an SDK is not installed.
"""

import importlib
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["ANSWERS", "HISTORY", "LARGE", "Sdk", "events", "sdk", "stream_bytes"]

LARGE = "a line of what the tool printed\n" * 60
HISTORY = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}


def _anthropic(n: int) -> dict[str, Any]:
    content = [
        {"type": "thinking", "thinking": f"I think about {n}.", "signature": "c2ln"},
        {"type": "text", "text": f"I look at {n}."},
        {"type": "tool_use", "id": f"toolu_{n:08}", "name": "read", "input": {"path": f"{n}.py", "limit": None}},
    ]
    return {
        "id": f"msg_{n}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 90 + n, "output_tokens": 3, "cache_read_input_tokens": 0},
    }


def _chat(n: int) -> dict[str, Any]:
    function = {"name": "read", "arguments": json.dumps({"path": f"{n}.py"})}
    call = {"id": f"call_{n:08}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}
    return {
        "id": f"chatcmpl-{n}",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5.5",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}],
        "usage": {"prompt_tokens": 90 + n, "completion_tokens": 3, "total_tokens": 93 + n},
    }


def _responses(n: int) -> dict[str, Any]:
    thought: dict[str, Any] = {
        "type": "reasoning",
        "id": f"rs_{n}",
        "summary": [],
        "encrypted_content": "YWJj",
        "status": None,
    }
    text = {"type": "output_text", "text": f"I look at {n}.", "annotations": []}
    said = {"type": "message", "id": f"msg_{n}", "role": "assistant", "status": "completed", "content": [text]}
    call = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n:08}", "name": "read", "status": "completed"}
    return {
        "id": f"resp_{n}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-5.5",
        "error": None,
        "output": [thought, said, {**call, "arguments": json.dumps({"path": f"{n}.py"})}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 90 + n,
            "output_tokens": 3,
            "total_tokens": 93 + n,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _gemini(n: int) -> dict[str, Any]:
    call = {"functionCall": {"name": "read", "args": {"path": f"{n}.py"}}, "thoughtSignature": "-_ab"}
    content = {"role": "model", "parts": [{"text": f"I look at {n}."}, call]}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 90 + n, "candidatesTokenCount": 3, "totalTokenCount": 93 + n},
        "modelVersion": "gemini-3-pro",
        "responseId": f"r{n}",
    }


ANSWERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
"""An answer with one call of a tool, as each provider sends it."""


def _anthropic_events(answer: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    for number, block in enumerate(answer["content"]):
        kind = block["type"]
        field = {"thinking": "thinking", "text": "text", "tool_use": "input"}[kind]
        empty = {**block, field: {} if kind == "tool_use" else ""}
        yield {"type": "content_block_start", "index": number, "content_block": empty}
        name = {"thinking": "thinking_delta", "text": "text_delta", "tool_use": "input_json_delta"}[kind]
        said = json.dumps(block["input"]) if kind == "tool_use" else block[field]
        delta = {"type": name, ("partial_json" if kind == "tool_use" else field): said}
        yield {"type": "content_block_delta", "index": number, "delta": delta}
        yield {"type": "content_block_stop", "index": number}
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}}
    yield {"type": "message_stop"}


def _chat_events(answer: dict[str, Any]) -> Iterable[dict[str, Any]]:
    head = {"id": answer["id"], "object": "chat.completion.chunk", "created": 1, "model": answer["model"]}
    call = {"index": 0, **answer["choices"][0]["message"]["tool_calls"][0]}
    yield {
        **head,
        "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}],
    }
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    yield {**head, "choices": [], "usage": answer["usage"]}


def _responses_events(answer: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield {
        "type": "response.created",
        "sequence_number": 0,
        "response": {**answer, "output": [], "status": "in_progress"},
    }
    for number, item in enumerate(answer["output"]):
        at = {"sequence_number": 2 * number + 1, "output_index": number, "item": item}
        yield {"type": "response.output_item.added", **at}
        yield {"type": "response.output_item.done", **at, "sequence_number": 2 * number + 2}
    yield {"type": "response.completed", "sequence_number": 99, "response": answer}


def events(wire: str, n: int) -> list[dict[str, Any]]:
    """The events by which the provider streams `ANSWERS[wire](n)`."""
    answer = ANSWERS[wire](n)
    if wire == "gemini":
        return [answer]
    made = {"anthropic": _anthropic_events, "openai-chat": _chat_events, "openai-responses": _responses_events}
    return list(made[wire](answer))


def stream_bytes(wire: str, found: list[dict[str, Any]]) -> bytes:
    named = (f"event: {event['type']}\n" if "type" in event else "" for event in found)
    body = "".join(f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(named, found, strict=True))
    return (body + ("data: [DONE]\n\n" if wire == "openai-chat" else "")).encode()


class Sdk:
    """One SDK's client over a transport that answers with `answer` and keeps the bytes of each request."""

    def __init__(self, wire: str, *, is_async: bool = False) -> None:
        self._http = http = _http_of(wire)
        self.wire = wire
        self.bodies: list[bytes] = []
        self.answer = ANSWERS[wire](0)
        self.events = events(wire, 0)
        kind = http.AsyncClient if is_async else http.Client
        self.client = _client(wire, kind(transport=http.MockTransport(self._answered)), is_async=is_async)

    def _answered(self, request: Any) -> Any:
        body = request.content
        self.bodies.append(body)
        if json.loads(body).get("stream") or b"alt=sse" in request.url.query:
            kind = {"content-type": "text/event-stream"}
            return self._http.Response(200, content=stream_bytes(self.wire, self.events), headers=kind)
        return self._http.Response(200, json=self.answer)

    def create(self, **fields: Any) -> Any:
        """Send a request by the SDK's own method."""
        return self.method(self.client)(**fields)

    def method(self, client: Any) -> Any:
        if self.wire == "anthropic":
            return client.messages.create
        if self.wire == "openai-chat":
            return client.chat.completions.create
        return client.responses.create if self.wire == "openai-responses" else client.models.generate_content

    def reply(self, n: int) -> Any:
        """The SDK's object for the answer with this number."""
        self.answer = ANSWERS[self.wire](n)
        return self.create(**self.fields([self.asked]))

    @property
    def asked(self) -> Any:
        return (
            {"role": "user", "parts": [{"text": "Go."}]}
            if self.wire == "gemini"
            else {"role": "user", "content": "Go."}
        )

    def fields(self, items: Any, **more: Any) -> dict[str, Any]:
        """The arguments of `create`, and the body for `Session.prepare` as well."""
        model = {"anthropic": "claude-sonnet-5", "gemini": "gemini-3-pro"}.get(self.wire, "gpt-5.5")
        limit = {"max_tokens": 9} if self.wire == "anthropic" else {}
        return {"model": model, **limit, HISTORY[self.wire]: items, **more}

    def said(self, reply: Any) -> list[Any]:
        """What a program appends to its history for a reply, in the SDK's own words."""
        if self.wire == "anthropic":
            return [{"role": "assistant", "content": reply.content}]
        if self.wire == "openai-chat":
            return [reply.choices[0].message]
        return list(reply.output) if self.wire == "openai-responses" else [reply.candidates[0].content]

    def result(self, n: int, text: str = LARGE) -> Any:
        """The result of the call in the answer with this number."""
        if self.wire == "anthropic":
            return {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"toolu_{n:08}", "content": text}],
            }
        if self.wire == "openai-chat":
            return {"role": "tool", "tool_call_id": f"call_{n:08}", "content": text}
        if self.wire == "openai-responses":
            return {"type": "function_call_output", "call_id": f"call_{n:08}", "output": text}
        from google.genai import types

        part = types.Part.from_function_response(name="read", response={"result": text})
        return types.Content(role="user", parts=[part])

    def sent(self, **fields: Any) -> Any:
        """The JSON that the SDK sends for these arguments."""
        self.create(**fields)
        return json.loads(self.bodies[-1])


def _http_of(wire: str) -> Any:
    """The HTTP library that the SDK sends by: httpx2, in older ones httpx."""
    names = {"anthropic": "anthropic._base_client", "gemini": "google.genai._api_client"}
    module = importlib.import_module(names.get(wire, "openai._base_client"))
    return vars(module)["httpx2" if "httpx2" in vars(module) else "httpx"]


def _client(wire: str, http: Any, *, is_async: bool) -> Any:
    if wire == "anthropic":
        import anthropic

        made = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return made(api_key="not-a-key", http_client=http)
    if wire.startswith("openai"):
        import openai

        return (openai.AsyncOpenAI if is_async else openai.OpenAI)(api_key="not-a-key", http_client=http)
    from google import genai

    place = {"httpx_async_client" if is_async else "httpx_client": http}
    client = genai.Client(api_key="not-a-key", http_options=genai.types.HttpOptions(**place))
    return client.aio if is_async else client


def sdk(wire: str, *, is_async: bool = False) -> Sdk:
    """Return the SDK of a wire; the test is skipped if it is not installed."""
    package = {"anthropic": "anthropic", "gemini": "google.genai"}.get(wire, "openai")
    pytest.importorskip(package, reason=f"the SDK {package} is not installed")
    return Sdk(wire, is_async=is_async)
