"""The 95% interval of a figure over things that were measured, from drawing them again with replacement. Pure but for chance.

Law: the same measurements give the same interval.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["interval"]

T = TypeVar("T")
_SEED = 17


def interval(
    given: Sequence[T], figure: Callable[[Sequence[T]], float | None], *, draws: int
) -> tuple[float, float] | None:
    """Return the bounds. None means: no draw had such a figure.

    `figure`: of some of the measurements; a draw whose figure is None does not count.
    """
    drawing = random.Random(_SEED)
    found = sorted(one for _ in range(draws) if (one := figure(drawing.choices(given, k=len(given)))) is not None)
    low, high = (round(share * (len(found) - 1)) for share in (0.025, 0.975))
    return (found[low], found[high]) if found else None
