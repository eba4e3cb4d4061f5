"""The plan of one turn; no other module decides the order of the passes. Pure.

Law: each pass takes a window and the turn and returns a window. No pass sees how another decided, and none reverses a
decision. A pass that depends on a decision comes later, or makes that decision itself. So after each pass the window
could be sent, and a refused window falls back to the one before it.
"""

from collections.abc import Callable
from typing import TypeAlias

from undrift.core.window.budget import budget
from undrift.core.window.ended_tasks import ended_tasks
from undrift.core.window.notes import notes, pins
from undrift.core.window.rewriting import loose_halves, stale_thinking
from undrift.core.window.tombstones import rolled_tombstones
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window

__all__ = ["PASSES", "Pass", "decided"]

Pass: TypeAlias = Callable[[Window, Turn], Window]

PASSES: tuple[Pass, ...] = (
    pins,  # add the texts that stay for the whole session
    loose_halves,  # remove a call or result that lost its other half
    stale_thinking,  # remove thinking that is bound to changed words
    ended_tasks,  # replace the logs of a finished task by its summary
    rolled_tombstones,  # remove the oldest summaries if there are too many
    budget,  # remove the least useful parts until the window fits
    notes,  # add new notes if there is room
)


def decided(window: Window, turn: Turn) -> list[Window]:
    """Return the window at the start and after each pass; the last window is the plan."""
    steps = [window]
    for decide in PASSES:
        steps.append(decide(steps[-1], turn))
    return steps
