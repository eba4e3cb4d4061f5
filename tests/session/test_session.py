"""Session.prepare, turn after turn: what leaves, what stays, and that the same turn gives the same bytes."""

import copy
import json

import pytest

from tests.builders import (
    Json,
    assistant,
    body,
    call,
    image,
    merged,
    opened,
    parts,
    problems,
    result,
    rounds,
    sent,
    text,
    thinking,
    user,
)
from undrift.values.prepared import Prepared


def encoded(given: Json) -> bytes:
    return json.dumps(given).encode()


def ids(messages: list[Json], kind: str = "tool_result") -> list[str]:
    name = "tool_use_id" if kind == "tool_result" else "id"
    return [part[name] for message in messages for part in parts(message) if part["type"] == kind]


def over(prepared: Prepared) -> bool:
    return prepared.tokens_after > prepared.budget_tokens


# ------------------------------------------------------------------------------------------------- what is not touched


@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_body_that_fits_comes_back_as_the_very_same_object(tmp_path, as_bytes):
    history = body(user("hello"), *rounds(3))
    given = encoded(history) if as_bytes else history
    prepared = opened(tmp_path).prepare(given)
    assert prepared.body is given
    assert (prepared.actions, prepared.warnings, dict(prepared.headers)) == ((), (), {})
    assert prepared.tokens_before == prepared.tokens_after > 300


def test_what_comes_in_is_never_changed(tmp_path):
    session = opened(tmp_path, budget_tokens=1_000)
    given = body(user("task " * 3_000, image()), *rounds(20), system=[text("be brief")], tools=[{"name": "Read"}])
    before = copy.deepcopy(given)
    session.pin("spec", "the rule")
    prepared = session.prepare(given)
    assert given == before
    assert prepared.body is not given
    assert type(prepared.body) is dict


def test_untouched_messages_are_the_same_objects(tmp_path):
    given = body(user("hello"), *rounds(20), system="be brief", metadata={"user_id": "u"}, betas=["b"], unknown=[1.50])
    out = opened(tmp_path, budget_tokens=1_000).prepare(given).body
    assert 5 <= len(out["messages"]) < 41
    assert all(any(message is one for one in given["messages"]) for message in out["messages"])
    assert list(out) == list(given)
    assert all(out[name] is given[name] for name in given if name != "messages")


def test_untouched_messages_and_fields_keep_their_very_bytes(tmp_path):
    odd = '{ "content" : [ {"type":"text", "text":"\\u00e9 \\/ odd"} ],  "role":"user" }'
    messages = [odd, *map(json.dumps, rounds(20))]
    given = (
        '{ "x_unknown" : 1.50e3 ,"model":"claude-sonnet-4-5", "messages":[' + " , ".join(messages) + '], "z":[1 ,2] }'
    )
    out = opened(tmp_path, budget_tokens=1_000).prepare(given.encode()).body
    assert type(out) is bytes
    assert len(json.loads(out)["messages"]) < 41
    for piece in (odd, messages[-1], messages[-2], "1.50e3", "[1 ,2]"):
        assert piece.encode() in out


def test_unknown_blocks_and_roles_pass_through(tmp_path):
    strange = {"type": "container_upload", "file_id": "f", "nested": {"a": [None, True]}}
    given = body(user("hello"), *rounds(20), assistant("ok"), user("go", strange), {"role": "system", "content": "mid"})
    prepared = opened(tmp_path, budget_tokens=1_000).prepare(given)
    assert prepared.actions
    assert all(message is kept for message, kept in zip(sent(prepared)[-2:], given["messages"][-2:], strict=True))


def test_what_two_messages_mean_decides_not_how_they_are_written(tmp_path):
    session = opened(tmp_path, budget_tokens=1_000)
    given = body(user("hello"), *rounds(20))
    first = session.prepare(given)
    again = copy.deepcopy(given)
    again["messages"][0]["content"] = [text("hello", cache_control={"type": "ephemeral"})]
    again["messages"][2] = dict(reversed(again["messages"][2].items()))
    again["messages"][40]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    second = session.prepare(again)
    assert second.actions == first.actions
    assert ids(sent(second)) == ids(sent(first))
    assert second.tokens_after == first.tokens_after


# ------------------------------------------------------------------------------- decided once, applied again for good


def test_a_retry_and_a_restart_give_the_same_bytes(tmp_path):
    given = encoded(body(user("hello"), *rounds(20)))
    with opened(tmp_path, budget_tokens=1_000) as session:
        first = session.prepare(given)
        assert first.actions
        assert session.prepare(given) == first
    with opened(tmp_path, budget_tokens=1_000) as session:
        assert session.prepare(given) == first


def test_a_dict_and_its_bytes_are_decided_alike(tmp_path):
    given = body(user("a long paste " * 2_000), assistant("thanks"), user("go on"), *rounds(20))
    with opened(tmp_path, budget_tokens=1_500, keep_user_text_tokens=100) as session:
        first = session.prepare(given)
        assert {action.kind for action in first.actions} == {"cut", "pruned"}
        second = session.prepare(encoded(given))
    assert json.loads(second.body) == first.body
    assert (second.actions, second.tokens_after) == (first.actions, first.tokens_after)


def test_new_decisions_come_in_one_batch_and_not_again_on_the_next_small_turn(tmp_path):
    session = opened(tmp_path, budget_tokens=2_000)
    messages: list[Json] = [user("hello")]
    turns = []
    for number in range(60):
        messages += rounds(1, first=number)
        turns.append(session.prepare(body(*messages)))
    left = [len(turn.actions) for turn in turns]
    batches = [n for n in range(1, 60) if left[n] > left[n - 1]]
    assert left == sorted(left)
    assert left[-1] > 60
    assert 5 <= len(batches) <= 12, batches
    assert all(turns[n - 1].tokens_after + 110 > 2_000 and turns[n].tokens_after <= 1_500 for n in batches)
    assert not any(over(turn) for turn in turns)


def test_a_fork_keeps_the_decisions_of_the_beginning_it_shares_and_takes_its_own_after_it(tmp_path):
    session = opened(tmp_path, budget_tokens=1_000)
    trunk = [user("hello"), *rounds(12)]
    first = session.prepare(body(*trunk))
    one, other = [*trunk, *rounds(12, first=100)], [*trunk, *rounds(12, first=200)]
    in_one, in_other = session.prepare(body(*one)), session.prepare(body(*other))
    assert set(first.actions) <= set(in_one.actions) & set(in_other.actions)
    assert first.actions != in_one.actions != in_other.actions
    assert not over(in_other)
    assert session.prepare(body(*one)).body == in_one.body
    assert session.prepare(body(*trunk)).body == first.body
    assert problems(sent(in_other)) == ()


def test_a_client_that_goes_back_meets_its_messages_as_they_were_sent_then(tmp_path):
    session = opened(tmp_path, budget_tokens=1_000)
    trunk = [user("hello"), *rounds(20)]
    then = [session.prepare(body(*trunk[:length])).body for length in range(1, 42, 2)]
    session.close()
    session = opened(tmp_path, budget_tokens=1_000)
    now = [session.prepare(body(*trunk[:length])).body for length in range(41, 0, -2)]
    assert now[::-1] == then


def test_an_earlier_result_that_the_client_rewrites_does_not_end_the_management(tmp_path):
    """Claude Code clears old tool results in place; the call before it may have left already."""
    session = opened(tmp_path, budget_tokens=3_000)
    messages = [user("hello"), *rounds(40)]
    first = session.prepare(body(*messages))
    gone = [number for number in range(40) if f"c{number}" not in ids(sent(first))]
    messages = copy.deepcopy(messages)
    messages[2 * gone[-1] + 2]["content"][0]["content"] = "[Old tool result content cleared]"
    for number in range(50, 54):
        messages += rounds(1, first=number, characters=40)
        prepared = session.prepare(body(*messages))
        assert problems(sent(prepared)) == ()
        assert not over(prepared), prepared.warnings
        assert len(prepared.actions) >= 2 * len(gone) - 2
        assert not any("sent unchanged" in warning for warning in prepared.warnings)


def test_conversations_side_by_side_do_not_disturb_each_other(tmp_path):
    main, side = [user("main task")], [user("sub-agent's task")]
    with opened(tmp_path / "a", budget_tokens=1_000) as a, opened(tmp_path / "b", budget_tokens=1_000) as b:
        for number in range(30):
            main += rounds(1, first=number)
            side += rounds(1, first=1_000 + number)
            together = a.prepare(body(*main))
            a.prepare(body(*side))
            alone = b.prepare(body(*main))
            assert (sent(together), together.tokens_after) == (sent(alone), alone.tokens_after)


def test_two_sessions_open_at_once_on_one_id_share_their_decisions(tmp_path):
    messages = [user("hello"), *rounds(20)]
    with opened(tmp_path, budget_tokens=1_000) as one, opened(tmp_path, budget_tokens=1_000) as other:
        one.pin("spec", "the pinned rule")
        for number in range(20, 60):
            messages += rounds(1, first=number)
            turns = [session.prepare(body(*messages)) for session in (one, other)]
            for prepared in turns:
                assert not over(prepared)
                assert prepared.warnings == ()
        assert set(one.prepare(body(*messages)).actions) == set(other.prepare(body(*messages)).actions)


def test_what_one_process_decides_or_pins_holds_for_another_that_was_open_before(tmp_path):
    """An agent pins through one entrance while its requests go through another."""
    with opened(tmp_path, budget_tokens=1_500) as one, opened(tmp_path, budget_tokens=1_500) as other:
        first = one.prepare(body(user("hello"), *rounds(20)))
        longer = body(user("hello"), *rounds(20), assistant("so"), user("enough"))
        assert other.prepare(longer).actions == one.prepare(longer).actions
        assert set(other.prepare(longer).actions) >= set(first.actions) != set()
        one.pin("spec", "the pinned rule")
        assert "the pinned rule" in json.dumps(sent(other.prepare(body(user("another task")))))


# ------------------------------------------------------------------------------------------ what is in every window


def test_system_tools_and_every_word_of_the_user_stay(tmp_path):
    words = [f"rule {n}: never touch file {n}" for n in range(200)]
    messages: list[Json] = []
    for number, said in enumerate(words):
        messages += [user(said), *rounds(1, first=number), assistant("done")]
    given = body(*messages, user("now?"), system="s" * 400, tools=[{"name": "Read"}])
    prepared = opened(tmp_path, budget_tokens=4_000).prepare(given)
    spoken = [p["text"] for m in sent(prepared) if m["role"] == "user" for p in parts(m) if p["type"] == "text"]
    assert spoken == [*words, "now?"]
    assert prepared.tokens_after <= 4_000
    assert problems(sent(prepared)) == ()


def test_the_newest_results_stay_raw_with_their_calls(tmp_path):
    given = body(user("hello"), *rounds(30))
    out = sent(opened(tmp_path, budget_tokens=100, keep_tool_results=7).prepare(given))
    assert ids(out) == ids(out, "tool_use") == [f"c{n}" for n in range(23, 30)]
    assert out[1:] == given["messages"][-14:]


@pytest.mark.parametrize("count", [6, 500])
def test_all_that_the_model_has_not_seen_stays_whatever_the_budget_says(tmp_path, count):
    calls = [call(f"c{n}") for n in range(count)]
    results = [result(f"c{n}", f"answer {n}") for n in range(count)]
    given = body(user("hello"), assistant("I look", *calls), user(*results, "and this"))
    prepared = opened(tmp_path, budget_tokens=20).prepare(given)
    assert ids(sent(prepared)) == [f"c{n}" for n in range(count)]
    assert [warning for warning in prepared.warnings if "over budget" in warning]
    later = body(*given["messages"], assistant("seen"), user("thanks"))
    prepared = opened(tmp_path, "other", budget_tokens=400).prepare(later)
    assert ids(sent(prepared))[-5:] == [f"c{n}" for n in range(count - 5, count)]
    assert not over(prepared)


@pytest.mark.parametrize("budget", [1, 2, 50, 600, 5_000])
def test_any_shape_ends_within_the_budget_or_with_a_warning(tmp_path, budget):
    parallel = [f"p{n}" for n in range(500)]
    shapes = {
        "one prompt, 500 calls": [user("hello"), *rounds(500, characters=100)],
        "500 calls at once": [
            user("hello"), assistant(*map(call, parallel)), user(*(result(p, "x" * 90) for p in parallel)),
            assistant("ok"), user("go"),
        ],
        "a giant paste": [user("BEGIN " + "log line\n" * 100_000 + "END")],
        "a giant paste that was seen": [user("x" * 400_000), assistant("ok"), user("go")],
        "images": [user("look", *(image(str(n)) for n in range(40))), assistant("ok"), user("go")],
        "200 prompts": [m for n in range(200) for m in (user(f"prompt {n}"), assistant(f"answer {n}"))] + [user("go")],
        "nothing but a word": [user("hi")],
    }  # fmt: skip
    for name, messages in shapes.items():
        session = opened(tmp_path, name, budget_tokens=budget)
        prepared = session.prepare(body(*messages))
        assert problems(sent(prepared)) == (), name
        assert not over(prepared) or any("over budget" in w for w in prepared.warnings), name
        assert not any("sent unchanged" in w for w in prepared.warnings), name
        assert session.prepare(body(*messages)).body == prepared.body, name
        session.close()


def test_a_first_message_of_images_alone_does_not_lift_the_budget(tmp_path):
    prepared = opened(tmp_path, budget_tokens=2_500).prepare(body(user(image()), *rounds(30)))
    assert not over(prepared), prepared.warnings
    assert problems(sent(prepared)) == ()


def test_of_a_long_paste_beginning_and_end_stay_and_the_whole_is_recalled(tmp_path):
    paste = "BEGIN of it. " + "middle of it\n" * 3_000 + "END of it."
    session = opened(tmp_path, budget_tokens=1_500, keep_user_text_tokens=200)
    messages = [user("hello"), assistant("yes?"), user(paste), assistant("read"), user("go on")]
    prepared = session.prepare(body(*messages))
    (cut,) = [action for action in prepared.actions if action.kind == "cut"]
    stayed = sent(prepared)[2]["content"]
    assert stayed.startswith("BEGIN of it. ")
    assert stayed.endswith("END of it.")
    assert cut.ref in stayed
    assert len(stayed) < 1_000
    assert session.recall(cut.ref) == paste


def test_the_smallest_setting_still_leaves_a_beginning_and_an_end(tmp_path):
    paste = "BEGIN" + "x" * 4_000 + "END"
    messages = [user("hello"), assistant("yes?"), user(paste), assistant("read"), user("go on")]
    stayed = sent(opened(tmp_path, budget_tokens=60, keep_user_text_tokens=2).prepare(body(*messages)))[2]["content"]
    assert stayed[0] == "B"
    assert stayed[-1] == "D"


def test_first_and_newest_words_stay_whole_while_the_budget_can_hold_them(tmp_path):
    first, middle, newest = ("first " * 1_000, "middle " * 1_000, "newest " * 1_000)
    messages = [user(first), assistant("a"), user(middle), assistant("b"), user(newest)]
    session = opened(tmp_path, budget_tokens=4_000, keep_user_text_tokens=100)
    prepared = session.prepare(body(*messages))
    out = sent(prepared)
    assert (out[0]["content"], out[4]["content"]) == (first, newest)
    assert len(out[2]["content"]) < 500
    assert prepared.warnings == (), "the paste has lost its middle, it has not left"
    tight = opened(tmp_path, "tight", budget_tokens=500, keep_user_text_tokens=100).prepare(body(*messages))
    assert not over(tight)
    assert any("lost its middle" in warning for warning in tight.warnings)


def test_what_the_assistant_has_begun_to_say_is_not_taken_from_it(tmp_path):
    prefill = assistant("The answer is {")
    prepared = opened(tmp_path, budget_tokens=300).prepare(
        body(user("hello"), *rounds(20), prefill, model="claude-haiku-4-5")
    )
    assert sent(prepared)[-1] == prefill
    assert problems(sent(prepared)) == ()


def test_a_call_and_its_result_leave_together_where_neighbours_are_one_message(tmp_path):
    """The provider merges neighbours of one role (WIRE A4), so that both shapes are legal."""
    messages: list[Json] = [user("hello")]
    for n in range(20):
        a, b, c, d = (call(f"{n}{name}") for name in "abcd")
        messages += [assistant(a), assistant(b), user(result(f"{n}a", "x" * 200), result(f"{n}b", "x" * 200))]
        messages += [assistant(c, d), user(result(f"{n}c", "x" * 200)), user(result(f"{n}d", "x" * 200))]
    assert problems(messages) == ()
    for budget in range(100, 4_000, 130):
        prepared = opened(tmp_path, f"s{budget}", budget_tokens=budget).prepare(body(*messages))
        assert problems(sent(prepared)) == (), budget
        assert not over(prepared) or prepared.warnings


def test_server_tools_leave_whole_also_where_a_pause_parts_call_and_answer(tmp_path):
    messages: list[Json] = []
    for n in range(20):
        search = {"type": "server_tool_use", "id": f"w{n}", "name": "web_search", "input": {"query": "q"}}
        found = {"type": "web_search_tool_result", "tool_use_id": f"w{n}", "content": [{"title": "t" * 400}]}
        messages += [user(f"ask {n}"), assistant(search), assistant(found, "so it is")]
    messages.append(user("go on"))
    for budget in range(200, 2_000, 70):
        out = sent(opened(tmp_path, f"s{budget}", budget_tokens=budget).prepare(body(*messages)))
        calls = [p["id"] for m in out for p in parts(m) if p["type"] == "server_tool_use"]
        answers = [p["tool_use_id"] for m in out for p in parts(m) if p["type"] == "web_search_tool_result"]
        assert calls == answers, budget


# ---------------------------------------------------------------------------------------------------------- thinking


def test_of_the_latest_answer_thinking_stays_as_it_was(tmp_path):
    latest = assistant(thinking("old" * 400), "words " * 400, thinking("new"), call("z"))
    given = body(user("hello"), *rounds(20), latest, user(result("z", "done")))
    out = sent(opened(tmp_path, budget_tokens=300).prepare(given))
    assert out[-2] is latest


def test_the_latest_answer_may_be_written_as_two_messages(tmp_path):
    latest = [assistant(thinking("hm" * 50), "so " * 100), assistant(call("z"))]
    given = body(user("hello"), *rounds(20), *latest, user(result("z", "done")))
    out = sent(opened(tmp_path, budget_tokens=600).prepare(given))
    assert out[-3:-1] == latest


@pytest.mark.parametrize("huge", [-1, 12])
def test_an_answer_with_thinking_begins_with_it_and_does_not_end_with_it(tmp_path, huge):
    """WIRE A9: the first block must be thinking, if any is; and no answer consists of thinking alone."""
    messages: list[Json] = [user("hello")]
    for n in range(20):
        said = [thinking("a" * 100), text("b" * (100 + 4_000 * (n == 15))), thinking("c" * 100), call(f"c{n}")]
        messages += [assistant(*said), user(result(f"c{n}", "x" * (9_000 if n == huge else 100)))]
        messages += [assistant(thinking("d"), "e" * 400), user("go")] if n % 2 else []
    for budget in range(600, 6_000, 131):
        out = sent(opened(tmp_path, f"s{budget}", budget_tokens=budget).prepare(body(*messages)))
        for message in merged(out):
            kinds = [part["type"] for part in parts(message)]
            if message["role"] == "assistant" and "thinking" in kinds:
                assert kinds[0] == "thinking", (budget, kinds)
                assert kinds[-1] != "thinking", (budget, kinds)


def test_where_neighbours_become_one_answer_its_thinking_does_not_come_last(tmp_path):
    huge = "x" * 8_000
    messages = [
        user("hello"),
        *[assistant(thinking("a"), "words", call("c1")), user(result("c1", huge))],
        *[assistant(thinking("b"), call("c2")), user(result("c2", huge), "go on")],
        *[assistant(call("c3")), user(result("c3", "ok"))],
    ]
    out = sent(opened(tmp_path, budget_tokens=1_000, keep_tool_results=1).prepare(body(*messages)))
    (answer, _) = [parts(message) for message in merged(out) if message["role"] == "assistant"]
    assert answer[0]["type"] == "thinking"
    assert answer[-1]["type"] == "text"
