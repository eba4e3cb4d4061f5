"""Count what a sequence of prompts costs if the provider caches the common prefix. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from undrift.errors import InputError

__all__ = ["COLD_MS", "OUTPUT_PRICE", "Prices", "PromptCost"]

COLD_MS = 300_000
"""The life of the shortest cache, five minutes. A prefix that was not read for longer may be gone."""

OUTPUT_PRICE = 5.0
"""A token that the model writes, as a multiple of the plain input price; 4 to 8 are usual."""

_SLICE = 64
"""Texts compared at a time: a slice is compared in C and by identity first."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a cached and of a new input token, as ratios to the plain input price.

    `read`: a token of the cached prefix, at least 0; 0.1 and 0.05 are usual. `write`: a token that is not cached yet,
    at least 0; 1.25 and 1 are usual. Raises InputError: a price is negative or not finite.
    """

    read: float
    write: float

    def __post_init__(self) -> None:
        for name in ("read", "write"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"price {name!r} must be a finite number of at least 0, not {value!r}")


class PromptCost:
    """Add up what prompts cost, one after the other, with a prefix cache.

    cost of a prompt = read x tokens of its longest common prefix with the prompt before + write x the rest.
    After a pause that is longer than the cache's life nothing is cached. Memory: the texts of the last prompt.

    `prices`: ratios to the plain input price. `life_ms`: how long the cache keeps a prefix without a reading.
    """

    __slots__ = ("_at_ms", "_previous", "cached_tokens", "input_tokens", "life_ms", "prices")

    def __init__(self, prices: Prices, life_ms: int = COLD_MS) -> None:
        self.prices = prices
        self.life_ms = life_ms
        self.input_tokens = 0
        self.cached_tokens = 0
        self._previous: list[str] = []
        self._at_ms: int | None = None

    @property
    def cost_tokens(self) -> float:
        """The cost of all prompts so far, in plain input tokens."""
        return self.prices.read * self.cached_tokens + self.prices.write * (self.input_tokens - self.cached_tokens)

    def add(self, texts: Sequence[tuple[str, int]], *, at_ms: int | None) -> None:
        """Add the next prompt. Raises InputError: a token count is negative; nothing is added.

        Args:
            texts: Its texts in order, each with its tokens (at least 0).
            at_ms: When it was sent, in Unix milliseconds; None if it is not known: then no pause is seen.
        """
        prompt = [text for text, _ in texts]
        tokens = [count for _, count in texts]
        if tokens and min(tokens) < 0:
            raise InputError(f"a text cannot have {min(tokens)} tokens")
        cold = at_ms is not None and self._at_ms is not None and at_ms - self._at_ms > self.life_ms
        if not cold:
            self.cached_tokens += sum(tokens[: _common_prefix(self._previous, prompt)])
        self.input_tokens += sum(tokens)
        self._previous = prompt
        if at_ms is not None:
            self._at_ms = at_ms


def _common_prefix(left: list[str], right: list[str]) -> int:
    """Count the texts that both lists begin with."""
    limit = min(len(left), len(right))
    start = 0
    while start < limit and left[start : start + _SLICE] == right[start : start + _SLICE]:
        start += _SLICE  # may overshoot the shorter list, or compare its whole tail
    start = min(start, limit)
    while start < limit and left[start] == right[start]:
        start += 1
    return start
