"""The headline of a page: its few figures, and the sentences that say them. Pure.

Law: each sentence is true for zero, for an unknown price and for an encrypted summary; a share that is not exact is
never rounded to nothing or to everything.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from undrift.core.guard import money, size
from undrift.recordings.autopsy import Postmortem, Totals
from undrift.recordings.headline import as_share

__all__ = ["Headline", "headline_of"]


@dataclass(frozen=True, slots=True)
class Headline:
    """The sums over all compactions of an autopsy; a compaction that the client copied counts once.

    Args:
        held_with_undrift: Of the names and lines used after a compaction whose summary can be read, those in the
            summary or in the text that undrift restores.
        cost_usd: The calls that wrote the summaries, and writing the new prompts to the cache. None means: a price is
            unknown.
        early: Compactions before the first call of a file. They are not counted: the file does not hold what they removed.
    """

    sums: Totals
    sessions: int
    held_with_undrift: int
    cost_usd: float | None
    early: int = 0

    @property
    def used(self) -> int:
        """The names and lines of code that were used after a compaction whose summary can be read."""
        return sum(self.sums.readable)

    @property
    def lost(self) -> float | None:
        """The share of `used` that no summary holds; see `Totals.lost`."""
        return self.sums.lost

    @property
    def lost_with_undrift(self) -> float | None:
        """The share of `used` that neither a summary nor undrift's text holds."""
        return 1 - self.held_with_undrift / self.used if self.used else None

    def sentences(self, *, yours: bool = True) -> tuple[str, ...]:
        """Return the headline: what was lost, then what it cost to read again. `yours`: it speaks to the owner."""
        if not self.sums.compactions and self.early:
            return ("Every compaction is older than the recording, so what it removed is not known.",)
        if not self.sums.compactions:
            none = "This session was never" if self.sessions == 1 else f"None of {self.sessions:,} sessions was"
            return (f"{none} compacted, so nothing was removed.",)
        many = self.sums.compactions > 1
        who = f"Your compaction{'s' if many else ''}" if yours else "Compactions" if many else "A compaction"
        return (self._loss(who), self._again())

    def _loss(self, who: str) -> str:
        removed = f"{who} removed {size(self.sums.dropped_tokens)} tokens"
        if self.lost is None and any(self.sums.needed):
            are = "summary is" if self.sums.encrypted == 1 else "summaries are"
            return f"{removed}, and the {are} encrypted."
        if self.lost is None:
            return f"{removed}. The agent used nothing distinctive of them in its next calls."
        if not self.lost:
            return f"{who} kept all that the agent used next."
        return f"{who} lost {as_share(self.lost)} of what the agent used next."

    def _again(self) -> str:
        it = "Reading it again" if self.lost else "Reading again"
        if not self.sums.fetched_tokens:
            return "It read nothing of size again."
        if self.sums.fetched_usd is None:
            return f"{it} took {self.sums.fetched_tokens:,} tokens."
        return f"{it} cost {money(self.sums.fetched_usd)}."


def headline_of(found: Sequence[Postmortem], sums: Totals) -> Headline:
    """Sum up the findings of several sessions. `sums`: their `totals`."""
    once = [(one, c) for one in found for c in one.autopsy.compactions if not c.repeated]
    both = [c.together or c.native for _, c in once if not c.encrypted]
    return Headline(
        sums=sums,
        sessions=len(found),
        held_with_undrift=sum(held.identifiers + held.lines for held in both),
        cost_usd=_sum(one.usd(c.cost.total) for one, c in once),
        early=sum(one.autopsy.early_compactions for one in found),
    )


def _sum(prices: Iterable[float | None]) -> float | None:
    """Add up prices; None if one of them is unknown."""
    known = list(prices)
    return None if None in known else sum(price for price in known if price is not None)
