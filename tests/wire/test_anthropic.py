"""The Anthropic form: blocks are read whole, edits touch what they name, and answers and sessions are recognised."""

import copy
import json
from typing import Any

import pytest

from tests.builders import Json, assistant, body, call, image, opened, parts, result, rounds, text, thinking, user
from undrift.core.text.tokens import characters_per_4
from undrift.errors import Declined, WireError
from undrift.values.window import ContextEntry
from undrift.wire import anthropic
from undrift.wire.anthropic import editing
from undrift.wire.anthropic.reading import IMAGE_TOKENS
from undrift.wire.form import Block, BlockPlace, Edit, Form, ProviderReply, ToolCall, View, entry_of

FORM: Form = anthropic


def read(part: Json) -> Block:
    (block,) = FORM.read({"role": "user", "content": [part]}, "m").blocks
    return block


def made(part: Json, role: str = "user") -> ContextEntry:
    return entry_of(read(part), role, BlockPlace("m", 3, 5, 7), "p", characters_per_4)


def marked(part: Json, **more: Any) -> Json:
    return {**part, "cache_control": {"type": "ephemeral", **more}}


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def document(**source: Any) -> Json:
    return {"type": "document", "source": source}


# -------------------------------------------------------------------------------------------------------- reading


def test_a_string_and_one_text_block_read_alike():
    assert FORM.read(user("hi"), "m") == View("user", (Block("text", "hi"),))
    assert FORM.read({"role": "user", "content": [text("hi")]}, "m") == View("user", (Block("text", "hi"),))


def test_empty_content_is_told():
    assert FORM.read({"role": "assistant", "content": []}, "m") == View("assistant", (), is_empty=True)
    assert FORM.read({"role": "assistant", "content": ""}, "m") == View(
        "assistant", (Block("text", ""),), is_empty=True
    )
    assert not FORM.read({"role": "user", "content": [text("")]}, "m").is_empty


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
    assert read({"type": "mystery", "id": "s1", "tool_use_id": None}).call_id == "s1"


def test_it_is_told_what_answers_and_what_is_signed():
    assert [read(part).answers for part in (call("c"), result("c", "x"), text("a"))] == [False, True, False]
    assert not read({"type": "mcp_tool_use", "id": "s1", "name": "n", "input": {}}).answers
    assert read({"type": "mcp_tool_result", "tool_use_id": "s1", "content": []}).answers
    assert read(thinking("hm")).is_signed
    assert not read(text("hm")).is_signed


def test_a_compaction_of_the_provider_must_never_leave():
    part = {"type": "compaction", "content": "so far", "signature": "c2ln"}
    block = read(part)
    assert (block.kind, block.is_pinned, json.loads(block.text)) == ("other", True, part)
    assert made(part, "assistant").type == "spec"
    assert not read({"type": "mystery"}).is_pinned


@pytest.mark.parametrize("part", [text("a"), call("c"), result("c", "x"), image(), thinking("t"), {"type": "mystery"}])
def test_the_cache_marker_is_read_wherever_it_stands(part):
    assert read(part).marker is None
    assert read({**part, "cache_control": None}).marker is None
    assert [read(marked(part, ttl=ttl)).marker for ttl in ("5m", "1h", None)] == ["5m", "1h", "5m"]
    assert read(marked(part)).marker == "5m"


def test_pictures_cost_what_the_provider_bills_and_not_their_base64():
    assert made(image("A" * 100_000)).token_count == IMAGE_TOKENS
    assert made(document(type="base64", data="A" * 100)).token_count == IMAGE_TOKENS
    assert made(document(type="base64", data="A" * 1_000_000)).token_count == 62_500
    assert made({"type": "document", "source": None}).token_count == IMAGE_TOKENS


def test_a_document_of_plain_text_costs_its_text():
    words = "word " * 4_000
    assert made(document(type="text", media_type="text/plain", data=words)).token_count == 5_000
    assert made(document(type="content", content=words)).token_count == 5_000
    both = made(document(type="content", content=[text(words), image("A" * 100_000)])).token_count
    assert IMAGE_TOKENS + 5_000 < both < IMAGE_TOKENS + 5_020
    inner = made(result("c", [document(type="text", data=words)]))
    assert inner.token_count == 5_000


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
    assert list(FORM.beside_texts({})) == []
    assert list(FORM.beside_texts({"system": "be brief", "tools": []})) == ["be brief"]
    assert list(FORM.beside_texts({"system": [text("a"), {"type": "x"}], "tools": [{"name": "n"}]})) == [
        "a", '{"type":"x"}', '[{"name":"n"}]',
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "path"), [("system", "system"), ("tools", "tools")])
def test_what_json_cannot_hold_beside_the_history_is_named(name, path):
    with pytest.raises(WireError) as raised:
        list(FORM.beside_texts({name: [object()]}))
    assert raised.value.path == path


@pytest.mark.parametrize("history", [None, "hi", {}, 5])
def test_the_history_is_an_array(history):
    with pytest.raises(WireError) as raised:
        FORM.items(history)
    assert raised.value.path == "messages"
    assert FORM.items([history]) == [history]


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
        ({"role": "user", "content": [{"type": "tool_use", "id": "c", "input": object()}]}, "m.content[0].input"),
        ({"role": "user", "content": [text("a"), {"type": "image", "source": object()}]}, "m.content[1]"),
        ({"role": "user", "content": [result("c", [text("a"), object()])]}, "m.content[0].content[1]"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_named_by_its_path(message, path):
    with pytest.raises(WireError) as raised:
        FORM.read(message, "m")
    assert raised.value.path == path
    assert str(raised.value).startswith(f"{path}: ")


# --------------------------------------------------------------------------------------------------------- digest


def test_cache_markers_order_of_keys_and_the_form_of_a_lone_text_are_no_difference():
    one = {"role": "user", "content": [marked(text("hi"), ttl="1h")]}
    assert FORM.digest(user("hi")) == FORM.digest(one) == FORM.digest({"content": "hi", "role": "user"})
    inner = FORM.digest(user(result("c", "a")))
    assert inner == FORM.digest(user(result("c", [marked(text("a"))]))) == FORM.digest(user(result("c", [text("a")])))


def test_null_is_the_same_as_nothing():
    given = {**user(text("hi", citations=None)), "cache_control": None, "extra": None}
    assert FORM.digest(given) == FORM.digest(user("hi"))
    assert FORM.digest(user(result("c", None))) == FORM.digest(user({"type": "tool_result", "tool_use_id": "c"}))
    assert FORM.digest(assistant(call("c", a=None))) != FORM.digest(assistant(call("c")))  # an argument is the tool's


@pytest.mark.parametrize(
    "other",
    [
        assistant("hi"), user("hi "), user("hi", "hi"), user(text("hi", citations=[])), {**user("hi"), "extra": 1},
        user(result("c", "hi")), {"role": "user", "content": []}, {"role": "user", "content": text("hi")},
        {"role": "user"}, {"role": "user", "content": ["hi"]},
    ],
)  # fmt: skip
def test_everything_else_is_a_difference(other):
    assert FORM.digest(other) != FORM.digest(user("hi"))


def test_a_result_without_text_and_one_with_an_empty_text_differ():
    given = [result("c", None), result("c", ""), result("c", []), result("d", "")]
    assert len({FORM.digest(user(one)) for one in given}) == len(given)


def test_numbers_and_odd_strings_have_a_digest_too():
    one = FORM.digest(assistant(call("c", a=1.5, b=2**60, c="\ud800")))
    assert one == FORM.digest(assistant(call("c", a=1.5, b=2**60, c="\ud800")))
    assert one != FORM.digest(assistant(call("c", a=1.5, b=2**60, c="\ud801")))
    assert FORM.digest(assistant(call("c", b=1, a="\ud800"))) == FORM.digest(assistant(call("c", a="\ud800", b=1)))


# ----------------------------------------------------------------------------------------------------------- edit


def test_an_edit_touches_only_what_it_names():
    message = {"role": "user", "extra": [1], "content": [text("a", citations=[]), image(), text("b", x=1)]}
    before = copy.deepcopy(message)
    out = FORM.edit(message, {0: Edit(), 2: Edit("shorter")}, ["a pin"])
    assert out == {"role": "user", "extra": [1], "content": [image(), text("shorter", x=1), text("a pin")]}
    assert out["content"][0] is parts(message)[1]
    assert out["extra"] is message["extra"]
    assert message == before


def test_a_message_without_blocks_is_none_and_a_string_stays_a_string():
    assert FORM.edit(user("hi"), {0: Edit()}, ()) is None
    assert FORM.edit(user(text("a"), image()), {0: Edit(), 1: Edit()}, ()) is None
    assert FORM.edit(user("hi"), {0: Edit("h")}, ()) == user("h")
    assert FORM.edit(user("hi"), {}, ["pin"]) == {"role": "user", "content": [text("hi"), text("pin")]}
    assert FORM.edit(user("hi"), {0: Edit()}, ["pin"]) == user("pin")


def test_what_the_user_says_is_read_back():
    assert FORM.read(FORM.user_item("go on"), "m") == View("user", (Block("text", "go on"),))


# ----------------------------------------------------------------------------------- what goes beside the messages


def test_thinking_is_asked_for_or_not():
    assert [editing.thinks({"thinking": {"type": kind}}) for kind in ("enabled", "adaptive", "disabled")] == [
        True, True, False,
    ]  # fmt: skip
    odd: list[Any] = [None, "enabled", [], 5]
    assert not any(editing.thinks({"thinking": one}) for one in odd)
    assert not editing.thinks({})


def test_the_wish_to_drop_thinking_keeps_what_the_client_says_besides():
    asked = {"type": "enabled", "budget_tokens": 5, "block_binding": {"other": 1, "prefix_mismatch_behavior": "error"}}
    before = copy.deepcopy(asked)
    wish = {"other": 1, "prefix_mismatch_behavior": "drop_block"}
    assert editing.drop_block(asked) == {"type": "enabled", "budget_tokens": 5, "block_binding": wish}
    assert asked == before
    assert editing.drop_block({"block_binding": 5}) == {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}


ORDER = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "input_tokens", "value": 900},
    "keep": {"type": "tool_uses", "value": 4},
}


def cleared(management: Any) -> Json | None:
    return editing.clear_tool_uses(management, trigger_tokens=900, keep_tool_uses=4)


def test_the_order_to_clear_results_stands_behind_the_clients_own():
    own = {"type": "clear_thinking_20251015", "keep": "all"}
    given = {"edits": [own], "extra": 1}
    assert cleared(None) == cleared({}) == cleared({"edits": None}) == {"edits": [ORDER]}
    assert cleared(given) == {"edits": [own, ORDER], "extra": 1}
    assert given == {"edits": [own], "extra": 1}


@pytest.mark.parametrize(
    "management",
    [
        {"edits": [{"type": "clear_tool_uses_20250919"}]}, {"edits": [{"type": "clear_tool_uses_20990101"}]},
        "x", 5, [], [1], {"edits": {}}, {"edits": ""}, {"edits": "x"},
    ],
)  # fmt: skip
def test_a_client_that_clears_itself_or_says_what_is_not_known_is_left_alone(management):
    assert cleared(management) is None


@pytest.mark.parametrize("odd", [None, 5, {}, {"type": 5}, {"type": nested(10_000)}])
def test_an_order_that_is_none_is_kept_as_it_came(odd):
    assert cleared({"edits": [odd]}) == {"edits": [odd, ORDER]}


@pytest.mark.parametrize("body", [{}, {"anthropic_version": "vertex-2023-10-16"}, {"anthropic_version": 5}])
def test_a_beta_goes_into_the_header(body):
    assert editing.with_beta(body, {"a": 1}, "b") == ({"a": 1}, {"anthropic-beta": "b"})


@pytest.mark.parametrize(("given", "sent"), [(None, ["b"]), (["c"], ["c", "b"]), (["b"], ["b"]), ("odd", ["b"])])
def test_bedrock_reads_betas_in_the_body_alone(given, sent):
    body = {"anthropic_version": "bedrock-2023-05-31", **({} if given is None else {"anthropic_beta": given})}
    assert editing.with_beta(body, {"a": 1}, "b") == ({"a": 1, "anthropic_beta": sent}, {})
    today = {**body, "anthropic_version": "2026-10-21"}  # which no longer says that it is for Bedrock
    assert json.loads(editing.beta_in_body(json.dumps(today).encode(), "b")) == {**today, "anthropic_beta": sent}


# -------------------------------------------------------------------------------------------- sessions and threads


def test_the_session_that_the_client_names_is_found():
    named = json.dumps({"device_id": "d", "session_id": "5d0e9c50"})
    assert FORM.session_id({"metadata": {"user_id": named}}) == "5d0e9c50"


@pytest.mark.parametrize(
    "metadata",
    [
        None, 5, "{}", [], {}, {"user_id": None}, {"user_id": 5}, {"user_id": {"session_id": "s"}}, {"user_id": ""},
        {"user_id": "someone"}, {"user_id": "{"}, {"user_id": "{}"}, {"user_id": '{"session_id":""}'},
        {"user_id": '{"session_id":5}'}, {"user_id": '{"session_id":["s"]}'}, {"user_id": '{"session_id":"s"} x'},
        {"user_id": '["session_id"]'}, {"user_id": '{"session_id":"\\ud800"}'}, {"user_id": "{\x00}"},
        {"user_id": '{"session_id":NaN}'}, {"user_id": '{"a":' + "[" * 10_000},
    ],
)  # fmt: skip
def test_anything_else_names_no_session(metadata):
    assert FORM.session_id({"metadata": metadata}) is None
    assert FORM.session_id({}) is None


def test_a_lone_surrogate_of_the_library_does_not_break_the_search():
    assert FORM.session_id({"metadata": {"user_id": '{"session_id":"a\ud800"}'}}) == "a?"


def test_a_thread_keeps_its_history_at_the_provider(tmp_path):
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    assert FORM.delta({"thread": thread}) == "thread"
    assert FORM.delta({"thread": None}) is None
    assert FORM.delta({}) is None
    with pytest.raises(Declined) as raised:
        opened(tmp_path).prepare(body(user("hi"), thread=thread))
    assert (raised.value.status, raised.value.path) == (400, "thread")
    assert raised.value.body["error"]["details"] == {"error_code": "thread_unsupported_request"}


# ---------------------------------------------------------------------------------------------------------- reply


def test_the_input_of_an_answer_is_all_that_was_sent():
    usage = {
        "input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3_000, "output_tokens": 7,
        "cache_creation": {"ephemeral_5m_input_tokens": 200},
    }  # fmt: skip
    assert FORM.reply({"usage": usage}) == ProviderReply(3_210, 3_000, 200, 7, cache_seconds=300, is_promised=True)
    assert FORM.reply({"usage": {"input_tokens": 10, "output_tokens": 7}}) == ProviderReply(10, output_tokens=7)
    assert FORM.reply({"usage": {"input_tokens": 0}}) == ProviderReply(0)


def test_an_answer_says_and_calls_in_order():
    content = [thinking("hm"), text("Reading "), call("c1", path="a"), text("both."), call("c2")]
    found = FORM.reply({"content": content})
    assert found.input_tokens is None
    assert found.text == "Reading both."
    assert found.calls == (ToolCall("c1", "Read", '{"path":"a"}'), ToolCall("c2", "Read", "{}"))


def test_what_an_answer_lacks_stays_at_its_default():
    assert FORM.reply({}) == ProviderReply()
    assert FORM.reply({"content": [{"type": "tool_use"}]}).calls == (ToolCall("", "", ""),)
    odd = {"type": "tool_use", "id": nested(10_000), "name": 5, "input": nested(10_000)}
    assert FORM.reply({"content": [odd, {"type": "text"}, text("a")]}) == ProviderReply(
        text="a", calls=(ToolCall("", "", ""),)
    )


# ---------------------------------------------------------------------------------------------- through a session


def test_the_compaction_of_the_provider_stays_whatever_the_budget(tmp_path):
    signed = {"type": "compaction", "content": "so far " * 200, "signature": "c2ln"}
    given = body(user("hi"), assistant(signed), user("go on"), *rounds(12), assistant("done"), user("more"))
    prepared = opened(tmp_path, budget_tokens=1_000, keep_tool_results=1).prepare(given)
    assert prepared.actions
    assert prepared.body["messages"][1] is given["messages"][1]
