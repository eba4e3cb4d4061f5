"""The times of requests by model: exact while the session is open and after it was closed, else known to a minute."""

from typing import Any

from undrift.core.window.learned_cache import LearnedCache
from undrift.stores.base import Operation
from undrift.window.asked import AskedTimes, payload_of

A, B = "claude-opus-5", "claude-sonnet-5"
HOUR = LearnedCache(said_seconds=3_600)


def stored(at_ms: int, model: str = A, *, is_last: bool = False, **payload: Any) -> Operation:
    given = {**(payload_of(model, LearnedCache(), is_last=is_last) or {}), **payload}
    return Operation(1, "asked", at_ms, given or None)


def test_a_time_is_exact_for_the_process_that_stored_it():
    times = AskedTimes([])
    assert times.idle_ms(A, 10) is None
    assert times.is_due(A, 0, is_large=True)
    times.asked(A, 0)
    times.written(A, 0, HOUR, is_last=False)
    times.asked(A, 59_000)
    assert not times.is_due(A, 59_000, is_large=True)
    assert times.idle_ms(A, 100_000) == 41_000


def test_another_process_knows_it_to_a_minute_and_exactly_once_the_session_was_closed():
    assert AskedTimes([stored(0)]).idle_ms(A, 100_000) == 40_000
    assert AskedTimes([stored(0)]).idle_ms(A, 30_000) == 0
    assert AskedTimes([stored(0), stored(59_000, is_last=True)]).idle_ms(A, 100_000) == 41_000


def test_a_later_time_of_another_process_counts():
    times = AskedTimes([])
    times.asked(A, 0)
    times.written(A, 0, HOUR, is_last=False)
    times.renew([stored(0), stored(70_000)])
    assert times.idle_ms(A, 200_000) == 70_000
    times.asked(A, 150_000)
    assert times.idle_ms(A, 200_000) == 50_000


def test_each_model_has_a_time_and_a_life_of_its_own():
    times = AskedTimes([stored(0, cache_seconds=3_600), stored(100_000, B, cache_seconds=300)])
    assert [times.idle_ms(model, 200_000) for model in (A, B, "other")] == [140_000, 40_000, None]
    assert [times.learned(model).said_seconds for model in (A, B, "other")] == [3_600, 300, None]


def test_a_time_of_an_earlier_version_counts_for_every_model():
    times = AskedTimes([stored(0, "", cache_seconds=3_600)])
    assert times.idle_ms(A, 100_000) == 40_000
    assert times.learned(B).said_seconds == 3_600


def test_only_a_time_that_is_not_stored_exactly_is_written_at_the_end():
    times = AskedTimes([stored(0), stored(5, B, is_last=True)])
    assert times.unfinished == [], "this process has sent nothing"
    times.asked(A, 10)
    times.asked("small", 10)
    assert times.unfinished == [A]
    times.written(A, 10, HOUR, is_last=True)
    assert times.unfinished == []
    times.asked(A, 20)
    assert (times.unfinished, times.exact_ms(A)) == ([A], 20)


def test_names_of_models_without_end_are_not_kept_without_end():
    times = AskedTimes([])
    for number in range(1_000):
        times.asked(f"model-{number}", 0)
        if times.is_due(f"model-{number}", 0, is_large=True):
            times.written(f"model-{number}", 0, HOUR, is_last=False)
    assert len(times.unfinished) == 16
    assert not times.is_due("one more", 0, is_large=True)


def test_a_broken_record_of_a_model_is_one_without_a_name():
    times = AskedTimes([Operation(1, "asked", 0, {"model": ["x"], "is_last": "yes", "cache_seconds": "1h"})])
    assert times.idle_ms(A, 100_000) == 40_000
    assert times.learned(A) == LearnedCache()
