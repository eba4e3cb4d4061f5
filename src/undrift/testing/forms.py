"""Answers in the form of a provider: one JSON object, and the events of a stream. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from undrift.testing.script import Answer

__all__ = ["Events", "anthropic_events", "anthropic_message", "responses_events", "responses_object"]

Events = Sequence[tuple[str, Mapping[str, Any]]]


def anthropic_message(answer: Answer, number: int, model: str, input_tokens: int) -> dict[str, Any]:
    """Return a message of the Anthropic API; `number` makes its ids unique."""
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.tool:
        content.append(
            {"type": "tool_use", "id": f"toolu_{number:06}", "name": answer.tool, "input": dict(answer.given)}
        )
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if answer.tool else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 20,
        },
    }


def anthropic_events(message: Mapping[str, Any]) -> Events:
    """Return the events in which the Anthropic API streams a message."""
    opening = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[tuple[str, Mapping[str, Any]]] = [
        ("message_start", {"type": "message_start", "message": opening}),
        ("ping", {"type": "ping"}),
    ]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            ("content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}),
            ("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}),
            ("content_block_stop", {"type": "content_block_stop", "index": index}),
        ]
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        *events,
        ("message_delta", {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 20}}),
        ("message_stop", {"type": "message_stop"}),
    ]


def responses_object(answer: Answer, number: int, model: str, input_tokens: int) -> dict[str, Any]:
    """Return a response of the OpenAI Responses API; `number` makes its ids unique."""
    item: dict[str, Any]
    if answer.tool:
        arguments = json.dumps(dict(answer.given))
        group, _, name = answer.tool.rpartition(".")
        item = {"type": "function_call", "id": f"fc_{number:06}", "call_id": f"call_{number:06}", "name": name}
        item |= {"arguments": arguments, "status": "completed"} | ({"namespace": group} if group else {})
    else:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        item = {"type": "message", "id": f"msg_{number:06}", "role": "assistant", "status": "completed"}
        item |= {"content": [part]}
    return {
        "id": f"resp_{number:06}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": model,
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input_tokens + 20,
        },
    }


def responses_events(response: Mapping[str, Any]) -> Events:
    """Return the events in which the Responses API streams a response."""
    (item,) = response["output"]
    at = {"item_id": item["id"], "output_index": 0}
    found: list[tuple[str, Mapping[str, Any]]] = [
        ("response.created", {"response": {**response, "status": "in_progress", "output": [], "usage": None}})
    ]
    if item["type"] == "function_call":
        found += [
            ("response.output_item.added", {"output_index": 0, "item": {**item, "arguments": ""}}),
            ("response.function_call_arguments.delta", {**at, "delta": item["arguments"]}),
            ("response.function_call_arguments.done", {**at, "arguments": item["arguments"], "name": item["name"]}),
        ]
    else:
        (part,) = item["content"]
        at |= {"content_index": 0}
        opened = {**item, "content": [], "status": "in_progress"}
        found += [
            ("response.output_item.added", {"output_index": 0, "item": opened}),
            ("response.content_part.added", {**at, "part": {**part, "text": ""}}),
            ("response.output_text.delta", {**at, "delta": part["text"], "logprobs": []}),
            ("response.output_text.done", {**at, "text": part["text"], "logprobs": []}),
            ("response.content_part.done", {**at, "part": part}),
        ]
    found += [
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": response}),
    ]
    return [(name, {"type": name, "sequence_number": number, **data}) for number, (name, data) in enumerate(found)]
