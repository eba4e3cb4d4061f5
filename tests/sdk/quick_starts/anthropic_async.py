"""Anthropic's quick starts, asynchronous: each function asks once in one documented shape, and one loop is around them."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from anthropic import AsyncAnthropic, beta_async_tool

from tests.sdk.quick_starts.anthropic_sync import TOOL, Part, calls_in, result_of
from tests.sdk.quick_starts.play import Play, Shape

__all__ = ["SHAPES"]

_USUAL: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 1024, "tools": [TOOL]}
_THINKING: dict[str, Any] = {**_USUAL, "thinking": {"type": "adaptive"}}
Ask = Callable[[AsyncAnthropic, list[Any], Play], Awaitable[Any]]


async def create(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    return await client.messages.create(**_USUAL, messages=messages)


async def with_thinking(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    return await client.messages.create(**_THINKING, messages=messages)


async def with_count(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    count = await client.messages.count_tokens(model="claude-opus-5-5", messages=messages, tools=[TOOL])
    assert count.input_tokens > 0
    return await client.messages.create(**_USUAL, messages=messages)


async def with_options(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    return await client.with_options(timeout=30, max_retries=1).messages.create(**_USUAL, messages=messages)


async def text_stream(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    async with client.messages.stream(**_USUAL, messages=messages) as stream:
        async for text in stream.text_stream:
            play.see(text)
        return await stream.get_final_message()


async def helper_events(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    async with client.messages.stream(**_USUAL, messages=messages) as stream:
        async for event in stream:
            play.see(event)
    return await stream.get_final_message()


async def thinking_stream(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    async with client.messages.stream(**_THINKING, messages=messages) as stream:
        async for event in stream:
            play.see(event)
        return await stream.get_final_message()


async def raw_events(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    blocks: list[dict[str, Any]] = []
    async for event in await client.messages.create(**_USUAL, messages=messages, stream=True):
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


async def raw_response(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    response = await client.messages.with_raw_response.create(**_USUAL, messages=messages)
    play.see([response.status_code, response.headers["content-type"]])
    return await response.parse()


async def streaming_response(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    async with client.messages.with_streaming_response.create(**_USUAL, messages=messages) as response:
        play.see([response.status_code, response.headers["content-type"]])
        body = b"".join([data async for data in response.iter_bytes()])
    return json.loads(body)["content"]


async def parse(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    message = await client.messages.parse(**_USUAL, messages=messages, output_format=Part)
    play.see(message.parsed_output)
    return message


async def parse_stream(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    async with client.messages.stream(**_USUAL, messages=messages, output_format=Part) as stream:
        async for event in stream:
            play.see(event)
    message = await stream.get_final_message()
    play.see(message.parsed_output)
    return message


async def beta(client: AsyncAnthropic, messages: list[Any], play: Play) -> Any:
    return await client.beta.messages.create(**_USUAL, messages=messages, betas=["context-management-2025-06-27"])


def loop(ask: Ask) -> Callable[[AsyncAnthropic, Play], Awaitable[None]]:
    """The loop of one's own that the documentation shows: append the reply, carry out its calls, append the results."""

    async def play_it(client: AsyncAnthropic, play: Play) -> None:
        messages: list[Any] = []
        for question in play.questions:
            messages.append({"role": "user", "content": question})
            while True:
                reply = await ask(client, messages, play)
                play.see(reply)
                content = reply if isinstance(reply, list) else reply.content
                messages.append({"role": "assistant", "content": content})
                results = [result_of(call, play) for call in calls_in(content)]
                if not results:
                    break
                messages.append({"role": "user", "content": results})

    return play_it


def _runner(client: AsyncAnthropic, play: Play, **more: Any) -> Any:
    @beta_async_tool
    async def read_file(path: str) -> str:
        """Read one file of the project.

        Args:
            path: Relative to the project.
        """
        return play.tool("read_file", {"path": path})

    (question,) = play.questions
    asked: Any = [{"role": "user", "content": question}]
    usual = {**_USUAL, "tools": [read_file]}
    return client.beta.messages.tool_runner(**usual, messages=asked, **more)


async def tool_runner(client: AsyncAnthropic, play: Play) -> None:
    async for message in _runner(client, play):
        play.see(message)


async def streaming_runner(client: AsyncAnthropic, play: Play) -> None:
    async for stream in _runner(client, play, stream=True):
        async for event in stream:
            play.see(event)
        play.see(await stream.get_final_message())


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
