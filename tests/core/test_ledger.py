"""The ledger's arithmetic: what is reported counts, what cannot be true does not, and what is not sure is taken as too low."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.cost import Prices
from undrift.core.ledger import BilledTokens, Ledger, SentRequest, answered, fetched_again, ledger_from

PRICES = Prices(0.1, 1.25)
WHOLE = SentRequest(whole_tokens=1_000, sent_tokens=1_000, gone_from=1_000, new_tokens=100)
PRUNED = SentRequest(whole_tokens=1_000, sent_tokens=600, gone_from=200, new_tokens=100)
KNOWN = Ledger(everything_tokens=500.0, paid_tokens=500.0, answers=1)


def after(sent: SentRequest, usage: BilledTokens, ledger: Ledger = KNOWN) -> Ledger:
    """Return what one answer adds."""
    return answered(ledger, sent, usage, PRICES).plus(ledger, -1)


def test_a_history_that_is_sent_whole_costs_what_everything_costs():
    found = after(WHOLE, BilledTokens(1_000, 900, 100))
    assert found.paid_tokens == pytest.approx(0.1 * 900 + 1.25 * 100)
    assert found.everything_tokens == pytest.approx(found.paid_tokens)
    assert (found.answers, found.cold, found.rewrites) == (1, 0, 0)


def test_what_left_is_read_in_vain_by_everything_as_long_as_the_cache_is_warm():
    found = after(PRUNED, BilledTokens(600, 500, 100))
    assert found.balance_tokens == pytest.approx(0.1 * 400)


def test_at_a_cold_moment_everything_writes_what_left_again():
    found = after(replace(PRUNED, is_cold=True), BilledTokens(600, 0, 600))
    assert found.balance_tokens == pytest.approx(1.25 * 400)
    assert found.cold == 1


def test_a_prune_of_a_warm_window_pays_for_all_behind_it():
    found = after(replace(PRUNED, rewritten_from=200), BilledTokens(600, 200, 400))
    assert found.everything_tokens == pytest.approx(0.1 * 900 + 1.25 * 100)
    assert found.rewritten_tokens == pytest.approx((1.25 - 0.1) * 300)
    assert found.rewrites == 1
    assert found.balance_tokens < 0
    assert found.saved_tokens == pytest.approx(found.balance_tokens + found.rewritten_tokens)


def test_a_prune_of_a_cold_window_is_no_rewrite_of_ours():
    found = after(replace(PRUNED, rewritten_from=200, is_cold=True), BilledTokens(600, 0, 600))
    assert (found.rewrites, found.rewritten_tokens) == (0, 0)
    assert found.balance_tokens == pytest.approx(1.25 * 400)


def test_the_reply_decides_where_the_clock_says_cold_but_more_was_read():
    found = after(replace(PRUNED, rewritten_from=200, is_cold=True), BilledTokens(600, 400, 200))
    assert found.cold == 0


def test_a_beginning_that_was_read_shows_that_the_clock_was_wrong():
    """A prune leaves it alone, so that no more than it can be read even from a warm cache."""
    sent = replace(PRUNED, rewritten_from=300, gone_from=300, fixed_tokens=100, is_cold=True)
    found = after(sent, BilledTokens(600, 290, 310))
    assert (found.cold, found.rewrites) == (0, 1)
    assert found.balance_tokens < 0
    elsewhere = after(sent, BilledTokens(600, 100, 500))  # other sessions keep the parts beside the history warm
    assert (elsewhere.cold, elsewhere.rewrites) == (1, 0)


def test_what_the_client_itself_changed_would_have_been_written_by_everything_too():
    ours = after(replace(PRUNED, rewritten_from=200), BilledTokens(600, 50, 550))
    theirs = after(replace(PRUNED, rewritten_from=200, changed_from=50), BilledTokens(600, 50, 550))
    assert theirs.everything_tokens - ours.everything_tokens == pytest.approx((1.25 - 0.1) * 450)
    assert theirs.rewritten_tokens == 0


def test_a_price_that_was_not_written_to_the_cache_is_the_plain_one():
    assert after(WHOLE, BilledTokens(1_000, 900, 0)).paid_tokens == pytest.approx(0.1 * 900 + 100)


def test_a_provider_that_never_reports_its_cache_counts_for_nothing():
    found = Ledger()
    for _ in range(3):
        found = answered(found, PRUNED, BilledTokens(600), PRICES)
    assert found == Ledger(silent=3)
    assert (found.reports_cache, found.spendable_tokens) == (False, 0)
    assert replace(found, everything_tokens=9e9).spendable_tokens == 0


def test_a_fetch_costs_a_turn_and_what_it_brought():
    found = fetched_again(KNOWN, 300, 2_000, PRICES)
    assert found.fetched_tokens == pytest.approx(0.1 * 2_000 + 1.25 * 300)
    assert KNOWN.balance_tokens - found.balance_tokens == pytest.approx(found.fetched_tokens)


HOSTILE: list[Any] = [-1, 2**53, 10**30, float("nan"), float("inf"), True, None, "5", 1.5]


@pytest.mark.parametrize("bad", HOSTILE)
@pytest.mark.parametrize("place", range(3))
def test_figures_that_cannot_be_true_change_nothing(bad: Any, place: int):
    given_ = [1_000, 100, 100]
    given_[place] = bad
    assert answered(KNOWN, WHOLE, BilledTokens(*given_), PRICES) is KNOWN


@pytest.mark.parametrize("usage", [BilledTokens(0), BilledTokens(100, 60, 60), BilledTokens(5_000), BilledTokens(200)])
def test_figures_that_do_not_belong_together_or_to_the_request_change_nothing(usage: BilledTokens):
    assert answered(KNOWN, WHOLE, usage, PRICES) is KNOWN


@pytest.mark.parametrize(
    "payload", [None, [], "x", {"paid_tokens": "9"}, *({"everything_tokens": bad} for bad in HOSTILE[:5])]
)
def test_a_stored_ledger_that_cannot_be_true_is_empty(payload: Any):
    assert ledger_from(payload) == Ledger()


tokens = st.integers(0, 100_000)
amounts = st.floats(0, 1e9)


@given(st.builds(Ledger, **{field.name: amounts if field.type is float else tokens for field in fields(Ledger)}))
def test_what_is_stored_never_has_a_higher_balance(ledger: Ledger):
    found = ledger_from(ledger.payload)
    assert ledger.balance_tokens - 10 <= found.balance_tokens <= ledger.balance_tokens
    assert ledger_from(found.payload) == found


@given(
    sent=st.builds(
        SentRequest, tokens, tokens, tokens, st.none() | tokens, st.none() | tokens, st.booleans(), st.none() | tokens
    ),
    counts=st.tuples(tokens, tokens, tokens),
    more=st.integers(1, 50_000),
)
def test_more_that_left_never_makes_everything_cheaper_and_a_rewrite_never_dearer(
    sent: SentRequest, counts: tuple[int, int, int], more: int
):
    read, written, plain = counts
    usage = BilledTokens(read + written + plain, read, written)
    found = answered(KNOWN, sent, usage, PRICES)
    larger = answered(KNOWN, replace(sent, whole_tokens=sent.whole_tokens + more), usage, PRICES)
    assert larger.everything_tokens >= found.everything_tokens - 1e-6
    if sent.rewritten_from is None and sent.new_tokens is not None and not sent.is_cold:
        ours = answered(KNOWN, replace(sent, rewritten_from=0, new_tokens=0, changed_from=None), usage, PRICES)
        assert ours.balance_tokens <= found.balance_tokens + 1e-6
