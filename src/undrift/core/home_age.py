"""The choice of a sweep: the sessions that were not used for longest, and never one of the last 30 days. Pure."""

from collections.abc import Sequence

from undrift.values.retention import Retention, SessionSize

__all__ = ["LEAST_DAYS", "swept_by"]

LEAST_DAYS = 30
"""A session that was used in so many days is never swept, for any limits."""

_DAY_MS = 86_400_000


def swept_by(limits: Retention, sessions: Sequence[SessionSize], *, now_ms: int) -> tuple[SessionSize, ...]:
    """Return the sessions whose originals go, the one that was not used for longest first."""
    old = [one for one in sessions if one.last_at_ms < now_ms - LEAST_DAYS * _DAY_MS and one.originals]
    ordered = sorted(old, key=lambda one: (one.last_at_ms, one.session_id))
    left_bytes = sum(one.size_bytes for one in sessions)
    chosen = []
    for one in ordered:
        is_old = limits.days is not None and one.last_at_ms < now_ms - limits.days * _DAY_MS
        is_too_much = limits.size_bytes is not None and left_bytes > limits.size_bytes
        if is_old or is_too_much:
            chosen.append(one)
            left_bytes -= one.size_bytes
    return tuple(chosen)
