"""The findings of a replay, as values. Pure.

Token figures count all that is sent, in tokens of the model; sums go over all turns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from undrift.core.autopsy.survival import SurvivalCount
from undrift.values.window import ContextEntry

__all__ = ["Left", "NativeCost", "Origin", "Prune", "ReplayCost", "ReplayReport"]

Origin = Literal["tool", "assistant", "user"]


@dataclass(frozen=True, slots=True)
class NativeCost:
    """The cost of the same session as its client compacted it, in plain input tokens of the model.

    Args:
        unreadable: Of the summaries, those that only the provider can read: their size is not in the cost.
        limit_tokens: The largest window that the client compacted.
        tokens: Of all prompts, the summary calls not counted.
        peak: Of the largest prompt.
        summaries: The calls that wrote the summaries: each reads the whole window from the cache.
        refetch: As `ReplayCost.refetch`, by the same needs.
        survival: Of the same needs, in the client's own windows.
    """

    compactions: int
    unreadable: int
    limit_tokens: int
    tokens: int
    peak: int
    prompts: float
    summaries: float
    refetch: float
    survival: SurvivalCount

    @property
    def cost(self) -> float:
        """The prompts and the summaries."""
        return self.prompts + self.summaries

    @property
    def total(self) -> float:
        """The prompts, the summaries, and what was lost and fetched again."""
        return self.cost + self.refetch


@dataclass(frozen=True, slots=True)
class ReplayCost:
    """The cost of all prompts of the session with a prefix cache, in plain input tokens of the model.

    Args:
        read_price: Of a cached token, as a multiple of a plain one.
        usd_per_million: US dollars for a million plain input tokens; None if unknown.
        cache_seconds: The life of the prompt cache.
        cache_recorded: Whether the recording holds that life; else it is the one of the table of models.
        refetch: What comes on top of `after` if the agent fetches again, in one more turn each, what it had lost.
    """

    model: str | None
    priced_as: str
    read_price: float
    write_price: float
    usd_per_million: float | None
    cache_seconds: int
    cache_recorded: bool
    before: float
    after: float
    refetch: float
    native: NativeCost | None

    @property
    def total(self) -> float:
        """The managed prompts, and what was lost and fetched again."""
        return self.after + self.refetch

    @property
    def change(self) -> float:
        """The extra cost (above 0) or saving (below 0) of the managed windows, as a share of the cost of sending everything."""
        return self.after / self.before - 1 if self.before else 0.0

    def usd(self, tokens: float) -> float | None:
        """Convert plain input tokens to US dollars. None means: the price is unknown."""
        return None if self.usd_per_million is None else tokens * self.usd_per_million / 1e6


@dataclass(frozen=True, slots=True)
class Prune:
    """One turn on which something was removed.

    Args:
        moment: Why just then, as in `undrift.core.window.low_water.Moment`; empty if no mark decided it.
        saved: What the moment and the beginning that was left alone saved on this very prompt, in plain input tokens:
            what was still read from the cache, and after a pause what was not written again.
    """

    turn: int
    blocks: int
    tokens: int
    window_tokens: int
    moment: str = ""
    target_tokens: int = 0
    saved: float = 0.0


@dataclass(frozen=True, slots=True)
class Left:
    """The blocks of one origin that were removed or cut."""

    kind: Literal["pruned", "cut", "trimmed", "folded", "evicted", "pinned", "noted", "purged", "swept"]
    what: Origin
    tool: str | None
    blocks: int
    tokens: int
    example: ContextEntry
    ref: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The findings of the replay of one file.

    Args:
        over_budget_turns: Turns whose managed prompt exceeds the budget, as what must stay does.
        beyond_window_turns: Turns whose whole history the model could not have taken at all.
        skipped: Reason -> records, blocks or parts of the file that were not replayed.
        prepare_ms: Median and 99th percentile of one `Session.prepare`, in milliseconds; information only.
    """

    path: str
    format: str
    home: str
    turns: int
    tokens_before: int
    tokens_after: int
    peak_before: int
    peak_after: int
    budget_tokens: int
    budget_reason: str
    window_tokens: int
    over_budget_turns: int
    beyond_window_turns: int
    cost: ReplayCost
    survival: SurvivalCount
    survival_before: SurvivalCount
    actions: Mapping[str, int]
    left: tuple[Left, ...]
    prunes: tuple[Prune, ...]
    skipped: Mapping[str, int]
    compactions: int
    unfinished: bool
    warnings: tuple[str, ...]
    prepare_ms: tuple[float, float]
