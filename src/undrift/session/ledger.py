"""The bills of one session: what each request would have cost whole, and what its answer says was paid.

Law: a request counts once its answer has come. The price of a prune is deducted with the prune itself, before the answer,
so that a kill in between never leaves a balance that is too high.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from undrift.core.budget_price import BudgetPrice, budget_price
from undrift.core.cost import Prices
from undrift.core.ledger import BilledTokens, SentRequest, answered, fetched_again
from undrift.core.window.bank import Account
from undrift.core.window.client_change import tokens_before
from undrift.core.window.fetched import Fetched, fetched
from undrift.core.window.low_water import Cache
from undrift.core.window.window import Window
from undrift.errors import StoreError
from undrift.values.window import Sent
from undrift.window.context import SessionContext
from undrift.window.conversation import Conversation
from undrift.wire.form import ProviderReply

__all__ = ["Pricing", "SessionLedger"]

_log = logging.getLogger("undrift.session")


@dataclass(frozen=True, slots=True)
class Pricing:
    """The prices of a turn.

    Args:
        model: The row of the table of models.
        slope: The provider's tokens for each one that we count.
        now_ms: The time of the request.
        changed_from: Tokens sent before the first place that the client changed itself; None: it changed none.
    """

    model: str
    cache: Cache
    slope: float
    now_ms: int
    changed_from: int | None = None


@dataclass(frozen=True, slots=True)
class _BilledRequest:
    """A request of one conversation.

    Args:
        first_gone: Number of the first item from which something left, and the tokens before it.
        promised: The highest price of what this request rewrites.
        owed: The same of earlier requests whose answers were not seen.
        is_repeated: Whether it repeats a rewrite that was sent before, within the life of the cache.
    """

    pricing: Pricing
    place: str
    sent: Mapping[int, Sent]
    first_gone: tuple[int, int]
    request: SentRequest
    fetched: tuple[Fetched, ...]
    promised: float
    owed: float
    is_repeated: bool


class SessionLedger:
    """Keeps the bills of one session."""

    def __init__(self, context: SessionContext) -> None:
        self._id = context.id
        self._log = context.log
        self._asked: WeakKeyDictionary[Conversation, _BilledRequest] = WeakKeyDictionary()
        self._answered: WeakKeyDictionary[Conversation, _BilledRequest] = WeakKeyDictionary()
        self._turn: tuple[Pricing, int] | None = None
        self._newest: tuple[Conversation, _BilledRequest] | None = None
        self._billed: Pricing | None = None

    def price_of(self, budget_tokens: int) -> BudgetPrice | None:
        """Return the price of a fixed budget so far, by the bills. None means: no answer has reported its cache yet."""
        pricing = self._billed
        share = None if pricing is None else self._log.ledgers.of(pricing.model).share
        if pricing is None or share is None:
            return None
        cache = pricing.cache
        return BudgetPrice(share, budget_price(budget_tokens, cache.prices, cache.seconds, share=share))

    def begin(self, pricing: Pricing, window: Window, fixed_tokens: int) -> Account:
        """Begin a turn; return what it may spend. The highest price of a prune is that of writing the whole prompt.

        `window`: before the turn. `fixed_tokens`: of the parts beside the history.
        """
        price = pricing.cache.prices.write * pricing.slope * (fixed_tokens + window.tokens_before)
        self._turn, self._log.ledgers.expected = (pricing, fixed_tokens), (pricing.model, price)
        ledger = self._log.ledgers.of(pricing.model)
        return Account(ledger.spendable_tokens / pricing.slope, ledger.kept_share)

    def asked(self, conversation: Conversation, window: Window, *, has_pruned: bool) -> None:
        """Note the request of this turn as it goes out. `has_pruned`: whether decisions were stored with it."""
        if self._turn is None:
            return
        pricing, fixed_tokens = self._turn
        before, seen = (
            self._before(self._asked, conversation, pricing),
            self._before(self._answered, conversation, pricing),
        )
        place = None if before is None else window.numbers.get(before.place)
        known = None if seen is None else window.numbers.get(seen.place)
        now, since = (_rewritten_from(window, one, fixed_tokens) for one in (before, seen))
        gone = _first_gone(window, before)
        is_cold = before is not None and _is_cold(before, pricing)
        request = SentRequest(
            whole_tokens=fixed_tokens + window.tokens_before,
            sent_tokens=fixed_tokens + window.tokens_after,
            gone_from=fixed_tokens + gone[1],
            new_tokens=None if place is None else sum(item.tokens for item in window.items[place + 1 :]),
            rewritten_from=min((n for n in (now, since) if n is not None), default=None),
            is_cold=is_cold,
            changed_from=pricing.changed_from,
            slope=pricing.slope,
            fixed_tokens=fixed_tokens,
        )
        if now is not None and place is not None and not has_pruned:  # as after a rewind
            self._log.ledgers.promise()
            has_pruned = True
        one = _BilledRequest(
            pricing,
            window.place,
            window.sent,
            gone,
            request,
            fetched(
                window.items[conversation.newest_answer() if known is None else known + 1 :], self._log.ledgers.left
            ),
            promised=has_pruned * self._log.ledgers.expected[1],
            owed=0.0 if before is None else before.owed + before.promised,
            is_repeated=now is None and since is not None and not is_cold,
        )
        self._asked[conversation], self._newest = one, (conversation, one)

    def forget(self) -> None:
        """Note that the newest request has no bill here, because the provider holds the history."""
        self._newest = None

    def answered(self, reply: ProviderReply, write_price: float) -> None:
        """Add the bill of the newest request. `write_price`: of a token, as long as the answer says it is kept."""
        if self._newest is None or reply.input_tokens is None:
            return
        (conversation, one), self._newest = self._newest, None
        prices = Prices(one.pricing.cache.prices.read, write_price)
        usage = BilledTokens(reply.input_tokens, reply.cached_tokens, reply.written_tokens)
        ledgers, model = self._log.ledgers, one.pricing.model
        old = ledgers.of(model)
        new = answered(old, one.request, usage, prices)
        if new is old:
            return
        settled = one.promised + (one.owed if _was_not_sent(one, usage) else 0.0)
        new = replace(new, promised_tokens=max(0.0, new.promised_tokens - settled))
        for call in one.fetched:
            ledgers.left.discard(call.place)
            tokens, window_tokens = (round(one.pricing.slope * n) for n in (call.tokens, one.request.sent_tokens))
            new = fetched_again(new, tokens, window_tokens, prices)
        ledgers.put(model, new)
        self._billed = one.pricing
        done = replace(one, promised=0.0, owed=one.owed + one.promised - settled)
        self._answered[conversation] = self._asked[conversation] = done
        self._settle(one.pricing.now_ms)

    def end(self, at_ms: int) -> None:
        """Store what is not stored yet, at the end of the session."""
        self._settle(at_ms, is_end=True)

    def _settle(self, at_ms: int, *, is_end: bool = False) -> None:
        try:
            self._log.settle(at_ms=at_ms, is_end=is_end)
        except StoreError as error:
            _log.error("session %.80r: the bill could not be stored, it comes with the next one: %s", self._id, error)

    @staticmethod
    def _before(
        requests: WeakKeyDictionary[Conversation, _BilledRequest], conversation: Conversation, pricing: Pricing
    ) -> _BilledRequest | None:
        """Return the request before; another model has a cache of its own."""
        found = requests.get(conversation)
        return found if found is not None and found.pricing.model == pricing.model else None


def _was_not_sent(one: _BilledRequest, usage: BilledTokens) -> bool:
    """Tell whether the answer shows that no earlier request with the same rewrite came to the provider.

    Its cache would hold that prompt then.
    """
    start = one.request.rewritten_from
    if not one.is_repeated or start is None or not one.request.sent_tokens:
        return False
    return usage.read_tokens <= start * usage.input_tokens / one.request.sent_tokens


def _is_cold(before: _BilledRequest, pricing: Pricing) -> bool:
    """Tell whether the cache of the request before has expired by the clock."""
    idle_ms = pricing.now_ms - before.pricing.now_ms
    return before.pricing.cache.is_cold(idle_ms) and pricing.cache.is_cold(idle_ms)


def _first_gone(window: Window, before: _BilledRequest | None) -> tuple[int, int]:
    """Return the first item from which something left, and the tokens before it; all of them if nothing left."""
    if not window.sent:
        return (-1, window.tokens_after)
    is_longer = before is not None and before.place in window.numbers
    if before is not None and is_longer and before.sent is window.sent:  # a quiet turn looks at no item
        return before.first_gone
    first = min(window.sent)
    if before is not None and is_longer and before.first_gone[0] == first:
        return before.first_gone
    return (first, tokens_before(window, first))


def _rewritten_from(window: Window, before: _BilledRequest | None, fixed_tokens: int) -> int | None:
    """Return the tokens before the first item that is sent otherwise than in the request before; None: there is none.

    If that request is not known, all of it may have been, unless nothing has left.
    """
    place = None if before is None else window.numbers.get(before.place)
    if before is None or place is None:
        was_whole = before is None or not before.sent
        return None if was_whole and not window.sent else 0
    if window.sent is before.sent:
        return None
    both = window.sent.keys() | before.sent.keys()
    changed = [n for n in both if n <= place and _differ(window.sent.get(n), before.sent.get(n))]
    return fixed_tokens + tokens_before(window, min(changed)) if changed else None


def _differ(one: Sent | None, other: Sent | None) -> bool:
    return one is not other and one != other
