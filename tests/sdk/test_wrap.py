"""`undrift.wrap`: whose session a request is, what the response says, and that no fault of ours stops a request."""

import asyncio
import gzip
import json
import logging
import multiprocessing
import pickle
import threading
from typing import Any, cast

import pytest

import undrift
from tests.sdk.loops import CLAUDE, FUNCTION, GPT, PARTS, TOOL, claude_loop, provider, results, script, text_of
from undrift import AsyncSession, Session, Settings
from undrift.errors import InputError, StoreError
from undrift.testing import RawUpstream, Say, ScriptedProvider, Send, Use, response

anthropic = pytest.importorskip("anthropic", reason="needs the package anthropic (make setup installs it)")
openai = pytest.importorskip("openai", reason="needs the package openai (make setup installs it)")

SMALL = Settings(budget_tokens=6_000)
RESPONSES_TOOL = {"type": "function", "name": "read", "parameters": TOOL["input_schema"]}
SENT = "x-undrift-session", "x-undrift-tokens-before", "x-undrift-tokens-after"
HELLO = {"model": CLAUDE, "max_tokens": 99, "messages": [{"role": "user", "content": "Hello."}]}


OPEN: list[Any] = []


@pytest.fixture(autouse=True)
def closed_clients():
    yield
    while OPEN:
        OPEN.pop().close()


def plain(at: Any, **more: Any) -> Any:
    OPEN.append(anthropic.Anthropic(base_url=at.url, **PARTS, **more))
    return OPEN[-1]


def claude(at: Any, **options: Any) -> Any:
    return undrift.wrap(plain(at), **options)


def test_the_same_client_comes_back_and_its_prompts_fit(home):
    with provider(20) as model:
        client = plain(model)
        shown: list[Any] = []
        assert undrift.wrap(client, home=home, settings=SMALL, on_prepared=shown.append) is client
        history = claude_loop(client)
        client.close()
    assert [seen.refused for seen in model.requests] == [""] * 21
    assert len(shown) == 21
    assert shown[-1].tokens_before > 2 * 6_000 >= shown[-1].tokens_after
    assert len(history) == 42
    assert text_of("part_0.py") not in model.requests[-1].text  # it left; the program's own history keeps it
    assert results_of(history)[0] == text_of("part_0.py")


def results_of(history: list[Any]) -> list[str]:
    return [block["content"] for message in history if message["role"] == "user" for block in blocks(message)]


def blocks(message: dict[str, Any]) -> list[Any]:
    return [] if isinstance(message["content"], str) else message["content"]


def test_the_answers_are_recorded(home):
    """The provider's count corrects ours: the estimate of a prompt comes nearer to what it was billed."""
    with provider(8) as model:
        shown: list[Any] = []
        claude_loop(claude(model, home=home, settings=SMALL, session="run-1", on_prepared=shown.append))
    with Session.open("run-1", home=home, settings=SMALL) as session:
        assert any(operation.kind == "calibrate" for operation in session._store.operations("run-1"))


def test_a_response_says_what_was_done(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        found = claude(model, home=home, session="run-1").messages.with_raw_response.create(**HELLO)
    assert found.headers["x-undrift-session"] == "run-1"
    assert [int(found.headers[name]) > 0 for name in SENT[1:]] == [True, True]
    assert found.parse().content[0].text == "Hello!"


def test_a_hostile_session_id_makes_no_header_lines(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = claude(model, home=home, session="a\r\nx-evil: 1\ud800" + "long" * 200)
        found = client.messages.with_raw_response.create(**HELLO).headers
    assert "x-evil" not in found
    assert len(found["x-undrift-session"]) < 400


def test_two_conversations_in_one_client_are_two_sessions(home):
    with ScriptedProvider([*script(3), *script(3)]) as model:
        client = claude(model, home=home, settings=SMALL)
        sessions = []
        for words in ("Fix the totals.", "Write the letter."):
            messages: list[Any] = [{"role": "user", "content": words}]
            for _ in range(4):
                raw = client.messages.with_raw_response.create(
                    model=CLAUDE, max_tokens=9, tools=[TOOL], messages=messages
                )
                sessions.append(raw.headers["x-undrift-session"])
                reply = raw.parse()
                messages.append({"role": "assistant", "content": reply.content})
                messages.append({"role": "user", "content": results(reply) or "Go on."})
    assert len(set(sessions[:4])) == len(set(sessions[4:])) == 1
    assert sessions[0] != sessions[4]


def test_a_given_session_takes_all_requests_and_stays_open(home):
    with provider(12) as model, Session.open("mine", home=home, settings=SMALL) as session:
        session.pin("requirements", "All public names carry units.")
        client = claude(model, session=session)
        claude_loop(client)
        client.close()
        assert "All public names carry units." in model.requests[-1].text
        assert session.find("part_0")  # what left is in this session, and it is open


def test_a_copy_by_with_options_is_managed_too(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = claude(model, home=home).with_options(timeout=5)
        assert "x-undrift-session" in client.messages.with_raw_response.create(**HELLO).headers


def test_a_client_is_managed_one_time_so_that_no_two_sessions_share_it(home):
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        client = claude(model, home=home, session="first")
        with pytest.raises(InputError, match="managed already"):
            undrift.wrap(client, home=home, session="second")
        second = undrift.wrap(client.with_options(), home=home, session="second")
        found = [
            one.messages.with_raw_response.create(**HELLO).headers["x-undrift-session"] for one in (client, second)
        ]
    assert found == ["first", "second"]


def test_the_http_client_of_the_program_is_not_changed(home):
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        own = anthropic.DefaultHttpxClient()
        before = dict(vars(own))
        undrift.wrap(plain(model, http_client=own), home=home)
        assert vars(own) == before
        other = plain(model, http_client=own)
        assert "x-undrift-session" not in other.messages.with_raw_response.create(**HELLO).headers


def test_pickling_ends_as_without(home):
    with ScriptedProvider() as model:
        errors = []
        for client in (plain(model), claude(model, home=home)):
            with pytest.raises(TypeError) as caught:
                pickle.dumps(client)
            errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("given", [None, "claude", object(), anthropic.Anthropic, 7])
def test_what_is_no_client_is_an_error_that_says_what_to_give(given):
    with pytest.raises(InputError, match="wrap takes a client of the anthropic, openai or google-genai package"):
        undrift.wrap(given)


def test_a_session_has_its_own_settings_and_home(home):
    with Session.open("mine", home=home) as session, pytest.raises(InputError, match="its own settings"):
        undrift.wrap(anthropic.Anthropic(**PARTS), session=session, settings=SMALL)


def test_a_home_that_cannot_be_opened_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StoreError):
        undrift.wrap(anthropic.Anthropic(**PARTS), home=tmp_path / "file")


# ------------------------------------------------------------------------------------------------- faults of ours


class Broken(Exception):
    pass


def broken(*_: Any, **__: Any) -> Any:
    raise Broken("it does not work")


def test_a_fault_sends_the_original_and_says_so_once(home, monkeypatch, caplog):
    with ScriptedProvider([Say("Hello!")] * 3, without_tools=True) as model:
        without = plain(model).messages.create(**HELLO)
        client = claude(model, home=home)
        monkeypatch.setattr(Session, "prepare", broken)
        with caplog.at_level(logging.WARNING, "undrift"):
            client.messages.create(**HELLO)
            found = client.messages.with_raw_response.create(**HELLO)
    assert found.headers["x-undrift-bypass"] == "Broken"
    assert found.parse().content == without.content
    assert model.requests[0].raw == model.requests[1].raw == model.requests[2].raw
    assert [record.message for record in caplog.records] == [
        "the original request is sent unchanged: Broken: it does not work"
    ]


def test_an_answer_that_cannot_be_recorded_reaches_the_program(home, monkeypatch, caplog):
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        client = claude(model, home=home)
        monkeypatch.setattr(Session, "record", broken)
        assert client.messages.create(**HELLO).content[0].text == "Hello!"
        with client.messages.stream(**HELLO) as stream:
            assert stream.get_final_text() == "Hello!"
    assert caplog.text.count("an answer was not recorded") == 2


def test_an_error_of_on_prepared_is_logged_and_the_request_goes_out(home, caplog):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = claude(model, home=home, on_prepared=broken)
        assert client.messages.create(**HELLO).content[0].text == "Hello!"
    assert "on_prepared failed" in caplog.text


def test_each_answer_is_told_with_the_results_of_its_task_calls(home):
    call = Use("task_update", {"id": "fix", "content": "Fix it.", "status": "in_progress"})
    replies: list[Any] = []
    tool = {"name": "task_update", "input_schema": undrift.TASK_TOOL_SCHEMA}
    with ScriptedProvider([call]) as model, Session.open("mine", home=home) as session:
        client = claude(model, session=session, on_recorded=replies.append)
        with client.messages.stream(**HELLO, tools=[tool]) as stream:
            made = stream.get_final_message().content[0]
        assert [one.call_id for one in replies[0].task_results] == [made.id]
        assert replies[0].output_tokens > 0
        assert session.tasks()[0].status == "in_progress"


def test_a_request_names_its_session_in_a_header_that_the_provider_never_sees(home):
    with ScriptedProvider([Say("Hello!")] * 3, without_tools=True) as model:
        client = claude(model, home=home, session="all")
        raw = client.messages.with_raw_response
        for name in ("ann", "bob"):
            found = raw.create(**HELLO, extra_headers={"x-undrift-session": name})
            assert found.headers["x-undrift-session"] == name
        assert raw.create(**HELLO).headers["x-undrift-session"] == "all"
    assert [name for seen in model.requests for name in seen.headers if name.startswith("x-undrift")] == []


def test_a_header_that_names_another_than_the_given_session_is_said(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model, Session.open("mine", home=home) as session:
        client = claude(model, session=session)
        found = client.messages.with_raw_response.create(**HELLO, extra_headers={"x-undrift-session": "other"})
    assert found.headers["x-undrift-bypass"] == "InputError"


def test_an_async_session_can_be_given(home):
    async def run() -> str:
        async with AsyncSession.open("mine", home=home) as session:
            client = undrift.wrap(anthropic.AsyncAnthropic(base_url=model.url, **PARTS), session=session)
            async with client:
                return (await client.messages.with_raw_response.create(**HELLO)).headers["x-undrift-session"]

    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        assert asyncio.run(run()) == "mine"


def test_a_session_of_another_kind_is_an_error():
    with pytest.raises(InputError, match="session must be a Session, an AsyncSession or an id, not int"):
        undrift.wrap(anthropic.Anthropic(**PARTS), session=cast(Any, 7))


def test_a_warning_is_logged_once_although_its_figures_change(home, caplog):
    """What must stay grows with each turn, so the sentence has another number each time."""
    with provider(8) as model:
        claude_loop(claude(model, home=home, settings=Settings(budget_tokens=500)))
    said = [one for one in caplog.records if one.name == "undrift.sdk" and "over budget" in one.message]
    assert len(said) == 1


def test_a_closed_session_sends_the_original(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        session = Session.open("mine", home=home)
        client = claude(model, session=session)
        session.close()
        found = client.messages.with_raw_response.create(**HELLO)
    assert found.headers["x-undrift-bypass"] == "StoreError"
    assert found.parse().content[0].text == "Hello!"


def test_a_signed_body_is_not_changed(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = claude(model, home=home).with_options(
            default_headers={"authorization": "AWS4-HMAC-SHA256 Credential=a"}
        )
        found = client.messages.with_raw_response.create(**HELLO)
    assert found.headers["x-undrift-bypass"] == "signed"


def test_other_requests_pass_untouched(home):
    shown: list[Any] = []
    body = json.dumps({"input_tokens": 7}).encode()
    with RawUpstream(lambda _: [Send(response(body))]) as upstream:
        client = claude(upstream, home=home, on_prepared=shown.append)
        counted = client.messages.count_tokens(model=CLAUDE, messages=HELLO["messages"])
    assert (counted.input_tokens, shown) == (7, [])


def test_a_compressed_answer_is_recorded(home):
    said = {
        "id": "m1", "type": "message", "role": "assistant", "model": CLAUDE, "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 11, "output_tokens": 2},
    }  # fmt: skip
    packed = response(gzip.compress(json.dumps(said).encode()), headers={"content-encoding": "gzip"})
    with RawUpstream(lambda _: [Send(packed)]) as upstream, Session.open("mine", home=home) as session:
        client = claude(upstream, session=session)
        with client.messages.with_streaming_response.create(**HELLO) as streamed:
            assert streamed.parse().content[0].text == "Hi."
        assert session.costs.watch.at_ms is not None  # the usage was taken in


def test_a_client_that_was_closed_says_what_the_sdk_says(home):
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        client = claude(model, home=home)
        client.close()
        client.close()
        assert client.is_closed()
        with pytest.raises(Exception, match=r"closed|Connection error"):
            client.messages.create(**HELLO)


# ------------------------------------------------------------------------------- threads, asyncio and processes


def test_threads_share_one_client(home):
    with ScriptedProvider([Say(f"Answer {number}") for number in range(40)], without_tools=True) as model:
        client = claude(model, home=home)
        faults: list[Any] = []

        def ask(name: int) -> None:
            for turn in range(5):
                words = [{"role": "user", "content": f"thread {name} asks {turn}"}]
                raw = client.messages.with_raw_response.create(model=CLAUDE, max_tokens=9, messages=words)
                if "x-undrift-bypass" in raw.headers:
                    faults.append(raw.headers)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []
    assert sorted(seen.body["messages"][0]["content"] for seen in model.requests) == sorted(
        f"thread {name} asks {turn}" for name in range(8) for turn in range(5)
    )


def in_child(client: Any, sender: Any) -> None:
    sender.send(dict(client.messages.with_raw_response.create(**HELLO).headers))


@pytest.mark.parametrize("session", ["mine", None])
def test_a_forked_process_opens_its_own_store(home, session):
    with ScriptedProvider([Say("Hello!")] * 2, without_tools=True) as model:
        client = claude(model, home=home, session=session)
        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=in_child, args=(client, sender))
        child.start()
        assert receiver.poll(60)
        assert "x-undrift-session" in receiver.recv()
        child.join()
        assert "x-undrift-session" in client.messages.with_raw_response.create(**HELLO).headers


def test_an_async_client_streams_and_records(home):
    async def run() -> tuple[str, Any]:
        client = undrift.wrap(
            anthropic.AsyncAnthropic(base_url=model.url, **PARTS), home=home, settings=SMALL, on_prepared=shown.append
        )
        async with client, client.messages.stream(**HELLO) as stream:
            said = "".join([text async for text in stream.text_stream])
            return said, stream.response.headers

    shown: list[Any] = []
    with ScriptedProvider([Say("Hello!")], without_tools=True) as model:
        said, headers = asyncio.run(run())
    assert said == "Hello!"
    assert [name in headers for name in SENT] == [True] * 3
    assert len(shown) == 1


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_openai_is_managed(home, api, is_async):
    kind = openai.AsyncOpenAI if is_async else openai.OpenAI
    shown: list[Any] = []

    def ask(client: Any, history: list[Any]) -> Any:
        if api == "chat":
            return client.chat.completions.create(model=GPT, tools=[FUNCTION], messages=history)
        return client.responses.create(model=GPT, tools=[RESPONSES_TOOL], input=history)

    async def loop() -> list[Any]:
        client = undrift.wrap(kind(base_url=model.url, **PARTS), home=home, settings=SMALL, on_prepared=shown.append)
        history: list[Any] = [{"role": "user", "content": "Fix the totals."}]
        for _ in range(16):
            reply = ask(client, history)
            reply = await reply if is_async else reply
            history += added_items(reply, api)
        closing = client.close()
        if is_async:
            await closing
        return history

    with provider(15) as model:
        asyncio.run(loop())
    assert [seen.refused for seen in model.requests] == [""] * 16
    assert len(shown) == 16
    assert shown[-1].tokens_before > 6_000 >= shown[-1].tokens_after


def added_items(reply: Any, api: str) -> list[Any]:
    """Return the items that an answer of OpenAI adds to the history, with the results of its calls."""
    if api == "responses":
        calls = [one for one in reply.output if one.type == "function_call"]
        outputs = [(one.call_id, text_of(json.loads(one.arguments)["path"])) for one in calls]
        return [*reply.output, *({"type": "function_call_output", "call_id": i, "output": text} for i, text in outputs)]
    message = reply.choices[0].message
    calls = message.tool_calls or []
    outputs = [(one.id, text_of(json.loads(one.function.arguments)["path"])) for one in calls]
    return [message, *({"role": "tool", "tool_call_id": i, "content": text} for i, text in outputs)]
