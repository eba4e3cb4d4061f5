"""LangChain's middleware: the window of each call fits, the agent's state keeps everything, and messages stay what they are."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain", reason="needs the package langchain (make conformance installs it)")

from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from undrift import Session, Settings
from undrift.integrations.langchain import UndriftByteStore, UndriftMiddleware
from undrift.integrations.langchain.messages import back, history, without_signed_thinking

SETTINGS = Settings(budget_tokens=3_000, token_counter="characters/4", embedder="none")
USAGE = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}


def read(name: str) -> str:
    """Return a file."""
    return f"content of {name} " * 60


class Reader(BaseChatModel):
    """Calls `read` a number of times, then answers; remembers what it was sent."""

    calls: int = 16
    sent: list[Any] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "reader"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.sent.append(messages)
        number = len(self.sent)
        answer = AIMessage("done", usage_metadata=USAGE)
        if number % (self.calls + 1):
            answer = AIMessage("", tool_calls=[{"name": "read", "args": {"name": f"f{number}"}, "id": f"c{number}"}])
        return ChatResult(generations=[ChatGeneration(message=answer)])


@pytest.fixture
def session(home: Path):
    with Session.open("s", home=home, settings=SETTINGS) as opened:
        yield opened


def paired(messages: list[Any]) -> bool:
    asked = [call["id"] for one in messages if isinstance(one, AIMessage) for call in one.tool_calls]
    return asked == [one.tool_call_id for one in messages if isinstance(one, ToolMessage)]


def test_each_window_fits_and_the_state_keeps_everything(session: Session):
    seen: list[Any] = []
    model = Reader()
    agent = create_agent(
        model, [read], system_prompt="Read.", middleware=[UndriftMiddleware(session, on_prepared=seen.append)]
    )
    result = agent.invoke({"messages": [("user", "Go.")]}, {"recursion_limit": 100})
    assert len(result["messages"]) == 34
    assert paired(result["messages"])
    assert seen[-1].tokens_before > 3_000
    assert all(one.tokens_after <= one.budget_tokens for one in seen)
    assert all(paired(sent) for sent in model.sent)
    last = model.sent[-1]
    assert (last[0].type, last[0].text, last[1].text) == ("system", "Read.", "Go.")
    assert last[-1] == result["messages"][-2]
    left = next(action for action in seen[-1].actions if action.tokens_saved > 100)
    assert session.recall(left.ref) == read("f1")


def test_the_awaited_agent_is_managed_too(session: Session):
    seen: list[Any] = []
    agent = create_agent(Reader(), [read], middleware=[UndriftMiddleware(session, on_prepared=seen.append)])
    asyncio.run(agent.ainvoke({"messages": [("user", "Go.")]}, {"recursion_limit": 100}))
    assert all(one.tokens_after <= 3_000 for one in seen)


def test_each_thread_is_a_session_of_its_own(home: Path):
    middleware = UndriftMiddleware(home=home, settings=SETTINGS)
    agent = create_agent(Reader(), [read], middleware=[middleware])
    for name in ("one", "two"):
        agent.invoke({"messages": [("user", name)]}, {"recursion_limit": 100, "configurable": {"thread_id": name}})
    middleware.close()
    for name in ("one", "two"):
        with Session.open(name, home=home, settings=SETTINGS) as session:
            assert session.find("content")


def test_a_store_that_fails_leaves_the_agent_alone(session: Session, caplog: pytest.LogCaptureFixture):
    session.close()
    model = Reader(calls=2)
    agent = create_agent(model, [read], middleware=[UndriftMiddleware(session)])
    result = agent.invoke({"messages": [("user", "Go.")]})
    assert len(result["messages"]) == 6
    assert model.sent[-1] == result["messages"][:-1]
    assert "closed" in caplog.text


# ------------------------------------------------------------------------------------------------------------ the messages

TEXTS = st.text(max_size=5)
PARTS = st.one_of(
    TEXTS,
    st.builds(lambda text: {"type": "text", "text": text, "annotations": [1]}, TEXTS),
    st.just({"type": "image", "base64": "aGk=", "mime_type": "image/png"}),
    st.just({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
    st.just({"type": "file", "base64": "aGk=", "mime_type": "application/pdf"}),
    st.just({"type": "thinking", "thinking": "hm", "signature": "abc"}),
    st.just({"type": "tool_use", "id": "c1", "name": "read", "input": {}}),
    st.just({"type": "non_standard", "value": {"a": None}}),
)
CONTENTS = st.one_of(TEXTS, st.lists(PARTS, max_size=4))
CALLS = st.lists(st.builds(lambda n: {"name": "read", "args": {"n": n}, "id": f"c{n}"}, st.integers(0, 3)), max_size=3)
MESSAGES = st.one_of(
    st.builds(HumanMessage, CONTENTS, id=TEXTS),
    st.builds(SystemMessage, CONTENTS),
    st.builds(lambda content, calls: AIMessage(content, tool_calls=calls), CONTENTS, CALLS),
    st.builds(lambda content: ToolMessage(content, tool_call_id="c1", artifact=object()), CONTENTS),
    st.builds(lambda text: FunctionMessage(text, name="f"), TEXTS),
)


@given(st.lists(MESSAGES, max_size=6))
def test_what_was_not_rewritten_is_the_very_message(messages: list[Any]):
    items = history(messages)
    assert items == history(messages)
    found = back(messages, items, items)
    assert len(found) == len(messages)
    assert all(one is other for one, other in zip(found, messages, strict=True))


@given(st.lists(MESSAGES, max_size=6))
def test_a_copy_without_edits_says_the_same(messages: list[Any]):
    items = history(messages)
    for one, other in zip(back(messages, items, [dict(item) for item in items]), messages, strict=True):
        assert (type(one), one.id, one.additional_kwargs) == (type(other), other.id, other.additional_kwargs)
        if isinstance(other, AIMessage):
            assert one.tool_calls == other.tool_calls
        if isinstance(other, ToolMessage):
            assert one.artifact is other.artifact
        assert without_places(one.content) == without_places(other.content)


def without_places(content: Any) -> Any:
    """A content in one notation: parts that are calls stand at the end, as providers write them."""
    if isinstance(content, str):
        return content
    calls = [part for part in content if isinstance(part, dict) and part["type"] == "tool_use"]
    return [*(part for part in content if part not in calls), *calls] or ""


def test_an_edited_message_keeps_all_but_what_was_edited():
    artifact = object()
    message = ToolMessage("long", tool_call_id="c1", id="m1", name="read", artifact=artifact, status="error")
    items = history([message])
    (found,) = back([message], items, [{**items[0], "content": "short"}])
    assert (found.content, found.id, found.name, found.status) == ("short", "m1", "read", "error")
    assert found.artifact is artifact
    assert message.content == "long"


def test_a_call_that_left_leaves_everywhere():
    parts = [
        {"type": "text", "text": "I read."},
        *({"type": "tool_use", "id": i, "name": "read", "input": {}} for i in "ab"),
    ]
    calls = [{"name": "read", "args": {}, "id": i} for i in "ab"]
    raw = {"tool_calls": [{"id": i, "type": "function"} for i in "ab"], "reasoning_content": "hm"}
    message = AIMessage(parts, tool_calls=calls, additional_kwargs=raw)
    items = history([message])
    assert items[0]["reasoning_content"] == "hm"
    edited = {name: value for name, value in items[0].items() if name != "reasoning_content"}
    (found,) = back([message], items, [{**edited, "tool_calls": items[0]["tool_calls"][1:]}])
    assert [call["id"] for call in found.tool_calls] == ["b"]
    assert found.content == [parts[0], parts[2]]
    assert found.additional_kwargs == {"tool_calls": [{"id": "b", "type": "function"}]}


def test_what_undrift_says_is_a_user_s_message():
    message = HumanMessage("a")
    items = history([message])
    found = back([message], items, [items[0], {"role": "user", "content": "note"}])
    assert found[0] is message
    assert (type(found[1]), found[1].content) == (HumanMessage, "note")


def test_signed_thinking_behind_a_rewritten_message_leaves():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    messages = [
        AIMessage([thinking]),
        ToolMessage("long", tool_call_id="c"),
        AIMessage([thinking, "said"]),
        HumanMessage("q"),
    ]
    sent = [messages[0], ToolMessage("short", tool_call_id="c"), *messages[2:]]
    found = without_signed_thinking(messages, sent)
    assert found[0] is messages[0]
    assert found[2].content == ["said"]
    assert found[3] is messages[3]
    assert without_signed_thinking(messages, list(messages)) == messages


def test_bytes_are_kept_under_any_key(home: Path):
    keys = ["", "a", "a/b", "\0", "\ud800", "日本"]
    with UndriftByteStore(home, settings=SETTINGS) as store:
        store.mset([(key, key.encode("utf-8", "replace") + b"\xff") for key in keys])
        store.mset([("a", b"new"), ("a", b"newest")])
        store.mdelete(["日本", "never", "日本"])
    with UndriftByteStore(home, settings=SETTINGS) as store:
        assert store.mget(["a", "日本", ""]) == [b"newest", None, b"\xff"]
        assert list(store.yield_keys(prefix="a")) == ["a", "a/b"]
