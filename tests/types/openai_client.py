"""A program over OpenAI's SDK: after `undrift.wrap` the client has every type that it had."""

from typing import assert_type

from openai import AsyncOpenAI, AsyncStream, OpenAI, Stream
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam, ParsedChatCompletion
from openai.types.responses import ParsedResponse, Response, ResponseInputParam, ResponseStreamEvent
from pydantic import BaseModel

import undrift


class Part(BaseModel):
    """A structured answer."""

    number: int


def chat(messages: list[ChatCompletionMessageParam]) -> None:
    """Chat Completions."""
    client = undrift.wrap(OpenAI())
    assert_type(client, OpenAI)
    completion = client.chat.completions.create(model="gpt-5.5", messages=messages)
    assert_type(completion, ChatCompletion)
    chunks = client.chat.completions.create(model="gpt-5.5", messages=messages, stream=True)
    assert_type(chunks, Stream[ChatCompletionChunk])
    parsed = client.chat.completions.parse(model="gpt-5.5", messages=messages, response_format=Part)
    assert_type(parsed, ParsedChatCompletion[Part])
    assert_type(parsed.choices[0].message.parsed, Part | None)
    raw = client.with_options(max_retries=1).chat.completions.with_raw_response.create(model="m", messages=messages)
    assert_type(raw.parse(), ChatCompletion)


def responses(items: ResponseInputParam) -> None:
    """Responses."""
    client = undrift.wrap(OpenAI(), session="run-42")
    response = client.responses.create(model="gpt-5.5", input=items)
    assert_type(response, Response)
    assert_type(response.output_text, str)
    assert_type(client.responses.create(model="gpt-5.5", input=items, stream=True), Stream[ResponseStreamEvent])
    assert_type(client.responses.parse(model="gpt-5.5", input=items, text_format=Part), ParsedResponse[Part])


async def both_async(messages: list[ChatCompletionMessageParam]) -> None:
    """The same of the asynchronous client."""
    async with undrift.wrap(AsyncOpenAI()) as client:
        assert_type(client, AsyncOpenAI)
        assert_type(await client.chat.completions.create(model="gpt-5.5", messages=messages), ChatCompletion)
        chunks = await client.chat.completions.create(model="gpt-5.5", messages=messages, stream=True)
        assert_type(chunks, AsyncStream[ChatCompletionChunk])
        assert_type(await client.responses.create(model="gpt-5.5", input="Hello."), Response)
        assert_type(client.with_options(timeout=9), AsyncOpenAI)


def mistakes() -> None:
    """A checker that knew nothing of the client would find none of these."""
    client = undrift.wrap(OpenAI())
    client.chats  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018
    client.responses.create(model="gpt-5.5", input=3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
