"""The price of a fixed budget, in one sentence. Pure.

Law: a share comes from a measurement. Without one the sentence holds only what follows from the prices.
"""

import math
from dataclasses import dataclass

from undrift.core.cost import Prices

__all__ = ["BudgetPrice", "COSTS_MORE", "budget_price", "halving_turns", "life_in_words"]

COSTS_MORE = 1.005
"""From this share of the cost of sending everything on, a budget costs more; below it the difference is a rounding."""


@dataclass(frozen=True, slots=True)
class BudgetPrice:
    """The measured price of a fixed budget.

    Args:
        share: Its cost so far as a share of sending everything.
        sentence: The same in words.
    """

    share: float
    sentence: str

    @property
    def is_dearer(self) -> bool:
        """True if it costs more than sending everything."""
        return self.share >= COSTS_MORE


def budget_price(
    budget_tokens: int, prices: Prices | None = None, cache_seconds: int | None = None, *, share: float | None = None
) -> str:
    """Say what a fixed budget costs.

    `prices`, `cache_seconds`: None: not known yet. `share`: its measured cost as a share of sending everything; None:
    nothing was measured yet.
    """
    life = "" if cache_seconds is None else f"your cache lives {life_in_words(cache_seconds)}"
    if share is not None and math.isfinite(share):
        if share < COSTS_MORE:
            return f"{budget_tokens:,} costs {_times(share)} of sending everything here"
        return ": ".join(filter(None, [f"{budget_tokens:,} costs {_times(share)} here", life]))
    may = f"{budget_tokens:,} may cost more than sending everything"
    if prices is None or not life:
        return f"{may}; to measure it on your sessions: undrift replay --budget {budget_tokens}"
    turns = halving_turns(prices)
    if turns is None:
        return f"{may}: cached tokens are free, and a prune is not"
    return f"{may}: {life}, so a prune that halves a warm prompt pays for itself after {turns:,} more turns"


def halving_turns(prices: Prices) -> int | None:
    """Return the turns after which a prune that halves a cached prompt has paid for itself. None means: it never does.

    The kept half is written in place of read, one time; the other half is read no more, on each turn.
    """
    if prices.read <= 0:
        return None
    return max(0, math.ceil(round((prices.write - prices.read) / prices.read - 1, 9)))


def life_in_words(seconds: int) -> str:
    """Return the life of a cache, as in "5 minutes" or "an hour"."""
    for size, one, more in ((86_400, "a day", "days"), (3_600, "an hour", "hours"), (60, "a minute", "minutes")):
        if seconds >= size and seconds % size == 0:
            return one if seconds == size else f"{seconds // size:,} {more}"
    return f"{seconds:,} seconds"


def _times(share: float) -> str:
    """Return a factor with the digits that tell it from 1, as in "1.4x" or "0.98x"."""
    text = f"{share:.1f}"
    return f"{share:.2f}x" if text == "1.0" else f"{text}x"
