"""Shares of the first hits: nothing is left out, and what nobody trusts leaves room for the rest."""

from hypothesis import given
from hypothesis import strategies as st

from undrift.core.memory.quotas import within_quotas

Hit = tuple[int, str | None]


def chosen(*sources: str | None, k: int = 100) -> list[int]:
    hits: list[Hit] = list(enumerate(sources))
    return [place for place, _ in within_quotas(hits, lambda hit: hit[1], k)]


def test_what_is_trusted_keeps_its_order():
    assert chosen(None, None, None) == [0, 1, 2]
    assert chosen(None, "a", None, "a") == [0, 1, 2, 3]
    assert chosen() == []


def test_one_source_has_a_fifth_and_all_of_them_have_a_half_as_long_as_there_is_another():
    assert chosen("a", "a", "a", None, None, None, None, None, k=7) == [0, 3, 4, 5, 6, 1, 7]
    assert chosen("a", "b", "c", None, None, None) == [0, 3, 1, 4, 2, 5]
    assert chosen("a", "b", "c", None) == [0, 3, 1, 2]


def test_where_nobody_vouches_for_anything_sources_take_turns_and_one_alone_keeps_its_order():
    assert chosen("a", "a", "a") == [0, 1, 2]
    assert chosen("a", "a", "b") == [0, 2, 1]


@given(st.lists(st.sampled_from([None, "", "a", "b"])), st.integers(0, 40))
def test_nothing_is_lost_and_the_first_k_do_not_depend_on_k(sources: list[str | None], k: int):
    every = chosen(*sources)
    assert sorted(every) == list(range(len(sources)))
    assert chosen(*sources, k=k) == every[:k]
    trusted = sources.count(None)
    for first in range(1, min(len(every), 2 * trusted) + 1):
        assert sum(sources[place] is not None for place in every[:first]) <= (first + 1) // 2
