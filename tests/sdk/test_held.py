"""Requests whose history the provider holds: the tool runner is talked out of it, others pass and it is said."""

import asyncio
import json
import logging
from typing import Any

import pytest

import undrift
from tests.sdk.loops import CLAUDE, GPT, PARTS, provider, text_of
from undrift import Settings
from undrift.testing import RawUpstream, Say, ScriptedProvider, Send, response

anthropic = pytest.importorskip("anthropic", reason="needs the package anthropic (make setup installs it)")
openai = pytest.importorskip("openai", reason="needs the package openai (make setup installs it)")

SMALL = Settings(budget_tokens=4_000)
QUESTION = {"role": "user", "content": "Read them."}
ASKED: Any = {"model": CLAUDE, "max_tokens": 9, "messages": [QUESTION]}
THREAD = {"thread": {"type": "create"}}


@anthropic.beta_tool
def read(path: str) -> str:
    """Read a file."""
    return text_of(path)


@anthropic.beta_async_tool(name="read")
async def read_async(path: str) -> str:
    """Read a file."""
    return text_of(path)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_the_tool_runner_never_gets_a_thread_so_all_its_requests_are_managed(is_async, home):
    """A provider that serves threads would hold the history, and nothing could leave it."""
    shown: list[Any] = []
    asked: Any = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [QUESTION]}

    async def run(client: Any) -> Any:
        async with client:
            return await client.beta.messages.tool_runner(tools=[read_async], **asked).until_done()

    with provider(12) as model:
        kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        client = undrift.wrap(kind(base_url=model.url, **PARTS), home=home, settings=SMALL, on_prepared=shown.append)
        if is_async:
            final = asyncio.run(run(client))
        else:
            with client:
                final = client.beta.messages.tool_runner(tools=[read], **asked).until_done()
    assert final.content[0].text == "Done."
    assert [(seen.refused, "thread" in seen.body) for seen in model.requests] == [("", False)] * 13
    assert len(shown) == 13
    assert text_of("part_0.py") not in model.requests[-1].text


def test_a_thread_that_the_program_asks_for_is_the_providers_to_answer(home, caplog):
    def answer(_: Any) -> list[Send]:
        reply = {"id": "m", "type": "message", "role": "assistant", "model": CLAUDE, "content": [], "usage": {}}
        return [Send(response(json.dumps({**reply, "stop_reason": "end_turn", "stop_sequence": None}).encode()))]

    with RawUpstream(answer) as upstream, caplog.at_level(logging.WARNING, "undrift"):
        clients = [anthropic.Anthropic(base_url=upstream.url, **PARTS) for _ in range(2)]
        undrift.wrap(clients[1], home=home, settings=SMALL)
        found = [client.post("/v1/messages", body=ASKED | THREAD, cast_to=object) for client in clients]
        raw = clients[1].messages.with_raw_response.create(**ASKED, extra_body=THREAD)
        for client in clients:
            client.close()
    assert found[0] == found[1]
    assert upstream.requests[0].body == upstream.requests[1].body
    assert raw.headers["x-undrift-bypass"] == "held-by-provider"
    assert len(caplog.records) == 1
    assert (
        "the original request is sent unchanged: held-by-provider: the provider holds the history (thread)"
        in caplog.text
    )


def test_a_chain_of_responses_is_said_once_and_leaves_no_sessions_behind(home, caplog):
    with ScriptedProvider([Say("Good.")] * 4, without_tools=True) as model:
        client = undrift.wrap(openai.OpenAI(base_url=f"{model.url}/v1", **PARTS), home=home, settings=SMALL)
        newest = client.responses.create(model=GPT, input="Hello.")
        with caplog.at_level(logging.WARNING, "undrift"):
            for _ in range(3):
                raw = client.responses.with_raw_response.create(
                    model=GPT, input="Go on.", previous_response_id=newest.id
                )
                newest = raw.parse()
                assert raw.headers["x-undrift-bypass"] == "held-by-provider"
        client.close()
    assert [seen.refused for seen in model.requests] == [""] * 4
    assert len(caplog.records) == 1
    assert "the provider holds the history (previous_response_id)" in caplog.text
