"""What a program may give to `Session.record`: each kind of answer that the SDKs make, and nothing that is none."""

import asyncio
import json
from typing import Any

import pytest

from tests.builders import opened
from tests.wire.sdks import HISTORY, Sdk, events, sdk, stream_bytes
from undrift.errors import WireError

WIRES = sorted(HISTORY)
RIGHT = [(91, "read")]


def read_of(session: Any, reply: Any, wire: str) -> list[tuple[int | None, str]]:
    read = session.record(reply, wire=wire)
    return [(read.input_tokens, call.tool_name) for call in read.calls]


def _stream(one: Sdk, n: int) -> Any:
    one.events = events(one.wire, n)
    if one.wire == "gemini":
        return one.client.models.generate_content_stream(**one.fields([one.asked]))
    return one.create(**one.fields([one.asked]), stream=True)


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_is_taken_in_each_way_in_which_the_sdk_gives_it(tmp_path, wire):
    one = sdk(wire)
    reply = one.reply(1)
    with opened(tmp_path) as session:
        assert read_of(session, reply, wire) == RIGHT
        assert read_of(session, reply.model_dump(), wire) == RIGHT
        assert read_of(session, reply.model_dump(mode="json", by_alias=True), wire) == RIGHT
        assert read_of(session, one.answer, wire) == RIGHT
        assert read_of(session, json.dumps(one.answer).encode(), wire) == RIGHT
        assert read_of(session, list(_stream(one, 1)), wire) == RIGHT


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses"])
def test_a_raw_response_is_taken_as_what_it_parses_to(tmp_path, wire):
    one = sdk(wire)
    one.reply(1)
    resource = {"anthropic": "messages", "openai-responses": "responses"}.get(wire)
    holder = getattr(one.client, resource) if resource else one.client.chat.completions
    raw = holder.with_raw_response.create(**one.fields([one.asked]))
    with opened(tmp_path) as session:
        assert read_of(session, raw, wire) == RIGHT
        assert read_of(session, raw.http_response, wire) == RIGHT
        with holder.with_streaming_response.create(**one.fields([one.asked])) as streamed:
            assert read_of(session, streamed, wire) == RIGHT
        one.events = events(wire, 1)
        streamed_raw = holder.with_raw_response.create(**one.fields([one.asked]), stream=True)
        with pytest.raises(WireError, match="read the stream to its end"):
            session.record(streamed_raw, wire=wire)
        assert read_of(session, stream_bytes(wire, one.events), wire) == RIGHT


def test_the_streams_final_objects_are_answers(tmp_path):
    one = sdk("anthropic")
    one.events = events("anthropic", 1)
    with opened(tmp_path) as session, one.client.messages.stream(**one.fields([one.asked])) as stream:
        with pytest.raises(WireError, match="read the stream to its end"):
            session.record(stream)
        seen = list(stream)
        assert read_of(session, stream.get_final_message(), "anthropic") == RIGHT
        assert read_of(session, seen[-1], "anthropic") == RIGHT  # the last event holds the message
        assert read_of(session, seen, "anthropic") == RIGHT
        with pytest.raises(WireError, match="enter it with `with`"):
            session.record(one.client.messages.stream(**one.fields([one.asked])))

    other = sdk("openai-responses")
    other.events = events("openai-responses", 1)
    with opened(tmp_path) as session, other.client.responses.stream(**other.fields([other.asked])) as answers:
        seen = list(answers)
        assert read_of(session, answers.get_final_response(), "openai-responses") == RIGHT
        assert read_of(session, seen[-1], "openai-responses") == RIGHT


def test_the_events_and_the_final_completion_of_openais_helper_are_answers(tmp_path):
    one = sdk("openai-chat")
    one.events = events("openai-chat", 1)
    with opened(tmp_path) as session, one.client.chat.completions.stream(**one.fields([one.asked])) as stream:
        seen = list(stream)
        assert read_of(session, stream.get_final_completion(), "openai-chat") == RIGHT
        assert read_of(session, seen, "openai-chat") == RIGHT
        with pytest.raises(WireError, match="one event"):
            session.record(seen[0], wire="openai-chat")


def test_the_beta_messages_are_answers_too(tmp_path):
    one = sdk("anthropic")
    one.reply(1)
    with opened(tmp_path) as session:
        reply = one.client.beta.messages.create(**one.fields([one.asked]), betas=["x"])
        assert read_of(session, reply, "anthropic") == RIGHT


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_of_another_wire_is_refused_with_the_right_name(tmp_path, wire):
    one = sdk(wire)
    reply = one.reply(1)
    with opened(tmp_path) as session:
        for other in set(WIRES) - {wire}:
            for given in (reply, one.answer, json.dumps(one.answer).encode()):
                with pytest.raises(WireError, match=f"wire='{wire}'"):
                    session.record(given, wire=other)


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_not_the_whole_answer_is_refused_with_what_to_give(tmp_path, wire):
    one = sdk(wire)
    reply = one.reply(1)
    said = one.said(reply)
    with opened(tmp_path) as session:
        for part in said:
            if wire != "anthropic":
                with pytest.raises(WireError, match="whole reply"):
                    session.record(part, wire=wire)
        for given in (said, [], [said], one.fields([one.asked]), {"error": {"message": "no"}}, {}, {"type": "error"}):
            with pytest.raises(WireError, match="reply"):
                session.record(given, wire=wire)
        with pytest.raises(WireError, match="this is a request"):
            session.record(one.fields([one.asked]), wire=wire)
        with pytest.raises(WireError, match="error of the provider"):
            session.record({"type": "error", "error": {"type": "overloaded_error"}}, wire=wire)
        with pytest.raises(WireError, match="refused the request"):
            session.record(ValueError("overloaded"), wire=wire)
        with pytest.raises(WireError, match="read the stream to its end"):
            session.record(_stream(one, 1), wire=wire)
        events_of = list(_stream(one, 1))
        if len(events_of) > 1:
            with pytest.raises(WireError, match="all events of one stream"):
                session.record(events_of[:-2], wire=wire)
            with pytest.raises(WireError, match=r"one event of a stream|part of a reply|no reply"):
                session.record(events_of[0], wire=wire)


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_not_awaited_is_named(tmp_path, wire):
    one = sdk(wire, is_async=True)

    async def asked() -> None:
        coroutine = one.create(**one.fields([one.asked]))
        with opened(tmp_path) as session, pytest.raises(WireError, match="not awaited"):
            session.record(coroutine, wire=wire)
        reply = await coroutine
        with opened(tmp_path) as session:
            assert read_of(session, reply, wire) == [(90, "read")]
        if wire == "anthropic":
            response = one.client.messages.with_streaming_response.create(**one.fields([one.asked]))
            async with response as raw:
                with opened(tmp_path) as session, pytest.raises(WireError, match=r"await response\.parse\(\)"):
                    session.record(raw, wire=wire)
                with opened(tmp_path) as session:
                    assert read_of(session, await raw.parse(), wire) == [(90, "read")]

    asyncio.run(asked())
