"""When a window is pruned, how far down, and how much of its beginning stays as it was sent. Pure.

The rule, once: a window above its budget is pruned, always. Below it only where the provider has to write the prompt anew
in any case. A prune may leave the beginning of the window alone, so that it is still read from the cache; half of what
that saves is spent on a higher low-water mark. The mark is never below the one that is set.
"""

from dataclasses import dataclass
from typing import Literal

from undrift.core.cost import Prices

__all__ = ["Cache", "Moment", "PARTIAL_PRUNES", "Pace", "Thresholds", "low_water_share", "thresholds_of"]

Moment = Literal["budget", "pause", "task"]
"""The window exceeds the budget; a pause has let the provider's cache go cold, so that all of it is written anew in any
case; or the logs of a finished task leave, so that all behind them is."""

PARTIAL_PRUNES = 3
"""So many prunes in a row may leave the beginning alone: then it has its turn, as what it holds is worth less by now."""

_STAYS_SHARE = 0.6
"""Of the low-water mark: how much of the window's beginning a partial prune leaves alone."""

_SPENT_SHARE = 0.5
"""Of what partial prunes save: what is spent on a higher mark."""

_HIGHEST_SHARE = 0.9
"""No mark is higher: a window that is full again after a few turns is rewritten too often."""

_LEAST_BATCH = 0.2
"""Of the room between the marks: a prune that is not forced frees at least this much, or waits."""

_STEPS = 20


@dataclass(frozen=True, slots=True)
class Cache:
    """What a provider's prompt cache is like.

    Args:
        prices: Of a cached and of a new token.
        seconds: A prefix that was not read for longer than this may be gone, at least 0.
        least_tokens: A shorter prefix is never cached, at least 0.
    """

    prices: Prices
    seconds: int
    least_tokens: int


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How a window is pruned now.

    Args:
        moment: Why now.
        low_share: The low-water mark, as a share of the budget.
        whole_share: The same where the beginning cannot be left alone: the rest is too little to choose from.
        stays_tokens: Tokens of the window's beginning that are not touched; 0 where all of it may be.
        least_share: Of the room between the low-water mark and the budget: what must be free to gain.
    """

    moment: Moment
    low_share: float
    whole_share: float
    stays_tokens: int
    least_share: float


@dataclass(frozen=True, slots=True)
class Pace:
    """How a session goes on.

    Args:
        growth_tokens: What an answer adds to the window on average, at least 0.
        idle_ms: Milliseconds since the last request; None where that is not known.
        partial_prunes: How many prunes in a row have left the beginning alone so far; None before the first prune.
        spares_beginning: Whether a prune may leave the beginning alone at all.
        rewritten_from: Tokens before the first place that is rewritten now in any case; None where there is none.
    """

    growth_tokens: float
    idle_ms: int | None = None
    partial_prunes: int | None = None
    spares_beginning: bool = True
    rewritten_from: int | None = None


def thresholds_of(total_tokens: int, budget_tokens: int, ratio: float, cache: Cache, pace: Pace) -> Thresholds | None:
    """Decide whether a window is pruned now, and to what marks; None: not now.

    Args:
        total_tokens: Of the window, all that is sent.
        budget_tokens: At least 1.
        ratio: The lowest low-water mark, as a share of the budget.
        cache: The provider's.
        pace: How the session goes on.

    See docs/adr/0023-when-to-prune.md.
    """
    is_cold = pace.idle_ms is not None and pace.idle_ms > cache.seconds * 1_000
    free_from = 0 if is_cold else pace.rewritten_from
    low = low_water_share(budget_tokens, ratio=ratio, prices=cache.prices, growth_tokens=pace.growth_tokens)
    stays = int(_STAYS_SHARE * low * budget_tokens)
    if stays < cache.least_tokens or not pace.spares_beginning:  # there is nothing to save, hence nothing to spend
        low, stays = ratio, 0
    if total_tokens <= budget_tokens:
        if free_from is None or total_tokens - low * budget_tokens < _LEAST_BATCH * (1 - low) * budget_tokens:
            return None
        return Thresholds("pause" if is_cold else "task", low, ratio, free_from, _LEAST_BATCH)
    done = pace.partial_prunes
    if done is None or done >= PARTIAL_PRUNES or cache.prices.write <= cache.prices.read:
        stays = 0
    return Thresholds("budget", low, ratio, stays if free_from is None else min(stays, free_from), 0.0)


def low_water_share(budget_tokens: int, *, ratio: float, prices: Prices, growth_tokens: float) -> float:
    """Return the low-water mark as a share of the budget: `ratio`, raised by what partial prunes save.

    What a turn costs between two prunes is the window read from the cache, and its share of the rewriting, which comes
    the more often the higher the mark is:

        cost(mark) = read x budget x (1 + mark) / 2 + (write - read) x growth x mark x rewritten / (1 - mark)

    Args:
        budget_tokens: At least 1.
        ratio: The lowest mark, above 0 and at most 1.
        prices: Of a cached and of a new token.
        growth_tokens: What an answer adds on average, at least 0.
    """
    if ratio >= _HIGHEST_SHARE:
        return ratio
    carried = prices.read * budget_tokens / 2
    batch = max(0.0, prices.write - prices.read) * growth_tokens

    def cost(mark: float, rewritten: float) -> float:
        return carried * (1 + mark) + batch * rewritten * mark / (1 - mark)

    rewritten = 1 - _STAYS_SHARE * PARTIAL_PRUNES / (PARTIAL_PRUNES + 1)
    most = (1 - _SPENT_SHARE) * cost(ratio, rewritten) + _SPENT_SHARE * cost(ratio, 1.0)
    low, high = ratio, _HIGHEST_SHARE
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle, rewritten) <= most else (low, middle)
    return low
