"""Sessions of all four wires through the gateway, with a budget that bites: the provider refuses nothing."""

import json
from typing import Any

import pytest

from tests.paste_settings import PasteSettings
from tests.proxy.builders import MODELS, PATHS, ask, gateway, stream_of
from undrift import Settings
from undrift.testing import (
    Call,
    ModelTurn,
    RawRequest,
    RawUpstream,
    Refused,
    Result,
    Send,
    Step,
    history_for,
    response,
    simulator_for,
)

TURNS = 12
WORDS = "line of output, "


class Provider:
    """A simulator behind HTTP; it streams where it is asked to, and thinks aloud where that is wanted."""

    def __init__(self, wire: str, thinking: str | None = None) -> None:
        self.wire, self.thinking = wire, thinking
        self.wanted: Call | None = None  # instead of the next one
        self.simulator = simulator_for(wire, model=MODELS[wire])
        self.refused: list[str] = []
        self.answers: list[Any] = []

    def __call__(self, request: RawRequest) -> list[Step]:
        number = len(self.answers)
        calls = (Call("Read", {"path": f"f{number}.py"}),) if number < TURNS else ()
        if self.wanted is not None:
            calls, self.wanted = (self.wanted,), None
        turn = ModelTurn(f"Step {number}.", calls, thinking=self.thinking)
        try:
            answered = self.simulator.send(request.body, request.header, turn=turn, model=MODELS[self.wire])
        except Refused as refused:
            self.refused.append(refused.text)
            return [Send(response(json.dumps(refused.body).encode(), status=refused.status))]
        self.answers.append(answered.body)
        if json.loads(request.body).get("stream") or "streamGenerateContent" in request.target:
            stream = b"".join(stream_of(self.wire, answered.body))
            return [Send(response(stream, kind="text/event-stream"))]
        return [Send(response(json.dumps(answered.body).encode()))]


def settings(home: Any, **more: Any) -> Settings:
    given = {"budget_tokens": 2_500, "keep_tool_results": 2, "keep_user_text_tokens": 40, **more}
    return PasteSettings(home=str(home), token_counter="characters/4", **given)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", PATHS)
def test_a_session_over_its_budget_goes_to_its_end(wire: str, streamed: bool, tmp_path):
    provider = Provider(wire)
    path, fields = PATHS[wire], {}
    if streamed and wire == "gemini":
        path = f"{path.replace('generateContent', 'streamGenerateContent')}?alt=sse"
    elif streamed:
        fields = {"stream": True}
    history = history_for(wire, model=MODELS[wire], **fields)
    history.say("Fix the test.")
    heads: list[Any] = []
    with RawUpstream(provider) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        for _ in range(TURNS + 1):
            heard = ask(server.url, path, history.body())
            assert heard.status == 200
            assert "x-undrift-bypass" not in heard.headers
            heads.append(heard.headers)
            history.take(provider.answers[-1])
            if history.open:
                history.answer([Result(WORDS * 120)])
    assert provider.refused == []
    assert len(upstream.requests) == TURNS + 1
    assert len({head["x-undrift-session"] for head in heads}) == 1
    before, after = (int(heads[-1][f"x-undrift-tokens-{when}"]) for when in ("before", "after"))
    assert after <= 2_500 < before
    assert len(upstream.requests[-1].body) < len(json.dumps(history.body()))


@pytest.mark.parametrize("wire", PATHS)
def test_a_session_within_its_budget_reaches_the_provider_byte_for_byte(wire: str, tmp_path):
    provider = Provider(wire)
    history = history_for(wire, model=MODELS[wire])
    history.say("Fix the test.")
    sent: list[bytes] = []
    with RawUpstream(provider) as upstream, gateway(tmp_path, upstream.url) as server:
        for _ in range(3):
            sent.append(json.dumps(history.body(), indent=1).encode())
            heard = ask(server.url, PATHS[wire], sent[-1])
            assert heard.body == json.dumps(provider.answers[-1]).encode()
            history.take(provider.answers[-1])
            history.answer([Result("short")])
    assert [request.body for request in upstream.requests] == sent


def test_a_restarted_gateway_sends_the_same_window(tmp_path):
    provider = Provider("anthropic")
    history = history_for("anthropic", model=MODELS["anthropic"])
    history.say("Fix the test.")
    names = set()
    with RawUpstream(provider) as upstream:
        for _ in range(5):
            with gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
                heard = ask(server.url, body=history.body())
                again = ask(server.url, body=history.body())
            assert (heard.status, again.status) == (200, 200)
            names |= {heard.headers["x-undrift-session"], again.headers["x-undrift-session"]}
            assert upstream.requests[-1].body == upstream.requests[-2].body
            history.take(provider.answers[-1])
            history.answer([Result(WORDS * 120)])
    assert len(names) == 1
    assert provider.refused == []


def test_a_client_may_name_its_session_and_task(tmp_path):
    from undrift import Session

    provider = Provider("anthropic")
    history = history_for("anthropic", model=MODELS["anthropic"])
    history.say("Fix the test.")
    named = {"x-undrift-session": "run-42", "x-undrift-task": "fix-login"}
    with RawUpstream(provider) as upstream, gateway(tmp_path, upstream.url) as server:
        heard = ask(server.url, body=history.body(), headers=named)
        other = ask(server.url, body=history.body(), headers={**named, "x-undrift-task": "write-docs"})
    assert (heard.headers["x-undrift-session"], other.status) == ("run-42", 200)
    with Session.open("run-42", home=tmp_path) as session:
        assert [(task.id, task.status) for task in session.tasks()] == [
            ("fix-login", "pending"),
            ("write-docs", "in_progress"),
        ]
    assert all(not name.startswith("x-undrift") for request in upstream.requests for name, _ in request.headers)


def test_a_message_thread_is_answered_so_that_the_client_sends_whole_histories(tmp_path):
    body = {
        "model": "claude-opus-5-5",
        "messages": [{"role": "user", "content": "go on"}],
        "thread": {"type": "create"},
    }
    with RawUpstream(lambda _: [Send(response(b"{}"))]) as upstream, gateway(tmp_path, upstream.url) as server:
        heard = ask(server.url, body=body)
    assert heard.status == 400
    assert heard.json["error"]["details"] == {"error_code": "thread_unsupported_request"}
    assert upstream.requests == ()
