"""Streams put together again: whole where they are whole, nothing where they are cut, at whatever byte."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.builders import MODELS, stream_of
from undrift.testing import Call, ModelTurn, history_for, simulator_for
from undrift.wire import sse
from undrift.wire.forms import WIRES, form_of

TURN = ModelTurn("Two, in é\u2028parallel.", (Call("Read", {"path": "a b.py"}), Call("Read", {"path": "ß"})), "Hm.")


def answer(wire: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"thinking": {"type": "adaptive"}} if wire == "anthropic" else {}
    history = history_for(wire, model=MODELS[wire], **fields)
    history.say("Go.")
    body: dict[str, Any] = (
        simulator_for(wire, model=MODELS[wire]).send(history.body(), turn=TURN, model=MODELS[wire]).body
    )
    return body


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_says_what_the_whole_answer_says(wire: str, ending: bytes):
    whole = answer(wire)
    stream = b"\xef\xbb\xbf: hello\n\nretry: 5\n\n" + b"".join(stream_of(wire, whole))
    found = sse.answer_of(wire, stream.replace(b"\n", ending))
    assert found is not None
    assert form_of(wire).reply(found) == form_of(wire).reply(whole)
    assert sse.answer_of(wire, json.dumps(whole).encode()) == whole


@pytest.mark.parametrize("wire", WIRES)
def test_without_the_text_usage_and_calls_are_the_same(wire: str):
    stream = b"".join(stream_of(wire, answer(wire)))
    found, whole = sse.answer_of(wire, stream, with_text=False), sse.answer_of(wire, stream)
    assert found is not None
    assert whole is not None
    assert replace(form_of(wire).reply(found), text="") == replace(form_of(wire).reply(whole), text="")
    assert sse.answer_of(wire, stream[:-1], with_text=False) is None


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_is_cut_is_no_answer(wire: str):
    events = stream_of(wire, answer(wire))
    stream = b"".join(events)
    terminal = len(stream) - len(events[-1])
    cuts = {sum(map(len, events[:count])) for count in range(len(events))} | set(range(0, terminal, 13))
    assert all(sse.answer_of(wire, stream[:cut]) is None for cut in cuts)
    assert sse.answer_of(wire, stream[:-1]) is None  # the empty line that ends the last event is not there


def test_the_thinking_and_its_signature_come_out_as_they_were():
    whole = answer("anthropic")
    found = sse.answer_of("anthropic", b"".join(stream_of("anthropic", whole)))
    assert found is not None
    assert found["content"] == whole["content"]
    assert found["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("wire", "event"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
        ("openai-chat", {"error": {"message": "x"}}),
        ("openai-responses", {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x"}}}),
        ("openai-responses", {"type": "error", "message": "x"}),
        ("gemini", {"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}),
    ],
)
def test_a_stream_with_an_error_is_no_answer(wire: str, event: Any):
    events = stream_of(wire, answer(wire))
    stream = b"".join([*events[:-1], b"data: " + json.dumps(event).encode() + b"\n\n", events[-1]])
    assert sse.answer_of(wire, stream) is None


def test_an_answer_that_was_cut_by_its_limit_of_tokens_is_an_answer():
    events = [
        e.replace(b'"tool_use"', b'"max_tokens"') if b"message_delta" in e else e
        for e in stream_of("anthropic", answer("anthropic"))
    ]
    broken = [e for e in events if b"input_json_delta" not in e or b"pa" not in e]
    found = sse.answer_of("anthropic", b"".join(broken))
    assert found is not None
    assert found["stop_reason"] == "max_tokens"


def test_the_array_of_gemini_is_an_answer_like_its_stream():
    whole = answer("gemini")
    chunks = [json.loads(event.removeprefix(b"data: ")) for event in stream_of("gemini", whole)]
    found = sse.answer_of("gemini", json.dumps(chunks).encode())
    assert found is not None
    assert form_of("gemini").reply(found) == form_of("gemini").reply(whole)
    assert sse.answer_of("gemini", json.dumps(chunks[:-1]).encode()) is None
    assert sse.answer_of("anthropic", json.dumps(chunks).encode()) is None


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"type": "error"}', b'{"error": {}, "a": 1}'[:9], b"<html>", b"[1, 2]", b"data"]
)
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_no_answer_is_none(wire: str, body: bytes):
    assert sse.answer_of(wire, body) is None


@given(
    st.sampled_from(WIRES),
    st.lists(st.binary(max_size=40) | st.sampled_from([b"data: ", b"\n\n", b"[DONE]", b"{}", b"null"])),
)
def test_no_bytes_raise(wire: str, parts: list[bytes]):
    sse.answer_of(wire, b"".join(parts))


@given(st.sampled_from(WIRES), st.data())
def test_no_change_of_a_value_raises(wire: str, data: Any):
    events = stream_of(wire, answer(wire))
    number = data.draw(st.integers(0, len(events) - 1))
    odd = data.draw(st.sampled_from([b"null", b"7", b"[]", b'""', b'{"a":null}', b'[{"a":1}]']))
    at = data.draw(st.integers(0, max(0, events[number].count(b": ") - 1)))
    parts = events[number].split(b": ")
    if at + 1 < len(parts):
        parts[at + 1] = odd + b"," + parts[at + 1].partition(b",")[2]
    events[number] = b": ".join(parts)
    found = sse.answer_of(wire, b"".join(events))
    if found is not None:
        form_of(wire).reply(found)
