"""The pass that keeps the window within its budget, and the one that folds noise before it is sent."""

import pytest

from tests.core.window.builders import (
    agent,
    call,
    content,
    evicted,
    pruned,
    result,
    rounds,
    thought,
    turn_of,
    user,
    window_of,
)
from undrift.core.window.budget import budget
from undrift.core.window.turn import Binding

HISTORY = [user("do it"), *rounds(10, thinks=True), agent("done"), user("and now?")]
FULL = window_of(*HISTORY)
DROPS = Binding("drop_block", thinks=True)


def left(window):
    return [d.entry_id for d in window.new if d.kind == "pruned"]


def test_a_window_that_fits_is_left_alone_and_one_token_more_is_pruned():
    assert budget(FULL, turn_of(FULL.tokens_after)) is FULL
    after = budget(FULL, turn_of(FULL.tokens_after - 1))
    assert after.tokens_after < FULL.tokens_after
    assert after.plan is not None
    assert left(after)[:3] == ["m1.0", "m1.1", "m2.0"]


def test_what_stands_beside_the_history_counts():
    assert budget(FULL, turn_of(FULL.tokens_after, fixed_tokens=1)) is not FULL


@pytest.mark.parametrize("rules", [{"policy": "recency"}, {"prune_when": "over_budget"}, {"prune_when": "cheapest"}])
def test_every_way_of_choosing_keeps_the_budget_the_newest_results_and_the_users_words(rules):
    after = budget(FULL, turn_of(700, rules={**rules, "keep_tool_results": 3}))
    assert after.tokens_after <= 700
    kept = content(after)
    assert [text for text in ("do it", "and now?") if text not in kept] == []
    assert sum(text.startswith(("result 7", "result 8", "result 9")) for text in kept) == 3


def test_what_the_model_has_not_seen_stays_and_the_plan_says_what_must():
    unseen = [user("do it"), *rounds(3), agent(call("x")), user(result("x", "y" * 900))]
    window = window_of(*unseen)
    after = budget(window, turn_of(600, rules={"keep_tool_results": 1}))
    assert "y" * 900 in content(after)
    assert after.tokens_after > 600
    assert after.plan is not None
    assert after.plan.protected_tokens > 600


def test_a_window_in_which_nothing_may_leave_tells_its_plan_and_decides_nothing():
    window = window_of(user("x" * 300))
    after = budget(window, turn_of(100, rules={"keep_user_text_tokens": 1_000}))
    assert (after.new, content(after)) == ((), content(window))
    assert after.plan is not None
    assert after.plan.protected_tokens == 300


@pytest.mark.parametrize("binding", [Binding("keep"), Binding("server"), Binding("strip", thinks=True)])
def test_nothing_leaves_where_thinking_is_bound_and_may_not_leave(binding):
    open_round = window_of(*HISTORY, agent(thought("t"), call("x")), user(result("x", "y")))
    assert budget(open_round, turn_of(300, binding=binding)) is open_round


def test_bound_thinking_leaves_with_the_rewriting_and_not_without_one():
    after = budget(FULL, turn_of(700, binding=DROPS))
    assert not after.has_thinking
    assert budget(FULL, turn_of(FULL.tokens_after, binding=DROPS)).has_thinking


def test_after_a_pause_it_prunes_below_the_budget_unless_that_frees_too_little():
    """The trial plan: nothing may be rewritten for a gain that is too small."""
    turn = turn_of(int(FULL.tokens_after * 1.01), idle_ms=10**7)
    after = budget(FULL, turn)
    assert left(after)
    assert after.plan is not None
    assert after.plan.decisions[0].detail["moment"] == "pause"
    assert budget(FULL, turn_of(FULL.tokens_after, idle_ms=1)) is FULL  # the cache is warm
    assert budget(FULL, turn_of(int(FULL.tokens_after * 1.3), idle_ms=10**7)) is FULL  # it would free next to nothing
    kept = window_of(user("do it"), *rounds(10), agent("done"), user("and now?"))
    held = turn_of(int(kept.tokens_after * 1.01), idle_ms=10**7, rules={"keep_tool_results": 10})
    assert budget(kept, held) is kept  # what must stay leaves nothing to take


def test_what_was_decided_at_this_item_waits_for_the_next():
    gone = [pruned(f"m{n}.{place}", at="m22") for n in (1, 3) for place in (0, 1)]
    gone += [pruned(f"m{n}.0", at="m22") for n in (2, 4)]
    window = window_of(*HISTORY, decisions=[*gone, evicted("m6.0", "e" * 99, at="m22")])
    after = budget(window, turn_of(700))
    assert "m6.0" not in left(after)
    assert after.tokens_after <= 700


def test_a_tombstone_of_this_very_turn_may_leave_with_its_call():
    window = FULL.with_([evicted("m2.0", "e" * 99)])
    after = budget(window, turn_of(600, rules={"policy": "recency"}))
    assert [d.kind for d in after.new if d.entry_id == "m2.0"] == ["pruned"]
