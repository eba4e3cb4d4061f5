"""When to prune, and how far down, without a chosen budget. Pure.

Law: below the model's limit text leaves only where the provider writes the prompt again in any case, so that no turn
costs more than it would have cost anyway, or out of savings (`core.window.bank`). Above the limit as much leaves as a client's own compaction would take.
See docs/adr/0030-the-auto-budget.md for the figures behind the constants.
"""

from dataclasses import dataclass

from undrift.core.window.low_water import Cache, Moment, Thresholds

__all__ = [
    "LEAST_HISTORY_TOKENS",
    "LIMIT_HISTORY_TOKENS",
    "LIMIT_SHARE",
    "Rewritten",
    "Size",
    "auto_thresholds",
    "carried_price",
    "carried_to_free_moment",
    "least_price",
]

LEAST_HISTORY_TOKENS = 20_000
"""A shorter history is left alone: little would be saved, and its newest part is needed most."""

LIMIT_SHARE = 0.15
LIMIT_HISTORY_TOKENS = 40_000
"""The history that stays at the model's limit: this share of its room, and at most so many tokens. It is about what is left
after a client's compaction. To stand just below the limit is the dearest place: each turn reads nearly all of the window."""

_LEAST_SHARE = 0.1
"""The share of the history that a prune below the limit must free; else it waits."""

_LEAST_CHANGE_SHARE = 0.3
"""The same if the client changed system, tools or model. That may be one request's alone, and then the main work's prompt is
written once more: it pays only for much."""

_TURNS_TO_COME = 100
"""Recorded sessions have so many turns to come on average, no matter how many they had."""

_COLD_SHARES = ((3_600, 0.005), (300, 0.03))
"""The share of turns that find the cache cold, for a life of at least so many seconds."""

_NEEDED_SHARE = 0.028
"""The share of removed references that the agent fetches again."""

_FETCH_READ_TOKENS, _FETCH_WRITTEN_TOKENS, _FETCH_OUTPUT_COST = 60_000, 500, 1_000
"""One such fetch: the window that one more call reads, its result, and its words at five times the input price."""


@dataclass(frozen=True, slots=True)
class Size:
    """The tokens of a prompt, of its parts beside the history, and the most that the model takes."""

    total_tokens: int
    fixed_tokens: int
    limit_tokens: int

    @property
    def history_tokens(self) -> int:
        """The tokens of the history alone: all that a prune can free."""
        return self.total_tokens - self.fixed_tokens


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The first place from which the provider writes the prompt again in any case, in tokens before it, and the reason."""

    moment: Moment
    from_tokens: int


def auto_thresholds(size: Size, cache: Cache, rewritten: Rewritten | None) -> Thresholds | None:
    """Return the limits of a prune. None means: do not prune now.

    `rewritten`: None: nothing is written again in any case.
    """
    if size.total_tokens > size.limit_tokens:
        goal = size.fixed_tokens + min(LIMIT_HISTORY_TOKENS, int(LIMIT_SHARE * (size.limit_tokens - size.fixed_tokens)))
        budget = max(1, min(size.limit_tokens, 2 * goal))
        return Thresholds("budget", goal / budget, goal / budget, 0, 0.0, budget)
    if rewritten is None or size.history_tokens < LEAST_HISTORY_TOKENS:
        return None
    price = least_price(cache)
    if not price:
        return None
    may_be_alone = rewritten.moment == "change" and not rewritten.from_tokens
    least = int((_LEAST_CHANGE_SHARE if may_be_alone else _LEAST_SHARE) * size.history_tokens)
    return Thresholds(rewritten.moment, 1.0, 1.0, rewritten.from_tokens, 0.0, size.total_tokens, price, least)


def least_price(cache: Cache) -> float:
    """Return the score that a token must have to stay, where its removal rewrites nothing more; 0 if prompts cost nothing.

    A token that stays is written now, and read or written again on each turn to come. A reference that left may be
    fetched again: one more call that reads the window, and a result that is written. So a part stays if

        score x chance x fetched > tokens x carried
    """
    prices, carried = cache.prices, cache.prices.write + carried_price(cache)
    fetched = prices.read * _FETCH_READ_TOKENS + prices.write * _FETCH_WRITTEN_TOKENS + _FETCH_OUTPUT_COST
    return max(0.0, carried) / (_NEEDED_SHARE * fetched)


def carried_price(cache: Cache) -> float:
    """Return the price of a token that stays, for all turns to come."""
    prices = cache.prices
    return _TURNS_TO_COME * (prices.read + _cold_share(cache) * (prices.write - prices.read))


def carried_to_free_moment(cache: Cache) -> float:
    """Return the price of a token until the cache is cold, when it may leave for nothing.

    If no turn to come is expected to find it cold, all of them count.
    """
    cold = _cold_share(cache)
    return cache.prices.read / cold if cold * _TURNS_TO_COME > 1 else carried_price(cache)


def _cold_share(cache: Cache) -> float:
    return next((share for seconds, share in _COLD_SHARES if cache.seconds >= seconds), _COLD_SHARES[-1][1])
