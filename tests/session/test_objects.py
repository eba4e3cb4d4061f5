"""What an SDK gives, put into a session as it is: answers, messages, blocks and items of pydantic's, as the SDKs have them.

The classes here are made like those of Anthropic's, OpenAI's and Google's SDKs: a field that the API did not send is not set.
"""

import copy
import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from tests.builders import opened
from undrift.errors import WireError
from undrift.session.session import Session
from undrift.values.prepared import Prepared
from undrift.wire.form import ToolCall

LARGE = "a line of what the tool printed\n" * 60
ROUNDS = 12


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str | None = None
    status: str | None = None  # sent back as null, a provider refuses it


class Google(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, ser_json_bytes="base64")

    role: str | None = None
    parts: list[Any] | None = None
    content: Any = None
    candidates: list[Any] | None = None
    function_call: dict[str, Any] | None = None
    thought_signature: bytes | None = None
    usage_metadata: dict[str, int] | None = None


class Parsed(Model):
    __api_exclude__ = {"parsed_output"}

    type: str
    text: str
    parsed_output: Any = None


class ByHand:
    """Not pydantic's: it has `to_dict` and nothing else."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def to_dict(self) -> dict[str, Any]:
        return self._fields


def _anthropic(n: int) -> tuple[Any, list[Any]]:
    call = Model(type="tool_use", id=f"t{n}", name="Read", input={"path": f"{n}.py", "limit": None})  # type: ignore[call-arg]
    reply = Model(content=[Parsed(type="text", text=f"I look at {n}.", parsed_output=3), call], usage=_usage(n))  # type: ignore[call-arg]
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": LARGE}
    content: Any = reply.content  # type: ignore[attr-defined]
    return reply, [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]


def _chat(n: int) -> tuple[Any, list[Any]]:
    function = Model(name="Read", arguments="{}")  # type: ignore[call-arg]
    call = Model(id=f"t{n}", type="function", function=function)  # type: ignore[call-arg]
    message = Model(role="assistant", content=None, tool_calls=[call])  # type: ignore[call-arg]
    usage = {"prompt_tokens": 90 + n, "completion_tokens": 3}
    reply = Model(choices=[Model(index=0, message=message)], usage=usage)  # type: ignore[call-arg]
    return reply, [message, {"role": "tool", "tool_call_id": f"t{n}", "content": LARGE}]


def _responses(n: int) -> tuple[Any, list[Any]]:
    thought = Model(type="reasoning", id=f"rs_{n}", summary=[], encrypted_content="YWJj")  # type: ignore[call-arg]
    call = Model(type="function_call", id=f"fc_{n}", call_id=f"t{n}", name="Read", arguments="{}")  # type: ignore[call-arg]
    reply = Model(output=[thought, call], usage=_usage(n))  # type: ignore[call-arg]
    return reply, [thought, call, {"type": "function_call_output", "call_id": f"t{n}", "output": LARGE}]


def _gemini(n: int) -> tuple[Any, list[Any]]:
    part = Google(function_call={"name": "Read", "args": {"n": n}}, thought_signature=b"abc")
    content = Google(role="model", parts=[part])
    reply = Google(candidates=[Google(content=content)], usage_metadata={"promptTokenCount": 90 + n})
    answer = {"functionResponse": {"name": "Read", "response": {"result": LARGE}}}
    return reply, [content, Google(role="user", parts=[answer])]


def _usage(n: int) -> Any:
    return Model(input_tokens=90 + n, output_tokens=3)  # type: ignore[call-arg]


WIRES = {"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses, "gemini": _gemini}
HISTORY = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}


def _asked(wire: str) -> Any:
    return {"role": "user", "parts": [{"text": "Go."}]} if wire == "gemini" else {"role": "user", "content": "Go."}


def _plain(value: Any) -> Any:
    """As an SDK writes it into a request."""
    if isinstance(value, BaseModel):
        hidden = getattr(value, "__api_exclude__", None)
        given = {name: getattr(value, name) for name in value.model_fields_set if name not in (hidden or ())}
        google = isinstance(value, Google)
        return {to_camel(k) if google else k: _plain(v) for k, v in given.items()}
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return "YWJj" if isinstance(value, bytes) else value


def _driven(session: Session, wire: str, *, as_json: bool) -> list[tuple[dict[str, Any], Prepared]]:
    items, turns = [_asked(wire)], []
    for n in range(ROUNDS):
        body = {"model": "m-1", "max_tokens": 9, HISTORY[wire]: list(items)}
        turns.append((body, session.prepare(body, wire=wire)))
        reply, more = WIRES[wire](n)
        session.record(_plain(reply) if as_json else reply, wire=wire)
        items += [_plain(one) for one in more] if as_json else more
    return turns


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_a_history_of_objects_is_managed_as_the_same_history_in_json(tmp_path, wire):
    with opened(tmp_path / "a", budget_tokens=3_000) as one, opened(tmp_path / "b", budget_tokens=3_000) as other:
        objects, plain = _driven(one, wire, as_json=False), _driven(other, wire, as_json=True)
    assert any(prepared.actions for _, prepared in objects)
    for (body, prepared), (_, expected) in zip(objects, plain, strict=True):
        assert prepared.actions == expected.actions
        assert (prepared.tokens_before, prepared.tokens_after) == (expected.tokens_before, expected.tokens_after)
        if expected.actions:
            assert json.loads(json.dumps(prepared.body)) == expected.body
        else:
            assert prepared.body is body


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_an_answer_is_taken_in_as_the_sdk_gives_it(tmp_path, wire):
    reply, _ = WIRES[wire](1)
    with opened(tmp_path) as session:
        read = session.record(reply, wire=wire)
        assert read == session.record(_plain(reply), wire=wire) == session.record(dict(_plain(reply)), wire=wire)
        assert read.input_tokens == 91
        assert [one.tool_name for one in read.calls] == ["Read"]
        assert session.record(ByHand(**_plain(reply)), wire=wire) == read
        assert session.record(json.dumps(_plain(reply)).encode(), wire=wire) == read


def test_objects_inside_of_an_answer_are_read_too(tmp_path):
    _, (said, _) = _anthropic(2)
    with opened(tmp_path) as session:
        assert session.record({"content": said["content"]}).calls == (
            ToolCall("t2", "Read", '{"path":"2.py","limit":null}'),
        )


@pytest.mark.parametrize("wrong", [None, "hello", '{"usage": {}}', 7, [], {}, object(), b"[]", b"null", Model, len])
def test_what_is_no_answer_is_refused_with_the_remedy(tmp_path, wrong):
    with opened(tmp_path) as session, pytest.raises(WireError, match=r"reply .*\.model_dump\(\)"):
        session.record(wrong)


def test_what_is_no_json_in_a_body_is_named_by_its_place_with_the_remedy(tmp_path):
    bad = {"messages": [{"role": "user", "content": [{"type": "text", "text": object()}]}]}
    with opened(tmp_path) as session:
        with pytest.raises(WireError, match=r"messages\[0\]\.content\[0\]\.text: .* object; .*\.model_dump\(\)"):
            session.prepare(bad)
        with pytest.raises(WireError, match=r"a body must be .*\.model_dump\(\)"):
            session.prepare(object())


def test_a_whole_body_of_objects_is_left_alone_and_comes_out_as_json_where_something_leaves(tmp_path):
    items = [_asked("openai-chat"), *(one for n in range(ROUNDS) for one in _chat(n)[1])]
    tool = Model(type="function", function=Model(name="Read", parameters={}))  # type: ignore[call-arg]
    body = Model(model="m", tools=[tool], messages=items)  # type: ignore[call-arg]
    before = copy.deepcopy(body)
    with opened(tmp_path / "a", budget_tokens=100_000) as session:
        assert session.prepare(body, wire="openai-chat").body is body
    with opened(tmp_path / "b", budget_tokens=3_000) as session:
        prepared = session.prepare(body, wire="openai-chat")
        sent = json.loads(json.dumps(prepared.body))
        assert sent["tools"] == [{"type": "function", "function": {"name": "Read", "parameters": {}}}]
        fields = {"model": "m", "tools": [tool], "messages": items}
        assert session.prepare(fields, wire="openai-chat").body == sent
    assert body == before


class Odd:
    """What has the name of the method, and no JSON behind it."""

    def __init__(self, what: Any) -> None:
        self._what = what

    def model_dump(self, **_: Any) -> Any:
        if isinstance(self._what, Exception):
            raise self._what
        return self if self._what == "itself" else {"again": self} if self._what == "for ever" else self._what


@pytest.mark.parametrize(
    "what", [None, "text", 5, "itself", "for ever", ValueError("no"), TypeError("no"), KeyError("no")]
)
def test_an_object_that_does_not_keep_its_word_is_refused_and_nothing_else_happens(tmp_path, what):
    with opened(tmp_path) as session:
        with pytest.raises(WireError):
            session.prepare({"messages": [{"role": "user", "content": [Odd(what)]}]})
        if what != "for ever":
            with pytest.raises(WireError):
                session.record(Odd(what))
        assert session.prepare({"messages": [_asked("anthropic")]}).tokens_before > 0
