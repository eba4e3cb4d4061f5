"""The quick starts of OpenAI's Chat Completions, synchronous: each function asks once, and one loop is around them."""

import json
from collections.abc import Callable
from typing import Any

from openai import OpenAI

from tests.sdk.quick_starts.anthropic_sync import Part
from tests.sdk.quick_starts.play import DESCRIPTION, PATH_SCHEMA, Play, Shape

__all__ = ["SHAPES", "TOOL", "call_of", "put_together"]

_FUNCTION = {"name": "read_file", "description": DESCRIPTION, "parameters": PATH_SCHEMA, "strict": True}
TOOL: Any = {"type": "function", "function": _FUNCTION}
_USUAL: dict[str, Any] = {"model": "gpt-5.5", "tools": [TOOL]}
Ask = Callable[[OpenAI, list[Any], Play], Any]


def create(client: OpenAI, messages: list[Any], play: Play) -> Any:
    completion = client.chat.completions.create(**_USUAL, messages=messages)
    play.see(completion)
    return completion.choices[0].message


def with_options(client: OpenAI, messages: list[Any], play: Play) -> Any:
    completion = client.with_options(max_retries=1).chat.completions.create(**_USUAL, messages=messages)
    play.see(completion)
    return completion.choices[0].message


def chunks(client: OpenAI, messages: list[Any], play: Play) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for chunk in client.chat.completions.create(**_USUAL, messages=messages, stream=True):
        play.see(chunk)
        put_together(message, chunk)
    return message


def chunks_with_usage(client: OpenAI, messages: list[Any], play: Play) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    usual = {**_USUAL, "stream_options": {"include_usage": True}}
    for chunk in client.chat.completions.create(**usual, messages=messages, stream=True):
        play.see(chunk)
        put_together(message, chunk)
    return message


def put_together(message: dict[str, Any], chunk: Any) -> None:
    """Add the delta of one chunk to the message, its calls by their index."""
    for choice in chunk.choices:
        if choice.delta.content:
            message["content"] = (message["content"] or "") + choice.delta.content
        for part in choice.delta.tool_calls or ():
            calls = message.setdefault("tool_calls", [])
            if part.index == len(calls):
                calls.append({"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}})
            calls[part.index]["function"]["name"] += part.function.name or ""
            calls[part.index]["function"]["arguments"] += part.function.arguments or ""


def helper(client: OpenAI, messages: list[Any], play: Play) -> Any:
    with client.chat.completions.stream(**_USUAL, messages=messages) as stream:
        for event in stream:
            play.see(event)
    return stream.get_final_completion().choices[0].message


def parse(client: OpenAI, messages: list[Any], play: Play) -> Any:
    completion = client.chat.completions.parse(**_USUAL, messages=messages, response_format=Part)
    message = completion.choices[0].message
    play.see(message.parsed)
    return message


def raw_response(client: OpenAI, messages: list[Any], play: Play) -> Any:
    response = client.chat.completions.with_raw_response.create(**_USUAL, messages=messages)
    play.see([response.status_code, response.headers["content-type"]])
    return response.parse().choices[0].message


def streaming_response(client: OpenAI, messages: list[Any], play: Play) -> Any:
    with client.chat.completions.with_streaming_response.create(**_USUAL, messages=messages) as response:
        play.see([response.status_code, response.headers["content-type"]])
        text = "".join(response.iter_lines())
    return json.loads(text)["choices"][0]["message"]


def loop(ask: Ask) -> Callable[[OpenAI, Play], None]:
    """The loop of one's own that the documentation shows: append the message, carry out its calls, append the results."""

    def play_it(client: OpenAI, play: Play) -> None:
        messages: list[Any] = [{"role": "developer", "content": "Be brief."}]
        for question in play.questions:
            messages.append({"role": "user", "content": question})
            while True:
                message = ask(client, messages, play)
                play.see(message)
                messages.append(message)
                calls = message.get("tool_calls") if isinstance(message, dict) else message.tool_calls
                for call in calls or ():
                    id_, name, arguments = call_of(call)
                    messages.append({"role": "tool", "tool_call_id": id_, "content": play.tool(name, arguments)})
                if not calls:
                    break

    return play_it


def call_of(call: Any) -> tuple[str, str, Any]:
    """Return id, name and arguments of a call, as the SDK gave it or as the program put it together."""
    plain = call if isinstance(call, dict) else call.to_dict()
    return plain["id"], plain["function"]["name"], json.loads(plain["function"]["arguments"])


_ASKS: dict[str, Ask] = {
    "chat.create": create,
    "chat with_options().create": with_options,
    "chat.create(stream=True)": chunks,
    "chat.create(stream=True), usage": chunks_with_usage,
    "chat.stream": helper,
    "chat.parse": parse,
    "chat.with_raw_response": raw_response,
    "chat.with_streaming_response": streaming_response,
}
SHAPES = tuple(Shape("openai-chat", name, loop(ask), is_parsed=ask is parse) for name, ask in _ASKS.items())
