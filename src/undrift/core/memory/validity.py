"""When a statement holds, and when it ends because another takes its place: one rule for memories and facts. Pure."""

from undrift.values.memory import MemoryEntry

__all__ = ["ends_at", "holds"]


def ends_at(start_ms: int, end_ms: int | None, taken_ms: int) -> int:
    """Return when a replaced statement ends: at the moment of its replacement, unless it ended before.

    Args:
        start_ms: Since when it holds; it never ends before.
        end_ms: When it ended so far; None: it holds until further notice.
        taken_ms: Since when the other holds instead: for a memory its valid time, for a fact the moment of its arrival.
    """
    return max(start_ms, taken_ms if end_ms is None else min(end_ms, taken_ms))


def holds(entry: MemoryEntry, as_of_ms: int | None = None, known_at_ms: int | None = None) -> bool:
    """Tell whether an entry holds.

    Args:
        as_of_ms: At which moment; None: until further notice.
        known_at_ms: By what was known then; None: by what is known today. A mark that was set later does not count.
    """
    end = entry.valid_to_ms
    if known_at_ms is not None:
        if entry.recorded_at_ms > known_at_ms:
            return False
        if entry.contradicted_at_ms is not None and entry.contradicted_at_ms > known_at_ms:
            end = None
    if as_of_ms is None:
        return end is None
    return entry.valid_from_ms <= as_of_ms and (end is None or as_of_ms < end)
