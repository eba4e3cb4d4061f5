"""The life of the provider's prompt cache, learned from the traffic of a session, for each model.

Law: a request says what it asks for, not what it gets, so it never shortens the life; the usage of an answer may. Each
verdict of a request is checked by what its answer reports (`core.window.learned_cache`).
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace

from undrift.core.cost import Prices
from undrift.core.window.client_change import ClientChange, tokens_before
from undrift.core.window.learned_cache import Expected, LearnedCache, Reported, checked
from undrift.core.window.log import place_of
from undrift.core.window.low_water import Cache
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.errors import StoreError
from undrift.settings.model_table import Model
from undrift.window.context import SessionContext
from undrift.wire.form import ProviderReply

__all__ = ["CacheTraffic", "LastRequest", "expected_of"]

_log = logging.getLogger("undrift.session")


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The model and the cache figures of the newest request.

    Args:
        tokens: By our own count.
        cache_seconds: The time that it asks to be cached; None: it does not say.
        at_ms: The time of the request, in Unix milliseconds.
        at: The chain id at which the request ended.
        history: The chain ids of all its items.
        key: The model by which its cache is known.
        expected: The state of the cache as far as it was known; None: the provider keeps parts that the request only
            names, so that nothing follows from what was read.
    """

    model: Model
    tokens: int
    cache_seconds: int | None
    at_ms: int
    at: str = ""
    history: Collection[str] = ()
    key: str = ""
    expected: Expected | None = None


class CacheTraffic:
    """Learns how long the provider keeps the prompts of one session in its cache."""

    def __init__(self, context: SessionContext) -> None:
        self._id = context.id
        self._log = context.log
        self._learned: dict[str, LearnedCache] = {}  # what is not on disk yet comes with the next time that is
        settings = context.settings
        self._matters = settings.prune_when != "over_budget" and settings.policy == "worth"

    def of(self, model: Model, key: str, asked: int | None) -> Cache:
        """Return the cache's figures, learned from the session's traffic; if unknown, from the table of models.

        `asked`: seconds that it asks to be cached; None: it does not say.
        """
        known = self._known(key)
        said = max(asked or 0, known.said_seconds or 0)
        prices = Prices(model.read_ratio, model.write_ratio_for(said or None))
        return Cache(prices, known.seconds(asked, model.cache_seconds), model.cache_least_tokens)

    def believes(self, key: str, change: ClientChange | None) -> ClientChange | None:
        """Return a change of the client; None if answers have shown that such a change does not end the cache."""
        return None if change is not None and change.part in self._known(key).harmless else change

    def asked(self, sent: LastRequest, *, is_large: bool) -> None:
        """Record the time of a request, if pauses matter, and the lifetime of its cache.

        `is_large`: true if it has more than half of the tokens from which a window may be pruned.
        """
        if not self._matters:
            return
        times, known = self._log.times, self._known(sent.key)
        times.asked(sent.key, sent.at_ms)
        said = max(sent.cache_seconds or 0, known.said_seconds or sent.model.cache_seconds)
        is_longer = times.is_stored(sent.key) and said > (known.said_seconds or sent.model.cache_seconds)
        if is_longer or times.is_due(sent.key, sent.at_ms, is_large=is_large):
            is_known = known.said_seconds is not None or said != sent.model.cache_seconds
            self._write(sent.key, sent.at_ms, replace(known, said_seconds=said if is_known else None))

    def answered(self, sent: LastRequest, reply: ProviderReply) -> None:
        """Record what an answer reports: for how long the prompt is kept, and how many tokens were read from the cache."""
        if not self._matters or not self._log.times.is_stored(sent.key):
            return  # what is not stored must not decide: a restarted session would decide otherwise
        before = known = self._known(sent.key)
        if reply.cache_seconds is not None:
            known = self._promised(known, sent, reply)
        if sent.expected is not None:
            known = checked(known, sent.expected, Reported(reply.input_tokens, reply.cached_tokens))
        if known == before:
            return
        self._learned[sent.key] = known
        if known.decides_otherwise_than(before, sent.model.cache_seconds):
            self._write(sent.key, sent.at_ms, known)

    def end(self) -> None:
        """Store the exact time of the last request to each model, because the session is closed."""
        for key in self._log.times.unfinished:
            self._write(key, self._log.times.exact_ms(key), self._known(key), is_last=True)

    def _known(self, key: str) -> LearnedCache:
        return self._learned.get(key) or self._log.times.learned(key)

    def _promised(self, known: LearnedCache, sent: LastRequest, reply: ProviderReply) -> LearnedCache:
        """Return what is known once an answer has reported how long its prompt is kept.

        A shorter life counts only in the answer to the request whose time was stored: two conversations may share a
        minute, and then the longer life counts.
        """
        kept = max(reply.cache_seconds or 0, sent.cache_seconds or 0)
        now = sent.model.cache_seconds if known.said_seconds is None else known.said_seconds
        known = replace(known, is_promised=reply.is_promised)
        if kept > now or (kept < now and self._log.times.stored_ms(sent.key) == sent.at_ms):
            return replace(known, said_seconds=kept)
        return known

    def _write(self, key: str, at_ms: int, known: LearnedCache, *, is_last: bool = False) -> None:
        try:
            self._log.write_time(key, at_ms, known, is_last=is_last)
            self._learned.pop(key, None)
        except StoreError as error:
            _log.error("session %.80r: the time could not be stored, a pause may be missed: %s", self._id, error)


def expected_of(window: Window, before: Window, turn: Turn, change: ClientChange | None) -> Expected:
    """Return how much of a prompt the cache should have, if it is warm.

    Args:
        window: The window to send, with the decisions of this turn.
        before: The window before them.
        change: The client's own change; None without one.
    """
    fixed_tokens = turn.room.fixed_tokens
    numbers = [window.numbers[place] for d in window.new if (place := place_of(d.entry_id)) in window.numbers]
    first = min([before.newest_answer, *numbers])
    kept = tokens_before(before, first)
    part, byte = "", None
    if change is not None and change.tokens <= fixed_tokens:
        part, byte = change.part, change.byte
    elif change is not None:
        kept = min(kept, change.tokens - fixed_tokens)
    idle_seconds = None if turn.idle_ms is None else turn.idle_ms // 1_000
    is_cold = turn.cache.is_cold(turn.idle_ms)
    return Expected(fixed_tokens + window.tokens_after, fixed_tokens, kept, idle_seconds, is_cold, part, byte)
