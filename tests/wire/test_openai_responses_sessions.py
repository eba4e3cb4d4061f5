"""Whole sessions in the form of OpenAI Responses: nothing refused, nothing lost, the same bytes."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.paste_settings import PasteSettings
from tests.wire.openai_responses_items import (
    APPROVAL,
    WIRE,
    Json,
    call,
    message,
    output,
    problems,
    reasoning,
    user,
)
from undrift import Session
from undrift.testing.simulators.base import Call, ModelTurn
from undrift.testing.simulators.openai_responses import OpenAIResponsesSimulator
from undrift.values.prepared import Prepared
from undrift.wire import openai_responses as form


def opened(home: Path, **settings: Any) -> Session:
    chosen = PasteSettings(**{"token_counter": "characters/4", "budget_tokens": 1_000, **settings})
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
    """JSON as no other encoder here writes it, so that bytes written again are seen."""
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
