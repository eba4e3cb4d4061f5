"""Whatever stands in a message of the Anthropic form: it is read, or refused with the path to it; nothing else."""

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Json, assistant, body, call, image, opened, result, rounds, text, thinking, user
from tests.wire.odd import places, put
from undrift.core.text.tokens import characters_per_4
from undrift.errors import WireError
from undrift.wire import anthropic
from undrift.wire.form import BlockPlace, Edit, Form, View, entry_of

FORM: Form = anthropic
MARKER: Json = {"type": "ephemeral"}

VALID: list[Json] = [
    user("hi"),
    user(
        text("hi", cache_control=MARKER),
        image(),
        {"type": "document", "source": {"type": "content", "content": [text("a"), image()]}},
    ),
    assistant(thinking("hm"), {"type": "redacted_thinking", "data": "x"}, text("a", citations=None), call("c", a=[1])),
    user(result("c", [text("out"), image()], is_error=False), result("d", "out"), {"type": "mystery", "id": "x"}),
]
ODD: list[Any] = [
    None, True, -1, 5.5, float("nan"), 2**70, "", "\ud800", [], [None], [[]], {}, {"": 1}, {"type": "text"}, b"bytes",
    {1: 2}, {(1,): 2}, object(), [{"type": "image", "source": 5}], [{"type": "document", "source": {"content": [5]}}],
    {"type": "content", "content": [None]}, {"type": "text", "data": 5},
]  # fmt: skip


def refused(error: WireError, message: Any) -> None:
    path = error.path
    assert path.startswith("messages[7]") if isinstance(message, dict) else path == "messages[7]"


def works(view: View, message: Any) -> None:
    content = message["content"]
    assert len(view.blocks) == (1 if isinstance(content, str) else len(content))
    for number, block in enumerate(view.blocks):
        entry_of(block, view.role, BlockPlace("m", number), None, characters_per_4)
        FORM.edit(message, {number: Edit()}, ["a pin"])
    assert isinstance(FORM.problems([view], {}), tuple)
    with contextlib.suppress(WireError):  # a value that JSON cannot hold, in a field that is not looked at
        assert len(FORM.digest(message)) == 32


def survives(message: Any) -> None:
    """It is read and can be worked with, or it is refused with a path; nothing else."""
    try:
        view = FORM.read(message, "messages[7]")
    except WireError as error:
        refused(error, message)
    else:
        works(view, message)


def test_a_wrong_type_at_any_path_is_refused_or_read():
    for valid in VALID:
        for place in places(valid):
            for odd in ODD:
                survives(put(valid, place, odd))


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("\ud800")
names = ["type", "text", "content", "id", "tool_use_id", "source", "data", "cache_control", "x"]
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(names), inner, max_size=4),
    max_leaves=10,
)
kinds = st.sampled_from(
    ["text", "tool_use", "tool_result", "image", "document", "thinking", "server_tool_use", "compaction", "x"]
)
some_parts = st.builds(lambda kind, rest: {**(rest if isinstance(rest, dict) else {}), "type": kind}, kinds, anything)


@given(st.sampled_from(VALID), st.data(), some_parts | anything)
def test_whatever_stands_at_any_path_is_refused_or_read(valid, data, odd):
    message = put(valid, data.draw(st.sampled_from(list(places(valid)))), odd)
    before = copy.deepcopy(message)
    survives(message)
    assert message == before


@given(st.lists(some_parts | anything, max_size=4) | anything)
def test_any_content_is_read_or_refused(content):
    message = {"role": "user", "content": content}
    before = copy.deepcopy(message)
    survives(message)
    assert message == before


def nested(levels: int, name: str = "") -> Any:
    """Arrays in arrays; under a name, results in results."""
    value: Any = [text("x")] if name else []
    for _ in range(levels):
        value = [{"type": "tool_result", "tool_use_id": "c", name: value}] if name else [value]
    return value


@pytest.mark.parametrize("levels", [10, 200, 450, 500, 1_000, 10_000])
@pytest.mark.parametrize("name", ["", "content"])
def test_nothing_is_nested_too_deep_to_be_read_or_refused(levels, name):
    message = {"role": "user", "content": [call("c", deep=nested(levels, name)), *nested(levels, name or "content")]}
    for look in (lambda: FORM.read(message, "messages[7]"), lambda: FORM.digest(message)):
        try:
            look()
        except WireError:
            assert levels > 200
        else:
            assert levels < 10_000


ANSWER: Json = {"content": [text("a"), call("c", a=1)], "usage": {"input_tokens": 1, "output_tokens": 2}}


def test_a_wrong_type_at_any_path_of_an_answer_is_passed_over():
    for place in places(ANSWER):
        for odd in ODD if place else ({},):
            found = FORM.reply(put(ANSWER, place, odd))
            assert isinstance(found.text, str)
            assert found.input_tokens is None or found.input_tokens >= 0
            assert all(
                isinstance(value, str) for one in found.calls for value in (one.id, one.tool_name, one.arguments)
            )


# ---------------------------------------------------------------------------------------------- through a session


@pytest.mark.parametrize("place", ["content", "input", "system", "tools", "extra"])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_what_is_nested_10_000_deep_is_refused(tmp_path, place, as_bytes):
    deep = "[" * 10_000 + "]" * 10_000
    given = body(user("hi"), *rounds(1))
    target = {"content": given["messages"][2]["content"][0], "input": given["messages"][1]["content"][0]}.get(
        place, given
    )
    target[place] = "DEEP" if as_bytes else nested(10_000)
    if place == "extra":  # a field that is not looked at goes through as it came, as a dict; as bytes all of it is JSON
        target = given["messages"][0]
        target["extra"] = given.pop("extra")
    with pytest.raises(WireError):
        opened(tmp_path).prepare(json.dumps(given).replace('"DEEP"', deep).encode() if as_bytes else given)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_history_longer_than_any_provider_takes_is_refused(tmp_path, as_bytes):
    given = {"messages": [user("hi")] * 100_001}
    with pytest.raises(WireError) as raised:
        opened(tmp_path).prepare(json.dumps(given).encode() if as_bytes else given)
    assert raised.value.path == "messages[100000]"


def test_a_body_that_was_cut_anywhere_is_refused(tmp_path):
    whole = json.dumps(body(user("h\u00e9llo", text("x")), *rounds(1, characters=20)), ensure_ascii=False).encode()
    session = opened(tmp_path)
    for end in range(len(whole)):
        with pytest.raises(WireError):
            session.prepare(whole[:end])
    assert session.prepare(whole).body is whole
