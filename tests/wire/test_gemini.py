"""The Gemini form: contents are read part by part, answers leave whole with what answers them, and refusals are foreseen."""

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.gemini_contents import (
    SIGNATURE,
    WIRE,
    Json,
    block,
    call,
    compact,
    content,
    image,
    model,
    problems,
    read,
    response,
    tokens,
    user,
)
from tests.wire.odd import places, put
from undrift.core.text.tokens import characters_per_4
from undrift.errors import WireError
from undrift.wire import gemini as form
from undrift.wire.form import BlockPlace, Edit, entry_of
from undrift.wire.forms import form_of
from undrift.wire.gemini.media import IMAGE_TOKENS, PAGE_TOKENS
from undrift.wire.gemini.reading import CALLS

# -------------------------------------------------------------------------------------------------------- reading


def test_the_form_is_found_under_its_name():
    assert form_of(WIRE).NAME == form.NAME == WIRE
    assert (form.HISTORY, form.ADJACENT) == ("contents", True)


def test_a_lone_object_is_one_content():
    given = [user("a")]
    assert form.items(given) is given
    assert form.items(given[0]) == given
    assert form.items("a") == form.items(["a"]) == form.items({"text": "a"}) == given
    wrongs: list[Any] = [None, 5, b"hi"]
    for wrong in wrongs:
        with pytest.raises(WireError) as raised:
            form.items(wrong)
        assert raised.value.path == "contents"


@pytest.mark.parametrize(
    ("item", "role", "bundle"),
    [
        (user("a"), "user", ""),
        ({"parts": [{"text": "a"}]}, "user", ""),
        ({"role": None, "parts": {"text": "a"}}, "user", ""),
        (user("a", image()), "user", ""),
        (user(image()), "user", "run"),
        (user(response()), "tool", "run"),
        (user(response(), image()), "tool", "run"),
        (user(response(), "go on"), "user", ""),
        (content("function", response()), "tool", "run"),
        (content("function", response(), "a"), "tool", "run"),
        (model("a"), "assistant", "run"),
        (model("a", call()), "assistant", "run"),
        (content("narrator", "a"), "narrator", ""),
        ({"role": "model"}, "assistant", ""),
    ],
)
def test_a_content_has_its_role_and_says_what_it_leaves_with(item, role, bundle):
    assert (read(item).role, read(item).bundle) == (role, bundle)


def test_a_content_without_parts_is_empty():
    items: list[Json] = [{"role": "model"}, {"role": "model", "parts": None}, model(), model("")]
    assert [read(item).is_empty for item in items] == [True, True, True, False]


CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
RAN = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}


@pytest.mark.parametrize(
    ("part", "kind", "text"),
    [
        ({"text": "a"}, "text", "a"),
        ({"text": "a", "thought": True}, "text", "a"),
        ({"text": "", "thoughtSignature": SIGNATURE}, "text", ""),
        (call(a=1), "call", '{"a":1}'),
        ({"function_call": {"name": "run"}}, "call", "{}"),
        ({"text": None, "functionCall": {"name": "run", "args": None}}, "call", "{}"),
        (response("c", "out"), "result", "out"),
        ({"function_response": {"name": "run", "response": {"output": "out"}}}, "result", "out"),
        ({"functionResponse": {"name": "run", "response": {"error": "no"}}}, "result", '{"error":"no"}'),
        (response(output={"a": 1}), "result", '{"output":{"a":1}}'),
        ({"functionResponse": {"name": "run"}}, "result", "null"),
        (image(), "image", None),
        ({"inline_data": {"mime_type": "image/png", "data": "aGk="}}, "image", None),
        ({"fileData": {"mimeType": "image/png", "fileUri": "gs://b"}}, "image", None),
        ({"file_data": {"mime_type": "image/png", "file_uri": "gs://b"}}, "image", None),
        (CODE, "other", None),
        (RAN, "other", None),
        ({"toolCall": {"id": "t", "toolType": "SEARCH"}}, "other", None),
        ({}, "other", None),
    ],
)
def test_each_part_has_its_kind_and_what_recall_gives_back(part, kind, text):
    found = block(part)
    assert (found.kind, found.text) == (kind, compact(part) if text is None else text)


def test_a_call_names_its_tool_and_is_signed_in_either_spelling():
    assert block(call("c", name="grep"), "model").tool_name == "grep"
    unnamed: list[Json] = [{"functionCall": {}}, {"functionCall": {"name": 5}}]
    assert [block(part, "model").tool_name for part in unnamed] == [None, None]
    signed = [{"thoughtSignature": SIGNATURE}, {"thought_signature": SIGNATURE}, {"thoughtSignature": ""}, {}]
    assert [block({**call(), **mark}).is_signed for mark in signed] == [True, True, False, False]
    assert [block({"text": "a", **mark}).is_signed for mark in signed] == [True, True, False, False]


def test_all_calls_of_a_content_and_all_that_answers_them_have_one_id():
    asked = read(model("so", call("a"), call("b")))
    answered = [user(response("a"), response("b")), user(response(), response()), user(response("x"), image())]
    assert [b.call_id for b in asked.blocks] == [None, CALLS, CALLS]
    for item in answered:
        assert [(b.call_id, b.answers) for b in read(item).blocks] == [(CALLS, True)] * 2
    mixed = read(user(response("a"), image(), "my words", {"x": 1}))
    assert [b.call_id for b in mixed.blocks] == [CALLS, CALLS, None, None]
    alone = read(user(image(), "my words"))
    assert [b.call_id for b in alone.blocks] == [None, None]


def test_pictures_pages_and_sounds_cost_what_is_billed_and_not_their_base64():
    data = "A" * 1_000_000
    assert tokens(image(data)) == IMAGE_TOKENS
    assert tokens(image(data, mediaResolution={"level": "MEDIA_RESOLUTION_LOW"})) == 280
    assert tokens(image(data, media_resolution={"level": "MEDIA_RESOLUTION_ULTRA_HIGH"})) == 2_240
    assert tokens(image(data, mediaResolution={"level": 5})) == IMAGE_TOKENS
    assert tokens({"inlineData": {"mimeType": "application/pdf", "data": "A"}}) == PAGE_TOKENS
    assert tokens({"inlineData": {"mimeType": "application/pdf", "data": data}}) == 62_500
    assert tokens({"inlineData": {"mimeType": "audio/mp3", "data": data}}) == 1_500
    assert tokens({"inlineData": {"mimeType": "video/mp4", "data": data}}) == 600
    assert tokens({"inlineData": {"mimeType": "text/csv", "data": "A" * 50}}) == 10
    assert tokens({"inlineData": {"data": "A"}}) == PAGE_TOKENS
    assert tokens({"fileData": {"fileUri": "gs://b"}}) == IMAGE_TOKENS


def test_media_beside_a_response_is_recalled_and_counted_with_it():
    part = response("c", "out")
    part["functionResponse"]["parts"] = [image("A" * 1_000), {"text": "a"}]
    found = block(part)
    assert (json.loads(found.text), found.counted) == (part["functionResponse"], "out")
    assert tokens(part) == IMAGE_TOKENS + 1


def test_a_signature_costs_what_it_holds():
    assert tokens({"text": "abcd", "thoughtSignature": "A" * 1_600}) == 1 + 300
    assert tokens({"text": "abcd", "thought_signature": "A" * 1_600}) == 1 + 300
    assert tokens({"text": "abcd", "thoughtSignature": 5}) == 1


def test_what_stands_beside_the_history_is_counted():
    assert list(form.beside_texts({})) == []
    for name in ("systemInstruction", "system_instruction"):
        parts = {name: {"parts": [{"text": "be brief"}, image()]}, "tools": [{"name": "n"}]}
        assert list(form.beside_texts(parts)) == ["be brief", compact(image()), '[{"name":"n"}]']
    assert list(form.beside_texts({"system_instruction": {"parts": {"text": "a"}}, "tools": []})) == ["a"]
    assert list(form.beside_texts({"systemInstruction": "a", "tools": None})) == ["a"]


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (None, "m"), ("hi", "m"), ([], "m"), ({"role": 5, "parts": []}, "m.role"), ({"role": "user", "parts": "a"}, "m.parts"),
        (content("user", "a", None), "m.parts[1]"), (user([]), "m.parts[0]"), (user({"text": 5}), "m.parts[0].text"),
        (user({"functionCall": "x"}), "m.parts[0].functionCall"), (user({"function_call": []}), "m.parts[0].function_call"),
        (user({"functionResponse": 5}), "m.parts[0].functionResponse"), (user({"inlineData": "x"}), "m.parts[0].inlineData"),
        (user({"fileData": True}), "m.parts[0].fileData"), (user({"executableCode": 1}), "m.parts[0].executableCode"),
        (user({"functionCall": {"args": {"a": object()}}}), "m.parts[0].functionCall.args"),
        (user({"functionResponse": {"response": object()}}), "m.parts[0].functionResponse.response"),
        (user({"tomorrow": object()}), "m.parts[0]"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_named_by_its_path(item, path):
    with pytest.raises(WireError) as raised:
        read(item)
    assert raised.value.path == path


def with_parts(part: Json, *parts: Any) -> Json:
    out = copy.deepcopy(part)
    out["functionResponse"]["parts"] = list(parts)
    return out


VALID: list[Json] = [
    user("hi", image(mediaResolution={"level": "MEDIA_RESOLUTION_LOW"})),
    {"parts": {"text": "hi"}},
    model(
        {"text": "hm", "thought": True},
        call("a", SIGNATURE, x={"y": [1]}),
        {"function_call": {"name": "n", "args": {}}},
    ),
    user(
        with_parts(response("a", {"z": 1}), image(), {"text": "a"}),
        {"function_response": {"name": "n", "response": {}}},
    ),
    model(CODE, RAN, {"text": "", "thought_signature": SIGNATURE}),
    user(
        {"file_data": {"mime_type": "video/mp4", "file_uri": "u"}, "videoMetadata": {"fps": 1}}, {"tomorrow": {"a": 1}}
    ),
    content("function", response()),
]


NAMES = [
    "text",
    "parts",
    "role",
    "functionCall",
    "function_response",
    "inlineData",
    "mimeType",
    "mime_type",
    "id",
    "x_y",
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800") | st.just(b"raw"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)


def looked_at(item: Any) -> None:
    """Everything the engine does with an item either works or says what is wrong with it."""
    before = repr(item)
    with suppress(WireError):
        view = read(item)
        assert len(form.digest(item)) == 32
        assert isinstance(form.problems([view, view], {}), tuple)
        assert form.edit(item, {n: Edit() for n in range(len(view.blocks))}, []) is None
        assert form.edit(item, {n: Edit("x") for n in range(len(view.blocks))}, []) is not None or not view.blocks
        for number, one in enumerate(view.blocks):
            entry_of(one, view.role, BlockPlace("m", number), None, characters_per_4)
    assert repr(item) == before


@pytest.mark.parametrize(
    "new", [None, 5, 1.5, True, "", "x", "\ud800", [], [5], {}, {5: 5}, {"text": []}, [{"text": {}}]]
)
@pytest.mark.parametrize("item", VALID)
def test_a_wrong_type_at_any_place_is_read_or_refused(item, new):
    for path in places(item):
        looked_at(put(item, path, new))


@given(st.sampled_from(VALID), st.data(), anything)
def test_anything_at_any_place_is_read_or_refused(item, data, new):
    looked_at(put(item, data.draw(st.sampled_from(list(places(item)))), new))


@given(anything, anything)
def test_whatever_stands_beside_never_breaks(one, other):
    for body in ({"systemInstruction": one, "tools": other, "contents": one}, {"system_instruction": {"parts": one}}):
        with suppress(WireError):
            list(form.beside_texts(body))
        with suppress(WireError):
            form.items(body.get("contents"))
        form.problems([], body)
        form.delta(body)
        form.session_id({"session_id": one})


@pytest.mark.parametrize("item", VALID)
def test_what_is_nested_too_deep_is_refused(item):
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    for path in places(item):
        for new in (deep, {"text": "x", "x": deep}):
            with pytest.raises(WireError):
                read_and_compared(put(item, path, new))


def read_and_compared(item: Any) -> None:
    """What an item holds beside what is read is not looked at before items are compared."""
    read(item)
    form.digest(item)


# --------------------------------------------------------------------------------------------------------- digest


SAME: list[list[Json]] = [
    [user("hi"), {"parts": [{"text": "hi"}]}, {"parts": {"text": "hi", "thought": False}, "role": None}],
    [
        model(call("a", SIGNATURE, some_key=1)),
        {"parts": [{"thought_signature": SIGNATURE, "function_call": {"args": {"some_key": 1}, "id": "a", "name": "run"}}],
         "role": "model"},
    ],
    [model(call()), model({"functionCall": {"name": "run", "id": None}}), model({"functionCall": {"name": "run", "id": ""}})],
    [
        user(with_parts(response("a"), image())),
        user({"function_response": {"id": "a", "name": "run", "response": {"output": "done"}, "will_continue": None,
              "parts": [{"inline_data": {"mime_type": "image/png", "data": "aGk="}}]}}),
    ],
    [user(image("a-_w")), user({"inline_data": {"mime_type": "image/png", "data": "a+/w"}})],
    [model({"text": "a", "thoughtSignature": "a-_w=="}), model({"text": "a", "thoughtSignature": "a+/w"})],
    [model({"text": "a", "thoughtSignature": ""}), model("a")],
    [model(CODE), model({"executable_code": CODE["executableCode"]})],
    [{"role": "model", "parts": []}, {"role": "model"}],
]  # fmt: skip
DIFFERENT: list[Json] = [
    *[group[0] for group in SAME], user("hi "), user("hi", "hi"), user("hihi"), model("hi"), content("function", "hi"),
    model(call("a", SIGNATURE, someKey=1)), model(call("a", some_key=1)), model(call("b", SIGNATURE, some_key=1)),
    model({"text": "a", "thought": True}), user({"text": "hi", "x": 1}), user(response("a")), user(response("a", "other")),
    user(response("a", {"someKey": 1})), user(response("a", {"some_key": 1})), user({"text": "\ud800"}),
    user({"text": "hi", "partMetadata": {"some_key": 1}}), user({"text": "hi", "partMetadata": {"someKey": 1}}),
]  # fmt: skip


@pytest.mark.parametrize("group", SAME)
def test_what_means_the_same_has_one_digest(group):
    assert len({form.digest(item) for item in group}) == 1


def test_everything_else_is_a_difference():
    assert len({form.digest(item) for item in DIFFERENT}) == len(DIFFERENT)


# ----------------------------------------------------------------------------------------------------------- edit


def test_an_edit_touches_only_what_it_names():
    item = {**user({"text": "a", "x": 1}, image(), {"text": "b", "y": [2]}), "extra": [1]}
    before = copy.deepcopy(item)
    out = form.edit(item, {0: Edit(), 2: Edit("shorter")}, ["a pin"])
    assert out == {**item, "parts": [image(), {"text": "shorter", "y": [2]}, {"text": "a pin"}]}
    assert out is not None
    assert out["parts"][0] is item["parts"][1]
    assert out["extra"] is item["extra"]
    assert item == before


def test_a_lone_part_becomes_a_list_when_something_is_appended():
    assert form.edit({"parts": {"text": "hi"}}, {}, ["pin"]) == {"parts": [{"text": "hi"}, {"text": "pin"}]}
    assert form.edit({"parts": {"text": "hi"}}, {0: Edit("h")}, []) == {"parts": [{"text": "h"}]}


@pytest.mark.parametrize("item", [user("hi"), *VALID])
def test_a_content_without_parts_is_none(item):
    assert form.edit(item, {n: Edit() for n in range(len(read(item).blocks))}, []) is None


def test_a_signature_leaves_with_its_part_and_parts_are_never_merged():
    item = model("so", {"text": "", "thoughtSignature": SIGNATURE}, "more")
    assert form.edit(item, {1: Edit()}, []) == model("so", "more")
    assert form.edit(item, {0: Edit()}, []) == model({"text": "", "thoughtSignature": SIGNATURE}, "more")


def test_a_response_can_be_given_another_text_and_a_call_cannot():
    long = with_parts(response("c", "long"), image())
    assert form.edit(user(long), {0: Edit("short")}, []) == user(response("c", "short"))
    snake = {"function_response": {"name": "run", "response": {"error": "long"}}}
    short = {"function_response": {"name": "run", "response": {"output": "short"}}}
    assert form.edit(user(snake), {0: Edit("short")}, []) == user(short)
    signed = model(call("c", SIGNATURE, a=1))
    assert form.edit(signed, {0: Edit("short")}, []) == signed


def test_what_the_user_says_is_a_content():
    assert form.user_item("x") == user("x")


# ------------------------------------------------------------------------------------------------------- problems


NUMBER = "Please ensure that the number of function response parts is equal to the number of function call parts of"
BEHIND = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
ORPHAN = "Please ensure that function response turn comes immediately after a function call turn."
ALTERNATE = "Please ensure that multiturn requests alternate between user and model."
MIXED = "Please ensure that function call turn contains at least one function_call part which can not be mixed"
LEGAL: list[list[Any]] = [
    [user("hi")],
    [user("hi"), user("again"), model("a"), model("b"), user("c")],
    [user("hi"), model("so", call("a"), call("b")), user(response("b"), response("a"))],
    [user("hi"), model(call("a"), call("b")), user(response(), response())],
    [user("hi"), model(call()), content("function", response()), model(call()), user(response(), "my words")],
    [user("hi"), model(call()), user(response(), image()), user("a pin"), model(call()), user(response())],
    [user("hi"), model(call(None, SIGNATURE), call()), user(response(), response())],
    [
        user("old"),
        model(call()),
        user(response()),
        model("a"),
        user("new"),
        model(call(None, SIGNATURE)),
        user(response()),
    ],
    [user("old"), model(call()), user(response(), image()), model(call(None, SIGNATURE)), user(response())],
    [user("hi"), model({"function_call": {"name": "n"}, "thought_signature": "s"}), user({"function_response": {}})],
]
REFUSED: list[tuple[list[Any], str]] = [
    ([user("hi"), {"role": "model", "parts": []}, user("a")], "contents[1].parts: contents.parts must not be empty."),
    ([{"role": "user"}], "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty."),
    ([model("a"), user("hi")], ALTERNATE),
    ([model(call()), user(response())], BEHIND),
    ([user("hi"), model("a"), model(call()), user(response())], BEHIND),
    ([user("hi"), model(call())], NUMBER),
    ([user("hi"), model(call()), user("wait"), user(response())], NUMBER),
    ([user("hi"), model(call(), call()), user(response())], NUMBER),
    ([user("hi"), model(call()), user(response(), response())], NUMBER),
    ([user("hi"), user(response())], ORPHAN),
    ([user("hi"), model("a"), user(response())], ORPHAN),
    ([user("hi"), model(call(), response())], MIXED),
    ([user("hi", call()), user(response())], MIXED),
    (
        [user("hi"), model(call(None, SIGNATURE)), user(response()), model(call(name="grep")), user(response())],
        "Function call `grep` in the `3.` content block is missing a `thought_signature`.",
    ),
    (
        [user("hi"), model(call(), call(None, SIGNATURE)), user(response(), response())],
        "Function call `run` in the `1.` content block is missing a `thought_signature`.",
    ),
]


@pytest.mark.parametrize("items", LEGAL)
def test_what_the_provider_takes_has_no_problems(items):
    assert problems(items) == ()


@pytest.mark.parametrize(("items", "words"), REFUSED)
def test_what_the_provider_refuses_is_said_in_its_words(items, words):
    assert any(words in problem for problem in problems(items)), problems(items)


# --------------------------------------------------------------------------------------- who holds what; who is asking


def test_a_history_that_the_provider_holds_is_named():
    assert form.delta({"previous_interaction_id": "i"}) == "previous_interaction_id"
    assert form.delta({"previousInteractionId": "i"}) == "previousInteractionId"
    assert form.delta({"previous_interaction_id": None, "contents": [], "cachedContent": "cachedContents/c"}) is None


def test_gemini_cli_names_its_session_to_code_assist():
    assert form.session_id({"session_id": "s"}) == "s"
    assert [form.session_id({"session_id": wrong}) for wrong in (None, "", 5)] == [None, None, None]
    assert form.session_id({}) is None


# ---------------------------------------------------------------------------------------------------------- reply


def test_an_answer_says_its_usage_its_text_and_its_calls():
    said = model({"text": "hm", "thought": True}, "a", call("c", SIGNATURE, a=1), "b", {"functionCall": {}}, CODE)
    usage = {
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7, "thoughtsTokenCount": 5,
        "totalTokenCount": 112,
    }  # fmt: skip
    found = form.reply({"candidates": [{"content": said}, {"content": model("other")}], "usageMetadata": usage})
    assert (found.input_tokens, found.cached_tokens, found.written_tokens, found.output_tokens) == (100, 60, 0, 12)
    assert found.text == "ab"
    assert [(c.id, c.tool_name, c.arguments) for c in found.calls] == [("c", "run", '{"a":1}'), ("", "", "{}")]


def test_an_answer_in_snake_case_says_the_same():
    said = {"parts": [{"function_call": {"name": "run", "args": {"a": 1}}}]}
    usage = {"prompt_token_count": 100, "cached_content_token_count": 60, "thoughts_token_count": 5}
    found = form.reply({"candidates": [{"content": said}], "usage_metadata": usage})
    assert (found.input_tokens, found.cached_tokens, found.output_tokens) == (100, 60, 5)
    assert [(c.id, c.tool_name, c.arguments) for c in found.calls] == [("", "run", '{"a":1}')]


@given(anything, anything)
def test_an_answer_of_any_shape_is_read(one, other):
    for candidates in (one, [one], [{"content": one}], [{"content": {"parts": [one, {"functionCall": other}]}}]):
        found = form.reply({"candidates": candidates, "usageMetadata": other})
        assert found.input_tokens is None or found.input_tokens >= 0
    form.reply({"candidates": [{"content": {"parts": {"functionCall": {"args": one}}}}]})
