"""What a session may pay for: half of what it saved, with a reserve, and only what gains something."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from undrift.core.cost import Prices
from undrift.core.window.auto_budget import Rewritten, Size, auto_thresholds
from undrift.core.window.bank import Account, Rewrite, is_thinkable, is_turn_to_plan, offer_of, paid_thresholds
from undrift.core.window.low_water import Cache

HOUR = Cache(Prices(0.05, 2.0), 3_600, 1_024)
CUT = Rewrite(before_tokens=40_000, behind_tokens=20_000, freed_tokens=10_000)
RICH = Account(1e9, 1.0)

prices = st.builds(Prices, st.floats(0, 1), st.floats(0, 3))
caches = st.builds(Cache, prices, st.sampled_from([300, 3_600]), st.just(1_024))
cuts = st.tuples(st.integers(0, 500_000), st.integers(0, 500_000), st.floats(0, 1)).map(
    lambda given: Rewrite(given[0], given[1], int(given[1] * given[2]))
)
shares: Any = st.none() | st.floats(0, 1)


def test_nothing_is_paid_out_of_an_empty_account():
    assert offer_of(CUT, 500, HOUR, Account()) is None
    assert not is_thinkable(Account(), 60_000, 30_000, HOUR)


def test_a_rich_session_pays_for_what_gains():
    gain = offer_of(CUT, 500, HOUR, RICH)
    assert gain is not None
    assert gain > 0


def test_what_frees_nothing_gains_nothing():
    assert offer_of(replace(CUT, freed_tokens=0), 500, HOUR, RICH) is None


def test_half_of_the_balance_pays_the_price_and_three_fetches():
    price = (2.0 - 0.05) * 10_000 - 0.05 * 10_000
    reserve = 3 * (0.05 * 50_000 + 2.0 * 500)
    enough = 2 * (price + reserve)
    assert offer_of(CUT, 500, HOUR, Account(enough + 1, 1.0)) is not None
    assert offer_of(CUT, 500, HOUR, Account(enough - 1, 1.0)) is None


def test_a_beginning_of_which_no_answer_has_shown_that_it_is_read_counts_as_written_again():
    lost = (2.0 - 0.05) * 40_000
    known, unknown = (offer_of(CUT, 500, HOUR, Account(2 * lost, share)) for share in (1.0, None))
    assert known is not None
    assert unknown is None


def test_a_window_is_not_judged_again_before_a_fifth_of_it_is_new():
    assert is_thinkable(RICH, 60_000, 12_000, HOUR)
    assert not is_thinkable(RICH, 60_000, 11_999, HOUR)


@pytest.mark.parametrize(("read", "write", "seconds", "share"), [(0.1, 1.25, 300, 0.31), (0.05, 2.0, 3_600, 1.0)])
def test_less_leaves_than_at_a_free_moment_where_the_next_one_comes_soon(
    read: float, write: float, seconds: int, share: float
):
    cache = Cache(Prices(read, write), seconds, 1_024)
    free = auto_thresholds(Size(60_000, 0, 150_000), cache, Rewritten("bank", 0))
    paid = paid_thresholds(free, cache)
    assert free is not None
    assert paid is not None
    assert paid.least_price == pytest.approx(share * free.least_price, rel=0.02)


@given(cut=cuts, block=st.integers(0, 50_000), cache=caches, saved=st.floats(0, 1e9), share=shares)
def test_what_is_paid_is_at_most_half_of_what_was_saved_even_if_all_is_written_again(
    cut: Rewrite, block: int, cache: Cache, saved: float, share: Any
):
    assume(offer_of(cut, block, cache, Account(saved, share)) is not None)
    kept = cut.behind_tokens - cut.freed_tokens
    written = kept + (1 - (share or 0.0)) * cut.before_tokens
    extra = max(0.0, cache.prices.write - cache.prices.read) * written - cache.prices.read * cut.freed_tokens
    reserve = 3 * (cache.prices.read * (cut.before_tokens + kept) + cache.prices.write * block)
    assert extra + reserve <= saved / 2 + 1e-3


@given(cut=cuts, block=st.integers(0, 50_000), cache=caches, saved=st.floats(0, 1e6), share=shares)
def test_more_in_the_account_never_forbids_what_less_allowed(
    cut: Rewrite, block: int, cache: Cache, saved: float, share: Any
):
    if offer_of(cut, block, cache, Account(saved, share)) is not None:
        assert offer_of(cut, block, cache, Account(2 * saved, share)) is not None


@pytest.mark.parametrize("first", [0, 1])
def test_a_history_that_grows_by_two_messages_a_turn_is_planned_once_in_eight_turns(first: int):
    due = [turn for turn in range(80) if is_turn_to_plan(first + 2 * turn)]
    assert len(due) == 10
    assert {later - earlier for earlier, later in pairwise(due)} == {8}
