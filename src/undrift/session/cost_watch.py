"""The prompt cache of a session's conversations, as the usage of their answers tells it.

Law: only an answer moves a state; a rewrite of ours is never called the client's.
"""

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from undrift.core.guard import CacheWatch, Notice, WritePrice, guard
from undrift.core.text.calibration import Calibration
from undrift.core.window.client_change import ClientChange
from undrift.core.window.plan import decided
from undrift.core.window.turn import Turn
from undrift.settings.model_table import Model
from undrift.values.usage import HOUR_S, OURS, PromptUsage
from undrift.window.conversation import Conversation
from undrift.wire.form import ProviderReply

__all__ = ["AskedPrompt", "CostWatch"]

_FIRST_MESSAGES = 2
"""A conversation with more messages was answered before, by a process that has ended."""


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """A request as it goes out.

    Args:
        change: The client's own change of its prompt; None without one.
        is_ours: Whether undrift removed something with this request.
    """

    conversation: Conversation
    turn: Turn
    model: Model
    calibration: Calibration
    change: ClientChange | None = None
    is_ours: bool = False

    @property
    def changed(self) -> tuple[str, int]:
        """The part that changed, and from which byte, as `PromptUsage` names them."""
        if self.change is None:
            return (OURS if self.is_ours else "", 0)
        return self.change.part, self.change.byte or 0


class CostWatch:
    """Follows the caches of one session."""

    def __init__(self) -> None:
        self._watches: WeakKeyDictionary[Conversation, CacheWatch] = WeakKeyDictionary()
        self._asked: AskedPrompt | None = None
        self._newest: AskedPrompt | None = None
        self._frees: tuple[CacheWatch, int] | None = None

    @property
    def watch(self) -> CacheWatch:
        """The cache of the conversation that was answered last."""
        return CacheWatch() if self._newest is None else self._watches.get(self._newest.conversation, CacheWatch())

    def asked(self, prompt: AskedPrompt | None) -> None:
        """Note a request; None: the provider holds its history. A prune whose answer never came counts for the next."""
        before = self._asked
        if prompt is not None and before is not None and before.conversation is prompt.conversation:
            prompt = replace(prompt, is_ours=prompt.is_ours or before.is_ours)
        self._asked = prompt

    def answered(self, reply: ProviderReply, ended_ms: int) -> None:
        """Take in the usage of the answer to the newest request."""
        prompt, self._asked = self._asked, None
        if prompt is None or not reply.input_tokens:
            return
        is_long = reply.cache_seconds == HOUR_S
        usage = PromptUsage(
            line=0,
            at_ms=prompt.turn.now_ms,
            prompt_tokens=reply.input_tokens,
            cached_tokens=reply.cached_tokens,
            written_tokens=0 if is_long else reply.written_tokens,
            written_long_tokens=reply.written_tokens if is_long else 0,
            model=prompt.model.name,
            ended_ms=ended_ms,
            life_seconds=reply.cache_seconds,
            changed=prompt.changed[0],
            changed_byte=prompt.changed[1],
        )
        is_first = len(prompt.conversation.messages) <= _FIRST_MESSAGES
        before = self._watches.get(prompt.conversation) or CacheWatch.before(usage if is_first else None)
        self._watches[prompt.conversation] = before.then(usage, self._price_of(prompt.model))
        self._newest = prompt

    def notices(self, now_ms: int) -> tuple[Notice, ...]:
        """Return the sentences that are true now of the conversation that was answered last."""
        if self._newest is None:
            return ()
        watch = self.watch
        frees = self._free_tokens(self._newest, watch, now_ms) if watch.is_cold(now_ms) else 0
        return guard(watch, now_ms, self._price_of(self._newest.model), frees_tokens=frees)

    def _free_tokens(self, prompt: AskedPrompt, watch: CacheWatch, now_ms: int) -> int:
        """Return what leaves before the next request because the cache is cold; planned one time for each pause."""
        if self._frees is None or self._frees[0] is not watch:
            window, count = prompt.conversation.window, prompt.calibration.tokens
            turn = replace(prompt.turn, now_ms=now_ms, idle_ms=now_ms - prompt.turn.now_ms, changed_from_tokens=None)
            after = decided(window, turn)[-1]
            self._frees = watch, max(0, count(window.tokens_after) - count(after.tokens_after))
        return self._frees[1]

    @staticmethod
    def _price_of(model: Model) -> WritePrice:
        return lambda _, life_seconds: model.written_usd_per_million(life_seconds)
