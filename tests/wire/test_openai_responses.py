"""The OpenAI Responses form: items are read whole, runs leave together, and what the provider refuses is said."""

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.odd import places, put
from tests.wire.openai_responses_items import (
    APPROVAL,
    BREAKPOINT,
    WIRE,
    Json,
    block,
    call,
    image,
    message,
    output,
    problems,
    read,
    reasoning,
    tokens,
    user,
)
from undrift.core.text.tokens import characters_per_4
from undrift.errors import WireError
from undrift.wire import openai_responses as form
from undrift.wire.form import Block, BlockPlace, Edit, View, entry_of
from undrift.wire.forms import form_of
from undrift.wire.openai_responses.parts import IMAGE_TOKENS, LOW_IMAGE_TOKENS

# -------------------------------------------------------------------------------------------------------- reading


def test_the_form_is_found_under_its_name():
    assert form_of(WIRE).NAME == form.NAME == WIRE
    assert (form.HISTORY, form.ADJACENT) == ("input", False)


def test_a_string_is_one_message_of_the_user():
    assert [read(item) for item in form.items("hi")] == [read(user("hi"))] == [View("user", (Block("text", "hi"),))]
    given = [user("a")]
    assert form.items(given) is given
    wrongs: list[Any] = [None, 5, {}]
    for wrong in wrongs:
        with pytest.raises(WireError) as raised:
            form.items(wrong)
        assert raised.value.path == "input"


@pytest.mark.parametrize(
    ("role", "seen"), [("user", "user"), ("assistant", "assistant"), ("system", "system"), ("developer", "system")]
)
def test_a_message_has_its_role_with_and_without_a_type(role, seen):
    assert read(message(role, "a")).role == read({"role": role, "content": "a"}).role == seen


def test_a_content_without_anything_in_it_is_empty():
    contents: list[Any] = ["", [], "a"]
    assert [read({"role": "user", "content": content}).is_empty for content in contents] == [True, True, False]


@pytest.mark.parametrize(
    ("part", "kind", "text"),
    [
        ({"type": "input_text", "text": "a"}, "text", "a"),
        ({"type": "output_text", "text": "a", "annotations": []}, "text", "a"),
        ({"type": "refusal", "refusal": "no"}, "text", "no"),
        (image(), "image", json.dumps(image(), separators=(",", ":"))),
        ({"type": "input_file", "file_id": "f"}, "image", '{"type":"input_file","file_id":"f"}'),
        ({"type": "mystery", "a": [1]}, "other", '{"type":"mystery","a":[1]}'),
    ],
)
def test_each_part_has_its_kind_and_what_recall_gives_back(part, kind, text):
    found = read(user(part)).blocks[0]
    assert (found.kind, found.text) == (kind, text)


@pytest.mark.parametrize(
    ("item", "kind", "call_id", "tool_name", "text"),
    [
        (call("c", '{"a":1}'), "call", "c", "exec", '{"a":1}'),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** x"},
            "call", "c", "patch", "*** x",
        ),
        ({"type": "local_shell_call", "id": "l", "call_id": "c", "action": {}}, "call", "c", "local_shell", None),
        ({"type": "local_shell_call", "id": "l", "call_id": None, "action": {}}, "call", "l", "local_shell", None),
        ({"type": "shell_call", "call_id": "c", "action": {}}, "call", "c", "shell", None),
        ({"type": "computer_call", "id": "cu", "call_id": "c", "action": {}}, "call", "c", "computer", None),
        ({"type": "tomorrow_call", "call_id": "c"}, "call", "c", "tomorrow", None),
        ({"type": "mcp_approval_request", "id": "c", "name": "n", "arguments": "{}"}, "call", "mcp_approval:c", "n", "{}"),
        (output("c", "out"), "result", "c", None, "out"),
        (output("c", [{"type": "input_text", "text": "out"}]), "result", "c", None, "out"),
        (output(None, "out"), "result", None, None, "out"),
        (output("c", None), "result", "c", None, '{"type":"function_call_output","call_id":"c","output":null}'),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": "o"}, "result", "c", None, "o"),
        ({"type": "local_shell_call_output", "id": "c", "output": "o"}, "result", "c", None, "o"),
        ({"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "o"}]}, "result", "c", None, '[{"stdout":"o"}]'),
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "failed"}, "result", "c", None, None),
        ({"type": "mcp_approval_response", "approval_request_id": "c"}, "result", "mcp_approval:c", None, None),
        ({"type": "web_search_call", "id": "ws", "status": "completed"}, "other", None, None, None),
        ({"type": "mcp_list_tools", "id": "l", "tools": []}, "other", None, None, None),
        ({"type": "mcp_call", "id": "l", "output": "o"}, "other", None, None, None),
        ({"type": "tomorrow"}, "other", None, None, '{"type":"tomorrow"}'),
    ],
)  # fmt: skip
def test_each_item_has_its_kind_its_call_and_what_recall_gives_back(item, kind, call_id, tool_name, text):
    found = block(item)
    assert (found.kind, found.call_id, found.tool_name, found.answers) == (kind, call_id, tool_name, kind == "result")
    assert found.text == (json.dumps(item, separators=(",", ":")) if text is None else text)
    assert read(item).role == ("tool" if kind == "result" else "assistant")
    assert not found.is_pinned


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "compaction", "encrypted_content": "g"}, "assistant"),
        ({"type": "item_reference", "id": "fc_1"}, "reference"),
        ({"id": "msg_1"}, "reference"),
        ({"id": "x", "type": None}, "reference"),
        ({"type": "item_reference", "id": "rs_1"}, "assistant"),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "system"),
        ({"type": "configuration_update", "reasoning": {}}, "system"),
        ({"type": "tool_search_call", "call_id": None, "execution": "server"}, "assistant"),
        ({"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []}, "assistant"),
        ({"type": "program", "call_id": "p", "code": "x"}, "assistant"),
        ({"type": "program_output", "call_id": "p", "result": "x"}, "assistant"),
        (call("c", caller={"type": "program", "caller_id": "p"}), "assistant"),
    ],
)
def test_what_later_items_rest_on_never_leaves(item, role):
    assert block(item).is_pinned
    assert read(item).role == role


def test_reasoning_begins_a_run_and_costs_what_codex_reckons():
    view = read(reasoning("rs_1", "first", "then", encrypted_content="g" * 4_000))
    assert (view.role, view.bundle, view.blocks[0].kind) == ("assistant", "run", "other")
    assert view.blocks[0].text == view.blocks[0].counted == "first\nthen"
    assert view.blocks[0].extra_tokens == (3_000 - 650 + 3) // 4
    bare = reasoning("rs_1")
    assert (block(bare).extra_tokens, block(bare).counted, json.loads(block(bare).text)) == (0, "", bare)
    raw = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    assert block(raw).text == "hm"
    assert read({"type": "item_reference", "id": "rs_1"}).bundle == "run"
    assert all(
        read(item).bundle == ""
        for item in ({"id": "fc_1"}, user("a"), call("c"), output("c"), message("assistant", "a"))
    )


def test_pictures_and_files_cost_what_is_billed_and_not_their_base64():
    data = "A" * 1_000_000
    assert tokens(user(image(image_url=f"data:image/png;base64,{data}"))) == IMAGE_TOKENS
    assert tokens(user(image(detail="low"))) == LOW_IMAGE_TOKENS
    assert tokens(user({"type": "input_file", "file_data": data})) == 62_500
    assert tokens(user({"type": "input_file", "file_id": "f"})) == IMAGE_TOKENS
    assert tokens(user({"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}})) == 500
    assert tokens({"type": "image_generation_call", "id": "ig", "result": data}) == IMAGE_TOKENS
    assert tokens({"type": "compaction", "encrypted_content": "g" * 4_000}) == 588
    screen = {"type": "computer_screenshot", "image_url": data}
    assert tokens({"type": "computer_call_output", "call_id": "c", "output": screen}) == IMAGE_TOKENS


def test_an_output_with_a_picture_is_recalled_as_json():
    mixed = [{"type": "input_text", "text": "a"}, image(), {"type": "encrypted_content", "encrypted_content": "g" * 64}]
    found = block(output("c", mixed))
    assert json.loads(found.text) == mixed
    assert (found.counted, found.extra_tokens) == ("a", IMAGE_TOKENS + 9)


def test_a_cache_breakpoint_is_seen():
    part = {"type": "input_text", "text": "a"}
    marks = [read(user({**part, **mark})).blocks[0].marker for mark in ({}, {"prompt_cache_breakpoint": BREAKPOINT})]
    assert marks == [None, "12h"]


def test_what_stands_beside_the_history_is_counted():
    schema = {"type": "json_schema", "name": "n", "schema": {}}
    assert list(form.beside_texts({})) == []
    assert list(form.beside_texts({"instructions": "be brief", "tools": [{"name": "n"}], "text": {"format": schema}})) == [
        "be brief", '[{"name":"n"}]', '{"type":"json_schema","name":"n","schema":{}}',
    ]  # fmt: skip
    assert list(form.beside_texts({"instructions": None, "tools": [], "text": {"format": {"type": "text"}}})) == []


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (None, "m"), ("hi", "m"), ([], "m"), ({}, "m.role"), ({"role": 5, "content": "a"}, "m.role"),
        ({"type": 5}, "m.type"), ({"type": "message", "content": "a"}, "m.role"),
        ({"role": "user"}, "m.content"), ({"role": "user", "content": None}, "m.content"),
        (user("a", None), "m.content[1]"), (user({"type": 5}), "m.content[0]"),
        (user({"type": "input_text"}), "m.content[0].text"), (user({"type": "refusal"}), "m.content[0].refusal"),
        (call(None), "m.call_id"), (call(5), "m.call_id"), ({"type": "custom_tool_call"}, "m.call_id"),
        ({"type": "local_shell_call"}, "m.id"), ({"type": "shell_call", "call_id": 5}, "m.call_id"),
        (output(5), "m.call_id"), (output("c", 5), "m.output"), (output("c", b"raw"), "m.output"),
        ({"type": "mcp_approval_request"}, "m.id"), ({"type": "mcp_approval_response"}, "m.approval_request_id"),
        ({"type": "reasoning", "summary": "x"}, "m.summary"), ({"type": "reasoning", "content": 5}, "m.content"),
        ({"type": "tomorrow", "x": object()}, "m"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_named_by_its_path(item, path):
    with pytest.raises(WireError) as raised:
        read(item)
    assert raised.value.path == path


VALID: list[Json] = [
    user("hi", image(), {"type": "refusal", "refusal": "no"}),
    {"role": "assistant", "content": [{"type": "output_text", "text": "a", "annotations": [], "logprobs": []}]},
    call("c", caller={"type": "direct"}),
    output("c", [{"type": "input_text", "text": "a"}, image(), {"type": "input_file", "file_data": "x"}]),
    reasoning("rs_1", "why", content=[{"type": "reasoning_text", "text": "b"}]),
    {"type": "local_shell_call_output", "id": "l", "output": "o"},
    {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
    {"type": "mcp_approval_request", "id": "a", "name": "n", "arguments": "{}"},
    {"type": "mcp_approval_response", "id": "b", "approval_request_id": "a", "approve": True},
    {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": [{"name": "n"}]},
    {"type": "image_generation_call", "id": "ig", "result": "x"},
    {"type": "compaction", "id": "c", "encrypted_content": "g"},
    {"id": "rs_1"},
    user({"type": "input_audio", "input_audio": {"data": "x", "format": "mp3"}, "prompt_cache_breakpoint": BREAKPOINT}),
]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800") | st.just(b"raw"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "call_id", "role", "output", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


def looked_at(item: Any) -> None:
    """Everything the engine does with an item either works or says what is wrong with it."""
    before = repr(item)
    with suppress(WireError):
        view = read(item)
        assert len(form.digest(item)) == 32
        assert isinstance(form.problems([view], {}), tuple)
        assert form.edit(item, {n: Edit() for n in range(len(view.blocks))}, []) is None
        assert form.edit(item, {n: Edit("x") for n in range(len(view.blocks))}, []) is not None or not view.blocks
        for number, one in enumerate(view.blocks):
            entry_of(one, view.role, BlockPlace("m", number), None, characters_per_4)
    assert repr(item) == before


@pytest.mark.parametrize("new", [None, 5, 1.5, True, "", "x", "\ud800", [], [5], {}, {"type": []}, [{"type": {}}]])
@pytest.mark.parametrize("item", VALID)
def test_a_wrong_type_at_any_place_is_read_or_refused(item, new):
    for path in places(item):
        looked_at(put(item, path, new))


@given(st.sampled_from(VALID), st.data(), anything)
def test_anything_at_any_place_is_read_or_refused(item, data, new):
    looked_at(put(item, data.draw(st.sampled_from(list(places(item)))), new))


@given(anything, anything)
def test_whatever_stands_beside_never_breaks(one, other):
    for body in ({"instructions": one, "tools": other, "text": one}, {"text": {"format": other}, "input": one}):
        try:
            list(form.beside_texts(body))
            form.items(body.get("input"))
        except WireError:
            pass
        form.problems([], body)
        form.delta(body)
        form.session_id(body)


@pytest.mark.parametrize("item", VALID)
def test_what_is_nested_too_deep_is_refused(item):
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    for path in places(item):
        for new in (deep, {"type": "x", "x": deep}):
            with pytest.raises(WireError):
                read_and_compared(put(item, path, new))


def read_and_compared(item: Any) -> None:
    """What an item holds beside what is read is not looked at before items are compared."""
    read(item)
    form.digest(item)


# --------------------------------------------------------------------------------------------------------- digest


SAME: list[list[Json]] = [
    [
        user("hi"), {"role": "user", "content": "hi"}, user({"type": "input_text", "text": "hi"}),
        {"content": "hi", "role": "user", "id": "msg_1", "status": "completed", "type": None},
        user({"type": "input_text", "text": "hi", "prompt_cache_breakpoint": BREAKPOINT}),
    ],
    [
        message("assistant", "a"),
        message("assistant", {"type": "output_text", "text": "a", "annotations": [], "logprobs": []}),
    ],
    [output("c", "o"), output("c", "o", id="fco_1"), output("c", [{"type": "input_text", "text": "o"}])],
    [reasoning("rs_1"), {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA", "status": None}],
    [call("c"), call("c", status="completed", caller=None)],
    [{"id": "rs_1"}, {"type": "item_reference", "id": "rs_1"}],
]  # fmt: skip
DIFFERENT: list[Json] = [
    *[group[0] for group in SAME], user("hi "), user("hi", "hi"), message("developer", "hi"), message("assistant", "hi"),
    user({"type": "input_text", "text": "hi", "x": 1}), output("d", "o"), output("c", "o", x=1), call("c", "{ }"),
    {**call("c"), "id": "fc_other"}, reasoning("rs_2"), reasoning("rs_1", "a"), call("c", status="incomplete"),
    {"type": "custom_tool_call_output", "call_id": "c", "output": "o"}, user({"type": "input_text", "text": "\ud800"}),
]  # fmt: skip


@pytest.mark.parametrize("group", SAME)
def test_what_means_the_same_has_one_digest(group):
    assert len({form.digest(item) for item in group}) == 1


def test_everything_else_is_a_difference():
    assert len({form.digest(item) for item in DIFFERENT}) == len(DIFFERENT)


# ----------------------------------------------------------------------------------------------------------- edit


def test_an_edit_touches_only_what_it_names():
    first, second = {"type": "input_text", "text": "a", "x": 1}, {"type": "input_text", "text": "b", "y": [2]}
    item = {**user(first, image(), second), "extra": [1]}
    before = copy.deepcopy(item)
    out = form.edit(item, {0: Edit(), 2: Edit("shorter")}, ["a pin"])
    assert out is not None
    assert out == {**item, "content": [image(), {**second, "text": "shorter"}, {"type": "input_text", "text": "a pin"}]}
    assert out["content"][0] is item["content"][1]
    assert out["extra"] is item["extra"]
    assert item == before


def test_a_string_stays_a_string_while_it_is_alone():
    assert form.edit(user("hi"), {0: Edit("h")}, []) == user("h")
    assert form.edit(user("hi"), {0: Edit()}, ["pin"]) == user("pin")
    pinned = form.edit({"role": "user", "content": "hi"}, {}, ["pin"])
    assert pinned == {"role": "user", "content": user("hi", "pin")["content"]}
    refused = message("assistant", {"type": "refusal", "refusal": "no, because"})
    assert form.edit(refused, {0: Edit("no")}, []) == message("assistant", {"type": "refusal", "refusal": "no"})


@pytest.mark.parametrize("item", [user("hi"), user("hi", image()), *VALID])
def test_an_item_without_blocks_is_none(item):
    assert form.edit(item, {n: Edit() for n in range(len(read(item).blocks))}, []) is None


def test_an_output_can_be_given_another_text():
    assert form.edit(output("c", "long", x=1), {0: Edit("short")}, []) == output("c", "short", x=1)
    assert form.edit(reasoning("rs_1"), {0: Edit("short")}, []) == reasoning("rs_1")


def test_what_the_user_says_is_a_message_of_parts():
    assert form.user_item("x") == {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}


# ------------------------------------------------------------------------------------------------------- problems


LEGAL: list[list[Any]] = [
    [user("hi")],
    [message("assistant", "a"), user("")],
    [user("hi"), call("a"), call("b"), output("b"), output("a")],
    [user("hi"), call("a"), user("wait"), message("assistant", "ok"), output("a")],
    [user("hi"), call("a"), {"type": "tool_search_output", "call_id": "a", "tools": []}],
    [user("hi"), reasoning("rs_1"), reasoning("rs_2"), call("a"), output("a"), reasoning("rs_3"), message("assistant", "b")],
    [user("hi"), reasoning("rs_1"), {"type": "web_search_call", "id": "ws"}, reasoning("rs_2"), message("assistant", "b")],
    [user("hi"), APPROVAL],
    [user("hi"), APPROVAL, {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}],
    [user("hi"), {"type": "item_reference", "id": "fc_1"}, output("a")],
    [user("hi"), {"id": "rs_1"}, {"id": "fc_1"}, {"id": "ctc_1"}, output("a"), call("c"), output("b"), output("c"), {"id": "msg_1"}],
    [user("hi"), {"type": "compaction", "encrypted_content": "g"}, call("a"), output("a")],
    [user("hi"), output(None)],
]  # fmt: skip
REFUSED: list[tuple[list[Any], str]] = [
    ([user("hi"), call("a")], "No tool output found for function call a."),
    ([user("hi"), call("a"), call("b"), output("a")], "No tool output found for function call b."),
    ([user("hi"), output("a"), call("a")], "No tool output found for function call a."),
    ([user("hi"), output("a")], "No tool call found for function call output with call_id a."),
    ([user("hi"), call("a"), output("a"), output("a")], "No tool call found for function call output with call_id a."),
    ([{"type": "mcp_approval_response", "approval_request_id": "a"}], "No tool call found"),
    ([user("a"), *[call("a"), output("a")] * 2], "Duplicate item found with id a. Remove duplicate items from your"),
    (
        [{"id": "fc_1"}, {"id": "fc_2"}, output("a"), call("c"), output("c")],
        "2 calls are referred to, 1 outputs answer them.",
    ),
    ([{"id": "rs_1"}, user("a")], "of type 'reasoning' was provided without its required following item."),
    ([user("a"), reasoning("rs_1")], "of type 'reasoning' was provided without its required following item."),
    ([user("a"), reasoning("rs_1"), user("b")], "Item 1 of type 'reasoning' was provided without its required"),
    ([call("a"), reasoning("rs_1"), output("a")], "Item 1 of type 'reasoning' was provided without its required"),
]


@pytest.mark.parametrize("items", LEGAL)
def test_what_the_provider_takes_has_no_problems(items):
    assert problems(items) == ()


@pytest.mark.parametrize(("items", "words"), REFUSED)
def test_what_the_provider_refuses_is_said_in_its_words(items, words):
    assert any(words in problem for problem in problems(items)), problems(items)


def test_an_output_may_answer_a_call_that_the_provider_holds():
    assert problems([output("a")], previous_response_id="resp_1") == problems([output("a")], conversation="c") == ()


# --------------------------------------------------------------------------------------- who holds what; who is asking


def test_a_history_that_the_provider_holds_is_named():
    assert form.delta({"previous_response_id": "resp_1"}) == "previous_response_id"
    assert form.delta({"conversation": {"id": "c"}}) == "conversation"
    assert form.delta({"prompt": {"id": "p"}}) == "prompt"
    whole: Json = {"previous_response_id": None, "conversation": None, "input": [], "prompt": {"id": "p"}}
    assert form.delta(whole) is None


def test_the_cache_key_names_the_session():
    thread = "0199a213-81c0-7800-8aa1-bbab2a035a53"
    assert form.session_id({"prompt_cache_key": thread}) == thread
    assert [form.session_id({"prompt_cache_key": key}) for key in (None, "", 5, "one for all sessions")] == [None] * 4
    assert form.session_id({}) is None


# ---------------------------------------------------------------------------------------------------------- reply


def test_an_answer_says_its_usage_its_text_and_its_calls():
    search = {"type": "web_search_call", "id": "ws"}
    custom = {"type": "custom_tool_call", "call_id": "d", "name": "patch", "input": "*** x"}
    shell = {"type": "shell_call", "call_id": "e", "action": {"commands": ["ls"]}}
    refusal = {"type": "refusal", "refusal": "!"}
    spoken = [
        reasoning("rs_1", "why"),
        message("assistant", "a", "b", refusal),
        search,
        call("c", '{"a":1}'),
        custom,
        shell,
    ]
    usage = {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 5},
    }  # fmt: skip
    found = form.reply({"output": spoken, "usage": usage})
    assert (found.input_tokens, found.cached_tokens, found.written_tokens, found.output_tokens) == (100, 60, 30, 7)
    assert found.text == "ab!"
    assert [(c.id, c.tool_name) for c in found.calls] == [("c", "exec"), ("d", "patch"), ("e", "shell")]
    assert [c.arguments for c in found.calls] == ['{"a":1}', "*** x", json.dumps(shell, separators=(",", ":"))]


@given(anything, anything)
def test_an_answer_of_any_shape_is_read(one, other):
    for answer in ({"output": one, "usage": other}, {"output": [one, other, {"type": "message", "content": one}]}):
        found = form.reply(answer)
        assert found.input_tokens is None or found.input_tokens >= 0
    form.reply({"output": [{"type": "x_call", "call_id": "c", "x": one}], "usage": {"input_tokens_details": other}})
