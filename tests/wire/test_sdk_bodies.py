"""Bodies with the SDKs' own objects: read as the JSON that the SDK sends, and sent on as just that."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.builders import opened
from tests.wire.sdks import HISTORY, LARGE, Sdk, sdk
from undrift.errors import WireError
from undrift.values.prepared import Prepared

ROUNDS = 12
WIRES = sorted(HISTORY)


def camelled(value: Any) -> Any:
    """Google's SDK writes some names in two ways, and the provider takes both."""
    if isinstance(value, dict):
        return {_camel(key): camelled(inner) for key, inner in value.items()}
    return [camelled(one) for one in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def bare(body: Any) -> Any:
    return json.loads(json.dumps(body))


def driven(session: Any, one: Sdk, *, as_json: bool) -> list[tuple[dict[str, Any], Prepared]]:
    items, turns = [one.asked], []
    for n in range(ROUNDS):
        fields = one.fields(list(items))
        turns.append((fields, session.prepare(fields, wire=one.wire)))
        reply = one.reply(n)
        session.record(reply, wire=one.wire)
        more = [*one.said(reply), one.result(n)]
        items += one.sent(**one.fields([one.asked, *more]))[HISTORY[one.wire]][1:] if as_json else more
    return turns


@pytest.mark.parametrize("wire", WIRES)
def test_sixty_words_of_an_sdk_are_managed_as_the_json_that_it_sends(tmp_path, wire):
    one = sdk(wire)
    with opened(tmp_path / "a", budget_tokens=3_000) as given, opened(tmp_path / "b", budget_tokens=3_000) as expected:
        objects, plain = driven(given, one, as_json=False), driven(expected, one, as_json=True)
    assert any(prepared.actions for _, prepared in objects)
    for (fields, prepared), (_, as_json) in zip(objects, plain, strict=True):
        assert prepared.actions == as_json.actions
        assert (prepared.tokens_before, prepared.tokens_after) == (as_json.tokens_before, as_json.tokens_after)
        if not prepared.actions:
            assert prepared.body is fields
        sent = one.sent(**prepared.body)
        assert camelled(sent) == camelled(one.sent(**as_json.body))
        assert prepared.body is fields or camelled(sent[HISTORY[wire]]) == camelled(bare(prepared.body)[HISTORY[wire]])


def _as_iterables(one: Sdk, items: list[Any]) -> Iterable[tuple[str, Any]]:
    yield "tuple", tuple(items)
    yield "iterator", iter(items)
    yield "generator", (item for item in items)
    yield "values of a dict", dict(enumerate(items)).values()
    if one.wire == "anthropic":
        yield "content as a tuple", [{**item, "content": tuple(item["content"])} for item in items]
        yield "content as a generator", [{**item, "content": (part for part in item["content"])} for item in items]


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("budget", [3_000, 100_000])
def test_what_the_sdk_takes_for_a_list_is_one_here_and_can_still_be_sent_afterwards(tmp_path, wire, budget):
    one = sdk(wire)
    items: list[Any] = []
    for n in range(ROUNDS):
        items += [*one.said(one.reply(n)), one.result(n)]
    plain = one.sent(**one.fields([one.asked, *items]))
    for number, (name, history) in enumerate(_as_iterables(one, items[2:])):
        given = one.fields([one.asked, *items[:2], *history] if name.startswith("content") else history)
        known = plain[HISTORY[wire]] if name.startswith("content") else plain[HISTORY[wire]][3:]
        if not name.startswith("content"):
            given = one.fields(_opening(one, history, name))
            known = [one.asked, *known]
        with opened(tmp_path / f"{number}a", budget_tokens=budget) as session:
            prepared = session.prepare(given, wire=wire)
        with opened(tmp_path / f"{number}b", budget_tokens=budget) as session:
            expected = session.prepare({**plain, HISTORY[wire]: known}, wire=wire)
        assert [action.kind for action in prepared.actions] == [action.kind for action in expected.actions], name
        assert one.sent(**prepared.body) == one.sent(**expected.body), name


def _opening(one: Sdk, history: Any, name: str) -> Any:
    items = [one.asked, *history]
    kinds: dict[str, Any] = {
        "tuple": tuple,
        "iterator": iter,
        "values of a dict": lambda found: dict(enumerate(found)).values(),
    }
    return kinds[name](items) if name in kinds else (item for item in items)


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses"])
def test_what_was_left_out_by_the_sdks_own_sign_is_left_out(tmp_path, wire):
    one = sdk(wire)
    if wire == "anthropic":
        from anthropic import NOT_GIVEN, omit

        more: dict[str, Any] = {"system": NOT_GIVEN, "tools": omit, "thinking": omit}
    else:
        from openai import NOT_GIVEN, omit

        more = {"tools": omit, "temperature": NOT_GIVEN}
    if wire == "openai-responses":
        more |= {"previous_response_id": omit, "instructions": NOT_GIVEN}
    items = [one.asked]
    for n in range(ROUNDS):
        items += [*one.said(one.reply(n)), one.result(n)]
    with opened(tmp_path, budget_tokens=100_000) as session:
        fields = one.fields(items, **more)
        assert session.prepare(fields, wire=wire).body is fields
    with opened(tmp_path / "b", budget_tokens=3_000) as session:
        prepared = session.prepare(one.fields(items, **more), wire=wire)
    assert prepared.actions
    assert not prepared.body.keys() & more.keys()
    with opened(tmp_path / "c", budget_tokens=3_000) as session:
        assert prepared.body == session.prepare(one.sent(**one.fields(items)), wire=wire).body


def test_system_tools_and_blocks_may_be_objects_of_anthropics_sdk(tmp_path):
    one = sdk("anthropic")
    from anthropic import beta_tool
    from anthropic.types import TextBlock, ToolUseBlock

    @beta_tool
    def read(path: str) -> str:
        """Read a file.

        Args:
            path: The file.
        """
        return path

    system = (TextBlock(type="text", text=text) for text in ("Be brief.", "Be kind."))
    blocks = [TextBlock(type="text", text="I look."), ToolUseBlock(type="tool_use", id="t1", name="read", input={})]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [TextBlock(type="text", text=LARGE)]}
    history = [one.asked, {"role": "assistant", "content": tuple(blocks)}, {"role": "user", "content": [result]}]
    with opened(tmp_path, budget_tokens=300) as session:
        prepared = session.prepare(one.fields(history, system=system, tools=[read]))
    sent = bare(prepared.body)
    assert prepared.actions
    assert [part["text"] for part in sent["system"]] == ["Be brief.", "Be kind."]
    assert sent["tools"] == [read.to_dict()]
    assert prepared.tokens_before > 500


def test_a_parsed_message_comes_out_as_the_sdk_sends_it(tmp_path):
    one = sdk("openai-chat")
    import openai
    from pydantic import BaseModel

    class Answer(BaseModel):
        path: str

    call = one.answer["choices"][0]["message"]["tool_calls"][0]["function"]
    call["name"] = "Answer"
    tools = [openai.pydantic_function_tool(Answer)]
    parsed = one.client.chat.completions.parse(**one.fields([one.asked]), tools=tools, response_format=Answer)
    message = parsed.choices[0].message
    history = [one.asked, message, one.result(0), {"role": "user", "content": "Go on."}]
    for n in range(1, ROUNDS):
        history += [*one.said(one.reply(n)), one.result(n)]
    with opened(tmp_path, budget_tokens=3_000) as session:
        prepared = session.prepare(one.fields(history, tools=tools, response_format=Answer), wire="openai-chat")
    assert prepared.actions
    assert prepared.body["response_format"] is Answer  # the SDK describes the class itself
    with opened(tmp_path / "b", budget_tokens=100_000) as session:
        assert session.prepare(one.fields(history), wire="openai-chat").tokens_before > 900
    with opened(tmp_path / "c", budget_tokens=3_000) as session:
        as_json = session.prepare(one.sent(**one.fields(history, tools=tools)), wire="openai-chat")
    assert one.sent(**one.fields(prepared.body["messages"])) == one.sent(**one.fields(as_json.body["messages"]))


def test_contents_of_googles_sdk_in_all_its_notations(tmp_path):
    one = sdk("gemini")
    from google.genai import types

    call = one.reply(1).candidates[0].content
    picture = types.Part.from_bytes(data=b"\xff\xfe\xfd" * 9, mime_type="image/png")
    notations = [
        "Go.",
        ["Go.", {"text": "At once."}],
        ["Go.", "Now.", call, one.result(1)],
        types.Content(role="user", parts=[types.Part(text="Go."), picture]),
        [types.Content(role="user", parts=[types.Part(text="Go.")]), call, one.result(1).parts[0], "Go on."],
        ["Go.", [types.Part(text="a"), "b"], call.parts[1], one.result(1)],
        types.Part(text="Go."),
        [
            {
                "role": "user",
                "parts": [{"inline_data": {"data": b"\xff\xfe", "mime_type": "image/png"}}, {"text": "See."}],
            }
        ],
    ]
    for number, contents in enumerate(notations):
        expected = one.sent(**one.fields(contents))["contents"]
        with opened(tmp_path / f"{number}a", budget_tokens=100_000) as session:
            session.pin("requirements", "Keep this.")
            prepared = session.prepare(one.fields(contents), wire="gemini")
        with opened(tmp_path / f"{number}b", budget_tokens=100_000) as session:
            session.pin("requirements", "Keep this.")
            as_json = session.prepare(one.fields(expected), wire="gemini")
        assert camelled(one.sent(**prepared.body)) == camelled(one.sent(**as_json.body)), contents


def test_tools_of_googles_sdk_may_be_functions_and_the_function_is_sent(tmp_path):
    one = sdk("gemini")
    from google.genai import types

    def read(path: str) -> str:
        """Read a file whose path is given."""
        return path

    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="other", description="Another one.")])
    history = [one.asked]
    for n in range(ROUNDS):
        history += [*one.said(one.reply(n)), one.result(n)]
    with opened(tmp_path, budget_tokens=3_000) as session:
        prepared = session.prepare(one.fields(history, tools=[read, tool]), wire="gemini")
        without = session.prepare(one.fields(history), wire="gemini")
    assert prepared.actions
    assert prepared.body["tools"] == [read, tool]
    assert prepared.tokens_before > without.tokens_before


@pytest.mark.parametrize("wire", WIRES)
def test_a_body_of_another_wire_is_refused_with_the_right_name(tmp_path, wire):
    one = sdk(wire)
    items = [one.asked, *one.said(one.reply(1)), one.result(1)]
    body = one.sent(**one.fields(items))
    with opened(tmp_path) as session:
        for other in set(WIRES) - {wire}:
            for given in (body, one.fields(items), json.dumps(body).encode()):
                with pytest.raises(WireError, match=f"wire='{wire}'"):
                    session.prepare(given, wire=other)


@pytest.mark.parametrize("wire", WIRES)
def test_a_file_or_what_was_not_awaited_in_a_body_is_named(tmp_path, wire, request):
    one = sdk(wire)

    async def later() -> str:
        return "text"

    coroutine = later()
    request.addfinalizer(coroutine.close)
    kind = "parts" if wire == "gemini" else "content"
    with opened(tmp_path) as session:
        with pytest.raises(WireError, match="not awaited"):
            session.prepare(one.fields([{"role": "user", kind: [coroutine]}]), wire=wire)
        with pytest.raises(WireError, match="a file: give its content"):
            session.prepare(one.fields([{"role": "user", kind: [{"type": "text", "text": tmp_path}]}]), wire=wire)


def test_the_config_of_googles_sdk_is_counted_and_sent_as_it_is(tmp_path):
    one = sdk("gemini")
    from google.genai import types

    def read(path: str) -> str:
        """Read a file whose path is given."""
        return path

    config = types.GenerateContentConfig(
        system_instruction=LARGE,
        tools=[read],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    history = [one.asked]
    for n in range(ROUNDS):
        history += [*one.said(one.reply(n)), one.result(n)]
    with opened(tmp_path, budget_tokens=3_000) as session:
        prepared = session.prepare(one.fields(history, config=config), wire="gemini")
        without = session.prepare(one.fields(history), wire="gemini")
    assert prepared.actions
    assert prepared.body["config"] is config
    assert prepared.tokens_before - without.tokens_before > 400
    assert one.sent(**prepared.body)["systemInstruction"]["parts"] == [{"text": LARGE}]


def test_what_has_no_end_is_refused(tmp_path):
    from itertools import repeat

    one = sdk("anthropic")
    with opened(tmp_path) as session, pytest.raises(WireError, match="has no end"):
        session.prepare(one.fields(repeat(one.asked)))
