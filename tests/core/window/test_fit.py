"""plan_turn: nothing below the budget; above it one batch, oldest first, and never what must stay."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text.tokens import characters_per_4
from undrift.core.window.fit import Policy, Prompt, TurnPlan, is_user_text, low_water_tokens, plan_turn
from undrift.core.window.reasons import Wording
from undrift.values.window import ContextEntry

ROLES = {
    "user": "user",
    "say": "assistant",
    "think": "assistant",
    "call": "assistant",
    "result": "user",
    "image": "user",
}
KINDS = {"user": "text", "say": "text", "think": "thinking", "call": "call", "result": "result", "image": "image"}


def window(*rows: tuple[Any, ...]) -> list[ContextEntry]:
    """Rows of (what, tokens, pair); the neighbours of one role are one message."""
    entries: list[ContextEntry] = []
    message = 0
    for number, (what, tokens, *pair) in enumerate(rows):
        role = ROLES[what]
        if entries and (entries[-1].metadata or {})["role"] != role:
            message += 1
        meta: dict[str, Any] = {"role": role, "kind": KINDS[what], "message": f"m{message}"}
        if pair:
            meta["pair_id"] = pair[0]
        type_: Any = "tool_result" if what == "result" else "reasoning"
        words = "".join(f"{number}:{n}\n" for n in range(tokens))[: 4 * tokens]
        entries.append(ContextEntry(f"e{number}", type_, words, tokens, 0, meta, seq=number))
    return entries


def plan(
    entries: Sequence[ContextEntry], budget: int, *, unseen: int | None = None, wanted: Any = (), **policy: Any
) -> TurnPlan | None:
    numbers: dict[str, Any] = {"target_ratio": 0.75, "keep_tool_results": 1, "keep_user_text_tokens": 50, **policy}
    fixed = numbers.pop("fixed_tokens", 0)
    first_unseen = len(entries) if unseen is None else unseen
    prompt = Prompt(entries, first_unseen, fixed, wanted=wanted)
    return plan_turn(prompt, Policy(budget, **numbers), Wording(characters_per_4, lambda entry_id: f"ref-{entry_id}"))


def left(planned: TurnPlan | None) -> list[str]:
    assert planned is not None
    return [decision.entry_id for decision in planned.decisions]


def test_a_window_that_fits_has_no_plan_and_one_token_more_has_one():
    entries = window(*[("say", 100)] * 9)
    assert plan(entries, 900) is None
    assert plan(entries, 899) is not None
    assert plan(entries, 999, fixed_tokens=100) is not None, "system and tools count"


def test_the_oldest_leave_down_to_the_low_water_mark_in_one_batch():
    planned = plan(window(("user", 10), *[("say", 100)] * 10), 1_000)
    assert left(planned) == ["e1", "e2", "e3"]
    assert planned is not None
    assert (planned.total_tokens, planned.target_tokens, planned.freed_tokens) == (1_010, 750, 300)
    assert planned.tokens_after == 710
    assert planned.protected_tokens == 10
    for decision in planned.decisions:
        assert decision.kind == "pruned"
        assert decision.tokens_saved == 100
        assert decision.ref == f"ref-{decision.entry_id}"
        assert decision.detail["total_tokens"] == 1_010
        assert "750 of 1,000" in decision.reason


def test_a_call_leaves_with_its_result_and_stays_with_it():
    entries = window(("user", 1), *[r for n in range(6) for r in (("call", 10, f"p{n}"), ("result", 100, f"p{n}"))])
    assert left(plan(entries, 600)) == ["e1", "e2", "e3", "e4"]
    assert left(plan(entries, 10, keep_tool_results=2)) == [f"e{n}" for n in range(1, 9)]


def test_what_is_not_seen_yet_stays_even_when_it_alone_exceeds_the_budget():
    entries = window(
        *[("user", 1), ("call", 10, "a"), ("result", 500, "a"), ("say", 10), ("call", 10, "b")],
        *[("result", 500, "b"), ("image", 50), ("image", 50)],
    )
    planned = plan(entries, 100, unseen=5)
    assert left(planned) == ["e1", "e2", "e3"]
    assert planned is not None
    assert planned.protected_tokens == 611 > 100


def test_a_window_goes_on_beginning_with_the_user_were_it_one_picture():
    entries = window(("image", 50), ("image", 50), ("say", 100), ("image", 50), ("say", 100))
    assert left(plan(entries, 20)) == ["e1", "e2", "e3", "e4"]


def test_thinking_of_the_latest_answer_stays_with_all_of_it():
    entries = window(("user", 1), ("think", 100), ("say", 100), ("user", 1), ("think", 100), ("say", 100), ("user", 1))
    assert left(plan(entries, 210, unseen=6)) == ["e1", "e2"]


def test_pastes_lose_their_middle_oldest_first_and_short_words_nothing():
    entries = window(*[("user", 400), ("say", 1)] * 4, ("user", 40), ("say", 1), ("user", 5))
    planned = plan(entries, 1_400, unseen=10)
    assert left(planned)[:2] == ["e1", "e2"]
    assert planned is not None
    cuts = {decision.entry_id: decision for decision in planned.decisions if decision.kind == "cut"}
    assert set(cuts) <= {"e2", "e4", "e6"}, "the first message of the user is spared"
    for decision in cuts.values():
        assert decision.tokens_saved > 300
        assert decision.detail["keep_head"] > decision.detail["keep_tail"] > 0
    assert planned.shortened == 0
    assert planned.tokens_after <= planned.target_tokens


def test_the_first_words_are_cut_only_when_nothing_else_helps_and_unseen_ones_last():
    entries = window(("user", 400), ("say", 1), ("user", 400), ("say", 1), ("user", 400))
    planned = plan(entries, 900, unseen=4)
    assert planned is not None
    assert planned.shortened == 0
    assert "e2" in left(planned)
    planned = plan(entries, 500, unseen=4)
    assert planned is not None
    assert planned.shortened >= 1
    assert {"e0", "e2"} <= set(left(planned))
    assert "e4" not in left(planned)
    planned = plan(entries, 160, unseen=4)
    assert {"e0", "e2", "e4"} <= set(left(planned))


def test_a_paste_that_was_cut_is_not_cut_again():
    (paste,) = window(("user", 400))
    meta = {**(paste.metadata or {}), "cut": True}
    entry = ContextEntry(paste.id, paste.type, paste.content, 400, 0, meta)
    assert left(plan([entry], 100, unseen=1)) == []


@pytest.mark.parametrize("type_", ["tas", "requirements", "spec"])
def test_pinned_types_stay(type_):
    pinned = ContextEntry("pin", type_, "rule", 500, 0, {"role": "system", "kind": "text", "message": "m"})
    assert left(plan([pinned, *window(("say", 100))], 300)) == ["e0"]


def test_what_could_not_fit_even_alone_leaves_and_what_is_older_stays():
    planned = plan(window(("say", 10), ("say", 5_000), ("say", 10)), 1_000)
    assert left(planned) == ["e1"]
    assert planned is not None
    assert planned.oversize == 1
    assert "even alone" in planned.decisions[0].reason


def test_only_words_of_the_user_count_as_such():
    assert [is_user_text(e) for e in window(("user", 1), ("say", 1), ("result", 1), ("image", 1))] == [True] + [
        False
    ] * 3
    assert not is_user_text(ContextEntry("e", "reasoning", "", 0, 0))


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0.01, 1))
def test_the_low_water_mark_lies_within_the_budget_and_leaves_room_beside_what_must_stay(budget, must, ratio):
    mark = low_water_tokens(budget, must, ratio)
    assert 0 <= mark <= budget
    if must < budget:
        assert mark >= must + (budget - must) // 2
        assert mark >= int(ratio * budget)


rows = st.lists(st.tuples(st.sampled_from(sorted(ROLES)), st.integers(0, 300), st.sampled_from("abcdef")), max_size=30)


@given(rows, st.integers(0, 2_000), st.integers(0, 30), st.integers(1, 4))
def test_any_window_ends_at_its_mark_or_with_nothing_left_that_may_leave(drawn, budget, unseen, keep):
    entries = window(*(row if row[0] in ("call", "result") else row[:2] for row in drawn))
    unseen = min(unseen, len(entries))
    planned = plan(entries, budget, unseen=unseen, keep_tool_results=keep)
    if planned is None:
        assert sum(e.token_count for e in entries) <= budget
        return
    gone = {decision.entry_id for decision in planned.decisions if decision.kind == "pruned"}
    assert planned.tokens_after == planned.total_tokens - sum(d.tokens_saved for d in planned.decisions)
    assert planned.tokens_after <= max(planned.target_tokens, planned.protected_tokens)
    assert planned.target_tokens <= budget
    pairs = [(e.pair_id, e.id in gone) for e in entries if e.pair_id]
    assert all(a_gone == b_gone for a, a_gone in pairs for b, b_gone in pairs if a == b)
    assert not gone & {e.id for e in entries[unseen:]}
    assert not gone & {e.id for e in entries if is_user_text(e)}
    assert not gone & {e.id for e in [e for e in entries if e.type == "tool_result"][-keep:]}
    order = [e.id for e in entries]
    assert [d.entry_id for d in planned.decisions] == sorted((d.entry_id for d in planned.decisions), key=order.index)
