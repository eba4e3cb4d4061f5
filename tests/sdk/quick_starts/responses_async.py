"""The quick starts of OpenAI's Responses, asynchronous: each function asks once, and one loop is around them."""

from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI

from tests.sdk.quick_starts.anthropic_sync import Part
from tests.sdk.quick_starts.play import Play, Shape
from tests.sdk.quick_starts.responses_sync import TOOL, outputs_of

__all__ = ["SHAPES"]

_USUAL: dict[str, Any] = {"model": "gpt-5.5", "instructions": "Be brief.", "tools": [TOOL]}
Ask = Callable[[AsyncOpenAI, list[Any], Play], Awaitable[Any]]


async def create(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    return await client.responses.create(**_USUAL, input=items)


async def without_store(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    asked = {**_USUAL, "store": False, "include": ["reasoning.encrypted_content"]}
    return await client.responses.create(**asked, input=items)


async def with_options(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    return await client.with_options(max_retries=1).responses.create(**_USUAL, input=items)


async def events(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    response = None
    async for event in await client.responses.create(**_USUAL, input=items, stream=True):
        play.see(event)
        if event.type == "response.completed":
            response = event.response
    return response


async def helper(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    async with client.responses.stream(**_USUAL, input=items) as stream:
        async for event in stream:
            play.see(event)
        return await stream.get_final_response()


async def parse(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    response = await client.responses.parse(**_USUAL, input=items, text_format=Part)
    play.see(response.output_parsed)
    return response


async def raw_response(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    response = await client.responses.with_raw_response.create(**_USUAL, input=items)
    play.see([response.status_code, response.headers["content-type"]])
    return response.parse()


async def streaming_response(client: AsyncOpenAI, items: list[Any], play: Play) -> Any:
    async with client.responses.with_streaming_response.create(**_USUAL, input=items) as response:
        play.see([response.status_code, response.headers["content-type"]])
        return await response.parse()


def loop(ask: Ask) -> Callable[[AsyncOpenAI, Play], Awaitable[None]]:
    """The loop of one's own that the documentation shows: all output is added to the input, then the calls' outputs."""

    async def play_it(client: AsyncOpenAI, play: Play) -> None:
        items: list[Any] = []
        for question in play.questions:
            items.append({"role": "user", "content": question})
            while True:
                response = await ask(client, items, play)
                play.see(response)
                play.see(response.output_text)
                items += response.output
                outputs = outputs_of(response.output, play)
                if not outputs:
                    break
                items += outputs

    return play_it


async def held(client: AsyncOpenAI, play: Play) -> None:
    """The history stays at the provider; a request names the answer before it."""
    newest = None
    for question in play.questions:
        items: Any = question
        while items:
            response = await client.responses.create(**_USUAL, input=items, previous_response_id=newest)
            play.see(response)
            newest, items = response.id, outputs_of(response.output, play)


_ASKS: dict[str, Ask] = {
    "responses.create": create,
    "responses.create(store=False)": without_store,
    "responses with_options().create": with_options,
    "responses.create(stream=True)": events,
    "responses.stream": helper,
    "responses.parse": parse,
    "responses.with_raw_response": raw_response,
    "responses.with_streaming_response": streaming_response,
}
SHAPES = (
    *(Shape("openai-responses", name, loop(ask), is_parsed=ask is parse) for name, ask in _ASKS.items()),
    Shape("openai-responses", "responses, previous_response_id", held, is_held=True),
)
