"""Whole sessions in the form of Gemini: nothing refused, nothing lost, the same bytes."""

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.paste_settings import PasteSettings
from tests.wire.gemini_contents import (
    SIGNATURE,
    WIRE,
    Json,
    call,
    image,
    model,
    problems,
    response,
    user,
)
from undrift import Session
from undrift.testing.simulators.base import Call, ModelTurn
from undrift.testing.simulators.gemini import GeminiSimulator
from undrift.values.prepared import Prepared


def opened(home: Path, **given_settings: Any) -> Session:
    chosen = PasteSettings(**{"token_counter": "characters/4", "budget_tokens": 1_000, **given_settings})
    return Session.open("s", home=home, settings=chosen, clock=lambda: 1_000)


def turns(count: int, *, first: int = 0, answer_ids: bool = True) -> list[Json]:
    """Answers of words and two calls at once, each content of responses behind it."""
    items: list[Json] = []
    for n in range(first, first + count):
        a, b = f"{n}a", f"{n}b"
        items.append(model(f"words {n}", call(a, SIGNATURE, n=n), call(b)))
        pair = [response(a if answer_ids else None, "x" * 200), response(b if answer_ids else None, "y" * 200)]
        items.append(user(*pair))
    return items


def body(*items: Any, **fields: Any) -> Json:
    return {"contents": list(items), **fields}


def prepared(session: Session, given_body: Any) -> Prepared:
    return session.prepare(given_body, wire=WIRE, model="gemini-3.1-pro")


def encoded(value: Any) -> bytes:
    """JSON as no other encoder here writes it, so that bytes written again are seen."""
    return json.dumps(value, indent=1).encode()


def sent(found: Prepared) -> list[Json]:
    return (json.loads(found.body) if isinstance(found.body, bytes) else found.body)["contents"]


def test_a_request_that_fits_is_the_very_object(tmp_path):
    for given_body in (body(user("hi"), *turns(2)), {"contents": {"parts": {"text": "hi"}}}):
        with opened(tmp_path) as session:
            found = prepared(session, given_body)
            assert found.body is given_body
            assert found.actions == ()


@pytest.mark.parametrize("answer_ids", [True, False])
def test_an_answer_leaves_whole_and_the_newest_results_stay(tmp_path, answer_ids):
    """The words, the calls and the responses, be they matched by ids or, as google-genai sends them, by position."""
    given_body = body(user("hi"), *turns(20, answer_ids=answer_ids), user("go on"))
    with opened(tmp_path, keep_tool_results=5) as session:
        found = prepared(session, given_body)
    out = sent(found)
    kept = (len(out) - 2) // 2
    assert 3 <= kept < 20
    assert found.tokens_after <= 1_000
    assert out == [user("hi"), *turns(kept, first=20 - kept, answer_ids=answer_ids), user("go on")]
    assert all(any(item is one for one in given_body["contents"]) for item in out)
    assert problems(out) == ()


def test_a_response_that_stands_among_the_users_words_leaves_without_them(tmp_path):
    items = [user("hi"), model(call("m")), user(response("m", "z" * 400), image(), "my own words"), *turns(20)]
    with opened(tmp_path) as session:
        found = prepared(session, body(*items))
    assert sent(found)[:2] == [user("hi"), user("my own words")]
    assert problems(sent(found)) == ()


@pytest.mark.parametrize("budget", range(500, 3_500, 60))
def test_a_lone_picture_never_leaves_two_answers_side_by_side(tmp_path, budget):
    """What the user shows without a word parts two answers of the model."""
    few = model("few words"), user(image()), model(call("p", "x")), user(response("p", "o" * 2_000))
    given_body = body(user("hi"), *few, model("ok"), user(image(), image()), model("seen"), user("go on"), *turns(2))
    with opened(tmp_path, budget_tokens=budget, keep_tool_results=1) as session:
        found = prepared(session, given_body)
    out = sent(found)
    assert problems(out) == ()
    assert not any("refused" in warning for warning in found.warnings)
    assert (few[0] in out) == (user(image()) in out)
    roles = [item["role"] for item in out]
    assert ("model", "model") not in pairwise(roles)


def test_what_the_model_has_not_seen_stays_behind_an_answer_that_left(tmp_path):
    given_body = body(user("hi"), *turns(20), model("done"), user("more"), user(image()))
    with opened(tmp_path) as session:
        assert sent(prepared(session, body(*given_body["contents"][:-1])))[-1] == user("more")
        assert sent(prepared(session, given_body))[-1] == user(image())


def test_a_second_session_gives_equal_bytes_and_what_stays_keeps_its_own(tmp_path):
    given_body = encoded(body(user("hi"), *turns(20), systemInstruction={"parts": [{"text": "sys"}]}))
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


def test_a_history_that_changes_its_spelling_is_the_same(tmp_path):
    def snake(items: list[Json]) -> list[Json]:
        names = {"functionCall": "function_call", "functionResponse": "function_response"}
        names["thoughtSignature"] = "thought_signature"
        return [
            {**item, "parts": [{names.get(k, k): v for k, v in p.items()} for p in item["parts"]]} for item in items
        ]

    items = [user("hi"), *turns(20)]
    with opened(tmp_path) as session:
        first = prepared(session, body(*items))
        assert sent(prepared(session, body(*snake(items)))) == snake(sent(first))


def test_a_pin_lands_at_the_tail_and_stays_where_it_is(tmp_path):
    items = [user("hi"), *turns(1)]
    with opened(tmp_path) as session:
        prepared(session, body(*items))
        session.pin("spec", "the pinned rule")
        first = sent(prepared(session, body(*items)))
        assert first[:-1] == items
        assert (first[-1]["role"], "the pinned rule" in first[-1]["parts"][0]["text"]) == ("user", True)
        items += [model("done"), user("next")]
        assert sent(prepared(session, body(*items))) == [*first, *items[-2:]]
    with opened(tmp_path / "new") as session:
        session.pin("spec", "the pinned rule")
        (out,) = sent(prepared(session, body(user("hi"))))
        assert [part["text"].split("\n")[-1] for part in out["parts"]] == ["hi", "the pinned rule"]


def test_the_middle_of_a_long_paste_leaves_and_its_part_stays_what_it_is(tmp_path):
    paste = {"text": "a long paste " * 2_000, "x": 1}
    given_body = body(user("hi"), user(paste), model("ok"), user("go on"), *turns(2))
    with opened(tmp_path, keep_user_text_tokens=100) as session:
        found = prepared(session, given_body)
        (part,) = sent(found)[1]["parts"]
        assert {**part, "text": paste["text"]} == paste
        assert len(part["text"]) < 1_000
        (action,) = (a for a in found.actions if a.kind == "cut")
        assert session.recall(action.ref) == paste["text"]


def test_a_request_whose_history_is_held_by_the_provider_passes(tmp_path):
    given_body = {"input": "hi", "previous_interaction_id": "i"}
    with opened(tmp_path) as session:
        assert prepared(session, given_body).body is given_body


def answered(calls: list[Json], how: int) -> Json:
    """What a client makes of the results: with the ids or not, with a picture or the user's words behind them."""
    parts: list[Json] = []
    for part in calls:
        made = part["functionCall"]
        parts.append(response(made.get("id") if how % 2 else None, "y" * 200, made["name"]))
    return user(*parts, *([image()] if how == 2 else []), *(["and mind this"] if how == 3 else []))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=8, max_size=20))
@example([(number % 3 != 1, number % 4, number % 3, number % 2 == 0) for number in range(40)])
@settings(max_examples=15)
def test_the_provider_takes_every_window(tmp_path_factory, script):
    """Words or not, 0 to 3 calls, bytes or not; the user shows a picture or speaks. The simulator knows its signatures."""
    simulator = GeminiSimulator(ids=len(script) % 2 == 0)
    config = {"thinkingConfig": {"includeThoughts": True}}
    items: list[Json] = [user("hi")]
    with opened(tmp_path_factory.mktemp("home"), budget_tokens=1_600, keep_tool_results=1) as session:
        for number, (speaks, how, calls, is_bytes) in enumerate(script):
            if number == 4:
                session.pin("spec", "the pinned rule")
            request = body(*copy.deepcopy(items), generationConfig=config)
            found = prepared(session, encoded(request) if is_bytes else request)
            made = tuple(Call("run", {"command": "x" * 80, "n": n}) for n in range(calls))
            turn = ModelTurn("words " * 40 if speaks else "", made, "thought " * 20 if how else None)
            answer = simulator.send(found.body, turn=turn, model="gemini-3.1-pro", now_ms=number).body
            reply = session.record(answer, wire=WIRE)
            said = answer["candidates"][0]["content"]
            asked = [part for part in said["parts"] if "functionCall" in part]
            items += [said, answered(asked, how) if asked else user("go on") if how < 2 else user(image())]
            assert reply.input_tokens == answer["usageMetadata"]["promptTokenCount"]
            assert not any("refused" in warning for warning in found.warnings)
