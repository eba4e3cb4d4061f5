"""Pydantic AI: windows that fit, a history that keeps everything, and parts that stay what they are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the package pydantic-ai-slim (make conformance installs it)")

from pydantic_ai import Agent, BinaryContent, ImageUrl
from pydantic_ai.messages import (
    CachePoint,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

from undrift import Session, Settings
from undrift.integrations.pydantic_ai import UndriftHistory
from undrift.integrations.pydantic_ai.messages import back, history

SETTINGS = Settings(budget_tokens=3_000, token_counter="characters/4")
IMAGE = BinaryContent(b"\x89PNG", media_type="image/png")

EVERYTHING: list[Any] = [
    ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("Go.")], instructions="Read."),
    ModelResponse(
        [
            ThinkingPart("hm", signature="sig", provider_name="anthropic"),
            TextPart("I read.", id="msg_1", provider_name="openai"),
            ToolCallPart("read", {"name": "a"}, "c1"),
            ToolCallPart("read", '{"name": "b"}', "c2"),
        ]
    ),
    ModelRequest(
        [
            ToolReturnPart("read", {"lines": [1, 2]}, "c1", metadata=object()),
            ToolReturnPart("read", ["text", IMAGE], "c2"),
            UserPromptPart(["look", ImageUrl("https://example.org/a.png"), CachePoint(), IMAGE]),
        ]
    ),
    ModelResponse([NativeToolCallPart("web_search", {}, "n1"), NativeToolReturnPart("web_search", {"r": 1}, "n1")]),
    ModelRequest([]),
]


def test_what_was_not_rewritten_is_the_very_message():
    items = history(EVERYTHING)
    assert items == history(EVERYTHING)
    assert len(items) == sum(len(message.parts) for message in EVERYTHING)
    assert all(one is other for one, other in zip(back(EVERYTHING, items, items), EVERYTHING, strict=True))


def test_every_kind_of_part_is_taken(home: Path):
    body = {"input": history(EVERYTHING)}
    with Session.open("s", home=home, settings=Settings(budget_tokens=100_000)) as session:
        prepared = session.prepare(body, wire="openai-responses")
    assert prepared.body is body


def edited(place: int, **fields: Any) -> Any:
    """All messages, with one item's fields replaced."""
    items = history(EVERYTHING)
    prepared = [{**item, **fields} if number == place else item for number, item in enumerate(items)]
    return back(EVERYTHING, items, prepared)


def test_an_edited_return_keeps_all_but_its_content():
    message = edited(6, output="short")[2]
    before = EVERYTHING[2].parts[0]
    assert message.parts[0] == replace(before, content="short")
    assert message.parts[0].metadata is before.metadata
    assert message.parts[1] is EVERYTHING[2].parts[1]


def test_an_edited_text_loses_the_id_under_which_the_provider_has_the_old_one():
    part = edited(3, content=[{"type": "output_text", "text": "short"}])[1].parts[1]
    assert (part.content, part.id, part.provider_name) == ("short", None, "openai")


def test_a_user_s_pictures_stay_beside_an_edited_text():
    given = history(EVERYTHING)[8]["content"]
    content = [{**given[0], "text": "lo"}, *given[1:], {"type": "input_text", "text": "[Pinned]"}]
    part = edited(8, content=content)[2].parts[2]
    assert part.content == ["lo", *EVERYTHING[2].parts[2].content[1:], "[Pinned]"]


def test_a_message_without_parts_leaves_and_what_undrift_says_stands_in_a_request():
    items = history(EVERYTHING)
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "note"}]}
    kept = [item for item in items if item.get("call_id") != "n1"]
    found = back(EVERYTHING, items, [*kept, said])
    assert [message.kind for message in found] == ["request", "response", "request", "request"]
    assert found[-1].parts[-1].content == "note"


def read(name: str) -> str:
    """Return a file."""
    return f"content of {name} " * 60


def test_each_window_fits_and_the_history_keeps_everything(home: Path):
    sent: list[Any] = []

    def model(messages: list[Any], _: Any) -> ModelResponse:
        sent.append(messages)
        number = len(sent)
        done = number % 17 == 0
        return ModelResponse([TextPart("done") if done else ToolCallPart("read", {"name": f"f{number}"}, f"c{number}")])

    seen: list[Any] = []
    with Session.open("s", home=home, settings=SETTINGS) as session:
        capability = UndriftHistory(session, on_prepared=seen.append)
        agent = Agent(FunctionModel(model), instructions="Read.", tools=[read], capabilities=[capability])
        first = agent.run_sync("Go.")
        again = agent.run_sync("Again.", message_history=first.all_messages())
        assert session.find("content")
    assert (len(first.all_messages()), len(again.all_messages())) == (34, 68)
    assert seen[-1].tokens_before > 3_000
    assert all(one.tokens_after <= one.budget_tokens for one in seen)
    for messages in sent:
        asked = [part.tool_call_id for one in messages for part in one.parts if isinstance(part, ToolCallPart)]
        assert asked == [
            part.tool_call_id for one in messages for part in one.parts if isinstance(part, ToolReturnPart)
        ]


def test_a_store_that_fails_leaves_the_agent_alone(home: Path, caplog: pytest.LogCaptureFixture):
    with Session.open("s", home=home, settings=SETTINGS) as session:
        capability = UndriftHistory(session)
    agent = Agent(FunctionModel(lambda *_: ModelResponse([TextPart("done")])), capabilities=[capability])
    assert agent.run_sync("Go.").output == "done"
    assert "closed" in caplog.text
