"""Whole sessions in the form of OpenAI Chat Completions: nothing refused, nothing lost, the same bytes."""

import json
from pathlib import Path
from typing import Any

from tests.wire.openai_chat_messages import (
    Json,
    assistant,
    call,
    problems,
    signed,
    system,
    tool,
    user,
)
from undrift import Session, Settings
from undrift.values.prepared import Prepared

BUDGET = 1_000


def opened(home: Path, **settings: Any) -> Session:
    return Session.open(
        "s", home=home, settings=Settings(token_counter="characters/4", **settings), clock=lambda: 1_000
    )


def rounds(count: int, make: Any = lambda n: assistant("", call(f"c{n}", f'{{"n": {n}}}'))) -> list[Json]:
    return [m for n in range(count) for m in (make(n), tool(f"c{n}", f"answer {n}: ".ljust(400, "x")))]


def body(*messages: Json) -> Json:
    return {"model": "gpt-5.5", "messages": list(messages), "tools": [{"type": "function"}]}


def sent(prepared: Prepared) -> list[Json]:
    given = prepared.body
    return (json.loads(given) if isinstance(given, bytes) else given)["messages"]


def ids(messages: list[Json]) -> tuple[list[str], list[str]]:
    asked = [c["id"] for m in messages for c in m.get("tool_calls", ())]
    return asked, [m["tool_call_id"] for m in messages if m["role"] == "tool"]


def test_calls_leave_with_their_results_and_the_newest_stay(tmp_path):
    given = body(system(), user("task"), *rounds(20), user("go on"))
    with opened(tmp_path, budget_tokens=BUDGET, keep_tool_results=3) as session:
        prepared = session.prepare(given, wire="openai-chat")
        messages = sent(prepared)
        asked, answered = ids(messages)
        assert asked == answered == [f"c{n}" for n in range(20 - len(asked), 20)]
        assert 3 <= len(asked) < 20
        assert prepared.warnings == ()
        assert prepared.tokens_after <= BUDGET < prepared.tokens_before
        assert problems(*messages) == ()
        assert all(any(m is one for one in given["messages"]) for m in messages)
        texts = [session.recall(action.ref) for action in prepared.actions]
    assert "answer 0: ".ljust(400, "x") in texts
    assert '{"n": 0}' in texts


def test_a_body_that_fits_is_the_very_same_object(tmp_path):
    given = body(system(), user("task"), *rounds(2))
    with opened(tmp_path) as session:
        assert session.prepare(given, wire="openai-chat").body is given
        encoded = json.dumps(given).encode()
        assert session.prepare(encoded, wire="openai-chat").body is encoded


def test_bytes_stay_as_they_came_and_another_process_sends_the_same(tmp_path):
    given = body(system(), user("tæsk"), *rounds(20))
    encoded = json.dumps(given, indent=1).encode()
    with opened(tmp_path, budget_tokens=BUDGET) as session:
        first = session.prepare(encoded, wire="openai-chat").body
    for message in sent(Prepared(first, 0, 0, 0)):
        original = json.dumps(message, indent=1).replace("\n", "\n  ").encode()
        assert original in encoded
        assert original in first
    with opened(tmp_path, budget_tokens=BUDGET) as again:
        assert again.prepare(encoded, wire="openai-chat").body == first
        written_otherwise = body(*(m if m["content"] else m | {"content": None} for m in given["messages"]))
        assert ids(sent(again.prepare(written_otherwise, wire="openai-chat"))) == ids(json.loads(first)["messages"])


def test_a_pin_lands_behind_the_results_and_stays_there(tmp_path):
    history = [system(), user("task"), *rounds(20)]
    with opened(tmp_path, budget_tokens=BUDGET) as session:
        session.prepare(body(*history), wire="openai-chat")
        session.pin("spec", "the rule")
        first = sent(session.prepare(body(*history), wire="openai-chat"))
        assert first[-2]["role"] == "tool"
        assert first[-1]["role"] == "user"
        assert first[-1]["content"].endswith("the rule")
        longer = [*history, assistant("so", call("c99")), tool("c99", "x" * 2_000), user("go on")]
        second = sent(session.prepare(body(*longer), wire="openai-chat"))
        assert second.count(first[-1]) == 1
        assert problems(*second) == ()


def test_a_pin_in_the_first_message_stands_behind_the_users_words(tmp_path):
    with opened(tmp_path) as session:
        session.pin("spec", "the rule")
        _, first = sent(session.prepare(body(system(), user("task")), wire="openai-chat"))
    assert first["content"].startswith("task\n\n")
    assert first["content"].endswith("the rule")


def test_signed_calls_of_one_message_leave_together(tmp_path):
    def several(n: int) -> list[Json]:
        long = "x" * 600
        return [assistant("so", signed(f"a{n}"), call(f"b{n}")), tool(f"a{n}", long), tool(f"b{n}", long)]

    given = body(user("task"), *(m for n in range(12) for m in several(n)))
    with opened(tmp_path, budget_tokens=BUDGET, keep_tool_results=1) as session:
        asked, answered = ids(sent(session.prepare(given, wire="openai-chat")))
    assert asked == answered
    assert {id_[1:] for id_ in asked if id_[0] == "a"} == {id_[1:] for id_ in asked if id_[0] == "b"}
    assert 0 < len(asked) < 24


def test_an_answer_with_reasoning_leaves_whole_or_stays_whole(tmp_path):
    def thought(n: int) -> Json:
        return assistant(f"step {n}", call(f"c{n}"), reasoning_content=f"thought {n} ".ljust(400, "y"))

    history = [user("task"), *rounds(12, thought)]
    with opened(tmp_path, budget_tokens=BUDGET, keep_tool_results=2) as session:
        messages = sent(session.prepare(body(*history), wire="openai-chat"))
    assert all(m in history for m in messages)
    assert len(messages) % 2 == 1 < len(messages) < len(history)


def test_the_old_function_calls_leave_with_their_answers(tmp_path):
    def old(n: int) -> list[Json]:
        asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": f'{{"n": {n}}}'}}
        return [asked, {"role": "function", "name": "f", "content": f"{n}".ljust(400, "x")}]

    given = body(user("task"), *(m for n in range(12) for m in old(n)))
    with opened(tmp_path, budget_tokens=BUDGET, keep_tool_results=2) as session:
        messages = sent(session.prepare(given, wire="openai-chat"))
    roles = [m["role"] for m in messages[1:]]
    assert roles == ["assistant", "function"] * (len(roles) // 2)
    assert messages[1:] == given["messages"][-len(roles) :]
