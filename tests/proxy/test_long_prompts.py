"""A prompt that the provider refuses as too long is made smaller and sent once more; a file that left comes back."""

import json
from typing import Any

import pytest

from tests.proxy.builders import ask, gateway, metrics
from tests.proxy.test_fail_open import body
from undrift import Settings
from undrift.testing import RawRequest, RawUpstream, Send, Step, response

STUB = "Wasted call \u2014 file unchanged since your last Read. Refer to that earlier tool_result instead."


def settings(home: Any, **more: Any) -> Settings:
    return Settings(home=str(home), token_counter="characters/4", keep_tool_results=1, **more)


class Narrow:
    """A provider that takes so many tokens, at four characters each, and names the figures or does not."""

    def __init__(self, limit: int, words: str = "prompt is too long: {sent} tokens > {limit} maximum") -> None:
        self.limit, self.words = limit, words

    def __call__(self, request: RawRequest) -> list[Step]:
        sent = len(request.body) // 4
        if sent <= self.limit:
            return [Send(response(b'{"id": "m", "content": []}'))]
        message = self.words.format(sent=sent, limit=self.limit)
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
        return [Send(response(json.dumps(error).encode(), status=400))]


@pytest.mark.parametrize(
    "words",
    ["prompt is too long: {sent} tokens > {limit} maximum", "Your input exceeds the context window of this model"],
    ids=["with-figures", "without"],
)
def test_a_refused_prompt_is_made_smaller_and_sent_once_more(words: str, tmp_path):
    with RawUpstream(Narrow(4_000, words)) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        first = ask(server.url, body=body(rounds=8))
        second = ask(server.url, body=body(rounds=8))
        other = ask(server.url, body=body("another session", rounds=8))
    assert [first.status, second.status, other.status] == [200, 200, 200]
    assert int(first.headers["x-undrift-tokens-after"]) < int(first.headers["x-undrift-tokens-before"])
    bodies = [request.body for request in upstream.requests]
    assert bodies[0] == json.dumps(body(rounds=8)).encode()
    assert bodies[2] == bodies[1]  # the session has learned
    if "limit" in words:
        assert len(bodies) == 4  # and so have later ones of the model


@pytest.mark.parametrize(("chosen", "least", "most"), [({}, 0, 10_000), ({"budget_tokens": 100_000}, 15_000, 27_000)])
def test_a_session_without_a_chosen_budget_has_none_after_a_refusal(
    chosen: dict[str, Any], least: int, most: int, tmp_path
):
    """It goes as deep as at the model's own limit, also in later sessions of the model; a chosen budget does not."""
    with (
        RawUpstream(Narrow(30_000)) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path, **chosen)) as server,
    ):
        answers = [ask(server.url, body=body(words, rounds=100)) for words in ("one", "one", "other")]
    for answer in answers:
        assert answer.status == 200
        assert least < int(answer.headers["x-undrift-tokens-after"]) < most


def test_where_nothing_can_leave_the_refusal_is_the_answer(tmp_path):
    sent = {**body(), "system": "word " * 9_000}
    with RawUpstream(Narrow(4_000)) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        heard = ask(server.url, body=sent)
    assert heard.status == 400
    assert "prompt is too long" in heard.json["error"]["message"]
    assert len(upstream.requests) <= 2


def test_a_second_refusal_is_the_answer(tmp_path):
    with RawUpstream(Narrow(10)) as upstream, gateway(tmp_path, upstream.url, settings(tmp_path)) as server:
        heard = ask(server.url, body=body(rounds=8))
    assert heard.status == 400
    assert len(upstream.requests) == 2


@pytest.mark.parametrize(
    ("named", "more"),
    [
        ({}, {}),
        ({"x-undrift-session": "one"}, {}),
        ({}, {"metadata": {"user_id": json.dumps({"session_id": "b583237d-88f3-4ab3-ba01-287f3af6ef47"})}}),
    ],
    ids=["recognised", "by-a-header", "by-the-client"],
)
def test_a_file_that_left_is_put_where_the_client_says_that_it_has_not_changed(
    named: dict[str, str], more: Any, tmp_path
):
    history = {**body("Read it."), **more}
    messages = history["messages"]

    def read(number: int, path: str, text: str) -> None:
        use = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "Read", "input": {"file_path": path}}
        messages.append({"role": "assistant", "content": [use]})
        given = {"type": "tool_result", "tool_use_id": f"toolu_{number:08}", "content": text}
        messages.append({"role": "user", "content": [given]})

    content = "1\tdef answer():\n2\t    return 42\n" * 60
    read(1, "/a.py", content)
    for number in range(2, 8):
        read(number, f"/{number}.py", f"other file {number} " * 150)
    with (
        RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as upstream,
        gateway(tmp_path, upstream.url, settings(tmp_path, budget_tokens=2_500)) as server,
    ):
        ask(server.url, body=history, headers=named)
        assert content not in texts(upstream.requests[-1].body)
        read(8, "/a.py", STUB)
        ask(server.url, body=history, headers=named)
        assert texts(upstream.requests[-1].body)[-1] == content
        messages += [{"role": "assistant", "content": "I see."}, {"role": "user", "content": "Go on."}]
        ask(server.url, body=history, headers=named)
        line = json.loads(upstream.requests[-1].body)["messages"][-3]
        assert line == json.loads(upstream.requests[-2].body)["messages"][-1]  # the same on every later request
        assert "undrift_requests_total" in metrics(server.url, tmp_path)
    with (
        RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as later,
        gateway(tmp_path, later.url, settings(tmp_path, budget_tokens=2_500)) as server,
    ):
        ask(server.url, body=history, headers=named)
    assert later.requests[0].body == upstream.requests[-1].body  # after a restart too


def texts(sent: bytes) -> list[str]:
    results = [m["content"][0] for m in json.loads(sent)["messages"] if isinstance(m["content"], list)]
    return [one["content"] for one in results if one["type"] == "tool_result"]
