"""The OpenAI Responses form: items are read whole, runs leave together, and what the provider refuses is said."""

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.wire.odd import places, put
from undrift import Session
from undrift.core.text.tokens import characters_per_4
from undrift.errors import WireError
from undrift.settings import Settings
from undrift.testing.simulators.base import Call, ModelTurn
from undrift.testing.simulators.openai_responses import OpenAIResponsesSimulator
from undrift.values.window import Prepared
from undrift.wire import openai_responses as form
from undrift.wire.form import Block, Edit, View, entry_of
from undrift.wire.forms import form_of
from undrift.wire.openai_responses.parts import IMAGE_TOKENS, LOW_IMAGE_TOKENS

Json = dict[str, Any]
WIRE = "openai-responses"
BREAKPOINT = {"mode": "explicit", "ttl": "12h"}


def user(*content: Any) -> Json:
    """A lone text is written as a string, all else as parts."""
    return message("user", *content)


def message(role: str, *content: Any) -> Json:
    if len(content) == 1 and isinstance(content[0], str):
        return {"type": "message", "role": role, "content": content[0]}
    kind = "output_text" if role == "assistant" else "input_text"
    found = [{"type": kind, "text": part} if isinstance(part, str) else part for part in content]
    return {"type": "message", "role": role, "content": found}


def call(id_: Any, words: str = "{}", **fields: Any) -> Json:
    return {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": "exec", "arguments": words, **fields}


def output(id_: Any, content: Any = "done", **fields: Any) -> Json:
    return {"type": "function_call_output", "call_id": id_, "output": content, **fields}


def reasoning(id_: str, *summary: str, **fields: Any) -> Json:
    said = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": id_, "summary": said, "content": None, "encrypted_content": "gAAAA", **fields}


def image(**fields: Any) -> Json:
    return {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto", **fields}


def read(item: Any) -> View:
    return form.read(item, "m")


def block(item: Json) -> Block:
    (found,) = read(item).blocks
    return found


def problems(items: list[Any], **beside: Any) -> tuple[str, ...]:
    return form.problems([form.read(item, f"input[{n}]") for n, item in enumerate(items)], beside)


def tokens(item: Json) -> int:
    entry = entry_of(block(item), "user", message_id="m", place=0, pair_id=None, count=characters_per_4, at=(0, 0))
    return entry.token_count


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
        ({"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []}, "tool"),
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
            entry_of(one, view.role, message_id="m", place=number, pair_id=None, count=characters_per_4, at=(0, 0))
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
    assert form.said("x") == {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}


# ------------------------------------------------------------------------------------------------------- problems


APPROVAL = {"type": "mcp_approval_request", "id": "a", "name": "n", "arguments": "{}"}
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


# -------------------------------------------------------------------------------------------------- whole sessions


def opened(home: Path, **settings: Any) -> Session:
    chosen = Settings(**{"token_counter": "characters/4", "budget_tokens": 1_000, **settings})
    return Session.open("s", home=home, settings=chosen, clock=lambda: 1_000)


def turns(count: int, *, first: int = 0) -> list[Json]:
    """Answers of reasoning and two calls at once, each with its outputs."""
    items: list[Json] = []
    for n in range(first, first + count):
        items += [reasoning(f"rs_{n}", f"thought {n}"), call(f"c{n}a"), call(f"c{n}b")]
        items += [output(f"c{n}a", f"answer {n}".ljust(200, "x"), id=f"fco_{n}"), output(f"c{n}b", "y" * 200)]
    return items


def body(*items: Any, **fields: Any) -> Json:
    return {"model": "gpt-5.6", "store": False, "input": list(items), **fields}


def prepared(session: Session, given_body: Any) -> Prepared:
    return session.prepare(given_body, wire=WIRE)


def encoded(value: Any) -> bytes:
    """JSON as no other encoder here writes it, so that bytes written anew are seen."""
    return json.dumps(value, indent=1).encode()


def sent(found: Prepared) -> list[Json]:
    return (json.loads(found.body) if isinstance(found.body, bytes) else found.body)["input"]


def test_a_request_that_fits_is_the_very_object(tmp_path):
    for given_body in (body(user("hi"), *turns(2)), body(user("hi"))["input"][0] and {"model": "m", "input": "hi"}):
        with opened(tmp_path) as session:
            found = prepared(session, given_body)
            assert found.body is given_body
            assert found.actions == ()


def test_a_run_leaves_as_a_whole_and_the_newest_results_stay(tmp_path):
    given_body = body(message("developer", "rules"), user("hi"), *turns(20), user("go on"))
    with opened(tmp_path, keep_tool_results=5) as session:
        found = prepared(session, given_body)
    out = sent(found)
    assert found.actions
    assert found.tokens_after <= 1_000
    assert problems(out) == ()
    kept = {item["id"] for item in out if item["type"] == "reasoning"}
    assert kept == {f"rs_{n}" for n in range(20 - len(kept), 20)}
    assert 3 <= len(kept) < 20
    whole = [given_body["input"][0], user("hi"), *turns(len(kept), first=20 - len(kept)), user("go on")]
    assert out == whole
    assert all(any(item is one for one in given_body["input"]) for item in out)


LONG = "x" * 800
RUNS: list[list[Json]] = [
    [
        reasoning("rs_a", LONG), reasoning("rs_b", LONG), message("assistant", LONG),
        call("x"), call("y"), output("y"), output("x"),
    ],
    [reasoning("rs_a", LONG), {"type": "web_search_call", "id": LONG}, message("assistant", "found", LONG)],
    [reasoning("rs_a", LONG * 2), APPROVAL, {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}],
]  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
def test_whatever_a_run_is_made_of_leaves_together_and_what_follows_does_not(tmp_path, run):
    follows = reasoning("rs_next", "n" * 400)
    filler = [item for item in turns(3) if item["type"] != "reasoning"]
    given_body = body(user("hi"), *run, follows, message("assistant", "b"), *filler)
    seen = set()
    for budget in range(300, 1_300, 50):
        with opened(tmp_path / str(budget), keep_tool_results=1, budget_tokens=budget) as session:
            out = sent(prepared(session, given_body))
        assert problems(out) == ()
        assert len([item for item in run if item in out]) in (0, len(run))
        seen.add((run[0] in out, follows in out))
    assert seen == {(False, False), (False, True), (True, True)}


def test_calls_without_reasoning_leave_one_by_one(tmp_path):
    items = [item for item in turns(20) if item["type"] != "reasoning"]
    counts = []
    for budget in range(900, 1_100, 20):
        with opened(tmp_path / str(budget), keep_tool_results=1, budget_tokens=budget) as session:
            out = sent(prepared(session, body(user("hi"), *items)))
        assert problems(out) == ()
        counts.append(len([item for item in out if item["type"] == "function_call"]))
    assert {count % 2 for count in counts} == {0, 1}


def test_a_second_session_gives_equal_bytes_and_what_stays_keeps_its_own(tmp_path):
    given_body = encoded(body(user("hi"), *turns(20), prompt_cache_key="k"))
    with opened(tmp_path) as session:
        first = prepared(session, given_body)
        assert first.actions
        assert prepared(session, given_body) == first
    with opened(tmp_path) as session:
        assert prepared(session, given_body) == first
        as_object = prepared(session, json.loads(given_body))
    assert as_object.body == json.loads(first.body)
    assert isinstance(first.body, bytes)
    for item in sent(first):
        assert json.dumps(item, indent=1).encode().replace(b"\n", b"\n  ") in first.body


def test_a_pin_lands_at_the_tail_and_stays_where_it_is(tmp_path):
    items = [message("developer", "rules"), user("hi"), *turns(1)]
    with opened(tmp_path) as session:
        prepared(session, body(*items))
        session.pin("spec", "the pinned rule")
        first = sent(prepared(session, body(*items)))
        assert first[:-1] == items
        assert (first[-1]["role"], "the pinned rule" in first[-1]["content"][0]["text"]) == ("user", True)
        items += [message("assistant", "done"), user("next")]
        assert sent(prepared(session, body(*items))) == [*first, *items[-2:]]
    with opened(tmp_path / "new") as session:
        session.pin("spec", "the pinned rule")
        (out,) = sent(prepared(session, {"model": "m", "input": "hi"}))
        assert [part["text"].split("\n")[-1] for part in out["content"]] == ["hi", "the pinned rule"]


def test_the_middle_of_a_long_paste_leaves_and_its_part_stays_what_it_is(tmp_path):
    paste = {"type": "input_text", "text": "a long paste " * 2_000, "x": 1}
    given_body = body(user("hi"), user(paste), message("assistant", "ok"), user("go on"), *turns(2))
    with opened(tmp_path, keep_user_text_tokens=100) as session:
        found = prepared(session, given_body)
        (part,) = sent(found)[1]["content"]
        assert {**part, "text": paste["text"]} == paste
        assert len(part["text"]) < 1_000
        (action,) = (a for a in found.actions if a.kind == "cut")
        assert session.recall(action.ref) == paste["text"]


def test_a_compaction_stays_whatever_the_budget_says(tmp_path):
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "g" * 8_000}
    with opened(tmp_path) as session:
        assert compaction in sent(prepared(session, body(user("hi"), compaction, *turns(10))))


@pytest.mark.parametrize("is_mixed", [True, False])
def test_what_answers_a_call_that_is_only_referred_to_stays(tmp_path, is_mixed):
    """Its id is not known here; that nothing leaves then is said."""
    items = turns(20) if is_mixed else []
    for n in range(20, 40):
        items += [{"type": "item_reference", "id": f"rs_{n}"}, {"type": "item_reference", "id": f"fc_{n}"}]
        items += [output(f"c{n}", "y" * 200)]
    given_body = body(user("hi"), *items, *turns(6, first=40))
    with opened(tmp_path) as session:
        found = prepared(session, given_body)
    assert [item for item in items if item["type"] == "item_reference" or item not in turns(20)] == [
        item for item in sent(found) if item in items and item not in turns(20)
    ]
    assert found.warnings


@pytest.mark.parametrize("client", ["codex", "openai-sdk", "pydantic-ai", "openai-agents", "langchain-openai"])
def test_what_clients_truly_send_is_read_and_found_legal(shared, client):
    found = list((shared / "captures").glob(f"{client}*.json"))
    bodies = [json.loads(path.read_text(encoding="utf-8"))["body"] for path in found]
    managed = [one for one in bodies if "input" in one and form.delta(one) is None]
    assert managed
    for one in managed:
        views = [form.read(item, f"input[{n}]") for n, item in enumerate(form.items(one["input"]))]
        assert form.problems(views, one) == ()
        assert not any(block.kind == "other" and view.bundle == "" for view in views for block in view.blocks)
        assert {view.role for view in views} >= {"user", "assistant", "tool"}
    assert client != "codex" or form.session_id(managed[0])


def test_a_request_whose_history_is_held_by_the_provider_passes(tmp_path):
    given_body = body(output("c"), previous_response_id="resp_1")
    with opened(tmp_path) as session:
        assert prepared(session, given_body).body is given_body


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3), st.booleans()), min_size=8, max_size=20))
@example([(number % 3 != 1, number % 4 == 0, number % 3, number % 2 == 0) for number in range(40)])
@settings(max_examples=15)
def test_the_provider_takes_every_window(tmp_path_factory, script):
    """Reasoning or not, words or not, 0 to 3 calls; bytes or not. The simulator knows what it has issued."""
    simulator = OpenAIResponsesSimulator()
    items: list[Json] = [message("developer", "rules"), user("hi")]
    with opened(tmp_path_factory.mktemp("home"), budget_tokens=400, keep_tool_results=1) as session:
        for number, (thinks, speaks, calls, is_bytes) in enumerate(script):
            if number == 4:
                session.pin("spec", "the pinned rule")
            request = body(*copy.deepcopy(items))
            found = prepared(session, encoded(request) if is_bytes else request)
            made = tuple(Call("exec", {"command": "x" * 80}) for _ in range(calls))
            turn = ModelTurn("words " * 40 if speaks else "", made, "thought " * 20 if thinks else None)
            answer = simulator.send(found.body, turn=turn, now_ms=number).body
            reply = session.record(answer, wire=WIRE)
            items += answer["output"]
            items += [output(one.id, "y" * 200) for one in reply.calls]
            items += [] if reply.calls else [user("go on")]
            assert reply.input_tokens == answer["usage"]["input_tokens"]
            assert not any("refused" in warning for warning in found.warnings)
