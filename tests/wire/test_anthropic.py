"""The Anthropic form: blocks are read whole, edits touch what they name, and what the provider refuses is said."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Json, assistant, call, image, parts, result, text, thinking, user
from undrift.core.tokens import characters_per_4
from undrift.errors import WireError
from undrift.types import ContextEntry
from undrift.wire.anthropic import (
    IMAGE_TOKENS,
    Block,
    Edit,
    blocks,
    digest,
    entry_of,
    fixed_texts,
    problems,
    render,
)


def read(part: Json) -> Block:
    _, (block,) = blocks({"role": "user", "content": [part]})
    return block


def made(part: Json, role: str = "user") -> ContextEntry:
    return entry_of(read(part), role, message_id="m", place=3, pair_id="p", count=characters_per_4, at=(5, 7))


# -------------------------------------------------------------------------------------------------------- reading


def test_a_string_and_one_text_block_read_alike():
    assert blocks(user("hi")) == blocks({"role": "user", "content": [text("hi")]}) == ("user", (Block("text", "hi"),))
    assert blocks({"role": "assistant", "content": []}) == ("assistant", ())


@pytest.mark.parametrize(
    ("part", "kind", "words"),
    [
        (text("a"), "text", "a"),
        (call("c", path="x"), "call", '{"path":"x"}'),
        (thinking("hm"), "thinking", "hm"),
        ({"type": "redacted_thinking", "data": "xyz"}, "thinking", '{"type":"redacted_thinking","data":"xyz"}'),
        (result("c", "out"), "result", "out"),
        (result("c", None), "result", ""),
        ({"type": "tool_result", "tool_use_id": "c"}, "result", ""),
        (result("c", [text("out")]), "result", "out"),
        (result("c", []), "result", "[]"),
        ({"type": "mystery", "a": [1]}, "other", '{"type":"mystery","a":[1]}'),
    ],
)
def test_each_block_has_its_kind_and_what_recall_gives_back(part, kind, words):
    assert (read(part).kind, read(part).text) == (kind, words)


def test_what_cannot_be_told_by_text_alone_is_recalled_as_json():
    mixed = [text("a"), image(), text("b"), {"type": "mystery"}]
    block = read(result("c", mixed))
    assert json.loads(block.text) == mixed
    assert block.counted == 'a\nb\n{"type":"mystery"}'
    assert block.extra_tokens == IMAGE_TOKENS
    assert json.loads(read(image("abc")).text) == image("abc")


def test_calls_and_answers_name_their_call():
    assert (read(call("c1")).call_id, read(call("c1")).tool_name) == ("c1", "Read")
    assert read(result("c1", "x")).call_id == "c1"
    assert read({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}).call_id == "s1"
    assert read({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}).call_id == "s1"
    assert read({"type": "mystery", "id": 5}).call_id is None


def test_pictures_cost_what_the_provider_bills_and_not_their_base64():
    assert made(image("A" * 100_000)).token_count == IMAGE_TOKENS
    small = {"type": "document", "source": {"type": "base64", "data": "A" * 100}}
    large = {"type": "document", "source": {"type": "base64", "data": "A" * 1_000_000}}
    assert made(small).token_count == IMAGE_TOKENS
    assert made(large).token_count == 62_500
    assert made({"type": "document", "source": None}).token_count == IMAGE_TOKENS


@pytest.mark.parametrize(
    ("part", "role", "type_"),
    [
        (text("a"), "user", "reasoning"),
        (text("a"), "system", "spec"),
        (result("c", "a"), "user", "tool_result"),
        (call("c"), "assistant", "reasoning"),
        (thinking("t"), "assistant", "reasoning"),
    ],
)
def test_blocks_become_entries_of_the_type_that_was_decided(part, role, type_):
    entry = made(part, role)
    assert (entry.id, entry.type, entry.timestamp, entry.seq) == ("m.3", type_, 5, 7)
    assert entry.metadata is not None
    assert (entry.metadata["role"], entry.metadata["message"], entry.pair_id) == (role, "m", "p")
    assert entry.metadata["kind"] == read(part).kind


def test_system_and_tools_are_counted_in_every_form():
    assert list(fixed_texts({})) == []
    assert list(fixed_texts({"system": "be brief", "tools": []})) == ["be brief"]
    assert list(fixed_texts({"system": [text("a"), {"type": "x"}], "tools": [{"name": "n"}]})) == [
        "a", '{"type":"x"}', '[{"name":"n"}]',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (None, "m"), ("hi", "m"), ([], "m"), ({}, "m.role"), ({"role": None, "content": "a"}, "m.role"),
        ({"role": "user"}, "m.content"), ({"role": "user", "content": 5}, "m.content"),
        ({"role": "user", "content": [text("a"), None]}, "m.content[1]"),
        ({"role": "user", "content": [text("a"), {"type": 5}]}, "m.content[1]"),
        ({"role": "user", "content": [{"type": "text"}]}, "m.content[0].text"),
        ({"role": "user", "content": [{"type": "tool_use", "id": None}]}, "m.content[0].id"),
        ({"role": "user", "content": [{"type": "tool_result"}]}, "m.content[0].tool_use_id"),
        ({"role": "user", "content": [result("c", 5)]}, "m.content[0].content"),
        ({"role": "user", "content": [result("c", {})]}, "m.content[0].content"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_named_by_its_path(message, path):
    with pytest.raises(WireError) as raised:
        blocks(message, "m")
    assert raised.value.path == path
    assert str(raised.value).startswith(f"{path}: ")


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("\ud800")
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "tool_use_id", "source", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)
kinds = st.sampled_from(["text", "tool_use", "tool_result", "image", "document", "thinking", "server_tool_use", "x"])
some_parts = st.builds(lambda kind, rest: {**(rest if isinstance(rest, dict) else {}), "type": kind}, kinds, anything)


@given(st.lists(some_parts | anything, max_size=4) | anything)
def test_any_content_is_read_or_refused(content):
    message = {"role": "user", "content": content}
    before = copy.deepcopy(message)
    try:
        _, found = blocks(message)
    except WireError:
        pass
    else:
        assert len(found) == (1 if isinstance(content, str) else len(content))
        assert len(digest(message)) == 32
        assert isinstance(problems([message]), tuple)
        for number, block in enumerate(found):
            entry_of(block, "user", message_id="m", place=number, pair_id=None, count=characters_per_4, at=(0, 0))
    assert message == before


# --------------------------------------------------------------------------------------------------------- digest


def test_cache_markers_order_of_keys_and_the_form_of_a_lone_text_are_no_difference():
    marked = {"role": "user", "content": [text("hi", cache_control={"type": "ephemeral", "ttl": "1h"})]}
    assert digest(user("hi")) == digest(marked) == digest({"content": "hi", "role": "user"})
    inner = user(result("c", [text("a", cache_control={"type": "ephemeral"})]))
    assert digest(inner) == digest(user(result("c", [text("a")])))


@pytest.mark.parametrize(
    "other",
    [
        assistant("hi"), user("hi "), user("hi", "hi"), user(text("hi", citations=[])), {**user("hi"), "extra": 1},
        user(result("c", "hi")), {"role": "user", "content": []},
    ],
)  # fmt: skip
def test_everything_else_is_a_difference(other):
    assert digest(other) != digest(user("hi"))


def test_numbers_and_odd_strings_have_a_digest_too():
    one = digest(assistant(call("c", a=1.5, b=2**60, c="\ud800")))
    assert one == digest(assistant(call("c", a=1.5, b=2**60, c="\ud800")))
    assert one != digest(assistant(call("c", a=1.5, b=2**60, c="\ud801")))
    assert digest(assistant(call("c", b=1, a="\ud800"))) == digest(assistant(call("c", a="\ud800", b=1)))


# --------------------------------------------------------------------------------------------------------- render


def test_an_edit_touches_only_what_it_names():
    message = {"role": "user", "extra": [1], "content": [text("a", citations=[]), image(), text("b", x=1)]}
    before = copy.deepcopy(message)
    out = render(message, {0: Edit(), 2: Edit("shorter")}, ["a pin"])
    assert out == {"role": "user", "extra": [1], "content": [image(), text("shorter", x=1), text("a pin")]}
    assert out["content"][0] is parts(message)[1]
    assert message == before


def test_a_message_without_blocks_is_none_and_a_string_stays_a_string():
    assert render(user("hi"), {0: Edit()}) is None
    assert render(user("hi"), {0: Edit("h")}) == user("h")
    assert render(user("hi"), {}, ["pin"]) == {"role": "user", "content": [text("hi"), text("pin")]}
    assert render(user("hi"), {0: Edit()}, ["pin"]) == user("pin")


# ------------------------------------------------------------------------------------------------------- problems


LEGAL: list[list[Any]] = [
    [user("hi")],
    [user("hi"), assistant("a")],
    [user("hi"), user("there"), assistant("a"), assistant("b")],
    [user("hi"), assistant(call("a"), call("b")), user(result("b", ""), result("a", []), "also")],
    [user("hi"), assistant(""), user("go")],
    [user("hi"), {"role": "system", "content": "s"}, assistant("a"), user("go"), {"role": "system", "content": "s"}],
    [user("hi"), assistant(thinking(""), "a")],
]
REFUSED: list[tuple[list[Any], str]] = [
    ([assistant("a")], "first message must have the role user"),
    ([user("hi"), assistant(call("a"))], "without `tool_result` blocks immediately after: a"),
    ([user("hi"), assistant(call("a")), user("no")], "without `tool_result` blocks immediately after: a"),
    ([user("hi"), assistant(call("a"), call("b")), user(result("a", ""))], "immediately after: b"),
    ([user("hi"), assistant(call("a")), user("no"), user("hm"), assistant("b")], "immediately after: a"),
    ([user("hi"), user(result("a", ""))], "unexpected `tool_use_id` found in `tool_result` blocks: a"),
    ([user("hi"), assistant(call("a")), user(result("a", "")), user(result("b", ""))], "unexpected `tool_use_id`"),
    ([user(result("a", "")), assistant(call("a")), user(result("a", ""))], "unexpected `tool_use_id`"),
    ([user("a"), *[assistant(call("a")), user(result("a", ""))] * 2], "ids must be unique: a"),
    ([user("a"), assistant(call("a")), {"role": "system", "content": "s"}, user(result("a", ""))], "stands between"),
    ([user("")], "user messages must have non-empty content"),
    ([{"role": "user", "content": []}], "user messages must have non-empty content"),
    ([user("hi"), assistant(text(" \n"))], "non-whitespace text"),
    ([user("hi", text(""))], "non-whitespace text"),
]


@pytest.mark.parametrize("messages", LEGAL)
def test_what_the_provider_takes_has_no_problems(messages):
    assert problems(messages) == ()


@pytest.mark.parametrize(("messages", "words"), REFUSED)
def test_what_the_provider_refuses_is_said_in_its_words(messages, words):
    assert any(words in problem for problem in problems(messages)), problems(messages)
