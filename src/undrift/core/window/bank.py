"""A prune of a warm window, paid out of what the session has saved before. Pure.

Law: the price and a reserve for what may be fetched again are at most half of what was saved, so that the session never
costs more than sending everything. A price that is not known for sure counts in full.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from undrift.core.window.auto_budget import carried_price, carried_to_free_moment
from undrift.core.window.low_water import Cache, Thresholds
from undrift.values.window import ContextEntry

__all__ = [
    "Account",
    "Rewrite",
    "STAYS_SHARES",
    "is_thinkable",
    "is_turn_to_plan",
    "median_tokens",
    "offer_of",
    "paid_thresholds",
]

_PLANNED_EVERY = 16
"""A prune is planned once in so many messages of the history: three plans take as long as a prune itself."""

STAYS_SHARES = (0.0, 0.4, 0.7)
"""The shares of the history that stay as they are, so that they are read from the cache: each is one offer."""

_SPENT_SHARE = 0.5
"""The share of the balance that one prune may take."""

_FETCHES = 3
"""So many fetches are kept in reserve for each prune."""

_LEAST_NEW_SHARE = 0.2
"""The share of the history that must be new since the last rewrite; else the same would be judged once more."""

_FREED_SHARE = 0.7
"""The most that a prune is expected to free; only to see quickly that no prune can be paid."""

_FETCHED_PRICE = 0.5
"""The expected price of fetching again, for each token that leaves."""


@dataclass(frozen=True, slots=True)
class Account:
    """The savings that a session may spend on prunes of its warm window.

    Args:
        spendable_tokens: Saved so far, in plain input tokens as we count them, at least 0.
        kept_share: The share of beginnings left alone that was read from the cache in fact; None: not seen yet.
    """

    spendable_tokens: float = 0.0
    kept_share: float | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The window around a prune: tokens before the first change, tokens from there on, and how many of those leave."""

    before_tokens: int
    behind_tokens: int
    freed_tokens: int


def is_turn_to_plan(messages: int) -> bool:
    """Tell whether this is one of the turns on which a prune is planned, by the history's messages; most turns add two."""
    return messages % _PLANNED_EVERY < 2


def is_thinkable(account: Account, history_tokens: int, new_tokens: int, cache: Cache) -> bool:
    """Tell whether it is worth planning a prune: something is new, and the cheapest one could be paid."""
    if new_tokens < _LEAST_NEW_SHARE * history_tokens:
        return False
    freed = min(_FREED_SHARE * history_tokens, new_tokens)
    start = max(STAYS_SHARES) * history_tokens if account.kept_share else 0.0
    behind = max(freed, history_tokens - start)
    return _price(behind - freed, freed, cache) <= _SPENT_SHARE * account.spendable_tokens


def paid_thresholds(thresholds: Thresholds | None, cache: Cache) -> Thresholds | None:
    """Return the limits of a free prune for one that is paid: less leaves where a free moment comes soon."""
    if thresholds is None:
        return None
    write = cache.prices.write
    soon, ever = write + carried_to_free_moment(cache), write + carried_price(cache)
    return replace(thresholds, least_price=thresholds.least_price * (min(1.0, soon / ever) if ever > 0 else 0.0))


def offer_of(cut: Rewrite, block_tokens: int, cache: Cache, account: Account) -> float | None:
    """Return the expected gain of a prune, in plain input tokens. None means: it cannot be paid, or it gains nothing.

    `block_tokens`: the tokens of a usual block, which may be fetched again.
    """
    freed, kept = cut.freed_tokens, cut.behind_tokens - cut.freed_tokens
    known = account.kept_share
    shares = (0.0, 0.5) if known is None else (known, known)  # a beginning may be lost, and one prune shows it
    highest, expected = (_price(kept + (1 - share) * cut.before_tokens, freed, cache) for share in shares)
    window = cut.before_tokens + kept
    reserve = _FETCHES * (cache.prices.read * window + cache.prices.write * block_tokens)
    gain = freed * (carried_price(cache) - _FETCHED_PRICE) - expected
    return gain if gain > 0 and highest + reserve <= _SPENT_SHARE * account.spendable_tokens else None


def median_tokens(entries: Sequence[ContextEntry]) -> int:
    """Return the tokens of the block in the middle by size; 0 for none."""
    sizes = sorted(entry.token_count for entry in entries)
    return sizes[len(sizes) // 2] if sizes else 0


def _price(rewritten_tokens: float, freed_tokens: float, cache: Cache) -> float:
    """Return the price of one rewrite, in addition to what the turn would have cost."""
    prices = cache.prices
    return max(0.0, prices.write - prices.read) * rewritten_tokens - prices.read * freed_tokens
