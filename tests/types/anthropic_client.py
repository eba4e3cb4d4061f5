"""A program over Anthropic's SDK: after `undrift.wrap` the client has every type that it had."""

from typing import assert_type

from anthropic import Anthropic, AsyncAnthropic, AsyncStream, Stream
from anthropic.types import (
    Message,
    MessageParam,
    MessageTokensCount,
    RawMessageStreamEvent,
    ToolParam,
    ToolResultBlockParam,
)
from anthropic.types.parsed_message import ParsedMessage
from pydantic import BaseModel

import undrift
from undrift import Prepared, Session, Settings

TOOL: ToolParam = {"name": "read_file", "description": "Read a file.", "input_schema": {"type": "object"}}


class Part(BaseModel):
    """A structured answer."""

    number: int


def wrong(prepared: int) -> None:
    """Take something else."""


def show(prepared: Prepared) -> None:
    """Take what a request came to."""
    assert_type(prepared.tokens_after, int)


def every_argument(session: Session) -> None:
    """All arguments of `wrap`."""
    assert_type(undrift.wrap(Anthropic()), Anthropic)
    assert_type(undrift.wrap(Anthropic(), session="run-42"), Anthropic)
    assert_type(undrift.wrap(Anthropic(), session=session, on_prepared=show), Anthropic)
    assert_type(undrift.wrap(Anthropic(), settings=Settings(budget_tokens=60_000), home="records"), Anthropic)


def loop(question: str) -> str:
    """The documented loop with tools."""
    client = undrift.wrap(Anthropic())
    assert_type(client, Anthropic)
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    while True:
        reply = client.messages.create(model="claude-opus-5-5", max_tokens=1024, messages=messages, tools=[TOOL])
        assert_type(reply, Message)
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        results: list[ToolResultBlockParam] = [
            {"type": "tool_result", "tool_use_id": call.id, "content": call.name} for call in calls
        ]
        messages.append({"role": "user", "content": results})


def streams(messages: list[MessageParam]) -> None:
    """Both kinds of streams, and the copies of a client."""
    client = undrift.wrap(Anthropic())
    events = client.messages.create(model="claude-opus-5-5", max_tokens=9, messages=messages, stream=True)
    assert_type(events, Stream[RawMessageStreamEvent])
    with client.messages.stream(model="claude-opus-5-5", max_tokens=9, messages=messages) as stream:
        for text in stream.text_stream:
            assert_type(text, str)
        assert_type(stream.get_final_message().stop_sequence, str | None)
    other = client.with_options(max_retries=1)
    assert_type(other, Anthropic)
    count = other.messages.count_tokens(model="claude-opus-5-5", messages=messages)
    assert_type(count, MessageTokensCount)
    raw = other.messages.with_raw_response.create(model="claude-opus-5-5", max_tokens=9, messages=messages)
    assert_type(raw.parse(), Message)
    parsed = client.messages.parse(model="claude-opus-5-5", max_tokens=9, messages=messages, output_format=Part)
    assert_type(parsed, ParsedMessage[Part])
    assert_type(parsed.parsed_output, Part | None)


async def loop_async(messages: list[MessageParam]) -> None:
    """The same of the asynchronous client."""
    async with undrift.wrap(AsyncAnthropic()) as client:
        assert_type(client, AsyncAnthropic)
        reply = await client.messages.create(model="claude-opus-5-5", max_tokens=9, messages=messages)
        assert_type(reply, Message)
        events = await client.messages.create(model="claude-opus-5-5", max_tokens=9, messages=messages, stream=True)
        assert_type(events, AsyncStream[RawMessageStreamEvent])
        async with client.messages.stream(model="claude-opus-5-5", max_tokens=9, messages=messages) as stream:
            async for text in stream.text_stream:
                assert_type(text, str)


def mistakes() -> None:
    """A checker that knew nothing of the client would find none of these."""
    client = undrift.wrap(Anthropic())
    client.mesages  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018
    client.messages.create(model=3, max_tokens=9, messages=[])  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    undrift.wrap(Anthropic(), session=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    undrift.wrap(Anthropic(), on_prepared=wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
