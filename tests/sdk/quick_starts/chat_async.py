"""The quick starts of OpenAI's Chat Completions, asynchronous: each function asks once, and one loop is around them."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI

from tests.sdk.quick_starts.anthropic_sync import Part
from tests.sdk.quick_starts.chat_sync import TOOL, call_of, put_together
from tests.sdk.quick_starts.play import Play, Shape

__all__ = ["SHAPES"]

_USUAL: dict[str, Any] = {"model": "gpt-5.5", "tools": [TOOL]}
Ask = Callable[[AsyncOpenAI, list[Any], Play], Awaitable[Any]]


async def create(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    completion = await client.chat.completions.create(**_USUAL, messages=messages)
    play.see(completion)
    return completion.choices[0].message


async def with_options(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    completion = await client.with_options(max_retries=1).chat.completions.create(**_USUAL, messages=messages)
    play.see(completion)
    return completion.choices[0].message


async def chunks(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    async for chunk in await client.chat.completions.create(**_USUAL, messages=messages, stream=True):
        play.see(chunk)
        put_together(message, chunk)
    return message


async def chunks_with_usage(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    usual = {**_USUAL, "stream_options": {"include_usage": True}}
    async for chunk in await client.chat.completions.create(**usual, messages=messages, stream=True):
        play.see(chunk)
        put_together(message, chunk)
    return message


async def helper(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    async with client.chat.completions.stream(**_USUAL, messages=messages) as stream:
        async for event in stream:
            play.see(event)
    return (await stream.get_final_completion()).choices[0].message


async def parse(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    completion = await client.chat.completions.parse(**_USUAL, messages=messages, response_format=Part)
    message = completion.choices[0].message
    play.see(message.parsed)
    return message


async def raw_response(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    response = await client.chat.completions.with_raw_response.create(**_USUAL, messages=messages)
    play.see([response.status_code, response.headers["content-type"]])
    return response.parse().choices[0].message


async def streaming_response(client: AsyncOpenAI, messages: list[Any], play: Play) -> Any:
    async with client.chat.completions.with_streaming_response.create(**_USUAL, messages=messages) as response:
        play.see([response.status_code, response.headers["content-type"]])
        text = "".join([line async for line in response.iter_lines()])
    return json.loads(text)["choices"][0]["message"]


def loop(ask: Ask) -> Callable[[AsyncOpenAI, Play], Awaitable[None]]:
    """The loop of one's own that the documentation shows: append the message, carry out its calls, append the results."""

    async def play_it(client: AsyncOpenAI, play: Play) -> None:
        messages: list[Any] = [{"role": "developer", "content": "Be brief."}]
        for question in play.questions:
            messages.append({"role": "user", "content": question})
            while True:
                message = await ask(client, messages, play)
                play.see(message)
                messages.append(message)
                calls = message.get("tool_calls") if isinstance(message, dict) else message.tool_calls
                for call in calls or ():
                    id_, name, arguments = call_of(call)
                    messages.append({"role": "tool", "tool_call_id": id_, "content": play.tool(name, arguments)})
                if not calls:
                    break

    return play_it


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
