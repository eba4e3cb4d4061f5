"""The warnings of a turn whose window does not fit: what had to leave, and what had to stay.

Law: what lasts is logged once, and stands in every result while it lasts.
"""

import logging

from undrift.core.window.turn import Turn
from undrift.core.window.window import Window

__all__ = ["OverBudget"]

_log = logging.getLogger("undrift.session")


class OverBudget:
    """The warnings of one session."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._is_over = False

    def warnings(self, turn: Turn, window: Window, counted: int, budget_tokens: int) -> list[str]:
        """Return the warnings of a turn. `counted`: the tokens of the whole request, by our count."""
        calibration, plan = turn.room.calibration, window.plan
        after = calibration.tokens(counted)
        bound = turn.binding.holds(window) if after > budget_tokens else ""
        found = [f"over budget: {bound}"] if bound else []
        said = []
        if plan is not None and plan.oversize:
            said.append(f"{plan.oversize} entries left because they could not fit even alone")
        if plan is not None and plan.shortened:
            said.append("the first or newest message of the user lost its middle: nothing else would have fitted")
        for one in said:
            _log.warning("session %.80r: %s", self._session_id, one)
        if plan is not None and after > budget_tokens:
            must = calibration.tokens(plan.protected_tokens)
            said.append(f"over budget: what must stay is {must:,} tokens of {budget_tokens:,}, the window {after:,}")
            if not self._is_over:
                _log.critical("session %.80r: %s", self._session_id, said[-1])
        self._is_over = plan is not None and after > budget_tokens
        return [*found, *said]
