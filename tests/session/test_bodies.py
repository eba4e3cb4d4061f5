"""Bodies that no provider would take: one kind of error, with the path, and nothing of them stays behind."""

import json
from typing import Any

import pytest

from tests.builders import Json, assistant, body, opened, parts, result, rounds, sent, text, user
from undrift.errors import WireError

WRONG: list[tuple[Any, str]] = [
    (None, ""),
    ("{}", ""),
    ([], ""),
    ({}, "messages"),
    ({"messages": None}, "messages"),
    ({"messages": {}}, "messages"),
    ({"messages": []}, "messages"),
    (body("x"), "messages[0]"),
    (body({}), "messages[0].role"),
    (body({"role": 1, "content": "a"}), "messages[0].role"),
    (body(user("a"), {"role": "user"}), "messages[1].content"),
    (body(user("a"), {"role": "user", "content": {"type": "text"}}), "messages[1].content"),
    (body(user("a", 5)), "messages[0].content[1]"),
    (body(user("a", {"text": "a"})), "messages[0].content[1]"),
    (body(user("a", {"type": ["text"]})), "messages[0].content[1]"),
    (body(user("a", {"type": "text", "text": None})), "messages[0].content[1].text"),
    (body(user("a"), assistant("b", {"type": "tool_use", "name": "n"})), "messages[1].content[1].id"),
    (body(user("a", result(7, "x"))), "messages[0].content[1].tool_use_id"),
    (body(user("a", result("c", 7))), "messages[0].content[1].content"),
    (body(user("a", result("c", {"type": "text"}))), "messages[0].content[1].content"),
]


@pytest.mark.parametrize(("wrong", "path"), WRONG)
def test_a_wrong_body_is_named_by_its_path(tmp_path, wrong, path):
    session = opened(tmp_path)
    for given in (wrong, json.dumps(wrong).encode()):
        with pytest.raises(WireError) as raised:
            session.prepare(given)
        if given is wrong:
            assert raised.value.path == path
    assert session.prepare(body(user("hello"))).tokens_before > 0


def deep(levels: int, core: Any = 1) -> Any:
    for _ in range(levels):
        core = [core]
    return core


def test_whatever_stands_in_a_body_no_other_error_comes_out(tmp_path):
    odd: list[Any] = [
        None,
        True,
        5,
        5.5,
        float("nan"),
        float("inf"),
        2**70,
        "",
        "\ud800",
        [],
        [None],
        ["a"],
        [5],
        [[]],
        {},
        {"": 1},
    ]
    odd += [{"type": "text"}, [{"type": "text", "text": 5}], [{"type": "image"}], b"bytes", {1: 2}, {(1,): 2}, object()]
    odd += [
        deep(10_000),
        {"a": deep(10_000, "\ud800")},
        ["\ud800", deep(10_000)],
        ["\ud800", object()],
        ["\ud800", {(1,): 2}],
    ]
    session = opened(tmp_path, budget_tokens=100)
    places: list[tuple[Any, ...]] = [("messages", 2, "content", 0, name) for name in ("type", "tool_use_id", "content")]
    places += [("messages", 1, "content", 0, name) for name in ("type", "id", "input", "name", "extra")]
    places += [(name,) for name in ("model", "system", "tools", "messages", "metadata")]
    places += [("messages", 0), ("messages", 1, "role"), ("messages", 2, "content"), ("messages", 2, "content", 0)]
    refused, passed, wrong = 0, 0, []
    for place in places:
        for value in odd:
            given = body(user("hello"), *rounds(1), system=[text("s")], tools=[{"name": "Read"}])
            target: Any = given
            for step in place[:-1]:
                target = target[step]
            target[place[-1]] = value
            try:
                session.prepare(given)
            except WireError:
                refused += 1
            except Exception as error:  # noqa: BLE001 - each of them is the finding
                wrong.append((type(error).__name__, place, repr(value)[:40]))
            else:
                passed += 1
    assert wrong == []
    assert min(refused, passed) > 50


def test_broken_bytes_are_refused_and_nothing_else_happens(tmp_path):
    session = opened(tmp_path, budget_tokens=100)
    whole = json.dumps(body(user("h\u00e9llo"), *rounds(1)), ensure_ascii=False).encode()
    for cut in range(len(whole)):
        with pytest.raises(WireError):
            session.prepare(whole[:cut])
    nested = b'{"messages":[{"role":"user","content":' + b"[" * 10_000 + b"]" * 10_000 + b"}]}"
    for wrong in (
        nested,
        b"[" * 100_000,
        b"\xff" + whole,
        whole.replace(b"\xc3", b"\xff"),
        whole.replace(b"400", b"NaN"),
    ):
        if wrong != whole:
            with pytest.raises(WireError):
                session.prepare(wrong)
    for nan in (b"NaN", b"Infinity", b"-Infinity", b"01", b"'a'", b"nul"):
        with pytest.raises(WireError):
            session.prepare(b'{"messages":[{"role":"user","content":' + nan + b"}]}")


def test_numbers_of_any_size_survive_in_an_edited_message(tmp_path):
    numbers = '{"big":1208925819614629174706176,"small":1e-9,"exact":0.1,"negative":-9223372036854775809}'
    calls = '{"type":"tool_use","id":"n","name":"f","input":%s},{"type":"tool_use","id":"o","name":"f","input":{}}'
    answers = [result("n", "kept"), result("o", "x" * 4_000)]
    given = (
        '{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":['
        + calls % numbers
        + f"]}},{json.dumps(user(answers[1], answers[0]))},{json.dumps(assistant('ok'))},{json.dumps(user('go'))}]}}"
    )
    prepared = opened(tmp_path, budget_tokens=500, keep_tool_results=1).prepare(given.encode())
    (message,) = [m for m in sent(prepared) if parts(m)[0]["type"] == "tool_use"]
    assert message["content"] == [call_of(numbers)]


def call_of(numbers: str) -> Json:
    return {"type": "tool_use", "id": "n", "name": "f", "input": json.loads(numbers)}


def test_a_body_that_was_refused_leaves_no_trace_in_the_next(tmp_path):
    good = body(user("hello"), *rounds(12))
    session = opened(tmp_path, budget_tokens=1_000)
    session.prepare(body(user("hello")))
    with pytest.raises(WireError):
        session.prepare(body(*good["messages"], {"role": "user", "content": 5}))
    expected = opened(tmp_path, "fresh", budget_tokens=1_000).prepare(good)
    prepared = session.prepare(good)
    assert (prepared.tokens_before, prepared.tokens_after) == (expected.tokens_before, expected.tokens_after)
    assert prepared.body == expected.body
