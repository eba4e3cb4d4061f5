"""The price of a fixed budget is a measured share, or what follows from the prices; nothing is hoped."""

import math

import pytest

from undrift.core.budget_price import budget_price, halving_turns, life_in_words
from undrift.core.cost import Prices, PromptCost

SHORT, LONG = Prices(0.1, 1.25), Prices(0.05, 2.0)


@pytest.mark.parametrize(
    ("share", "seconds", "said"),
    [
        (1.42, 3_600, "60,000 costs 1.4x here: your cache lives an hour"),
        (1.02, 300, "60,000 costs 1.02x here: your cache lives 5 minutes"),
        (2.0, 7_200, "60,000 costs 2.0x here: your cache lives 2 hours"),
        (0.61, 3_600, "60,000 costs 0.6x of sending everything here"),
        (1.004, 3_600, "60,000 costs 1.00x of sending everything here"),
    ],
)
def test_a_measured_share_is_the_price(share: float, seconds: int, said: str):
    assert budget_price(60_000, LONG, seconds, share=share) == said


@pytest.mark.parametrize("share", [None, math.nan, math.inf])
def test_without_a_measurement_only_the_prices_are_told(share: float | None):
    assert budget_price(60_000, LONG, 3_600, share=share) == (
        "60,000 may cost more than sending everything: your cache lives an hour, so a prune that halves a warm prompt "
        "pays for itself after 38 more turns"
    )


@pytest.mark.parametrize("known", [{}, {"prices": SHORT}, {"cache_seconds": 300}])
def test_before_anything_is_known_it_says_how_to_measure_it(known: dict):
    assert budget_price(60_000, **known) == (
        "60,000 may cost more than sending everything; to measure it on your sessions: undrift replay --budget 60000"
    )


def test_a_share_is_told_without_a_life_too():
    assert budget_price(60_000, share=1.31) == "60,000 costs 1.3x here"


@pytest.mark.parametrize("prices", [SHORT, LONG, Prices(0.025, 2.0), Prices(0.1, 1.0), Prices(0.5, 1.0), Prices(1, 1)])
def test_a_prune_that_halves_the_prompt_has_paid_for_itself_after_those_turns_and_not_before(prices: Prices):
    turns = halving_turns(prices)
    assert turns is not None

    def gain(turns: int) -> float:
        """Of the pruning turn and so many more: what sending all of two halves costs above sending the second."""
        kept, pruned = PromptCost(prices), PromptCost(prices)
        for cost in (kept, pruned):
            cost.add([("first half", 1_000), ("second half", 1_000)], at_ms=None)
        for _ in range(turns + 1):
            kept.add([("first half", 1_000), ("second half", 1_000)], at_ms=None)
            pruned.add([("second half", 1_000)], at_ms=None)
        return kept.cost_tokens - pruned.cost_tokens

    assert gain(turns) >= -1e-6
    assert turns == 0 or gain(turns - 1) < 0


def test_where_cached_tokens_are_free_a_prune_never_pays():
    assert halving_turns(Prices(0.0, 1.25)) is None
    assert budget_price(60_000, Prices(0.0, 1.25), 300).endswith("cached tokens are free, and a prune is not")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (300, "5 minutes"),
        (60, "a minute"),
        (3_600, "an hour"),
        (86_400, "a day"),
        (172_800, "2 days"),
        (90, "90 seconds"),
    ],
)
def test_a_life_is_told_in_words(seconds: int, words: str):
    assert life_in_words(seconds) == words
