"""`undrift.wrap` of a `genai.Client`: what goes wrong, at the provider, in the program, and in us."""

import asyncio
import json
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

import undrift
from tests.sdk.gemini_loops import (
    ANSWER,
    HELLO,
    LOOPS,
    SDK_WARNS,
    client_at,
    gemini,
    genai,
    in_a_loop,
    is_recorded,
    said_of,
    types,
)
from undrift import Session
from undrift.errors import InputError
from undrift.testing import Close, RawRequest, RawUpstream, Say, ScriptedProvider, Send, Step, Wait, response

pytestmark = SDK_WARNS


def refused(status: int) -> Send:
    error = {"error": {"code": status, "status": "SOME", "message": "No."}}
    return Send(response(json.dumps(error).encode(), status=status))


def given(steps: Sequence[Step], _: RawRequest) -> Sequence[Step]:
    return steps


@pytest.mark.parametrize("way", LOOPS)
def test_an_error_of_the_provider_is_the_error_of_the_sdk(home, way):
    for status, kind in ((400, genai.errors.ClientError), (500, genai.errors.ServerError)):
        answer: list[Step] = [refused(status)]
        with RawUpstream(partial(given, answer)) as upstream, pytest.raises(kind) as caught:
            LOOPS[way](gemini(upstream, home=home))
        assert (caught.value.code, caught.value.message, len(upstream.requests)) == (status, "No.", 1)


def test_retries_stay_the_sdks_and_are_one_prompt(home):
    def answered(asked: RawRequest) -> list[Step]:
        return [refused(503)] if asked.number < 3 else [Send(response(json.dumps(ANSWER).encode()))]

    shown: list[Any] = []
    retry = types.HttpRetryOptions(attempts=4, initial_delay=0, max_delay=0, jitter=0)
    with RawUpstream(answered) as upstream, Session.open("mine", home=home) as session:
        client = client_at(upstream.url, options={"retry_options": retry})
        undrift.wrap(client, session=session, on_prepared=shown.append)
        assert client.models.generate_content(**HELLO).text == "Hi."
        assert len(upstream.requests) == 3
        assert len(shown) == 1
        assert is_recorded(session)


def events(*texts: str, end: str = "STOP") -> bytes:
    """A stream of answers, the last one with the reason of the end."""
    chunks: list[Any] = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}]} for text in texts
    ]
    if end:
        chunks[-1]["candidates"][0]["finishReason"] = end
        chunks[-1]["usageMetadata"] = ANSWER["usageMetadata"]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


def first_of(client: Any, count: int, *, is_async: bool) -> list[str]:
    """Read some chunks of a stream, and leave it."""

    async def read_some() -> list[str]:
        found: list[str] = []
        async for chunk in await client.aio.models.generate_content_stream(**HELLO):
            found.append(chunk.text)
            if len(found) == count:
                break
        return found

    if is_async:
        return in_a_loop(client.aio, lambda _: read_some())
    stream = client.models.generate_content_stream(**HELLO)
    found = [next(stream).text for _ in range(count)]
    stream.close()
    return found


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("count", "recorded"), [(1, False), (2, True)])
def test_a_stream_may_be_left_and_is_recorded_if_its_answer_was_whole(home, is_async, count, recorded):
    streamed = response(events("Hello ", "there."), kind="text/event-stream")
    with RawUpstream(lambda _: [Send(streamed)]) as upstream, Session.open("mine", home=home) as session:
        client = gemini(upstream, session=session)
        assert first_of(client, count, is_async=is_async) == ["Hello ", "there."][:count]
        assert is_recorded(session) is recorded
        assert first_of(client, 2, is_async=is_async) == ["Hello ", "there."]


def test_a_stream_that_breaks_off_is_not_recorded(home):
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
    steps: list[Step] = [Send(head + events("Hello ", end="")), Close()]
    with RawUpstream(partial(given, steps)) as upstream, Session.open("mine", home=home) as session:
        with pytest.raises(Exception, match=r"closed|incomplete"):
            list(gemini(upstream, session=session).models.generate_content_stream(**HELLO))
        assert not is_recorded(session)


def test_a_cancelled_task_leaves_a_client_that_works(home):
    def answered(asked: RawRequest) -> list[Step]:
        return [Wait(30)] if asked.number == 1 else [Send(response(json.dumps(ANSWER).encode()))]

    async def cancel(aio: Any) -> Any:
        task = asyncio.create_task(aio.models.generate_content(**HELLO))
        await asyncio.to_thread(upstream.wait_for_request)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await aio.models.generate_content(**HELLO)

    with RawUpstream(answered) as upstream, Session.open("mine", home=home) as session:
        client = gemini(upstream, session=session)
        assert in_a_loop(client.aio, cancel).text == "Hi."
        assert is_recorded(session)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_fault_of_ours_sends_the_original_and_says_so(home, caplog, is_async):
    with ScriptedProvider([Say("Hello!")] * 3, without_tools=True) as model:
        plain = client_at(model.url)
        plain.models.generate_content(**HELLO)
        session = Session.open("mine", home=home)
        client = gemini(model, session=session)
        session.close()
        if is_async:
            reply = in_a_loop(client.aio, lambda aio: aio.models.generate_content(**HELLO))
        else:
            reply = client.models.generate_content(**HELLO)
        assert next(chunk.text for chunk in client.models.generate_content_stream(**HELLO))
    assert (reply.text, said_of(reply)) == ("Hello!", {"bypass": "StoreError"})
    assert model.requests[0].raw == model.requests[1].raw == model.requests[2].raw
    assert "the original request is sent unchanged: StoreError" in caplog.text


def test_internals_that_changed_never_stop_a_request(home, monkeypatch, caplog):
    """Another version of the SDK may have requests that cannot be copied."""
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = gemini(model, home=home)
        monkeypatch.setattr(
            type(client._api_client), "_build_request", renamed(type(client._api_client)._build_request)
        )
        with caplog.at_level(logging.WARNING, "undrift"):
            assert client.models.generate_content(**HELLO).text == "Hello!"
    assert "the original request is sent unchanged: TypeError" in caplog.text


def renamed(build: Any) -> Any:
    class Renamed:
        def __init__(self, request: Any) -> None:
            self._request = request

        def __getattr__(self, name: str) -> Any:
            return getattr(self._request, name)

        def __copy__(self) -> Any:
            raise TypeError("cannot be copied")

    return lambda *given: Renamed(build(*given))


def test_a_version_with_other_internals_is_an_error_that_names_those_that_work():
    class Other:
        _api_client = object()

    with pytest.raises(InputError, match=r"wrap takes google-genai 1\.0 to 3\.4, and \d+\.\d+\.\d+ works otherwise"):
        undrift.wrap(Other())
