"""What answers report of a model's cache: a reading makes the life longer at once, misses only in a row, broken usage never."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.window.learned_cache import Expected, LearnedCache, Reported, checked, learned_from

FIXED, KEPT, NEW = 20_000, 70_000, 10_000
TOTAL = FIXED + KEPT + NEW
ALL, BESIDE, NOTHING = Reported(TOTAL, FIXED + KEPT), Reported(TOTAL, FIXED), Reported(TOTAL, 0)
SEEN = LearnedCache(was_read=True)
DAY = 86_400


def expected(idle_s: int | None = 5, *, is_cold: bool = False, part: str = "") -> Expected:
    return Expected(TOTAL, FIXED, KEPT, idle_s, is_cold, part)


def after(*turns: tuple[Expected, Reported], known: LearnedCache = SEEN) -> LearnedCache:
    for turn in turns:
        known = checked(known, *turn)
    return known


def test_a_reading_after_the_end_of_the_life_is_counted_and_makes_it_longer():
    known = after((expected(900, is_cold=True), ALL))
    assert (known.cold_but_read, known.seconds(None, 300)) == (1, 900)
    assert known.seconds(3_600, 300) == 3_600


def test_what_stands_beside_the_history_may_be_kept_by_another_session_and_proves_nothing():
    assert after((expected(900, is_cold=True), BESIDE)) == SEEN
    assert after((expected(900, is_cold=True), NOTHING)) == SEEN, "cold, as expected"


@pytest.mark.parametrize("reported", [BESIDE, NOTHING])
def test_three_misses_in_a_row_make_a_life_shorter_that_nobody_has_promised(reported: Reported):
    misses = [(expected(seconds), reported) for seconds in (700, 4_000, 900)]
    assert [after(*misses[:n]).seconds(None, DAY) for n in (1, 2, 3)] == [DAY, DAY, 4_000]
    assert after(*misses).warm_but_missed == 3
    assert after(*misses, (expected(5), ALL)).seconds(None, DAY) == 4_000, "without a pause it is read in any case"
    assert after(*misses, (expected(800), ALL)).seconds(None, DAY) == DAY, "the first of them had another cause"
    known = after((expected(5_000), ALL), *misses)
    assert known.seconds(None, DAY) == 5_000, "it was read after a longer pause once"


def test_misses_never_make_a_promised_life_shorter():
    known = LearnedCache(said_seconds=3_600, is_promised=True, was_read=True)
    assert after(*[(expected(600), NOTHING)] * 9, known=known).seconds(None, 300) == 3_600


def test_a_provider_that_reports_no_reading_at_all_is_not_believed_to_miss():
    assert after(*[(expected(600), NOTHING)] * 9, known=LearnedCache()) == LearnedCache()


def test_a_miss_without_a_pause_is_counted_and_says_nothing_of_the_life():
    known = after(*[(expected(5), NOTHING)] * 5)
    assert (known.warm_but_missed, known.seconds(None, DAY)) == (5, DAY)


def test_prompts_that_a_change_of_the_client_made_the_provider_write_again_are_counted_with_the_newest_place():
    change = Expected(TOTAL, FIXED, KEPT, 5, part="tools", byte=9_000)
    known = after((expected(part="system"), NOTHING), (change, BESIDE), (expected(), NOTHING))
    assert (known.rewritten, known.rewritten_part, known.rewritten_byte) == (2, "tools", 9_000)
    assert (known.warm_but_missed, known.missed_seconds) == (1, ())


def test_a_change_of_the_client_after_which_the_history_was_read_is_harmless_from_then_on():
    known = after((expected(part="system"), ALL), (expected(part="system"), ALL))
    assert known.harmless == ("system",)
    assert after((expected(part="tools"), BESIDE)).harmless == ()


@pytest.mark.parametrize(
    "reported",
    [
        Reported(None, 0),
        Reported(0, 0),
        Reported(TOTAL, -5),
        Reported(TOTAL, TOTAL + 1),
        Reported(TOTAL * 5, TOTAL * 5),  # the usage of another request
        Reported(1, 1),
        Reported(2**53, 2**53),
    ],
)
def test_a_usage_that_cannot_be_of_this_request_changes_nothing(reported: Reported):
    known = LearnedCache(said_seconds=300, was_read=True)
    for one in (expected(900, is_cold=True), expected(900), expected(part="tools")):
        assert checked(known, one, reported) == known


def test_a_short_kept_history_proves_nothing():
    for kept in (0, 2_000, FIXED - 1):
        short = Expected(FIXED + kept + NEW, FIXED, kept, 900, True)
        assert checked(SEEN, short, Reported(FIXED + kept + NEW, FIXED + kept)) == SEEN


counts = st.integers(-5, 2**60)
known_ones = st.builds(
    LearnedCache,
    said_seconds=st.none() | st.integers(1, 10**6),
    is_promised=st.booleans(),
    was_read=st.booleans(),
    read_after_seconds=st.integers(0, 10**6),
    missed_seconds=st.lists(st.integers(1, 10**6), max_size=3).map(tuple),
    cold_but_read=st.integers(0, 10**6),
    warm_but_missed=st.integers(0, 10**6),
    rewritten=st.integers(0, 10**6),
    rewritten_part=st.text(max_size=40),
    rewritten_byte=st.integers(0, 2**40),
    harmless=st.lists(st.sampled_from(["system", "tools", "model"]), unique=True).map(tuple),
)


@given(
    known_ones,
    st.builds(
        Expected, counts, counts, counts, st.none() | st.integers(0, 2**60), st.booleans(), st.text(max_size=60), counts
    ),
    st.builds(Reported, st.none() | counts, counts),
)
def test_an_answer_never_shortens_a_promise_and_what_is_known_survives_the_store(
    known: LearnedCache, one: Expected, reported: Reported
):
    now = checked(known, one, reported)
    if known.is_promised:
        assert now.seconds(None, 300) >= known.seconds(None, 300)
    if one.is_cold:
        assert now.seconds(None, 300) >= known.seconds(None, 300), "a cache said to be cold was read, or is cold"
    assert 0 <= now.seconds(None, 300) <= 10**6
    assert learned_from(json.loads(json.dumps(known.payload))) == known
    assert learned_from(json.loads(json.dumps(now.payload))).seconds(None, 300) == now.seconds(None, 300)


@pytest.mark.parametrize("value", [-1, 0, True, math.nan, math.inf, 2**60, "900", None, [900], {"a": 1}])
def test_a_broken_record_is_as_if_nothing_was_known(value: Any):
    names = ("cache_seconds", "read_after_seconds", "cold_but_read", "warm_but_missed")
    assert learned_from(dict.fromkeys(names, value)) == LearnedCache()
    assert learned_from({"missed_seconds": [value], "is_promised": value}).seconds(None, 300) == 300
    assert learned_from({"missed_seconds": value, "harmless": 5, "was_read": "yes"}).seconds(None, DAY) == DAY
