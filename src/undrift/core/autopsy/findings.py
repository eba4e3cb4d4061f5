"""The values that an autopsy finds. Pure, frozen; shares are from 0 to 1, times in milliseconds, sizes in tokens."""

from dataclasses import dataclass

__all__ = ["Autopsy", "AutopsyBill", "Compaction", "CompactionCost", "Fetch", "GivenUse", "Held", "LostRule", "Point"]


@dataclass(frozen=True, slots=True)
class Held:
    """The share of what the agent used that a text holds."""

    identifiers: int
    lines: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """A result that repeats what had been read before the compaction.

    `call`: which call after the compaction, from 1. `after_ms`: since the compaction, or None if no time is recorded.
    `read_calls_before`: how many calls before the compaction the agent had last read the first of these lines.
    """

    call: int
    session_call: int
    after_ms: int | None
    tool: str
    what: str
    tokens: int
    known_tokens: int
    read_calls_before: int
    entry_id: str


@dataclass(frozen=True, slots=True)
class GivenUse:
    """The text that a hook gave back after a compaction, and the agent's use of it.

    Args:
        tokens: Of that text.
        held: Of what the agent used, what the text holds.
        together: The same of the text and the client's summary together.
        alone: Of these, what neither the summary holds nor a result showed again before the use.
        results: The results that had shown `alone` last before the compaction; `alone` has their tokens.
        cost: The price of the text up to the next compaction, in plain input tokens.
    """

    tokens: int
    held: Held
    together: Held
    alone: Held
    results: int
    cost: float


@dataclass(frozen=True, slots=True)
class LostRule:
    """A rule of the user that nothing mentioned again: `text` verbatim but for masked secrets, and the entry it stood in."""

    text: str
    entry_id: str
    calls_before: int


@dataclass(frozen=True, slots=True)
class CompactionCost:
    """The cost of one compaction, in plain input tokens.

    Args:
        summary: The call that wrote the summary: it reads the window from the cache. No client records it.
        rewritten: The first prompt after it, without what was read from the cache.
        restore: The cost of undrift's text: written once, then read in each prompt up to the next compaction.
    """

    summary: float = 0.0
    rewritten: float = 0.0
    restore: float = 0.0

    @property
    def total(self) -> float:
        """The cost of the client's own compaction."""
        return self.summary + self.rewritten


@dataclass(frozen=True, slots=True)
class Compaction:
    """The losses of one compaction.

    Args:
        window_calls: How many of those are searched for what the agent uses next (at most 30).
        tokens_before: The prompt before; `recorded` says whether the client counted it.
        recorded: Whether both figures are the client's own.
        encrypted: The client's summary cannot be read; `native` is then what it kept in the clear.
        native: What the client's own summary and the texts that it kept hold of them.
        fetched: Of the identifiers and lines used, those that stood in a result after the compaction before the
            agent used them; its `tokens` are those of `fetches` in the window.
        usual_tokens: Tokens read again in the 30 calls before the compaction, when nothing had been removed.
        given: The use of what a hook of undrift gave back; None if it gave nothing back.
        repeated: The same compaction stands in a file examined earlier (a copy by the client): counted once.
    """

    number: int
    at_ms: int | None
    trigger: str
    calls_before: int
    calls_after: int
    window_calls: int
    tokens_before: int
    tokens_after: int | None
    recorded: bool
    encrypted: bool
    identifiers: int
    lines: int
    native: Held
    ours: Held | None
    together: Held | None
    fetched: Held
    fetches: tuple[Fetch, ...]
    usual_tokens: int
    usual_calls: int
    rules: int
    lost_rules: tuple[LostRule, ...]
    cost: CompactionCost = CompactionCost()
    repeated: bool = False
    given: GivenUse | None = None

    @property
    def dropped_tokens(self) -> int:
        """Tokens before less tokens after, at least 0."""
        return max(0, self.tokens_before - (self.tokens_after or self.native.tokens))

    @property
    def fetches_in_window(self) -> tuple[Fetch, ...]:
        """The results that were read again in the window."""
        return tuple(fetch for fetch in self.fetches if fetch.call <= self.window_calls)


@dataclass(frozen=True, slots=True)
class AutopsyBill:
    """The cost of a session's prompts, input only, in plain input tokens.

    Args:
        recorded: Whether the provider's own counts were recorded; else all is estimated from the texts.
        pauses: Prompts after a pause of more than five minutes.
        cold_prompts: Of these, those that found nothing, or less than half, in the cache.
        fixed_tokens: System prompt and tool definitions together, in every prompt; None if it is not known.
        tool_schema_tokens: Tool definitions alone; None: no known client records them.
        summaries: The calls that wrote the summaries of compactions; no client records them, so `cost` has none.
        everything: The estimated cost of the same prompts without any compaction; None: there was none.
    """

    recorded: bool
    prompts: int
    input_tokens: int
    cost: float
    pauses: int
    cold_prompts: int
    cold_cost: float
    fixed_tokens: int | None
    fixed_cost: float | None
    tool_schema_tokens: int | None = None
    summaries: float = 0.0
    everything: float | None = None

    @property
    def cold_share(self) -> float:
        """Share of the bill that cold prompts cost."""
        return self.cold_cost / self.cost if self.cost else 0.0

    @property
    def fixed_share(self) -> float | None:
        """Share of the bill for system prompt and tool definitions, or None."""
        return None if self.fixed_cost is None else self.fixed_cost / self.cost if self.cost else 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """The fill of the window: at which call of the session (from 0), with how many tokens, and when if it is known."""

    call: int
    tokens: int
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Autopsy:
    """The findings in one session.

    Args:
        timeline_recorded: Whether the points are the provider's counts, or estimates of the texts alone.
        early_compactions: Compactions before the first call: the file does not hold what they removed.
    """

    calls: int
    duration_ms: int
    compactions: tuple[Compaction, ...]
    bill: AutopsyBill
    timeline: tuple[Point, ...]
    timeline_recorded: bool
    early_compactions: int = 0
