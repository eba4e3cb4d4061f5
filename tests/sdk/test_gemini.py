"""`undrift.wrap` of a `genai.Client`: each transport, automatic function calls, chats, other requests."""

import asyncio
import gc
import json
import pickle
import threading
import weakref
from functools import partial
from typing import Any

import pytest

import undrift
from tests.sdk.gemini_loops import (
    HELLO,
    LOOPS,
    MODEL,
    SDK_WARNS,
    SMALL,
    WORDS,
    client_at,
    gemini,
    genai,
    in_a_loop,
    is_recorded,
    opened,
    said_of,
    types,
)
from tests.sdk.loops import provider, text_of
from undrift import Session
from undrift.errors import InputError
from undrift.testing import RawUpstream, Say, ScriptedProvider, Send, response

pytestmark = SDK_WARNS

AFC = {"automatic_function_calling": types.AutomaticFunctionCallingConfig(maximum_remote_calls=99)}


def read(path: str) -> str:
    """Read a file."""
    return text_of(path)


# ---------------------------------------------------------------------------------------- the ways to send a prompt


def by_requests(client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    from google.auth.transport.requests import AuthorizedSession

    inner = client._api_client
    inner._authorized_session = AuthorizedSession(inner._credentials)
    monkeypatch.setattr(type(inner), "_use_google_auth_sync", lambda _: True)
    return client


@pytest.mark.parametrize(
    ("way", "has_aiohttp"), [*((way, True) for way in LOOPS), ("async", False), ("async-stream", False)]
)
def test_each_way_of_the_sdk_is_managed(home, monkeypatch, way, has_aiohttp):
    """Without aiohttp the SDK sends by httpx2, from a pool for each event loop."""
    monkeypatch.setattr("google.genai._api_client.has_aiohttp", has_aiohttp)
    shown: list[Any] = []
    with provider(14) as model:
        client = client_at(model.url)
        assert undrift.wrap(client, home=home, settings=SMALL, on_prepared=shown.append) is client
        contents = LOOPS[way](client)
        client.close()
    assert_fits(model, shown, contents)
    act = "streamGenerateContent?alt=sse" if "stream" in way else "generateContent"
    assert {seen.path for seen in model.requests} == {f"/v1/models/gemini-3.8-flash:{act}"}
    assert ("aiohttp" in str(client._api_client._aiohttp_sessions)) is (has_aiohttp and "async" in way)


def assert_fits(model: ScriptedProvider, shown: list[Any], contents: list[Any]) -> None:
    """Each request was accepted, the last ones fitted, and the program has the same history as without us."""
    count = len(model.requests)
    assert [seen.refused for seen in model.requests] == [""] * count
    assert len(shown) == count
    assert shown[-1].tokens_before > 6_000 >= shown[-1].tokens_after
    assert text_of("part_0.py") not in model.requests[-1].text
    called = [part.function_call.args["path"] for one in contents for part in one.parts if part.function_call]
    outputs = [
        part.function_response.response["output"] for one in contents for part in one.parts if part.function_response
    ]
    assert called == [f"part_{number}.py" for number in range(count - 1)]
    assert outputs == [text_of(path) for path in called]
    assert contents[-1].parts[-1].text == "Done."


@pytest.mark.parametrize("way", ["async-stream", "sync", "stream"])
def test_a_client_of_vertex_ai_is_managed(home, monkeypatch, way):
    """With a client certificate the synchronous ways go by a session of google-auth."""
    from google.oauth2.credentials import Credentials

    shown: list[Any] = []
    with provider(14) as model:
        cloud = {"project": "p", "location": "l", "credentials": Credentials("token"), "api_key": None}
        client = undrift.wrap(
            client_at(model.url, vertexai=True, **cloud), home=home, settings=SMALL, on_prepared=shown.append
        )
        contents = LOOPS[way](client if way == "async-stream" else by_requests(client, monkeypatch))
    assert_fits(model, shown, contents)
    where = "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-3.8-flash:"
    assert all(seen.path.startswith(where) for seen in model.requests)


async def sent(chat: Any, _: Any) -> Any:
    return await chat.send_message(WORDS)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_automatic_calls_of_a_chat_end_as_without_us(home, is_async):
    """The loop is the SDK's own; a chat keeps its whole history, and only what is sent is shorter."""
    histories = []
    for is_managed in (False, True):
        with provider(20) as model:
            client = client_at(model.url)
            if is_managed:
                undrift.wrap(client, home=home, settings=SMALL)
            chats = client.aio.chats if is_async else client.chats
            chat = chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[read], **AFC))
            reply = in_a_loop(client.aio, partial(sent, chat)) if is_async else chat.send_message(WORDS)
            histories.append(chat.get_history())
        assert reply.text == "Done."
        assert [seen.refused for seen in model.requests] == [""] * 21
        assert (text_of("part_0.py") in model.requests[-1].text) is not is_managed
    assert len(histories[0]) == 42
    assert histories[0] == histories[1]


def test_a_stream_with_automatic_calls_is_managed(home):
    with provider(14) as model:
        client = gemini(model, home=home, settings=SMALL)
        chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[read], **AFC))
        assert "".join(chunk.text or "" for chunk in chat.send_message_stream(WORDS)) == "Done."
    assert [seen.refused for seen in model.requests] == [""] * 15
    assert text_of("part_0.py") not in model.requests[-1].text


# -------------------------------------------------------------------------------------------- what a reply says


def test_a_reply_says_what_was_done_and_is_recorded(home):
    with (
        ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model,
        Session.open("run-1", home=home) as session,
    ):
        client = gemini(model, session=session)
        reply = client.models.generate_content(**HELLO)
        assert said_of(reply)["session"] == "run-1"
        assert int(said_of(reply)["tokens-before"]) == int(said_of(reply)["tokens-after"]) > 0
        assert is_recorded(session)
        raw = client.models.generate_content(**HELLO, config={"should_return_http_response": True})
        assert json.loads(raw.sdk_http_response.body)["candidates"][0]["content"]["parts"][0]["text"] == "Hello!"
        assert said_of(raw)["session"] == "run-1"


def test_the_options_of_a_request_still_hold_and_may_name_the_session(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = undrift.wrap(client_at("http://127.0.0.1:9"), home=home)
        headers = {"x-mine": "1", "X-Undrift-Session": "run-7"}
        options = types.HttpOptions(base_url=model.url, api_version="v1beta", headers=headers)
        reply = client.models.generate_content(**HELLO, config={"http_options": options})
    assert said_of(reply)["session"] == "run-7"
    assert "x-undrift-session" not in model.requests[0].headers
    assert model.requests[0].path == "/v1beta/models/gemini-3.8-flash:generateContent"
    assert model.requests[0].headers["x-mine"] == "1"


def test_a_body_that_fits_goes_out_byte_for_byte(home):
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        for client in (client_at(model.url), gemini(model, home=home)):
            client.models.generate_content(**HELLO)
    assert model.requests[0].raw == model.requests[1].raw


# ------------------------------------------------------------------------------------------------ what passes


@pytest.mark.parametrize("is_async", [False, True])
def test_other_requests_pass_untouched(home, is_async):
    answers = {
        "countTokens": {"totalTokens": 7},
        "batchEmbedContents": {"embeddings": []},
        "cachedContents": {"name": "cachedContents/1"},
        "batchGenerateContent": {"name": "batches/1"},
        "models": {"models": []},
    }

    def answered(asked: Any) -> list[Any]:
        name = asked.target.partition("?")[0].rpartition(":")[2].rpartition("/")[2]
        return [Send(response(json.dumps(answers[name]).encode()))]

    shown: list[Any] = []
    with RawUpstream(answered) as upstream:
        client = gemini(upstream, home=home, on_prepared=shown.append)
        users = client.aio if is_async else client

        async def all_of_them() -> None:
            for name, given in (
                ("models.count_tokens", {"model": MODEL, "contents": "Hello."}),
                ("models.embed_content", {"model": "gemini-embedding-001", "contents": "Hello."}),
                ("caches.create", {"model": MODEL, "config": {"contents": opened()}}),
                ("batches.create", {"model": MODEL, "src": [{"contents": opened()}]}),
                ("models.list", {}),
            ):
                room, act = name.split(".")
                found = getattr(getattr(users, room), act)(**given)
                if hasattr(found, "__await__"):
                    await found

        in_a_loop(client.aio, lambda _: all_of_them())
    assert [
        asked.target.partition("?")[0].rpartition("/")[2].rpartition(":")[2] for asked in upstream.requests
    ] == list(answers)
    assert shown == []


def test_beside_a_cached_content_only_the_contents_become_fewer(home):
    """The provider holds what stands before the contents, and the request still names it."""
    contents: list[Any] = []
    for number in range(12):
        said = types.Content(role="model", parts=[types.Part(text=text_of(f"part_{number}.py"))])
        contents += [*opened(f"Write part {number}."), said]
    given = {
        "model": MODEL,
        "contents": [*contents, *opened("Go on.")],
        "config": {"cached_content": "cachedContents/1"},
    }
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = gemini(model, home=home, settings=SMALL)
        assert client.models.generate_content(**given).text == "Hello!"
    sent = model.requests[0].body
    assert sent["cachedContent"] == "cachedContents/1"
    assert len(sent["contents"]) < len(given["contents"])
    assert sent["contents"][-1]["parts"] == [{"text": "Go on."}]


# ----------------------------------------------------------------------------------------- the client as it was


def test_the_client_stays_what_it_was(home):
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        client = client_at(model.url)
        before = type(client._api_client).__qualname__, set(dir(client)), client.aio
        undrift.wrap(client, home=home)
        assert (type(client._api_client).__qualname__, set(dir(client)), client.aio) == before
        assert isinstance(client._api_client, genai._api_client.BaseApiClient)
        other = client_at(model.url)
        assert said_of(other.models.generate_content(**HELLO)) == {}


def test_a_client_is_pickled_as_it_was_before(home):
    plain, words = client_at("http://127.0.0.1:9"), []
    for client in (plain, undrift.wrap(client_at("http://127.0.0.1:9"), home=home)):
        with pytest.raises(TypeError) as caught:
            pickle.dumps(client)
        words.append(str(caught.value))
    assert words == ["cannot pickle 'SSLContext' object"] * 2


def test_a_client_is_managed_one_time_so_that_no_two_sessions_share_it(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = gemini(model, home=home, session="first")
        for again in (client, client.aio):
            with pytest.raises(InputError, match="managed already"):
                undrift.wrap(again, home=home, session="second")
        assert said_of(client.models.generate_content(**HELLO))["session"] == "first"


@pytest.mark.parametrize("session", [None, "mine"])
def test_the_asynchronous_half_lives_on_without_its_client(home, session):
    """`genai.Client().aio` is all that many programs keep; the rest is closed when it is collected."""
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        aio = gemini(model, home=home, session=session).aio
        gc.collect()
        for users in (aio, undrift.wrap(client_at(model.url).aio, home=home)):
            reply = in_a_loop(users, lambda one: one.models.generate_content(**HELLO))
            assert "session" in said_of(reply)


def test_a_client_that_nobody_uses_is_freed_at_once(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = gemini(model, home=home)
        client.models.generate_content(**HELLO)
        inner = weakref.ref(client._api_client)
        gc.disable()
        try:
            del client
            assert inner() is None
        finally:
            gc.enable()


def test_a_closed_client_says_what_the_sdk_says(home):
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        with gemini(model, home=home) as client:
            client.models.generate_content(**HELLO)
        with pytest.raises(RuntimeError, match="closed"):
            client.models.generate_content(**HELLO)
        reply = in_a_loop(client.aio, lambda aio: aio.models.generate_content(**HELLO))
        assert "session" in said_of(reply)


def test_threads_share_one_client(home):
    with ScriptedProvider([Say(f"Answer {number}") for number in range(24)], without_tools=True) as model:
        client = gemini(model, home=home)
        found: list[Any] = []

        def ask(name: int) -> None:
            for turn in range(3):
                reply = client.models.generate_content(model=MODEL, contents=f"thread {name} asks {turn}")
                found.append(said_of(reply))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen.body["contents"][0]["parts"][0]["text"] for seen in model.requests) == sorted(
        f"thread {name} asks {turn}" for name in range(8) for turn in range(3)
    )
    assert [one for one in found if "session" not in one] == []


def test_tasks_of_one_loop_share_one_client(home):
    async def ask_at_once(aio: Any) -> list[Any]:
        asked = [aio.models.generate_content(model=MODEL, contents=f"task {name}") for name in range(20)]
        return await asyncio.gather(*asked)

    with ScriptedProvider([Say("Yes.")] * 20, without_tools=True) as model:
        client = gemini(model, home=home)
        replies = in_a_loop(client.aio, ask_at_once)
    assert len({said_of(reply)["session"] for reply in replies}) == 20
