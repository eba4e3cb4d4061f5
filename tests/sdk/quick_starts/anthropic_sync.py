"""Anthropic's quick starts, synchronous: each function asks once in one documented shape, and one loop is around them."""

import json
from collections.abc import Callable
from typing import Any

import pydantic
from anthropic import Anthropic, beta_tool

from tests.sdk.quick_starts.play import DESCRIPTION, PATH_SCHEMA, Play, Shape

__all__ = ["SHAPES", "Part", "TOOL"]

TOOL: Any = {"name": "read_file", "description": DESCRIPTION, "input_schema": PATH_SCHEMA}
_USUAL: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 1024, "tools": [TOOL]}
_THINKING: dict[str, Any] = {**_USUAL, "thinking": {"type": "adaptive"}}
Ask = Callable[[Anthropic, list[Any], Play], Any]


class Part(pydantic.BaseModel):
    """A structured answer."""

    part: int
    is_read: bool


def create(client: Anthropic, messages: list[Any], play: Play) -> Any:
    return client.messages.create(**_USUAL, messages=messages)


def with_thinking(client: Anthropic, messages: list[Any], play: Play) -> Any:
    return client.messages.create(**_THINKING, messages=messages)


def with_count(client: Anthropic, messages: list[Any], play: Play) -> Any:
    count = client.messages.count_tokens(model="claude-opus-5-5", messages=messages, tools=[TOOL])
    assert count.input_tokens > 0
    return client.messages.create(**_USUAL, messages=messages)


def with_options(client: Anthropic, messages: list[Any], play: Play) -> Any:
    return client.with_options(timeout=30, max_retries=1).messages.create(**_USUAL, messages=messages)


def text_stream(client: Anthropic, messages: list[Any], play: Play) -> Any:
    with client.messages.stream(**_USUAL, messages=messages) as stream:
        for text in stream.text_stream:
            play.see(text)
        return stream.get_final_message()


def helper_events(client: Anthropic, messages: list[Any], play: Play) -> Any:
    with client.messages.stream(**_USUAL, messages=messages) as stream:
        for event in stream:
            play.see(event)
    return stream.get_final_message()


def thinking_stream(client: Anthropic, messages: list[Any], play: Play) -> Any:
    with client.messages.stream(**_THINKING, messages=messages) as stream:
        for event in stream:
            play.see(event)
        return stream.get_final_message()


def raw_events(client: Anthropic, messages: list[Any], play: Play) -> Any:
    blocks: list[dict[str, Any]] = []
    for event in client.messages.create(**_USUAL, messages=messages, stream=True):
        play.see(event)
        if event.type == "content_block_start":
            blocks.append({**event.content_block.to_dict(), "input_json": ""})
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            blocks[-1]["text"] += event.delta.text
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            blocks[-1]["input_json"] += event.delta.partial_json
    for block in blocks:
        written = block.pop("input_json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(written)
    return blocks


def raw_response(client: Anthropic, messages: list[Any], play: Play) -> Any:
    response = client.messages.with_raw_response.create(**_USUAL, messages=messages)
    play.see([response.status_code, response.headers["content-type"]])
    return response.parse()


def streaming_response(client: Anthropic, messages: list[Any], play: Play) -> Any:
    with client.messages.with_streaming_response.create(**_USUAL, messages=messages) as response:
        play.see([response.status_code, response.headers["content-type"]])
        body = b"".join(response.iter_bytes())
    return json.loads(body)["content"]


def parse(client: Anthropic, messages: list[Any], play: Play) -> Any:
    message = client.messages.parse(**_USUAL, messages=messages, output_format=Part)
    play.see(message.parsed_output)
    return message


def parse_stream(client: Anthropic, messages: list[Any], play: Play) -> Any:
    with client.messages.stream(**_USUAL, messages=messages, output_format=Part) as stream:
        for event in stream:
            play.see(event)
    message = stream.get_final_message()
    play.see(message.parsed_output)
    return message


def beta(client: Anthropic, messages: list[Any], play: Play) -> Any:
    return client.beta.messages.create(**_USUAL, messages=messages, betas=["context-management-2025-06-27"])


def loop(ask: Ask) -> Callable[[Anthropic, Play], None]:
    """The loop of one's own that the documentation shows: append the reply, carry out its calls, append the results."""

    def play_it(client: Anthropic, play: Play) -> None:
        messages: list[Any] = []
        for question in play.questions:
            messages.append({"role": "user", "content": question})
            while True:
                reply = ask(client, messages, play)
                play.see(reply)
                content = reply if isinstance(reply, list) else reply.content
                messages.append({"role": "assistant", "content": content})
                results = [result_of(call, play) for call in calls_in(content)]
                if not results:
                    break
                messages.append({"role": "user", "content": results})

    return play_it


def calls_in(content: list[Any]) -> list[Any]:
    """Return the calls of an answer as mappings; a program that reads raw JSON has them already."""
    blocks = [block if isinstance(block, dict) else block.to_dict() for block in content]
    return [block for block in blocks if block["type"] == "tool_use"]


def result_of(call: Any, play: Play) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call["id"], "content": play.tool(call["name"], call["input"])}


def _runner(client: Anthropic, play: Play, **more: Any) -> Any:
    @beta_tool
    def read_file(path: str) -> str:
        """Read one file of the project.

        Args:
            path: Relative to the project.
        """
        return play.tool("read_file", {"path": path})

    (question,) = play.questions
    asked: Any = [{"role": "user", "content": question}]
    usual = {**_USUAL, "tools": [read_file]}
    return client.beta.messages.tool_runner(**usual, messages=asked, **more)


def tool_runner(client: Anthropic, play: Play) -> None:
    for message in _runner(client, play):
        play.see(message)


def streaming_runner(client: Anthropic, play: Play) -> None:
    for stream in _runner(client, play, stream=True):
        for event in stream:
            play.see(event)
        play.see(stream.get_final_message())


_ASKS: dict[str, Ask] = {
    "messages.create": create,
    "create with thinking": with_thinking,
    "count_tokens, create": with_count,
    "with_options().create": with_options,
    "create(stream=True)": raw_events,
    "messages.stream, text_stream": text_stream,
    "messages.stream, events": helper_events,
    "messages.stream, thinking": thinking_stream,
    "with_raw_response": raw_response,
    "with_streaming_response": streaming_response,
    "messages.parse": parse,
    "messages.stream, parsed": parse_stream,
    "beta.messages.create": beta,
}
SHAPES = (
    *(Shape("anthropic", name, loop(ask), is_parsed="parse" in name) for name, ask in _ASKS.items()),
    Shape("anthropic", "beta tool_runner", tool_runner, has_one_question=True),
    Shape("anthropic", "beta tool_runner, stream", streaming_runner, has_one_question=True),
)
