"""marks_of: the budget always wins, early only where the prompt is written again anyway, and never below the mark set."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.cost import Prices
from undrift.core.window.low_water import PARTIAL_PRUNES, Cache, Pace, Thresholds, low_water_share, thresholds_of

CACHE = Cache(Prices(0.1, 1.25), 300, 1_024)
BUDGET = 100_000


def thresholds(total: int, *, cache: Cache = CACHE, budget: int = BUDGET, **given: float | None) -> Thresholds | None:
    return thresholds_of(total, budget, 0.75, cache, replace(Pace(growth_tokens=1_000.0), **given))  # type: ignore[arg-type]


def test_above_the_budget_a_window_is_pruned_whatever_the_clock_says_and_one_token_below_it_waits():
    assert thresholds(BUDGET) is None
    found = thresholds(BUDGET + 1)
    assert found is not None
    assert (found.moment, found.stays_tokens, found.least_share) == ("budget", 0, 0.0)


@pytest.mark.parametrize(("seconds", "is_pruned"), [(0, False), (300, False), (360, False), (361, True), (10**6, True)])
def test_below_the_budget_a_pause_a_minute_longer_than_the_cache_lasts_prunes(seconds: int, is_pruned: bool):
    found = thresholds(95_000, idle_ms=1_000 * seconds)
    assert (found is not None) == is_pruned
    if found is not None:
        assert (found.moment, found.stays_tokens) == ("pause", 0)


def test_a_cache_of_an_hour_is_warm_for_an_hour():
    hour = Cache(CACHE.prices, 3_600, 1_024)
    assert thresholds(95_000, cache=hour, idle_ms=3_660_000) is None
    assert thresholds(95_000, cache=hour, idle_ms=3_660_001) is not None


def test_after_a_pause_nothing_leaves_that_would_free_nearly_nothing():
    assert thresholds(75_000, idle_ms=10**9) is None
    assert thresholds(81_000, idle_ms=10**9) is None
    assert thresholds(90_000, idle_ms=10**9) is not None


def test_where_a_task_s_logs_leave_what_stands_before_them_is_left_alone():
    found = thresholds(95_000, rewritten_from=40_000)
    assert found is not None
    assert (found.moment, found.stays_tokens) == ("task", 40_000)
    above = thresholds(BUDGET + 1, rewritten_from=10_000, partial_prunes=0)
    assert above is not None
    assert (above.moment, above.stays_tokens) == ("budget", 10_000), "behind that all is written again anyway"


def test_some_prunes_in_a_row_leave_the_beginning_alone_then_the_whole_window_has_its_turn():
    found = [thresholds(BUDGET + 1, partial_prunes=done) for done in (None, *range(PARTIAL_PRUNES + 1))]
    stays = [one.stays_tokens for one in found if one is not None]
    assert stays[0] == stays[-1] == 0
    assert all(0 < one < 0.75 * BUDGET for one in stays[1:-1])
    assert len(stays) == PARTIAL_PRUNES + 2


def test_a_beginning_that_is_too_short_to_be_cached_is_not_spared_nor_the_mark_raised():
    found = thresholds(2_001, budget=2_000, cache=Cache(CACHE.prices, 300, 4_096), partial_prunes=0)
    assert found is not None
    assert (found.stays_tokens, found.low_share) == (0, 0.75)


def test_where_the_beginning_is_not_to_be_spared_the_mark_is_the_one_that_is_set():
    assert thresholds(BUDGET + 1, partial_prunes=0, spares_beginning=False) == Thresholds("budget", 0.75, 0.75, 0, 0.0)
    assert thresholds(90_000, idle_ms=10**9, spares_beginning=False) == Thresholds("pause", 0.75, 0.75, 0, 0.2)


def test_where_rewriting_costs_nothing_more_nothing_is_spared():
    found = thresholds(BUDGET + 1, cache=Cache(Prices(1.0, 1.0), 300, 1_024), partial_prunes=0)
    assert found is not None
    assert found.stays_tokens == 0
    assert found.low_share == pytest.approx(0.75, abs=1e-5)


@given(
    budget=st.integers(1, 2_000_000),
    ratio=st.floats(0.01, 1),
    growth=st.floats(0, 1e7),
    read=st.floats(0, 2),
    write=st.floats(0, 2),
)
def test_the_low_water_mark_is_never_below_the_one_that_is_set(
    budget: int, ratio: float, growth: float, read: float, write: float
):
    share = low_water_share(budget, ratio=ratio, prices=Prices(read, write), growth_tokens=growth)
    assert ratio <= share <= max(ratio, 0.9)


def test_the_mark_is_higher_where_the_window_grows_fast_as_more_rewriting_is_saved():
    shares = [
        low_water_share(BUDGET, ratio=0.75, prices=CACHE.prices, growth_tokens=growth) for growth in (0, 100, 1_000)
    ]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.75, abs=1e-5)
    assert shares[-1] > 0.78
