"""auto_thresholds: below the limit only where the prompt is written again anyway, above it as deep as a compaction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.window.builders import agent, evicted, rounds, turn_of, user, window_of
from undrift.core.cost import Prices
from undrift.core.window.auto_budget import (
    LEAST_HISTORY_TOKENS,
    LIMIT_HISTORY_TOKENS,
    LIMIT_SHARE,
    Rewritten,
    Size,
    auto_thresholds,
    least_price,
)
from undrift.core.window.budget import budget
from undrift.core.window.low_water import Cache, Moment, Thresholds
from undrift.core.window.turn import Room

CACHE = Cache(Prices(0.1, 1.25), 300, 1_024)
LIMIT = 150_000


def thresholds(total: int, *, fixed: int = 0, moment: Moment | None = None, place: int = 0) -> Thresholds | None:
    rewritten = None if moment is None else Rewritten(moment, place)
    return auto_thresholds(Size(total, fixed, LIMIT), CACHE, rewritten)


@given(total=st.integers(0, LIMIT), fixed=st.integers(0, LIMIT))
def test_below_the_limit_a_warm_prompt_is_left_alone(total: int, fixed: int):
    assert thresholds(total, fixed=min(fixed, total)) is None


def test_a_short_history_stays_and_a_longer_one_goes_where_it_is_written_again_anyway():
    assert thresholds(LEAST_HISTORY_TOKENS - 1, moment="pause") is None
    assert thresholds(LEAST_HISTORY_TOKENS + 999, fixed=1_000, moment="pause") is None
    found = thresholds(110_000, fixed=10_000, moment="pause")
    assert found is not None
    assert (found.moment, found.stays_tokens, found.budget_tokens) == ("pause", 0, 110_000)
    assert found.least_price > 0
    assert found.least_tokens == 10_000


@pytest.mark.parametrize("moment", ["task", "change"])
def test_nothing_before_the_place_is_touched(moment: Moment):
    found = thresholds(100_000, moment=moment, place=40_000)
    assert found is not None
    assert (found.moment, found.stays_tokens) == (moment, 40_000)
    assert found.least_tokens == 10_000


def test_a_change_of_system_tools_or_model_must_free_more_as_it_may_be_one_request_s_alone():
    found = thresholds(100_000, moment="change")
    assert found is not None
    assert found.least_tokens == 30_000


@given(total=st.integers(1, 10**6), fixed=st.integers(0, 10), limit=st.integers(0, 10))
def test_a_limit_of_nearly_nothing_is_a_limit_too(total: int, fixed: int, limit: int):
    found = auto_thresholds(Size(fixed + total, fixed, limit), CACHE, None)
    assert (found is not None) == (fixed + total > limit)


@given(fixed=st.integers(0, LIMIT - 1), more=st.integers(1, 10**6))
def test_above_the_limit_it_goes_as_deep_as_a_compaction_and_its_budget_is_never_above_the_limit(fixed: int, more: int):
    found = thresholds(LIMIT + more, fixed=fixed)
    assert found is not None
    assert found.budget_tokens is not None
    assert found.budget_tokens <= LIMIT
    goal = fixed + LIMIT_SHARE * (LIMIT - fixed)
    assert found.low_share * found.budget_tokens == pytest.approx(goal, abs=1)
    assert (found.moment, found.stays_tokens, found.least_share) == ("budget", 0, 0.0)


def test_a_token_must_score_more_where_it_is_carried_for_more_and_fetched_again_for_less():
    base = least_price(CACHE)
    assert least_price(Cache(Prices(0.025, 1.25), 300, 0)) > base, "what is fetched again is read for less"
    assert least_price(Cache(CACHE.prices, 3_600, 0)) < base, "a cache that lives longer is written again less often"
    assert least_price(Cache(Prices(0, 0), 300, 0)) == 0


def test_a_large_window_goes_as_deep_as_a_small_one():
    found = auto_thresholds(Size(800_000, 1_000, 750_000), CACHE, None)
    assert found is not None
    assert found.budget_tokens is not None
    assert found.low_share * found.budget_tokens == pytest.approx(1_000 + LIMIT_HISTORY_TOKENS, abs=1)


def test_where_prompts_cost_nothing_nothing_leaves_below_the_limit():
    free = Cache(Prices(0, 0), 300, 0)
    assert auto_thresholds(Size(100_000, 0, LIMIT), free, Rewritten("pause", 0)) is None


HISTORY = [user("do it"), *rounds(40, tokens=1_000), agent("done"), user("and now?")]
FULL = window_of(*HISTORY)


def auto(limit: int = 1_000_000, **given):
    turn = turn_of(limit, **given)
    return type(turn)(**{name: getattr(turn, name) for name in turn.__slots__} | {"room": Room(limit, 0, is_auto=True)})


def test_a_pause_in_which_the_cache_goes_cold_prunes_and_a_shorter_one_does_not():
    assert FULL.tokens_after > LEAST_HISTORY_TOKENS
    assert budget(FULL, auto(idle_ms=None)) is FULL
    assert budget(FULL, auto(idle_ms=360_000)) is FULL
    after = budget(FULL, auto(idle_ms=360_001))
    assert after.tokens_after < 0.9 * FULL.tokens_after
    assert after.plan is not None
    assert after.plan.target_tokens < FULL.tokens_after


def test_the_client_s_own_change_is_a_free_moment_and_what_stands_before_it_stays():
    place = FULL.tokens_after // 2
    after = budget(FULL, auto(changed_from_tokens=place))
    gone = {d.entry_id for d in after.new}
    assert gone
    before = 0
    for entry in FULL.entries:
        before += entry.token_count
        assert before > place or entry.id not in gone


def test_a_side_request_changes_nothing_that_the_main_one_reads_from_the_cache():
    assert budget(FULL, auto(changed_from_tokens=0, is_aside=True)) is FULL


def test_a_change_near_the_end_frees_too_little_and_waits():
    assert budget(FULL, auto(changed_from_tokens=FULL.tokens_after - 4_000)) is FULL


def test_a_finished_task_is_a_free_moment():
    window = FULL.with_([evicted(entry.id, "gone") for entry in FULL.entries[1:3]])
    after = budget(window, auto())
    assert after.tokens_after < window.tokens_after


def test_no_window_is_above_the_limit_because_auto_waited():
    after = budget(FULL, auto(limit=20_000))
    assert after.tokens_after <= 20_000
