"""The choice of a sweep, by laws that hold for any home."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.home_age import LEAST_DAYS, swept_by
from undrift.errors import InputError
from undrift.values.retention import OFF, Retention, SessionSize

DAY_MS = 86_400_000
NOW_MS = 3_000 * DAY_MS
SESSIONS = st.lists(
    st.builds(
        SessionSize,
        st.uuids().map(str),
        st.integers(0, NOW_MS + DAY_MS),
        st.integers(0, 9),
        st.integers(0, 10**9),
    ),
    unique_by=lambda one: one.session_id,
    max_size=12,
)
LIMITS = st.builds(Retention, st.none() | st.integers(0, 2_000), st.none() | st.integers(0, 3 * 10**9))


@given(LIMITS, SESSIONS)
def test_what_goes_is_old_and_beyond_a_limit_and_no_newer_session_goes_for_it(limits, sessions):
    chosen = swept_by(limits, sessions, now_ms=NOW_MS)
    stays = [one for one in sessions if one not in chosen]
    assert all(one.last_at_ms < NOW_MS - LEAST_DAYS * DAY_MS for one in chosen)
    assert [one.last_at_ms for one in chosen] == sorted(one.last_at_ms for one in chosen)
    movable = [one for one in stays if one.originals and one.last_at_ms < NOW_MS - LEAST_DAYS * DAY_MS]
    assert all(old.last_at_ms <= one.last_at_ms for one in movable for old in chosen)
    if limits.is_off:
        assert chosen == ()
    if limits.days is not None:
        assert all(one.last_at_ms >= NOW_MS - limits.days * DAY_MS for one in movable)
    if limits.size_bytes is not None and movable:
        assert sum(one.size_bytes for one in stays) <= limits.size_bytes
    if limits.days is None and limits.size_bytes is not None and chosen:  # without the last one it was too much
        assert sum(one.size_bytes for one in (*stays, chosen[-1])) > limits.size_bytes


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("off", OFF),
        ("365 days", Retention(365)),
        ("365d", Retention(365)),
        (" 1 day ", Retention(1)),
        ("10 GB", Retention(None, 10**10)),
        ("1.5gb", Retention(None, 1_500_000_000)),
        ("365 days, 10 GB", Retention(365, 10**10)),
        ("500MB,30d", Retention(30, 5 * 10**8)),
    ],
)
def test_limits_are_read_from_a_text(text: str, limits: Retention):
    assert Retention.of(text) == limits


@pytest.mark.parametrize(
    "text", ["", "on", "365", "10 GB, 5 GB", "-1 days", "1e9 days", "\u0661 days", "off, 1d", "9" * 5_000]
)
def test_another_text_is_refused_with_the_rule(text: str):
    with pytest.raises(InputError, match='must be "off", an age such as'):
        Retention.of(text)
