"""One turn's plan: the ONE place that orders the passes. Pure.

Law: each pass takes a window and the turn and returns a window; none sees how another came to its decisions, and none takes
a decision back. What depends on a decision of one pass is decided by that pass or by a later one: so every step of the way
is a window that could be sent, and a refused one falls back to the step before it.
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
    pins,  # what holds for the whole session stands in it
    loose_halves,  # a call and its result stay or leave together
    stale_thinking,  # thinking leaves with what it is bound to
    ended_tasks,  # a finished task gives way to its summary
    rolled_tombstones,  # summaries that add up leave
    budget,  # what is worth least leaves until the window fits
    notes,  # what is new is said, if there is room
)


def decided(window: Window, turn: Turn) -> list[Window]:
    """Return the window and what it becomes after each pass, in order; the last one is the plan."""
    steps = [window]
    for decide in PASSES:
        steps.append(decide(steps[-1], turn))
    return steps
