"""A program over Google's Gen AI SDK: after `undrift.wrap` the client has every type that it had."""

# Strict would ask for the types of Pillow, which this SDK does not need.
# pyright: standard

from typing import assert_type

from google import genai
from google.genai import types

import undrift


def read_file(path: str) -> str:
    """Read a file."""
    return path


def chat(question: str) -> str | None:
    """A chat with a function that the SDK calls."""
    client = undrift.wrap(genai.Client())
    assert_type(client, genai.Client)
    config = types.GenerateContentConfig(tools=[read_file])
    response = client.chats.create(model="gemini-3.8-flash", config=config).send_message(question)
    assert_type(response, types.GenerateContentResponse)
    for chunk in client.models.generate_content_stream(model="gemini-3.8-flash", contents=question):
        assert_type(chunk, types.GenerateContentResponse)
    return response.text


async def chat_async(question: str) -> str | None:
    """The same of the asynchronous client."""
    client = undrift.wrap(genai.Client(), session="run-42")
    response = await client.aio.models.generate_content(model="gemini-3.8-flash", contents=question)
    assert_type(response, types.GenerateContentResponse)
    async for chunk in await client.aio.models.generate_content_stream(model="gemini-3.8-flash", contents=question):
        assert_type(chunk, types.GenerateContentResponse)
    return response.text


def mistakes() -> None:
    """A checker that knew nothing of the client would find this."""
    undrift.wrap(genai.Client()).chat  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
