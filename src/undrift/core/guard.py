"""Say what the provider's prompt cache is about to cost, or has cost: sentences as values. Pure.

Law: every figure comes from usage that a provider reported. An unknown figure is left out of the sentence, or the
sentence is not said. A cache is called cold only a minute after its life has ended.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from undrift.core.ledger import Ledger
from undrift.values.usage import HOUR_S, OURS, CacheEvent, PromptUsage

__all__ = [
    "Balance",
    "CacheWatch",
    "ClientRewrites",
    "LEAST_TOKENS",
    "Notice",
    "NoticeKind",
    "Rewrites",
    "SURE_S",
    "WritePrice",
    "guard",
    "money",
    "size",
    "watched",
]

NoticeKind = Literal["away", "free_prune", "cold_in", "rewrites", "balance"]

WritePrice = Callable[[str, int], float | None]
"""A model's name, and for how many seconds a prompt is kept -> US dollars for a million tokens written; None: unknown."""

SURE_S = 60
"""A cache whose life has ended may still be read: of recorded five-minute caches 59% were gone in the sixth minute, 99% after it."""

LEAST_TOKENS = 4_096
"""A shorter prompt may never have been in the cache; some providers keep none that is shorter."""

_MOST_FIRST_TOKENS = 60_000
"""A first prompt that is larger belongs to a session that was continued: what it read is not only what all sessions share."""

_LOST_SHARE = 0.5
"""A prompt of which less than this share was read from the cache has been written again."""

_PARTS = {
    "system": "system prompt",
    "instructions": "system prompt",
    "systemInstruction": "system prompt",
    "system_instruction": "system prompt",
    "tool_choice": "choice of tools",
    "thinking": "settings of thinking",
    "message 0": "first message",
}

_MILLION = 1_000_000
_MOST_MS = 1 << 53
_MINUTE_S = 60
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence, with the figures in it.

    Args:
        tokens: The tokens that it is about; None if it names none.
        usd: Their price; None if it is not known.
        seconds: The time that it names; None if it names none.
        short: The same for one line with little room.
    """

    kind: NoticeKind
    text: str
    short: str
    tokens: int | None = None
    usd: float | None = None
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Rewrites:
    """Prompts that were written to the cache again. `usd`: of those whose price is known, `priced` of them."""

    prompts: int = 0
    tokens: int = 0
    usd: float = 0.0
    priced: int = 0

    @property
    def known_usd(self) -> float | None:
        """Their price; None if that of one is not known."""
        return self.usd if self.priced == self.prompts else None

    def with_one(self, tokens: int, usd: float | None) -> "Rewrites":
        """Return these and one more."""
        if usd is None:
            return Rewrites(self.prompts + 1, self.tokens + tokens, self.usd, self.priced)
        return Rewrites(self.prompts + 1, self.tokens + tokens, self.usd + usd, self.priced + 1)


@dataclass(frozen=True, slots=True)
class CacheWatch:
    """The state of one conversation's cache, as the reported usage tells it.

    Args:
        at_ms: When the provider last used the newest prompt; None: unknown.
        tokens: The newest prompt; 0 if the next one is another, as after a compaction.
        hour_tokens: Of these, kept for an hour.
        life_seconds: For how long the provider keeps the prompt; None: no answer has said so.
        model: The model that the cache belongs to.
        after_pauses: Written again because the cache's life was over.
        without_pause: Written again within the cache's life, but not because of undrift.
        by_client: Of these, those at which the client was seen to change its prompt.
        shared_tokens: Of the prompt, what the first one of the conversation read: other sessions keep it in the cache.
        changed, changed_byte: The part that the client changed last, and from which byte; empty if none was seen.
    """

    at_ms: int | None = None
    tokens: int = 0
    hour_tokens: int = 0
    life_seconds: int | None = None
    model: str = ""
    after_pauses: Rewrites = Rewrites()
    without_pause: Rewrites = Rewrites()
    by_client: Rewrites = Rewrites()
    changed: str = ""
    changed_byte: int = 0
    shared_tokens: int = 0

    @classmethod
    def before(cls, first: PromptUsage | None) -> "CacheWatch":
        """Return the state before a conversation. `first`: its first prompt; None: it is not known."""
        if first is None or first.prompt_tokens > _MOST_FIRST_TOKENS:
            return cls()
        return cls(shared_tokens=first.cached_tokens)

    @property
    def written_tokens(self) -> int:
        """The tokens that the next prompt writes again, once the cache is cold."""
        return max(0, self.tokens - self.shared_tokens)

    def is_cold(self, now_ms: int) -> bool:
        """Return whether the cache is surely gone; False if its life is not known."""
        idle_s = self.idle_seconds(now_ms)
        return self.life_seconds is not None and idle_s is not None and idle_s > self.life_seconds + SURE_S

    def idle_seconds(self, now_ms: int) -> int | None:
        """Return the seconds since the provider last used the prompt; at least 0. None means: unknown."""
        return None if self.at_ms is None else max(0, min(now_ms, _MOST_MS) - self.at_ms) // 1_000

    def then(self, event: PromptUsage | CacheEvent, price: WritePrice) -> "CacheWatch":
        """Return the state after an answer, or after something else that concerns the cache."""
        if isinstance(event, CacheEvent):
            if event.kind == "compacted":
                return replace(self, tokens=0, hour_tokens=0)
            return replace(self, at_ms=_later(self.at_ms, event.at_ms))
        hour = min(self.hour_tokens, event.cached_tokens) + event.written_long_tokens
        life = HOUR_S if 2 * hour >= max(1, event.prompt_tokens) else event.life_seconds or self.life_seconds
        shared = self.shared_tokens
        if event.model != self.model:  # another model's cache; what was learned of this one does not hold there
            life = event.life_seconds
            shared = 0 if self.model else shared
        at_ms = _later(event.at_ms, event.ended_ms)
        seen = replace(
            self, at_ms=at_ms, tokens=event.prompt_tokens, hour_tokens=hour, life_seconds=life, model=event.model,
            shared_tokens=shared,
        )  # fmt: skip
        lost = self.lost_tokens(event)
        if not lost or self.model != event.model:
            return seen
        rate = price(event.model, life) if life is not None else None
        usd = None if rate is None else lost * rate / _MILLION
        idle_s = None if event.at_ms is None else self.idle_seconds(event.at_ms)
        if idle_s is None or self.life_seconds is None:
            return seen
        if idle_s > self.life_seconds:
            return replace(seen, after_pauses=self.after_pauses.with_one(lost, usd))
        if event.changed == OURS:
            return seen
        seen = replace(seen, without_pause=self.without_pause.with_one(lost, usd))
        if not event.changed:
            return seen
        by_client = self.by_client.with_one(lost, usd)
        return replace(seen, by_client=by_client, changed=event.changed, changed_byte=event.changed_byte)

    def lost_tokens(self, prompt: PromptUsage) -> int:
        """Return how much of the prompt before was written again with this one; 0 if most of it was read."""
        both = min(self.tokens, prompt.prompt_tokens)
        if self.tokens < LEAST_TOKENS or prompt.cached_tokens >= _LOST_SHARE * both:
            return 0
        return max(0, both - prompt.cached_tokens)


@dataclass(frozen=True, slots=True)
class ClientRewrites:
    """Prompts that a client made the provider write again, because it changed a part before the history.

    `part`, `byte`: the newest such part, and the byte of the request from which it was changed; 0: unknown. `written`: the
    tokens that were written again; None: they were not counted.
    """

    prompts: int
    part: str
    byte: int = 0
    written: Rewrites | None = None

    def notice(self) -> Notice:
        """Return the sentence."""
        many = "1 prompt" if self.prompts == 1 else f"{self.prompts:,} prompts"
        place = f" from byte {self.byte:,} of the request on" if self.byte else ""
        tokens, usd = (None, None) if self.written is None else (self.written.tokens, self.written.known_usd)
        figures = "" if tokens is None else f", {size(tokens)} tokens{_priced(usd)}"
        named = _PARTS.get(self.part, self.part)
        text = f"Your client changed its {named}{place}: the provider wrote {many} whole{figures}."
        return Notice("rewrites", text, f"{many} written whole: the client changed its prompt", tokens, usd)


@dataclass(frozen=True, slots=True)
class Balance:
    """The balance of managed sessions against sending everything: dollars, or plain input tokens if a price is not known.

    Args:
        saved: The price that was not paid, before the rest is deducted; below 0 if it was dearer.
        rewrites: Paid because our own prunes changed a cached beginning.
        fetched: Paid for what the agent fetched again.
        open: The highest price of prunes whose answers were never seen.
        is_usd: Whether the figures are dollars.
    """

    saved: float = 0.0
    rewrites: float = 0.0
    fetched: float = 0.0
    open: float = 0.0
    is_usd: bool = True

    @property
    def total(self) -> float:
        return self.saved - self.rewrites - self.fetched - self.open

    @classmethod
    def of(cls, ledgers: Iterable[Mapping[str, Ledger]], usd_per_million: Callable[[str], float | None]) -> "Balance":
        """Return the sum of sessions' ledgers, each by model. `usd_per_million`: of plain input tokens; None: unknown."""
        found = [(ledger, usd_per_million(model)) for one in ledgers for model, ledger in one.items()]
        is_usd = all(usd is not None for _, usd in found)
        rates = [(ledger, (usd or 0.0) / _MILLION if is_usd else 1.0) for ledger, usd in found]
        return cls(
            sum(rate * one.saved_tokens for one, rate in rates),
            sum(rate * one.rewritten_tokens for one, rate in rates),
            sum(rate * one.fetched_tokens for one, rate in rates),
            sum(rate * one.promised_tokens for one, rate in rates),
            is_usd,
        )

    def notice(self) -> Notice:
        """Return the sentence."""
        shown, unit = (money, "") if self.is_usd else (_rounded, " plain input tokens")
        spent = [f"{shown(self.rewrites)} on rewrites", f"{shown(self.fetched)} on fetching again"]
        spent += [f"{shown(self.open)} on prunes without an answer"] if self.open else []
        first = (
            f"Saved {shown(self.saved)}" if self.saved >= 0 else f"Paid {shown(-self.saved)} more than without undrift"
        )
        total = f"balance {'+' if self.total >= 0 else '-'}{shown(abs(self.total))}{unit}"
        text = f"{first}, spent {', '.join(spent[:-1])} and {spent[-1]}: {total}."
        return Notice(
            "balance", text, total, None if self.is_usd else round(self.total), self.total if self.is_usd else None
        )


def watched(
    events: Iterable[PromptUsage | CacheEvent], price: WritePrice, since: CacheWatch | None = None
) -> CacheWatch:
    """Return what a conversation's answers tell about its cache. `since`: the state before them; None: nothing known."""
    state = since or CacheWatch()
    for event in events:
        state = state.then(event, price)
    return state


def guard(watch: CacheWatch, now_ms: int, price: WritePrice, *, frees_tokens: int = 0) -> tuple[Notice, ...]:
    """Return the sentences that are true now, the most urgent one first.

    `frees_tokens`: what undrift prunes from this conversation before its next request, because that is free now.
    """
    found: list[Notice] = []
    idle_s, life_s = watch.idle_seconds(now_ms), watch.life_seconds
    if idle_s is not None and life_s is not None and watch.tokens >= LEAST_TOKENS:
        rate = price(watch.model, life_s)
        if watch.is_cold(now_ms):
            written = max(0, watch.written_tokens - frees_tokens)
            found.append(_away(written, idle_s, _usd_of(written, rate)))
            if frees_tokens > 0:
                found.append(_free_prune(frees_tokens, _usd_of(frees_tokens, rate)))
        elif idle_s < life_s:
            found.append(_cold_in(watch.written_tokens, life_s - idle_s, _usd_of(watch.written_tokens, rate)))
    if watch.without_pause.prompts:
        found.append(_rewrites(watch))
    return tuple(found)


def _away(tokens: int, seconds: int, usd: float | None) -> Notice:
    price, time, written = _priced(usd), _span(seconds), size(tokens)
    return Notice(
        "away",
        f"You were away {time}: the next message writes {written} tokens again{price}.",
        f"cache cold: next message writes {written} again{price}",
        tokens,
        usd,
        seconds,
    )


def _free_prune(tokens: int, usd: float | None) -> Notice:
    saves = "" if usd is None else f" ({money(usd)} less to write)"
    text = f"Pruning now is free and frees {size(tokens)} tokens{saves}."
    return Notice("free_prune", text, f"a prune now is free: {size(tokens)}", tokens, usd)


def _cold_in(tokens: int, seconds: int, usd: float | None) -> Notice:
    minutes, rest = divmod(seconds, _MINUTE_S)
    time = f"{minutes}:{rest:02}"
    text = f"The cache is cold in {time}; then the next message writes {size(tokens)} tokens again{_priced(usd)}."
    return Notice("cold_in", text, f"cache cold in {time}", tokens, usd, seconds)


def _rewrites(watch: CacheWatch) -> Notice:
    """Say what was written again without a pause: that of the client if it was seen to change its prompt, else all of it."""
    if watch.by_client.prompts:
        return ClientRewrites(watch.by_client.prompts, watch.changed, watch.changed_byte, watch.by_client).notice()
    found = watch.without_pause
    many = "1 prompt was" if found.prompts == 1 else f"{found.prompts:,} prompts were"
    text = f"{many} written whole without a pause: {size(found.tokens)} tokens{_priced(found.known_usd)}."
    return Notice("rewrites", text, f"{found.prompts:,} written whole without a pause", found.tokens, found.known_usd)


def _later(one: int | None, other: int | None) -> int | None:
    known = [moment for moment in (one, other) if moment is not None]
    return min(max(known), _MOST_MS) if known else None


def _usd_of(tokens: int, per_million: float | None) -> float | None:
    return None if per_million is None else tokens * per_million / _MILLION


def _priced(usd: float | None) -> str:
    return "" if usd is None else f", {money(usd)}"


def money(usd: float) -> str:
    """Return dollars as ``$1.52``; from a hundred on without cents. `usd`: at least 0."""
    if 0 < usd < 0.01:
        return "under $0.01"
    return f"${usd:.2f}" if usd < 100 else f"${usd:,.0f}"


def _rounded(tokens: float) -> str:
    return size(round(tokens))


def size(tokens: int) -> str:
    """Return tokens as 950, 84k or 1.2M."""
    if tokens < 1_000:
        return str(tokens)
    return f"{round(tokens / 1_000)}k" if tokens < _MILLION - 500 else f"{tokens / _MILLION:.1f}M"


def _span(seconds: int) -> str:
    """Return a time of more than a minute, in minutes up to two hours, then in hours, then in days."""
    if seconds < 2 * 3_600:
        number, unit = seconds // _MINUTE_S, "minute"
    elif seconds < 2 * _DAY_S:
        number, unit = seconds // 3_600, "hour"
    else:
        number, unit = seconds // _DAY_S, "day"
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
