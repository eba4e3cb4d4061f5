"""A managed client at the edges: a fork during a prompt, a body that can be read once, an answer without end."""

import gzip
import json
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import undrift
from tests.sdk.callers import CALLERS
from tests.session.test_processes import CAN_FORK, in_child
from undrift import Session, Settings
from undrift.sdk import answer_parts, sessions
from undrift.testing import RawUpstream, Say, ScriptedProvider, Send, response

anthropic = pytest.importorskip("anthropic", reason="needs the package anthropic (make setup installs it)")

MODEL = "claude-opus-4-5"
MESSAGES = [{"role": "user", "content": "Hello."}]
HELLO = {"model": MODEL, "max_tokens": 99, "messages": MESSAGES}
NAME = "x-undrift-session"


def client_of(at: Any, **options: Any) -> Any:
    return anthropic.Anthropic(base_url=at.url, api_key="none", max_retries=0, **options)


@pytest.fixture
def model() -> Iterator[ScriptedProvider]:
    with ScriptedProvider([Say("Hello!")] * 4, without_tools=True) as provider:
        yield provider


@CAN_FORK
def test_a_fork_while_a_thread_prepares_a_prompt_stops_no_request_of_the_new_process(model, tmp_path):
    """The thread with the lock is not in the new process, so nobody would ever release it there."""
    inside, leave = threading.Event(), threading.Event()
    asking = threading.Thread(target=lambda: client.messages.create(**HELLO))

    def clock() -> int:
        if threading.current_thread() is asking:
            inside.set()
            leave.wait(60)
        return time.time_ns() // 1_000_000

    with Session.open("mine", home=tmp_path, settings=Settings(budget_tokens=6_000), clock=clock) as session:
        client = undrift.wrap(client_of(model), session=session)
        asking.start()
        inside.wait(60)
        try:
            found = in_child(lambda: dict(client.messages.with_raw_response.create(**HELLO).headers))
        finally:
            leave.set()
            asking.join()
            client.close()
    assert found["x-undrift-bypass"] == "StoreError"


def test_the_header_that_names_a_session_reaches_no_provider_whatever_is_asked(model, tmp_path):
    client = undrift.wrap(client_of(model, default_headers={NAME: "ann@example.org"}), home=tmp_path)
    client.messages.create(**HELLO)
    client.messages.count_tokens(model=MODEL, messages=MESSAGES)
    assert len(model.requests) == 2
    assert not [seen for seen in model.requests if NAME in {name.lower() for name in seen.headers}]
    client.close()


def test_a_body_that_can_be_read_only_once_is_sent_with_and_without_a_named_session(tmp_path, caplog):
    whole = response(json.dumps({"said": "Hello!"}).encode())
    with RawUpstream(lambda _: [Send(whole)]) as upstream:
        client = undrift.wrap(client_of(upstream), home=tmp_path)
        for more in ({}, {NAME: "mine"}):
            once = iter([json.dumps(HELLO).encode()])
            found = client.post("/v1/messages", content=once, cast_to=object, options={"headers": more})
            assert found == {"said": "Hello!"}
        client.close()
        assert [json.loads(seen.body) == HELLO for seen in upstream.requests] == [True, True]
        assert [NAME in seen.header for seen in upstream.requests] == [False, False]
    assert "RequestNotRead" in caplog.text


def test_a_provider_cannot_say_in_our_name_what_was_done(tmp_path):
    answer = {"type": "message", "role": "assistant", "content": [], "model": MODEL, "id": "m", "usage": {}}
    forged = {"x-undrift-bypass": "store", NAME: "another", "x-undrift-tokens-after": "0"}
    whole = response(json.dumps(answer).encode(), headers=forged)
    with RawUpstream(lambda _: [Send(whole)]) as upstream:
        client = undrift.wrap(client_of(upstream), home=tmp_path, session="mine")
        headers = client.messages.with_raw_response.create(**HELLO).headers
        client.close()
    assert headers[NAME] == "mine"
    assert int(headers["x-undrift-tokens-after"]) > 0
    assert "x-undrift-bypass" not in headers


@pytest.mark.parametrize("is_compressed", [False, True])
def test_an_answer_without_end_is_passed_on_and_not_kept(tmp_path, monkeypatch, caplog, is_compressed):
    monkeypatch.setattr(answer_parts, "MOST_BYTES", 20_000)
    event = b'event: ping\ndata: {"type": "ping"}\n\n' * 10_000
    sent = gzip.compress(event) if is_compressed else event
    assert (len(sent) < 20_000) == is_compressed
    streamed = response(sent, kind="text/event-stream", headers={"content-encoding": "gzip"} if is_compressed else {})
    recorded: list[Any] = []
    with RawUpstream(lambda _: [Send(streamed)]) as upstream, caplog.at_level(logging.WARNING, "undrift.sdk"):
        client = undrift.wrap(client_of(upstream), home=tmp_path, on_recorded=recorded.append)
        with client.messages.with_streaming_response.create(**HELLO, stream=True) as reply:
            assert b"".join(reply.iter_bytes()) == event
        client.close()
    assert recorded == []
    assert "longer than 20,000 bytes" in caplog.text


def test_a_session_that_makes_room_for_another_one_stores_what_only_it_knows(model, tmp_path, monkeypatch):
    """The time of its last request, by which the next process knows whether the prompt cache still has its prompt."""
    usage = {"input_tokens": 900, "output_tokens": 2, "cache_creation_input_tokens": 500}
    answer = {"type": "message", "role": "assistant", "content": [], "model": MODEL, "id": "m", "usage": usage}
    asked: list[int] = []
    with RawUpstream(lambda _: [Send(response(json.dumps(answer).encode()))]) as upstream:
        for most_bytes in (1 << 30, 1):
            monkeypatch.setattr(sessions, "_MOST_BYTES", most_bytes)
            home = tmp_path / str(most_bytes)
            client = undrift.wrap(client_of(upstream), home=home, settings=Settings(budget_tokens=2_000))
            for name in ("first", "first", "second"):
                client.messages.create(**CALLERS[0].given(), extra_headers={NAME: name})
            client.close()
            with Session.open("first", home=home) as session:
                asked.append([operation.kind for operation in session._store.operations("first")].count("asked"))
    assert asked == [2, 2]
