"""The form of OpenAI Chat Completions: what is read, what an edit leaves, what the provider refuses, whole sessions."""

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.wire.odd import places, put
from tests.wire.openai_chat_messages import (
    DIGEST_BYTES,
    FORM,
    Json,
    assistant,
    block,
    call,
    image,
    kinds,
    part,
    problems,
    read,
    signed,
    system,
    tool,
    user,
)
from undrift.errors import WireError
from undrift.wire.form import Block, Edit, ProviderReply, ToolCall, View
from undrift.wire.openai_chat.media import IMAGE_TOKENS, LOW_DETAIL_TOKENS

# -------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("item", "role"),
    [
        (user(), "user"), (system(), "system"), ({"role": "developer", "content": "a"}, "system"),
        (assistant("a"), "assistant"), (tool(), "tool"), ({"role": "function", "name": "f", "content": "a"}, "tool"),
        ({"role": "model", "content": "a"}, "model"),
    ],
)  # fmt: skip
def test_developers_speak_as_the_system_and_functions_answer_as_tools(item, role):
    assert read(item).role == role


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        (part("a"), "text", "a"),
        ({"type": "refusal", "refusal": "no"}, "text", "no"),
        ({"type": "mystery", "a": [1]}, "other", '{"type":"mystery","a":[1]}'),
        (image(), "image", json.dumps(image(), separators=(",", ":"))),
        ({"type": "input_audio", "input_audio": {"data": "aGk="}}, "image", None),
        ({"type": "file", "file": {"file_id": "f"}}, "image", None),
    ],
)
def test_each_part_has_its_kind_and_what_recall_gives_back(given, kind, text):
    found = block(user([given]))
    assert (found.kind, found.text if text else None) == (kind, text)
    assert text or json.loads(found.text) == given


def test_a_string_and_one_part_read_alike():
    assert read(user("hi")) == read(user([part("hi")])) == View("user", (Block("text", "hi"),))


@pytest.mark.parametrize("content", [None, "", []])
def test_no_text_beside_calls_is_no_block(content):
    assert kinds(assistant(content, call("a"), call("b"))) == ["call", "call"]
    without_key = {k: v for k, v in assistant(content, call()).items() if k != "content"}
    assert kinds(without_key) == ["call"]


def test_an_empty_text_alone_is_a_block_so_that_it_can_leave():
    assert read(assistant("")) == View("assistant", (Block("text", ""),), is_empty=True)
    assert read(assistant([])) == View("assistant", (), is_empty=True)
    assert read(assistant(None)) == View("assistant", ())


def test_calls_give_their_arguments_and_results_their_output():
    custom = {"id": "d", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    text, one, two = read(assistant("so", call("c", '{"a": 1}'), custom)).blocks
    assert text == Block("text", "so")
    assert one == Block("call", '{"a": 1}', "c", tool_name="bash")
    assert two == Block("call", "select 1", "d", tool_name="sql")
    assert block(tool("c", "out")) == Block("result", "out", "c", answers=True)
    assert block(tool("c", None)) == Block("result", "", "c", answers=True)


def test_calls_of_another_shape_are_recalled_as_json():
    strange = {"id": "c", "type": "strange", "with": 1}
    assert json.loads(block(assistant(None, strange)).text) == strange
    given_as_object = call("c") | {"function": {"name": "f", "arguments": {"a": 1}}}
    assert block(assistant(None, given_as_object)).text == '{"a":1}'


def test_a_result_of_parts_is_counted_by_its_texts_and_pictures():
    assert block(tool("c", [part("out")])).text == "out"
    mixed = [part("a"), image(), part("b")]
    found = block(tool("c", mixed))
    assert (json.loads(found.text), found.counted, found.extra_tokens) == (mixed, "a\nb", IMAGE_TOKENS)


def test_cache_markers_that_gateways_take_are_seen():
    markers = [None, {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}]
    parts = [part("a", **({"cache_control": marker} if marker else {})) for marker in markers]
    assert [b.marker for b in read(user(parts)).blocks] == [None, "5m", "1h"]


def test_the_old_function_call_is_paired_by_its_name():
    asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answered = {"role": "function", "name": "f", "content": "out"}
    assert (block(asked).kind, block(asked).text, block(asked).tool_name) == ("call", "{}", "f")
    assert (block(answered).kind, block(answered).text) == ("result", "out")
    assert block(asked).call_id == block(answered).call_id is not None


def test_an_empty_id_pairs_as_any_other():
    assert block(assistant(None, call(""))).call_id == block(tool("")).call_id != ""


def test_pictures_sound_and_files_cost_what_is_billed_and_not_their_base64():
    def cost(given: Json) -> tuple[int, str | None]:
        found = block(user([given]))
        return found.extra_tokens, found.counted

    data = "A" * 1_000_000
    assert cost(image(url=data)) == (IMAGE_TOKENS, "")
    assert cost(image(detail="low")) == (LOW_DETAIL_TOKENS, "")
    assert cost({"type": "input_audio", "input_audio": {"data": data}}) == (500, "")
    assert cost({"type": "file", "file": {"file_data": data}}) == (62_500, "")
    assert cost({"type": "file", "file": {"file_id": "f"}}) == (IMAGE_TOKENS, "")


def test_what_a_signature_or_reasoning_stands_for_shares_its_fate():
    assert read(assistant("so", call("a"), call("b"))).bundle == ""
    both = read(assistant(None, signed("a"), call("b")))
    assert (both.bundle, [b.is_signed for b in both.blocks]) == ("item", [True, False])
    assert read(assistant("so", call("a"), reasoning_content="hm")).bundle == "run"
    assert read(assistant("so", call("a"), reasoning_content="")).bundle == ""
    assert read(user("so", reasoning_content="hm")).bundle == ""


def test_reasoning_is_one_block_and_counted_once():
    found = read(assistant("so", call("a"), reasoning_content="hm")).blocks
    assert [b.kind for b in found] == ["other", "text", "call"]
    assert found[0].text == "hm"
    details = [{"type": "reasoning.text", "text": "hm"}]
    twice = read(assistant("so", reasoning="hm", reasoning_details=details)).blocks[0]
    assert (json.loads(twice.text), twice.counted) == ({"reasoning": "hm", "reasoning_details": details}, "hm")
    sealed = read(assistant("so", reasoning_details=details)).blocks[0]
    assert (json.loads(sealed.text), sealed.counted) == ({"reasoning_details": details}, None)


def test_a_refusal_and_spoken_words_are_blocks_too():
    assert [(b.kind, b.text) for b in read(assistant(None, refusal="no")).blocks] == [("text", "no")]
    assert [(b.kind, b.text) for b in read(assistant(audio={"id": "a"})).blocks] == [("other", '{"id":"a"}')]
    assert kinds(assistant("so", refusal=None, audio=None, function_call=None)) == ["text"]


def test_tools_functions_and_the_schema_of_the_answer_are_counted():
    assert list(FORM.beside_texts({})) == list(FORM.beside_texts({"tools": [], "response_format": None})) == []
    schema = {"type": "json_schema", "json_schema": {"name": "n"}}
    found = list(FORM.beside_texts({"tools": [{"a": 1}], "functions": [{"b": 1}], "response_format": schema}))
    assert found == ['[{"a":1}]', '[{"b":1}]', '{"name":"n"}']
    assert list(FORM.beside_texts({"response_format": {"type": "text"}})) == []


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (None, "m"), ("hi", "m"), ([], "m"), ({}, "m.role"), ({"role": None}, "m.role"),
        (user(5), "m.content"), (user({}), "m.content"), (tool("c", 5), "m.content"),
        (user([part("a"), None]), "m.content[1]"), (user([{"type": 5}]), "m.content[0]"),
        (user([{"type": "text"}]), "m.content[0].text"), (user([{"type": "refusal"}]), "m.content[0].refusal"),
        (assistant("a", tool_calls={}), "m.tool_calls"), (assistant("a", tool_calls=[5]), "m.tool_calls[0]"),
        (assistant(None, call("a"), call() | {"id": 5}), "m.tool_calls[1].id"),
        (assistant("a", function_call="f"), "m.function_call"),
        (assistant("a", function_call={}), "m.function_call.name"),
        ({"role": "tool", "content": "a"}, "m.tool_call_id"), ({"role": "function", "content": "a"}, "m.name"),
        (tool("c", [part("a"), 5]), "m.content[1]"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_named_by_its_path(item, path):
    with pytest.raises(WireError) as raised:
        read(item)
    assert raised.value.path == path


@pytest.mark.parametrize("history", [None, {}, "a", 5])
def test_a_history_is_an_array(history):
    with pytest.raises(WireError, match="must be an array"):
        FORM.items(history)


def deep(levels: int = 10_000) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "item",
    [
        user([{"type": "mystery", "a": deep()}]), tool("c", [{"type": "mystery", "a": deep()}]),
        assistant(None, {"id": "c", "a": deep()}), assistant("a", audio={"a": deep()}),
        assistant("a", reasoning_details=deep()), assistant(None, function_call={"name": "f", "arguments": deep()}),
    ],
)  # fmt: skip
def test_what_is_nested_too_deep_is_refused(item):
    with pytest.raises(WireError, match="nested too deep"):
        read(item)
    with pytest.raises(WireError, match="nested too deep"):
        FORM.digest(item)


# -------------------------------------------------------------------------------------------------- any shape at all


VALID: list[Json] = [
    user(), user([part("a"), image(), {"type": "file", "file": {"file_data": "x"}}], name="n"), system([part("a")]),
    assistant("so", signed("a"), call("b"), reasoning_details=[{"type": "x"}], refusal=None),
    assistant("", {"id": "d", "type": "custom", "custom": {"name": "sql", "input": "x"}}, refusal="no"),
    assistant(None, function_call={"name": "f", "arguments": "{}"}, audio={"id": "a"}),
    tool(), tool("c", [part("a"), image()]), {"role": "function", "name": "f", "content": "x"},
]  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "x", "\ud800"])
names = st.sampled_from(["type", "text", "content", "id", "role", "function", "image_url", "google"])
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    item = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(0, 2))):
        item = put(item, draw(st.sampled_from(list(places(item)))), draw(anything))
    return item


def read_or_path(item: Any) -> View | str:
    try:
        return read(item)
    except WireError as error:
        return error.path


@given(damaged(), st.data())
def test_any_shape_is_read_or_refused_and_what_is_read_can_be_edited(item, data):
    before = copy.deepcopy(item)
    view = read_or_path(item)
    if isinstance(item, dict):  # the engine looks for a known conversation before it reads
        assert len(FORM.digest(item)) == DIGEST_BYTES
    if isinstance(view, str):
        assert view.startswith("m")
        return
    assert isinstance(FORM.problems([view, view], {}), tuple)
    edited = data.draw(st.lists(st.booleans(), min_size=len(view.blocks), max_size=len(view.blocks)))
    edits = {n: Edit(data.draw(st.none() | st.just("new"))) for n, chosen in enumerate(edited) if chosen}
    appended = [] if view.role == "tool" else data.draw(st.lists(st.just("pin"), max_size=1))
    out = FORM.edit(item, edits, appended)
    if out is not None:
        now = read(out).blocks
        kept = [b for n, b in enumerate(view.blocks) if n not in edits]
        assert all(any(b.text in other.text for other in now) for b in kept)
        assert all(out[name] is item[name] for name in ("name", "function_call", "audio") if name in out)
    assert item == before


@given(damaged(), damaged())
def test_messages_of_one_digest_have_the_same_blocks(one, other):
    views = read_or_path(one), read_or_path(other)
    if isinstance(views[0], View) and isinstance(views[1], View) and FORM.digest(one) == FORM.digest(other):
        assert [b.text for b in views[0].blocks] == [b.text for b in views[1].blocks]


@example(None, None, ["\ud800", float("inf")])
@given(anything, anything, anything)
def test_any_answer_and_any_body_are_looked_at_without_an_error(one, two, three):
    answer = {"usage": one, "choices": [{"message": {"content": two, "tool_calls": three, "function_call": one}}]}
    for given_answer in (answer, {"choices": one}, {"choices": [two], "usage": {"prompt_tokens_details": three}}):
        assert isinstance(FORM.reply(given_answer), ProviderReply)
    body = {"metadata": one, "prompt_cache_key": two, "tools": three, "functions": one, "response_format": two}
    assert FORM.delta(body) is None
    assert isinstance(FORM.session_id(body), str | None)
    assert all(isinstance(text, str) for text in FORM.beside_texts(body))


# --------------------------------------------------------------------------------------------------------- digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (user("hi"), {"content": "hi", "role": "user"}),
        (user("hi"), user([part("hi")])),
        (user("hi"), user([part("hi", cache_control={"type": "ephemeral"})])),
        (user("hi"), user("hi", name=None, cache_control={"type": "ephemeral"})),
        (tool("c", "out"), tool("c", [part("out", prompt_cache_breakpoint={})])),
        (assistant(None, call()), assistant("", call(), refusal=None, audio=None)),
        (assistant(None, call()), {"role": "assistant", "tool_calls": [call(cache_control={})]}),
    ],
)
def test_how_a_message_is_written_is_no_difference(one, other):
    assert FORM.digest(one) == FORM.digest(other)


@pytest.mark.parametrize(
    "other",
    [
        user("hi "), assistant("hi"), user([part("hi"), part("")]), user([part("hi", annotations=[])]), user([]),
        user("hi", name="n"), user(None), {"role": "developer", "content": "hi"},
    ],
)  # fmt: skip
def test_everything_else_is_a_difference(other):
    assert FORM.digest(other) != FORM.digest(user("hi"))


def test_an_empty_text_alone_differs_from_none():
    assert FORM.digest(assistant("")) != FORM.digest(assistant(None))
    assert FORM.digest(assistant(None, call("a"))) != FORM.digest(assistant(None, call("b")))


# ----------------------------------------------------------------------------------------------------------- edit


def test_an_edit_touches_only_what_it_names():
    item = user([part("a", x=1), image(), part("b", y=2)], name="n")
    before = copy.deepcopy(item)
    out = FORM.edit(item, {0: Edit(), 2: Edit("c")}, ["pin"])
    assert out == user([image(), part("c", y=2), part("pin")], name="n")
    assert out["content"][0] is item["content"][1]
    assert item == before


def test_a_string_stays_a_string():
    assert FORM.edit(user("a"), {0: Edit("b")}, []) == user("b")
    assert FORM.edit(user("a"), {}, ["pin", "too"]) == user("a\n\npin\n\ntoo")
    assert FORM.edit(user("a"), {0: Edit()}, ["pin"]) == user("pin")
    assert FORM.edit(user("a"), {0: Edit()}, []) is None


def test_of_several_calls_those_stay_that_are_not_named():
    item = assistant("so", call("a"), call("b"), call("c"), annotations=[1])
    out = FORM.edit(item, {1: Edit(), 3: Edit()}, [])
    assert out == assistant("so", call("b"), annotations=[1])
    assert out["tool_calls"][0] is item["tool_calls"][1]
    assert out["annotations"] is item["annotations"]


def test_the_last_call_takes_the_field_with_it_and_the_text_stays():
    assert FORM.edit(assistant("so", call("a"), call("b")), {1: Edit(), 2: Edit()}, []) == assistant("so")
    legacy = assistant("so", function_call={"name": "f", "arguments": ""})
    assert FORM.edit(legacy, {1: Edit()}, []) == assistant("so")


@pytest.mark.parametrize("content", [None, ""])
def test_a_message_of_calls_alone_leaves_with_them(content):
    assert FORM.edit(assistant(content, call("a")), {0: Edit()}, []) is None
    assert FORM.edit(assistant(content, call("a"), annotations=[], name="n"), {0: Edit()}, []) is None
    assert FORM.edit(assistant(content, call("a"), call("b")), {0: Edit()}, []) == assistant(content, call("b"))


def test_content_is_null_only_beside_calls():
    assert FORM.edit(assistant("so", call()), {0: Edit()}, []) == assistant(None, call())
    assert FORM.edit(assistant([part("so")], call()), {0: Edit()}, []) == assistant(None, call())
    assert FORM.edit(assistant(None, call(), refusal="no"), {1: Edit()}, []) == assistant("", refusal="no")
    spoken = {"role": "assistant", "audio": {"id": "a"}, "tool_calls": [call()]}
    assert FORM.edit(spoken, {1: Edit()}, []) == {"role": "assistant", "audio": {"id": "a"}, "content": ""}
    assert FORM.edit(assistant(None, refusal="no, never"), {0: Edit("no")}, []) == assistant(None, refusal="no")


def test_reasoning_stays_with_what_it_led_to_and_never_alone():
    item = assistant("so", call("a"), reasoning="hm", reasoning_details=[1])
    assert FORM.edit(item, {2: Edit()}, []) == assistant("so", reasoning="hm", reasoning_details=[1])
    assert FORM.edit(item, {0: Edit()}, []) == assistant("so", call("a"))
    assert FORM.edit(item, {1: Edit(), 2: Edit()}, []) is None


def test_a_result_is_one_block_however_many_parts_it_has():
    assert FORM.edit(tool("c", [part("a"), part("b")]), {0: Edit()}, []) is None
    assert FORM.edit(tool("c", [part("a"), part("b")]), {0: Edit("c")}, []) == tool("c", "c")
    assert FORM.edit(tool("c", [part("a")]), {}, ["pin"]) == tool("c", [part("a"), part("pin")])


def test_what_is_no_text_becomes_one():
    assert FORM.edit(user([image(), part("a")]), {0: Edit("gone")}, []) == user([part("gone"), part("a")])
    assert FORM.edit(assistant([{"type": "refusal", "refusal": "a"}]), {0: Edit("b")}, []) == assistant(
        [{"type": "refusal", "refusal": "b"}]
    )


def test_what_the_user_says_is_a_message():
    assert FORM.user_item("hi") == user("hi")


# ------------------------------------------------------------------------------------------------------- problems


LEGAL: list[list[Json]] = [
    [user()],
    [assistant("a")],
    [system(), user(), user(), assistant("a"), assistant("")],
    [user(""), assistant(None, call("a"), call("b")), tool("b", ""), tool("a", None), user()],
    [user(), *[assistant("", call("a")), tool("a")] * 2],
    [user(), assistant(None, function_call={"name": "f", "arguments": "{}"}), user()],
    [{"role": "function", "name": "f", "content": "x"}],
    [assistant(None, refusal="no")],
]
REFUSED: list[tuple[list[Json], str]] = [
    ([assistant(None, call("a"))], "did not have response messages: a"),
    ([assistant(None, call("a"), call("b")), tool("a"), user()], "did not have response messages: b"),
    ([assistant(None, call("a")), user(), tool("a")], "did not have response messages: a"),
    ([assistant(None, call("a")), assistant("b"), tool("a")], "did not have response messages: a"),
    ([user(), tool("a")], "must be a response to a preceeding message with 'tool_calls'"),
    ([tool("a")], "must be a response to a preceeding message with 'tool_calls'"),
    ([assistant(None, call("a")), tool("a"), tool("b")], "must be a response to a preceeding message"),
    ([assistant(None, call("a")), tool("a"), user(), tool("a")], "must be a response to a preceeding message"),
    ([assistant(None, call("a")), tool("a"), tool("a")], "of 'a', in messages[1] and messages[2]."),
    ([assistant(None, call("a"), call("a")), tool("a")], "of 'a', in messages[0] and messages[0]."),
    ([user(None)], "expected a string, got null"),
    ([assistant(None)], "expected a string, got null"),
    ([user([])], "Invalid 'messages[0].content': empty array."),
    ([{"role": "model", "content": "a"}], "Invalid value: 'model'. Supported values are: 'system', "),
]


@pytest.mark.parametrize("messages", LEGAL)
def test_what_the_provider_takes_has_no_problems(messages):
    assert problems(*messages) == ()


@pytest.mark.parametrize(("messages", "words"), REFUSED)
def test_what_the_provider_refuses_is_said_in_its_words(messages, words):
    assert any(words in problem for problem in problems(*messages)), problems(*messages)


# ----------------------------------------------------------------------------------------- answers, and what is asked


def test_the_input_of_an_answer_includes_what_was_cached():
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    }
    answer = {"choices": [{"message": {"content": "so", "tool_calls": [call("a", "{}")]}}], "usage": usage}
    assert FORM.reply(answer) == ProviderReply(100, 60, 30, 7, "so", (ToolCall("a", "bash", "{}"),))
    assert FORM.reply({"choices": [], "usage": usage}) == ProviderReply(100, 60, 30, 7)
    assert FORM.reply({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}}) == ProviderReply(9, 4)
    assert FORM.reply({"usage": {"prompt_tokens": -1, "completion_tokens": "7"}}) == FORM.reply({}) == ProviderReply()


@pytest.mark.parametrize(
    ("message", "text", "calls"),
    [
        ({"content": [part("a"), {"type": "x"}, part("b")]}, "ab", ()),
        ({"content": None, "refusal": "no"}, "no", ()),
        ({"tool_calls": [{"id": "d", "custom": {"name": "sql", "input": "x"}}]}, "", (ToolCall("d", "sql", "x"),)),
        ({"function_call": {"name": "f", "arguments": "{}"}}, "", (ToolCall("", "f", "{}"),)),
        ({"tool_calls": [5, {}, {"function": {"name": 5}}]}, "", (ToolCall("", "", ""),)),
    ],
)
def test_what_an_answer_says_and_calls(message, text, calls):
    found = FORM.reply({"choices": [{"message": message}]})
    assert (found.text, found.calls) == (text, calls)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"session_id": "a", "prompt_cache_key": "c"}, "a"), ({"metadata": {"session_id": "b"}}, "b"),
        ({"prompt_cache_key": "0199a213-81c0-7800-8aa1-bbab2a035a53", "metadata": None}, "0199a213-81c0-7800-8aa1-bbab2a035a53"), ({"prompt_cache_key": "all of them"}, None),
        ({"user": "d"}, None), ({"session_id": ""}, None), ({}, None),
    ],
)  # fmt: skip
def test_the_clients_own_id_of_its_session_is_found(body, found):
    assert FORM.session_id(body) == found
