"""Sends the prompts of a recorded session to a `Session`, as the client did, and answers with what a provider would bill.

Law: the session learns of the cache only what real traffic shows: the requested life, the tokens read and written.
"""

from collections.abc import Callable, Sequence
from typing import Any

from undrift.core.cost import Prices
from undrift.recordings.replay.history import ReplayedHistory
from undrift.recordings.replay.side import Market
from undrift.recordings.replay.texts import ReplayTexts, Text
from undrift.session.session import Session
from undrift.settings.model_table import Model
from undrift.values.prepared import Prepared

__all__ = ["Sender", "market_of"]

_LONG_SECONDS = 3_600
"""The cache of an hour; a shorter one is asked for without a word about its life."""


def market_of(model: Model, cache_seconds: int | None, count: Callable[[str], int], *, fixed_tokens: int = 0) -> Market:
    """Return the prices of a session.

    `cache_seconds`: the recorded life of its cache. None: that of the model's row, at most an hour: no recorded prompt
    was read after a longer pause, even if the provider may keep it.
    """
    seconds = min(model.cache_seconds, _LONG_SECONDS) if cache_seconds is None else cache_seconds
    prices = Prices(model.read_ratio, model.write_ratio_for(cache_seconds))
    return Market(prices, seconds, count, fixed_tokens)


class Sender:
    """Sends one session turn by turn, the whole history each time.

    `model`: as recorded. `cache_seconds`: the life that the requests ask for; None: they ask for none.
    """

    def __init__(
        self,
        session: Session,
        model: str | None,
        history: ReplayedHistory,
        texts: ReplayTexts,
        cache_seconds: int | None,
    ) -> None:
        self.everything: list[Text] = list(texts.system)
        self.window: Sequence[Text] = ()
        self._session = session
        self._history = history
        self._texts = texts
        self._seconds = cache_seconds
        self._fields: dict[str, Any] = {"model": model} if model else {}
        if history.system:
            self._fields["system"] = [{"type": "text", "text": entry.content} for entry in history.system]
        if cache_seconds is not None:
            ttl = {"ttl": "1h"} if cache_seconds >= _LONG_SECONDS else {}
            self._fields["cache_control"] = {"type": "ephemeral", **ttl}
        self._read = 0
        self._tokens = 0

    def prepare(self, number: int) -> Prepared:
        """Prepare the prompt that message `number` answers; `everything` and `window` then hold its texts."""
        messages = self._history.messages
        for message in messages[self._read : number]:
            self.everything += self._texts.of_message(message)
        self._read = number
        body = {**self._fields, "messages": messages[:number]}
        prepared = self._session.prepare(body, wire="anthropic")
        self.window = self.everything if prepared.body is body else self._texts.of_body(prepared.body)
        self._tokens = prepared.tokens_after
        return prepared

    def answer(self, cached_tokens: int) -> None:
        """Answer the newest prompt with its usage. `cached_tokens`: of its tokens, those that were read from the cache."""
        written = max(0, self._tokens - cached_tokens)
        is_long = (self._seconds or 0) >= _LONG_SECONDS
        usage: dict[str, Any] = {
            "input_tokens": 0,
            "output_tokens": 1,
            "cache_read_input_tokens": min(cached_tokens, self._tokens),
            "cache_creation_input_tokens": written,
        }
        if self._seconds is not None:
            usage["cache_creation"] = {
                "ephemeral_5m_input_tokens": 0 if is_long else written,
                "ephemeral_1h_input_tokens": written if is_long else 0,
            }
        self._session.record({"type": "message", "role": "assistant", "content": [], "usage": usage})
