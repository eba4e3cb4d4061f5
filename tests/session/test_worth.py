"""Session.prepare by worth: lines leave results, more of them later, and the same turn gives the same bytes."""

import pytest

from tests.builders import Json, assistant, body, call, crowded, opened, parts, problems, result, rounds, sent, user


def listing(first: int, names: int, *, words: int = 60) -> str:
    """A result of which a few lines, in its middle, mention what nothing else does."""
    noise = [f"nothing to see in row {number}" for number in range(words)]
    return "\n".join([*noise, *(f"src/module_{number}.py" for number in range(first, first + names)), *noise])


def history(count: int, *, first: str = "") -> list[Json]:
    messages: list[Json] = [user("hello")]
    for number in range(count):
        given = listing(100 * number, 6) if number or not first else first
        messages += [assistant(call(f"t{number}", path=f"list{number}")), user(result(f"t{number}", given))]
    return messages


def shown(prepared: object) -> dict[str, str]:
    found = [part for message in sent(prepared) for part in parts(message) if part["type"] == "tool_result"]
    return {part["tool_use_id"]: part["content"] for part in found}


def test_lines_that_mention_something_stay_and_the_whole_is_recalled(tmp_path):
    with opened(tmp_path, budget_tokens=4_000, keep_tool_results=1) as session:
        prepared = session.prepare(body(*history(12)))
        trimmed = [action for action in prepared.actions if action.kind == "trimmed"]
        assert trimmed
        texts = shown(prepared)
        assert "src/module_0.py\nsrc/module_1.py" in texts["t0"]
        assert trimmed[0].ref in texts["t0"].split("\n")[0]
        assert session.recall(trimmed[0].ref) == listing(0, 6)
        decision = session.why(trimmed[0].ref)
        assert decision is not None
        assert decision.detail["rows"] == [[60, 66]]
        assert decision.detail["worth"] > 0
        assert decision.detail["price"] > 0
        assert problems(sent(prepared)) == ()
        assert prepared.tokens_before - prepared.tokens_after == sum(one.tokens_saved for one in prepared.actions)


def test_what_was_trimmed_is_sent_alike_later_and_after_a_restart(tmp_path):
    given = history(12)
    with opened(tmp_path, budget_tokens=4_000, keep_tool_results=1) as session:
        first = session.prepare(body(*given))
        later = session.prepare(body(*given, assistant("noted"), user("go on")))
        assert sent(later)[: len(sent(first))] == sent(first)
    with opened(tmp_path, budget_tokens=4_000, keep_tool_results=1) as session:
        assert session.prepare(body(*given)) == first
        assert session.prepare(body(*given, assistant("noted"), user("go on"))) == later


def test_a_trimmed_result_loses_more_when_the_window_fills_again(tmp_path):
    long_lines = "\n".join(f"src/{'deep/' * 20}module_{number}.py" for number in range(30))
    listed = f"{listing(5_000, 60)}\n{long_lines}"
    with opened(tmp_path, budget_tokens=4_000, keep_tool_results=1) as session:
        first = session.prepare(body(*history(12, first=listed)))
        last = session.prepare(body(*history(60, first=listed)))
        before, after = shown(first)["t0"], shown(last)["t0"]
        assert long_lines in before
        assert "src/module_5030.py" in after
        assert long_lines not in after
        assert last.tokens_after <= 4_000
        assert last.tokens_before - last.tokens_after == sum(one.tokens_saved for one in last.actions)
        assert all(session.recall(one.ref) for one in last.actions)
    with opened(tmp_path, budget_tokens=4_000, keep_tool_results=1) as session:
        assert session.prepare(body(*history(60, first=listed))) == last
        assert shown(session.prepare(body(*history(12, first=listed)))) == shown(first), "an older turn, as it was sent"


def test_by_recency_only_whole_blocks_leave_the_oldest_first(tmp_path):
    with opened(tmp_path, budget_tokens=4_000, keep_tool_results=1, policy="recency") as session:
        prepared = session.prepare(body(*history(20)))
    assert {action.kind for action in prepared.actions} == {"pruned"}
    left = [int(id_[1:]) for id_ in shown(prepared)]
    assert left == list(range(left[0], 20))


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_other_wires_carry_trimmed_results(tmp_path, wire):
    name = "messages" if wire == "openai-chat" else "input"
    items: list[Json] = [{"role": "user", "content": "hello"}]
    for number in range(12):
        id_, given = f"c{number}", listing(100 * number, 6)
        if wire == "openai-chat":
            function = {"name": "ls", "arguments": "{}"}
            items.append({"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": function}]})
            items.append({"role": "tool", "tool_call_id": id_, "content": given})
        else:
            items.append({"type": "function_call", "call_id": id_, "name": "ls", "arguments": "{}"})
            items.append({"type": "function_call_output", "call_id": id_, "output": given})
    with opened(tmp_path, budget_tokens=4_000, keep_tool_results=1) as session:
        given_body = {"model": "gpt-5", name: items}
        prepared = session.prepare(given_body, wire=wire)
        assert "trimmed" in {action.kind for action in prepared.actions}
        assert prepared.tokens_after <= 4_000
        assert session.prepare(given_body, wire=wire).body == prepared.body


def test_plain_texts_without_any_name_go_by_their_age(tmp_path):
    with opened(tmp_path, budget_tokens=2_000) as session:
        by_worth = session.prepare(body(user("hello"), *rounds(30)))
    with opened(tmp_path, "r", budget_tokens=2_000, policy="recency") as session:
        by_age = session.prepare(body(user("hello"), *rounds(30)))
    assert sent(by_worth) == sent(by_age)


@pytest.mark.parametrize("seed", [5, 283])
def test_what_trimmed_results_cost_more_than_was_estimated_leaves_in_a_second_round_and_pairs_stay_whole(
    tmp_path, seed
):
    """Before, a call left alone where its result had been trimmed in the first round, and the whole edit was refused."""
    messages, budget = crowded(seed)
    with opened(tmp_path, budget_tokens=budget, keep_tool_results=1, prune_target_ratio=1.0) as session:
        prepared = session.prepare(body(*messages))
    assert prepared.warnings == ()
    assert prepared.tokens_after <= budget
    assert problems(sent(prepared)) == ()
