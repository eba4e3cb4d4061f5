"""What a prompt costs follows from what it shares with the one before, and from the pause between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.cost import COLD_MS, Prices, PromptCost
from undrift.errors import InputError

PRICES = Prices(read=0.1, write=1.25)

prompts = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=150),
        st.none() | st.integers(0, 4 * COLD_MS),
    ),
    max_size=6,
)


def cost_of(*sent: list[tuple[str, int]], at_ms: tuple[int | None, ...] = ()) -> PromptCost:
    cost = PromptCost(PRICES)
    for number, prompt in enumerate(sent):
        cost.add(prompt, at_ms=at_ms[number] if at_ms else None)
    return cost


def test_a_longer_cache_survives_a_longer_pause():
    hour = 3_600_000
    for pause_ms, cached in ((COLD_MS + 1, 100), (hour, 100), (hour + 1, 0)):
        cost = PromptCost(PRICES, hour)
        for at_ms in (1_000, 1_000 + pause_ms):
            cost.add([("a", 100)], at_ms=at_ms)
        assert cost.cached_tokens == cached, pause_ms


def test_the_first_prompt_is_written_in_full():
    cost = cost_of([("system", 100), ("task", 20)])
    assert (cost.input_tokens, cost.cached_tokens) == (120, 0)
    assert cost.cost_tokens == pytest.approx(150)


def test_an_appended_text_is_the_only_one_that_is_written():
    cost = cost_of([("system", 100)], [("system", 100), ("task", 20)])
    assert (cost.input_tokens, cost.cached_tokens) == (220, 100)
    assert cost.cost_tokens == pytest.approx(1.25 * 100 + 0.1 * 100 + 1.25 * 20)


def test_a_change_in_the_middle_writes_all_that_follows_it():
    cost = cost_of([("a", 10), ("b", 20), ("c", 40)], [("a", 10), ("[pruned]", 2), ("c", 40)])
    assert cost.cached_tokens == 10


def test_only_the_prompt_right_before_counts():
    cost = cost_of([("a", 10)], [("b", 10)], [("a", 10)])
    assert cost.cached_tokens == 0


def test_equal_texts_share_the_cache_though_they_are_other_objects():
    cost = cost_of([("ab", 10)], [("AB".lower(), 10)])
    assert cost.cached_tokens == 10


def test_after_more_than_five_minutes_nothing_is_cached():
    same = [("system", 100)]
    assert cost_of(same, same, at_ms=(1_000, 1_000 + COLD_MS)).cached_tokens == 100
    assert cost_of(same, same, at_ms=(1_000, 1_001 + COLD_MS)).cached_tokens == 0


def test_a_prompt_without_a_time_neither_warms_nor_cools_the_cache():
    same = [("system", 100)]
    assert cost_of(same, same, same, at_ms=(0, None, COLD_MS + 1)).cached_tokens == 100
    assert cost_of(same, same, at_ms=(None, COLD_MS * 9)).cached_tokens == 100


def test_an_empty_session_and_an_empty_prompt_cost_nothing():
    assert cost_of().cost_tokens == 0
    assert cost_of([], []).input_tokens == 0


@given(prompts)
def test_the_totals_agree_with_the_plain_rule(sent):
    """The rule written out text by text, for prompts long enough to cross several slices."""
    cost, total, cached, clock = PromptCost(PRICES), 0, 0, None
    before: list[str] = []
    for prompt, at_ms in sent:
        cost.add(prompt, at_ms=at_ms)
        cold = clock is not None and at_ms is not None and at_ms - clock > COLD_MS
        for (text, tokens), earlier in zip(prompt, before, strict=False):
            if cold or text != earlier:
                break
            cached += tokens
        total += sum(tokens for _, tokens in prompt)
        before, clock = [text for text, _ in prompt], clock if at_ms is None else at_ms
    assert (cost.input_tokens, cost.cached_tokens) == (total, cached)
    assert cost.cost_tokens == pytest.approx(0.1 * cached + 1.25 * (total - cached))


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_shared_prefix_of_any_length_is_found_to_the_text(shared_texts, more):
    prefix = [(f"text {n}", 1) for n in range(shared_texts)]
    cost = cost_of(prefix + [("old", 1)] * more, prefix + [("new", 1)] * more)
    assert cost.cached_tokens == shared_texts


def test_negative_tokens_are_refused_and_nothing_is_added():
    cost = cost_of([("a", 10)])
    with pytest.raises(InputError, match="-3 tokens"):
        cost.add([("a", 10), ("b", -3)], at_ms=None)
    cost.add([("a", 10)], at_ms=None)
    assert (cost.input_tokens, cost.cached_tokens) == (20, 10)


@pytest.mark.parametrize("price", [-0.1, float("nan"), float("inf")])
def test_a_price_that_is_none_is_refused(price):
    with pytest.raises(InputError, match="read"):
        Prices(read=price, write=1.25)
    with pytest.raises(InputError, match="write"):
        Prices(read=0.1, write=price)
