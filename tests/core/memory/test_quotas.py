"""Shares of the first hits: nothing is left out, and lesser hits leave the first five to what users said."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.memory.quotas import TOOLS, USERS, HitStanding, stratum_of, within_quotas
from undrift.values.memory import TRUST_TIERS

AGENT, WEAK, STRONG = HitStanding(1), HitStanding(USERS), HitStanding(USERS, is_strong=True)
A, B, C = (HitStanding(TOOLS, source) for source in "abc")


def chosen(*standings: HitStanding, k: int = 100) -> list[int]:
    return [place for place, _ in within_quotas(list(enumerate(standings)), lambda hit: hit[1], k)]


def test_three_strata_of_trust():
    found = {trust: stratum_of(tier) for trust, tier in TRUST_TIERS.items()}
    assert found == {"tool": TOOLS, "assistant": 1, "task": 1, "user": USERS, "spec": USERS}


@pytest.mark.parametrize("one", [AGENT, WEAK, STRONG])
def test_a_stratum_alone_keeps_its_order(one: HitStanding):
    assert chosen(one, one, one) == [0, 1, 2]
    assert chosen() == []
    assert chosen(one, k=0) == []


def test_one_source_of_tools_has_a_fifth_and_all_of_them_a_half_as_long_as_there_is_another():
    assert chosen(A, A, A, AGENT, AGENT, AGENT, AGENT, AGENT, k=7) == [0, 3, 4, 5, 6, 1, 7]
    assert chosen(A, B, C, AGENT, AGENT, AGENT) == [0, 3, 1, 4, 2, 5]
    assert chosen(A, B, C, AGENT) == [0, 3, 1, 2]
    assert chosen(AGENT, A, AGENT, A) == [0, 1, 2, 3]


def test_of_tools_alone_sources_take_turns_and_one_alone_keeps_its_order():
    assert chosen(A, A, A) == [0, 1, 2]
    assert chosen(A, A, B) == [0, 2, 1]


@pytest.mark.parametrize("lesser", [A, AGENT])
def test_up_to_five_strong_statements_of_users_come_first(lesser: HitStanding):
    assert chosen(*[lesser] * 9, STRONG, k=2) == [9, 0]
    assert chosen(*[lesser] * 9, *[STRONG] * 7, k=6)[:5] == [9, 10, 11, 12, 13]


@pytest.mark.parametrize("lesser", [A, AGENT])
def test_a_weak_statement_of_a_user_is_among_the_first_two_and_two_are_among_the_first_four(lesser: HitStanding):
    assert chosen(*[lesser] * 9, WEAK, k=3) == [0, 9, 1]
    assert {9, 10} <= {*chosen(*[lesser] * 9, WEAK, WEAK, k=4)}


STANDINGS = st.lists(st.sampled_from([A, B, HitStanding(TOOLS), AGENT, WEAK, STRONG]), max_size=40)


@given(STANDINGS, st.integers(0, 50))
def test_nothing_is_lost_and_the_first_k_do_not_depend_on_k(standings: list[HitStanding], k: int):
    every = chosen(*standings)
    assert sorted(every) == list(range(len(standings)))
    assert chosen(*standings, k=k) == every[:k]
    trusted = sum(one.stratum != TOOLS for one in standings)
    for first in range(1, min(len(every), 2 * trusted) + 1):
        assert sum(standings[place].stratum == TOOLS for place in every[:first]) <= ceil(first / 2)


@given(STANDINGS)
def test_no_flood_takes_the_first_five_places_of_users(standings: list[HitStanding]):
    every = [standings[place] for place in chosen(*standings)]
    strong, users = standings.count(STRONG), standings.count(STRONG) + standings.count(WEAK)
    assert every[:5].count(STRONG) == min(5, strong)
    assert [one.stratum for one in every[: min(5, strong)]] == [USERS] * min(5, strong)
    assert sum(one.stratum == USERS for one in every[:5]) >= min(2, users)
