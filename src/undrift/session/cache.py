"""The life of the provider's prompt cache, learned from the traffic of a session.

Law: a request says what it asks for, not what it gets, so it never shortens the life; the usage of an answer may.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass

from undrift.core.cost import Prices
from undrift.core.window.low_water import Cache
from undrift.errors import StoreError
from undrift.settings.model_table import Model
from undrift.window.context import SessionContext

__all__ = ["CacheTraffic", "LastRequest"]

_log = logging.getLogger("undrift.session.session")


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The model and the cache figures of the newest request.

    Args:
        tokens: By our own count.
        cache_seconds: The time that it asks to be cached; None: it does not say.
        at_ms: The time of the request, in Unix milliseconds.
        at: The chain id at which the request ended.
        history: The chain ids of all its items.
    """

    model: Model
    tokens: int
    cache_seconds: int | None
    at_ms: int
    at: str = ""
    history: Collection[str] = ()


class CacheTraffic:
    """Learns how long the provider keeps the prompts of one session in its cache."""

    def __init__(self, context: SessionContext) -> None:
        self._id = context.id
        self._log = context.log
        settings = context.settings
        self._matters = settings.prune_when != "over_budget" and settings.policy == "worth"

    def of(self, model: Model, asked: int | None) -> Cache:
        """Return the cache's figures, learned from the session's traffic; if unknown, from the table of models.

        `asked`: seconds that it asks to be cached; None: it does not say.
        """
        said = max(asked or 0, self._log.cache_seconds or 0)
        prices = Prices(model.read_ratio, model.write_ratio_for(said or None))
        return Cache(prices, self._kept_seconds(model, asked), model.cache_least_tokens)

    def asked(self, sent: LastRequest, *, is_large: bool) -> None:
        """Record the time of a request, if pauses matter, and the lifetime of its cache.

        `is_large`: true if it has more than half of the tokens from which a window may be pruned.
        """
        if not self._matters:
            return
        kept = self._kept_seconds(sent.model, sent.cache_seconds)
        is_known = self._log.cache_seconds is not None or kept != sent.model.cache_seconds
        try:
            self._log.asked(at_ms=sent.at_ms, is_large=is_large, cache_seconds=kept if is_known else None)
        except StoreError as error:
            _log.error("session %.80r: the time could not be stored, a pause may be missed: %s", self._id, error)

    def answered(self, sent: LastRequest, cache_seconds: int | None) -> None:
        """Record the cache's lifetime: an answer reports the tokens that were written to the cache.

        Args:
            sent: The request that it answers.
            cache_seconds: The time that the answer's usage reports; None: it does not say.
        """
        if cache_seconds is None:
            return
        kept = max(cache_seconds, sent.cache_seconds or 0)
        if kept == self._kept_seconds(sent.model, None):
            return
        try:
            self._log.answered(at_ms=sent.at_ms, cache_seconds=kept)
        except StoreError as error:
            _log.error("session %.80r: the cache's life could not be stored, what was known holds: %s", self._id, error)

    def _kept_seconds(self, model: Model, asked: int | None) -> int:
        """Return the seconds that the cache keeps a request, as far as known before the answer."""
        learned = self._log.cache_seconds
        return max(asked or 0, model.cache_seconds if learned is None else learned)
