"""The clock of a session: it never runs backwards, and tells the time of its newest tick."""

from hypothesis import given
from hypothesis import strategies as st

from undrift.values.clock import Clock, now_ms


@given(st.lists(st.integers(0, 10**13), min_size=1))
def test_it_never_runs_backwards_whatever_its_source_says(times: list[int]):
    clock = Clock(iter(times).__next__)
    told = []
    for _ in times:
        told.append(clock.tick())
        assert clock.now_ms == told[-1]
    assert told == sorted(told)
    assert told[-1] == max(times)


def test_the_time_of_day_is_in_milliseconds():
    assert 1_600_000_000_000 < now_ms() < 10_000_000_000_000
