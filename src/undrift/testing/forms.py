"""The events in which each provider streams an answer. Pure."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["stream_of"]

_Event = tuple[str, Mapping[str, Any] | str]
_Events = Sequence[_Event]


def stream_of(wire: str, reply: Mapping[str, Any], *, with_usage: bool = True) -> bytes:
    """Turn a whole answer into the events of a stream, as the provider of a wire sends them.

    `with_usage`: of Chat Completions, whether the request asks for the last chunk, which holds the usage.
    """
    if not with_usage:
        reply = {**reply, "usage": None}
    lines = []
    for name, data in _STREAMS[wire](reply):
        head = f"event: {name}\n" if name else ""
        lines.append(f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
    return "".join(lines).encode("utf-8")


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _anthropic(message: Mapping[str, Any]) -> _Events:
    opening = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[_Event] = [
        ("message_start", {"type": "message_start", "message": opening}),
        ("ping", {"type": "ping"}),
    ]
    for index, block in enumerate(message["content"]):
        empty, deltas = _anthropic_deltas(block)
        at = {"index": index}
        events.append(("content_block_start", {"type": "content_block_start", **at, "content_block": empty}))
        events += [("content_block_delta", {"type": "content_block_delta", **at, "delta": delta}) for delta in deltas]
        events.append(("content_block_stop", {"type": "content_block_stop", **at}))
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    return [
        *events,
        ("message_delta", {"type": "message_delta", "delta": ending, "usage": usage}),
        ("message_stop", {"type": "message_stop"}),
    ]


def _anthropic_deltas(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": text} for text in _halves(block["text"])]
    if block["type"] == "thinking":
        said = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
        return {**block, "thinking": "", "signature": ""}, said
    pieces = _halves(json.dumps(block["input"]))
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text} for text in pieces]


def _chat(reply: Mapping[str, Any]) -> _Events:
    (choice,) = reply["choices"]
    message = choice["message"]
    base = {**{name: reply[name] for name in ("id", "created", "model")}, "object": "chat.completion.chunk"}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> _Event:
        return "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    events = [chunk({"role": "assistant", "content": ""})]
    if message["content"]:
        events += [chunk({"content": text}) for text in _halves(message["content"])]
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        opened = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        events.append(chunk({"tool_calls": [opened]}))
        for text in _halves(function["arguments"]):
            events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
    events.append(chunk({}, choice["finish_reason"]))
    if reply["usage"] is not None:
        events.append(("", {**base, "choices": [], "usage": reply["usage"]}))
    return [*events, ("", "[DONE]")]


def _responses(reply: Mapping[str, Any]) -> _Events:
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": {**reply, "status": "in_progress", "output": [], "usage": None}})
    ]
    for index, item in enumerate(reply["output"]):
        at = {"item_id": item["id"], "output_index": index}
        opened, between = dict(item), []
        if item["type"] == "function_call":
            opened |= {"arguments": "", "status": "in_progress"}
            between = [
                ("response.function_call_arguments.delta", {**at, "delta": item["arguments"]}),
                ("response.function_call_arguments.done", {**at, "arguments": item["arguments"], "name": item["name"]}),
            ]
        elif item["type"] == "custom_tool_call":
            opened |= {"input": "", "status": "in_progress"}
            between = [
                ("response.custom_tool_call_input.delta", {**at, "delta": item["input"]}),
                ("response.custom_tool_call_input.done", {**at, "input": item["input"]}),
            ]
        elif item["type"] == "message":
            opened |= {"content": [], "status": "in_progress"}
            (part,) = item["content"]
            at |= {"content_index": 0}
            between = [
                ("response.content_part.added", {**at, "part": {**part, "text": ""}}),
                ("response.output_text.delta", {**at, "delta": part["text"], "logprobs": []}),
                ("response.output_text.done", {**at, "text": part["text"], "logprobs": []}),
                ("response.content_part.done", {**at, "part": part}),
            ]
        events += [
            ("response.output_item.added", {"output_index": index, "item": opened}),
            *between,
            ("response.output_item.done", {"output_index": index, "item": item}),
        ]
    events.append(("response.completed", {"response": reply}))
    return [(name, {"type": name, "sequence_number": number, **data}) for number, (name, data) in enumerate(events)]


def _gemini(reply: Mapping[str, Any]) -> _Events:
    (candidate,) = reply["candidates"]
    parts = candidate["content"]["parts"]
    events: list[_Event] = []
    for number, part in enumerate(parts):
        given = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if number == len(parts) - 1:
            given["finishReason"] = candidate["finishReason"]
        events.append(("", {**reply, "candidates": [given]}))
    return events


_STREAMS: Mapping[str, Callable[[Mapping[str, Any]], _Events]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
