"""The last N tool results, which stay whole at any budget. Pure.

A summary of a new tool result is lossy, and the agent's next step rests on the result: drift starts there.
Requirement [3_MCP-RISK-501].
"""

from collections.abc import Iterable

from undrift.errors import WindowError
from undrift.values.window import ContextEntry

__all__ = ["TerminalObservationWindow"]


class TerminalObservationWindow:
    """Selects the newest tool results of a window."""

    @staticmethod
    def get_last(entries: Iterable[ContextEntry], n: int) -> list[ContextEntry]:
        """Return the `n` newest tool results, newest first.

        Newest means the highest ``(timestamp, seq)``; for equal keys, the later one in `entries`. Parallel calls share
        a millisecond, so the timestamp alone would keep the oldest of them.

        Args:
            entries: Any entries, in any order; not changed.
            n: The most results, at least 0.

        Returns:
            Up to `n` entries of type ``tool_result``, the given objects.

        Raises:
            WindowError: `n` is not an integer of at least 0.
        """
        if type(n) is not int or n < 0:
            raise WindowError(f"the number of tool results to keep must be an integer of at least 0, not {n!r}")
        results = [(e.timestamp, e.seq, place, e) for place, e in enumerate(entries) if e.type == "tool_result"]
        results.sort(key=lambda found: found[:3], reverse=True)
        return [entry for *_, entry in results[:n]]
