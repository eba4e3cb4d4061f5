"""One way to send a session: what its prompts cost, and what they still hold when the agent needs it. Pure.

Law: every way is charged alike. Each entry with a lost need costs one more turn over the cached window, and the entry again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from undrift.core.autopsy.survival import Needs, Survival
from undrift.core.cost import Prices, PromptCost
from undrift.recordings.replay.texts import Text

__all__ = ["Market", "Side"]


@dataclass(frozen=True, slots=True)
class Market:
    """The prices of one session, and how its lost needs are counted.

    Args:
        cache_seconds: The life of the provider's prompt cache.
        count: The tokens of a text.
        fixed_tokens: Tokens of every prompt that no recording holds: system prompt and tool definitions.
    """

    prices: Prices
    cache_seconds: int
    count: Callable[[str], int]
    fixed_tokens: int = 0


class Side:
    """Adds up the prompts of one way to send a session, in order."""

    def __init__(self, market: Market, needs: Needs) -> None:
        self.cost = PromptCost(market.prices, market.cache_seconds * 1_000)
        self.survival = Survival(needs)
        self.tokens = 0
        self.peak = 0
        self.refetch = 0.0
        self._market = market
        self._needs = needs
        self._fixed = [("", market.fixed_tokens)] if market.fixed_tokens else []

    def add(self, number: int, texts: Sequence[Text], at_ms: int | None, tokens: int | None = None) -> int:
        """Add one prompt; return how many of its tokens were read from the cache.

        `tokens`: its tokens as the engine counts them; None: those of its texts.
        """
        known = self.cost.cached_tokens
        self.cost.add([*self._fixed, *texts] if self._fixed else texts, at_ms=at_ms)
        if tokens is None:
            tokens = self._market.fixed_tokens + sum(count for _, count in texts)
        self.tokens += tokens
        self.peak = max(self.peak, tokens)
        lost = {need.holder for need in self.survival.observe(number, [text for text, _ in texts])}
        window = self._market.fixed_tokens + sum(count for _, count in texts) if lost else 0
        prices = self._market.prices
        for holder in lost:
            held = self._market.count(self._needs.entries[holder].content)
            self.refetch += prices.read * window + prices.write * held
        return self.cost.cached_tokens - known

    @property
    def total(self) -> float:
        """The prompts, and what was lost and fetched again, in plain input tokens."""
        return self.cost.cost_tokens + self.refetch
