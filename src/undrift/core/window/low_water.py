"""When to prune, how far down (the low-water mark), and how much of the beginning to leave unchanged. Pure.

A window above its budget is pruned, always. Below it only if the provider has to write the prompt again in any case. A
prune may leave the beginning of the window alone, so that it is still read from the cache. Half of that saving is spent
on a higher low-water mark. The mark is never below the setting.
"""

from dataclasses import dataclass
from typing import Literal

from undrift.core.cost import Prices

__all__ = ["Cache", "Moment", "PARTIAL_PRUNES", "Pace", "Thresholds", "low_water_share", "thresholds_of"]

Moment = Literal["budget", "pause", "task", "change", "bank"]
"""`budget`: the window exceeds it. `pause`: the provider's cache is cold, so the whole prompt is written again in any case.
`task`: the logs of a finished task leave, so everything after them is written again. `change`: the client itself changed
something earlier, so everything after that is written again. `bank`: the session has saved enough to pay for it."""

PARTIAL_PRUNES = 3
"""So many prunes in a row may leave the beginning alone; then it is pruned too, because it is less useful by now."""

_STAYS_SHARE = 0.6
"""The beginning that a partial prune leaves alone, as a share of the low-water mark."""

_SPENT_SHARE = 0.5
"""The share of the saving of partial prunes that is spent on a higher mark."""

_HIGHEST_SHARE = 0.9
"""The highest mark: a window that is full again after a few turns is rewritten too often."""

_LEAST_BATCH = 0.2
"""The share of the room between the marks that a prune must free if it is not forced; else it waits."""

_MARGIN_MS = 60_000
"""Caches outlive their time: 8 of 19 recorded prefixes were read up to a minute after it, and 1 of 86 later."""

_STEPS = 20


@dataclass(frozen=True, slots=True)
class Cache:
    """The prices and the lifetime of a provider's prompt cache.

    Args:
        seconds: A prefix may be gone if it was not read for longer than this, at least 0.
        least_tokens: A shorter prefix is never cached, at least 0.
    """

    prices: Prices
    seconds: int
    least_tokens: int

    def is_cold(self, idle_ms: int | None) -> bool:
        """Return whether a prefix that was not read for so long has surely expired. None: unknown, so it has not."""
        return idle_ms is not None and idle_ms > self.seconds * 1_000 + _MARGIN_MS


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The limits of one prune.

    Args:
        whole_share: The low-water mark for a prune of the whole window, used if the rest of it is too small.
        stays_tokens: Tokens of the window's beginning that are not touched; 0 to choose from all of it.
        least_share: The least gain, as a share of the room between the low-water mark and the budget.
        budget_tokens: The budget of this prune alone, if it is smaller than the budget of the turn.
        least_price: The least score for a token that stays, at least 0.
        least_tokens: The least gain in tokens; a prune that would free less waits.
    """

    moment: Moment
    low_share: float
    whole_share: float
    stays_tokens: int
    least_share: float
    budget_tokens: int | None = None
    least_price: float = 0.0
    least_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """The growth of the session, and the course of its last prunes.

    Args:
        growth_tokens: The average growth of the window with each answer, at least 0.
        idle_ms: Milliseconds since the last request; None if unknown.
        partial_prunes: How many prunes in a row have left the beginning alone so far; None before the first prune.
        rewritten_from: Tokens before the first place that is rewritten now in any case; None without such a place.
    """

    growth_tokens: float
    idle_ms: int | None = None
    partial_prunes: int | None = None
    spares_beginning: bool = True
    rewritten_from: int | None = None


def thresholds_of(total_tokens: int, budget_tokens: int, ratio: float, cache: Cache, pace: Pace) -> Thresholds | None:
    """Return the limits of a prune. None means: do not prune now. See docs/adr/0023-when-to-prune.md."""
    is_cold = cache.is_cold(pace.idle_ms)
    free_from = 0 if is_cold else pace.rewritten_from
    low = low_water_share(budget_tokens, ratio=ratio, prices=cache.prices, growth_tokens=pace.growth_tokens)
    stays = int(_STAYS_SHARE * low * budget_tokens)
    if stays < cache.least_tokens or not pace.spares_beginning:  # nothing is saved, so nothing can be spent
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
    """Return the low-water mark as a share of the budget: `ratio`, or more if prunes that keep the cached beginning save cost.

    A turn between two prunes costs the window read from the cache, and its share of the next rewrite. A higher mark
    makes rewrites more frequent:

        cost(mark) = read x budget x (1 + mark) / 2 + (write - read) x growth x mark x rewritten / (1 - mark)

    `ratio`: the lowest mark, above 0 and at most 1.
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
