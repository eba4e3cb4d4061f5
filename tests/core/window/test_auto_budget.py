"""auto_thresholds: below the limit only where the prompt is written again anyway, above it as deep as a compaction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.cost import Prices
from undrift.core.window.auto_budget import (
    FREE_SHARE,
    LEAST_HISTORY_TOKENS,
    LIMIT_SHARE,
    Size,
    auto_thresholds,
)
from undrift.core.window.low_water import Cache, Thresholds

CACHE = Cache(Prices(0.1, 1.25), 300, 1_024)
LIMIT = 150_000


def thresholds(total: int, *, fixed: int = 0, is_cold: bool = False, place: int | None = None) -> Thresholds | None:
    return auto_thresholds(Size(total, fixed, LIMIT), is_cold=is_cold, rewritten_from=place)


@pytest.mark.parametrize(
    ("idle_ms", "is_cold"), [(None, False), (0, False), (360_000, False), (360_001, True), (10**12, True)]
)
def test_a_cache_is_cold_a_minute_after_its_life_and_never_where_the_pause_is_not_known(
    idle_ms: int | None, is_cold: bool
):
    assert CACHE.is_cold(idle_ms) is is_cold


@given(total=st.integers(0, LIMIT), fixed=st.integers(0, LIMIT))
def test_below_the_limit_a_warm_prompt_is_left_alone(total: int, fixed: int):
    assert thresholds(total, fixed=min(fixed, total)) is None


def test_a_cold_prompt_goes_down_to_a_share_of_its_history_and_a_short_history_stays():
    assert thresholds(LEAST_HISTORY_TOKENS - 1, is_cold=True) is None
    assert thresholds(LEAST_HISTORY_TOKENS + 999, fixed=1_000, is_cold=True) is None
    found = thresholds(110_000, fixed=10_000, is_cold=True)
    assert found is not None
    assert (found.moment, found.stays_tokens, found.budget_tokens) == ("pause", 0, 110_000)
    assert found.low_share * 110_000 == pytest.approx(10_000 + FREE_SHARE * 100_000)


def test_where_a_task_leaves_nothing_before_it_is_touched():
    found = thresholds(100_000, place=40_000)
    assert found is not None
    assert (found.moment, found.stays_tokens) == ("task", 40_000)


@given(fixed=st.integers(0, LIMIT - 1), more=st.integers(1, 10**6))
def test_above_the_limit_it_goes_as_deep_as_a_compaction_and_its_budget_is_never_above_the_limit(fixed: int, more: int):
    found = thresholds(LIMIT + more, fixed=fixed)
    assert found is not None
    assert found.budget_tokens is not None
    assert found.budget_tokens <= LIMIT
    goal = fixed + LIMIT_SHARE * (LIMIT - fixed)
    assert found.low_share * found.budget_tokens == pytest.approx(goal, abs=1)
    assert (found.moment, found.stays_tokens, found.least_share) == ("budget", 0, 0.0)
