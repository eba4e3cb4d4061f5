"""The bill of one session beside the bill for sending everything, from the usage that a provider reports. Pure.

Law: only reported usage moves a total. A figure that is not sure is taken so that the balance is rather too low than too
high. BilledTokens that cannot be true changes nothing.

All prices are in plain input tokens. Sending everything is the client's whole history with a cached beginning of its own:
it reads what stood there before, and writes what is new. It is cold at the moments at which the answer shows that ours is.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from undrift.core.cost import Prices
from undrift.core.text.calibration import UsageReport, is_plausible

__all__ = ["BilledTokens", "Ledger", "SentRequest", "answered", "fetched_again", "ledger_from"]

_MOST_TOKENS = 2.0**53
_LEAST_BEGINNING = 0.2  # of the prompt: a shorter one says nothing


@dataclass(frozen=True, slots=True)
class BilledTokens:
    """The input tokens that an answer reports: all of them, those read from the cache, and those written to it."""

    input_tokens: int
    read_tokens: int = 0
    written_tokens: int = 0

    @property
    def is_sound(self) -> bool:
        """True if the figures can belong together."""
        given = (self.input_tokens, self.read_tokens, self.written_tokens)
        if not all(type(tokens) is int and 0 <= tokens < _MOST_TOKENS for tokens in given):
            return False
        return self.input_tokens > 0 and self.read_tokens + self.written_tokens <= self.input_tokens

    def price(self, prices: Prices) -> float:
        """Return the price of the prompt."""
        plain = self.input_tokens - self.read_tokens - self.written_tokens
        return prices.read * self.read_tokens + prices.write * self.written_tokens + plain

    def new_price(self, prices: Prices) -> float:
        """Return the price of a token that was not read from the cache: written or plain, as reported."""
        uncached = self.input_tokens - self.read_tokens
        if not uncached:
            return min(prices.read, prices.write)
        return (prices.write * self.written_tokens + uncached - self.written_tokens) / uncached


@dataclass(frozen=True, slots=True)
class SentRequest:
    """The figures of a request before its answer, by our own count.

    Args:
        whole_tokens: All that the client gave, with system prompt and tools.
        sent_tokens: All that was sent.
        gone_from: Tokens sent before the first place from which something left; all of them if nothing left.
        new_tokens: Tokens that the client added since the request before; None: unknown.
        rewritten_from: Tokens sent before the first place that we changed since the request before; None: we changed
            nothing.
        is_cold: Whether the cache has expired by the clock.
        changed_from: Tokens sent before the first place that the client itself changed; None: it changed nothing.
        slope: The provider's tokens for each one that we count.
        fixed_tokens: The tokens of the parts beside the history.
    """

    whole_tokens: int
    sent_tokens: int
    gone_from: int
    new_tokens: int | None = None
    rewritten_from: int | None = None
    is_cold: bool = False
    changed_from: int | None = None
    slope: float = 1.0
    fixed_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """The totals of one session and one model, in plain input tokens.

    Args:
        everything_tokens: The price of sending everything.
        paid_tokens: The price that was paid for the prompts.
        rewritten_tokens: The part of it that was paid because our own prunes changed a cached beginning.
        fetched_tokens: The price of what the agent fetched again after it had left.
        promised_tokens: The highest price of prunes whose answers were never seen.
        answers: Answers that count: they report what was read from the cache.
        cold: Answers at which the cache had expired.
        rewrites: Answers after a prune of ours that changed a cached beginning.
        fetches: Calls that fetched something again.
        hoped_tokens: Tokens of long beginnings that our prunes left alone, and that could be read from the cache.
        kept_tokens: Of these, the tokens that were read.
        silent: Answers without any figure of the cache; they count for nothing.
    """

    everything_tokens: float = 0.0
    paid_tokens: float = 0.0
    rewritten_tokens: float = 0.0
    fetched_tokens: float = 0.0
    promised_tokens: float = 0.0
    hoped_tokens: float = 0.0
    kept_tokens: float = 0.0
    answers: int = 0
    cold: int = 0
    rewrites: int = 0
    fetches: int = 0
    silent: int = 0

    @property
    def saved_tokens(self) -> float:
        """The price that was not paid, before rewrites and fetches are deducted."""
        return self.everything_tokens - self.paid_tokens + self.rewritten_tokens

    @property
    def balance_tokens(self) -> float:
        """The price that was saved so far, after all that it cost; below 0 if the session was dearer."""
        return self.everything_tokens - self.paid_tokens - self.fetched_tokens - self.promised_tokens

    @property
    def share(self) -> float | None:
        """The price so far as a share of sending everything. None means: no answer has reported it."""
        if not self.reports_cache or not self.everything_tokens:
            return None
        return 1 - self.balance_tokens / self.everything_tokens

    @property
    def reports_cache(self) -> bool:
        """True if the provider has reported figures of its cache; else nothing is known, and nothing can be paid for."""
        return self.answers > 0

    @property
    def spendable_tokens(self) -> float:
        """The part of the balance that may be spent; at least 0."""
        return max(0.0, self.balance_tokens) if self.reports_cache else 0.0

    @property
    def kept_share(self) -> float | None:
        """The share of beginnings left alone that was read from the cache. None: there was none."""
        return self.kept_tokens / self.hoped_tokens if self.hoped_tokens > 0 else None

    def plus(self, other: Self, times: int = 1) -> Self:
        """Return the sum of both, field by field; `times`: -1 for the difference."""
        names = [field.name for field in fields(self)]
        return replace(self, **{name: getattr(self, name) + times * getattr(other, name) for name in names})

    @property
    def payload(self) -> dict[str, int]:
        """The totals as JSON, without those that are 0; rounded so that the balance is not higher."""
        whole = {name: math.ceil(value) for name, value in asdict(self).items()}
        for name in ("everything_tokens", "kept_tokens"):
            whole[name] = math.floor(getattr(self, name))
        return {name: value for name, value in whole.items() if value}


def ledger_from(payload: Any) -> Ledger:
    """Return the ledger of a payload; a figure that cannot be true makes it empty."""
    given = payload if isinstance(payload, Mapping) else {}
    found: dict[str, Any] = {}
    for field in fields(Ledger):
        value = given.get(field.name, 0)
        if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value < _MOST_TOKENS:
            return Ledger()
        found[field.name] = int(value) if field.type is int else float(value)
    return Ledger(**found)


def answered(ledger: Ledger, sent: SentRequest, usage: BilledTokens, prices: Prices) -> Ledger:
    """Return the ledger with one answered request; the same ledger if its usage cannot be true."""
    if sent.sent_tokens < 0 or not usage.is_sound:
        return ledger
    if not is_plausible(UsageReport(sent.sent_tokens, usage.input_tokens)):
        return ledger
    if not (usage.read_tokens or usage.written_tokens or ledger.reports_cache):
        return replace(ledger, silent=ledger.silent + 1)
    whole = _whole_tokens(sent, usage)
    is_cold, new = _new_tokens(sent, usage, whole)
    new_price = usage.new_price(prices)
    again = 0.0 if sent.rewritten_from is None else max(0.0, usage.input_tokens - usage.read_tokens - new)
    is_rewrite = again > 0 and not is_cold
    hoped, kept = _beginning(sent, usage) if is_rewrite else (0.0, 0.0)
    return replace(
        ledger,
        everything_tokens=ledger.everything_tokens + prices.read * (whole - new) + new_price * new,
        paid_tokens=ledger.paid_tokens + usage.price(prices),
        rewritten_tokens=ledger.rewritten_tokens + is_rewrite * max(0.0, new_price - prices.read) * again,
        hoped_tokens=ledger.hoped_tokens + hoped,
        kept_tokens=ledger.kept_tokens + kept,
        answers=ledger.answers + 1,
        cold=ledger.cold + is_cold,
        rewrites=ledger.rewrites + is_rewrite,
    )


def fetched_again(ledger: Ledger, tokens: int, window_tokens: int, prices: Prices) -> Ledger:
    """Return the ledger with a call that fetched something again: a turn that reads the window, and what it brought.

    `tokens`: the call with its result; `window_tokens`: the window that the turn read.
    """
    price = prices.read * max(0, window_tokens) + prices.write * max(0, tokens)
    return replace(ledger, fetched_tokens=ledger.fetched_tokens + price, fetches=ledger.fetches + 1)


def _beginning(sent: SentRequest, usage: BilledTokens) -> tuple[float, float]:
    """Return the tokens of the history that a prune left alone at its beginning, and those read; (0, 0) if it is short."""
    start = (sent.rewritten_from or 0) - sent.fixed_tokens
    if sent.changed_from is not None or start < _LEAST_BEGINNING * sent.sent_tokens:
        return 0.0, 0.0
    ratio = _ratio(sent, usage)
    return start * ratio, min(max(0.0, usage.read_tokens - sent.fixed_tokens * ratio), start * ratio)


def _ratio(sent: SentRequest, usage: BilledTokens) -> float:
    return usage.input_tokens / sent.sent_tokens if sent.sent_tokens else 1.0


def _whole_tokens(sent: SentRequest, usage: BilledTokens) -> float:
    """Return the provider's tokens of the whole history: of what left we know only our own count."""
    left = sent.whole_tokens - sent.sent_tokens
    ratios = (_ratio(sent, usage), sent.slope)
    return max(0.0, usage.input_tokens + left * (min(ratios) if left > 0 else max(ratios)))


def _new_tokens(sent: SentRequest, usage: BilledTokens, whole: float) -> tuple[bool, float]:
    """Tell whether the cache was cold, and return the tokens that sending everything would not have read from it."""
    ratio = _ratio(sent, usage)
    uncached = usage.input_tokens - usage.read_tokens
    if usage.read_tokens <= sent.gone_from * ratio:  # what left stood behind all that was read
        behind = max(float(uncached), whole - usage.read_tokens)
    else:
        behind = float(uncached)
    if sent.rewritten_from is None:
        is_cold = sent.is_cold and 2 * usage.read_tokens < usage.input_tokens
        return is_cold, min(whole, behind)
    hoped, kept = _beginning(sent, usage)
    if sent.is_cold and usage.read_tokens <= sent.rewritten_from * ratio and 2 * kept <= hoped:
        return True, min(whole, behind)
    new = sent.new_tokens or 0
    if sent.changed_from is not None and usage.read_tokens <= sent.changed_from * ratio:
        new = max(new, sent.sent_tokens - sent.changed_from)  # the client's own change is written in any case
    return False, min(whole, new * min(ratio, sent.slope))
