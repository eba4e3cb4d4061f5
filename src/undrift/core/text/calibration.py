"""From the token counts that a provider reports to an estimate for the next prompt. Pure.

Law: the active calibration follows from the last `REPORTS` kept reports alone, and meets the newest of them exactly. So
the next report removes a wrong one, and no figure is ever a high-water mark.

``tokens = offset + slope x counted``. The slope is how many tokens this session's texts cost for each that is counted;
the offset is what the provider adds of its own, or what the counter cannot see: its prompt for tools, what surrounds a
message, pictures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil, floor

from undrift.errors import InputError

__all__ = ["Calibration", "REPORTS", "UsageReport", "calibration_of", "is_news", "is_plausible"]

REPORTS = 17
"""How many reports, newest last, have a say: 16 steps from one to the next."""

# A step beyond this range holds something that was not counted: a picture, other tools, what a search brought.
_STEP_RANGE = (0.5, 2.0)
# The prompt as a whole counts like a step of this size, so that small steps do not decide alone.
_WHOLE_TOKENS = 60_000
_PLAUSIBLE = 4.0  # times more or less than counted: beyond, the report belongs to another request
_SLOPE_RANGE = (1 / _PLAUSIBLE, _PLAUSIBLE)  # a first report alone is met by it
_NEWS = 0.02  # a smaller error is not worth a write; one report in nine is news then


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Our token count of one prompt, and the provider's. Raises InputError: a count is below 0.

    Args:
        counted_tokens: The whole request, in the model's own tokens (`Model.token_factor`), at least 0.
        reported_tokens: The whole input that the provider billed, cached or not, at least 0.
    """

    counted_tokens: int
    reported_tokens: int

    def __post_init__(self) -> None:
        if self.counted_tokens < 0 or self.reported_tokens < 0:
            raise InputError(f"tokens must be at least 0, not {self.counted_tokens} and {self.reported_tokens}")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The active calibration: ``tokens = offset + slope x counted``.

    `slope`: from 0.25 to 4. `offset_tokens`: may be below 0.
    """

    slope: float = 1.0
    offset_tokens: float = 0.0

    def tokens(self, counted_tokens: int) -> int:
        """Return the tokens that the provider will count, rounded up, at least 0."""
        return max(0, ceil(round(self.offset_tokens + self.slope * counted_tokens, 6)))

    def counted(self, tokens: int) -> int:
        """Return how many tokens our own count may reach for a budget of `tokens`.

        Never less than a quarter nor more than four times of it, for any report: text that leaves a window on a wrong
        report does not come back by itself.
        """
        wanted = floor(round((tokens - self.offset_tokens) / self.slope, 6))
        return int(min(max(wanted, tokens / _PLAUSIBLE), tokens * _PLAUSIBLE))


def is_plausible(report: UsageReport, *, unseen_tokens: int = 0) -> bool:
    """Tell whether a report can belong to the request that was counted.

    `unseen_tokens`: what the request may hold beside what was counted; a recording lacks the system prompt and tools.
    """
    counted, reported = report.counted_tokens, report.reported_tokens
    return reported > 0 and counted / _PLAUSIBLE <= reported <= counted * _PLAUSIBLE + unseen_tokens


def is_news(reports: Sequence[UsageReport], report: UsageReport) -> bool:
    """Tell whether to keep a plausible report: the calibration so far misses it by more than 2%."""
    missed = calibration_of(reports).tokens(report.counted_tokens) - report.reported_tokens
    return abs(missed) > _NEWS * report.reported_tokens


def calibration_of(reports: Sequence[UsageReport]) -> Calibration:
    """Compute the factor between our token counts and the provider's, from usage reports.

    The slope is the weighted median of the steps from each report to the next, upward or downward; a step weighs the
    tokens it counted. Steps that cost less than half or more than twice of what was counted say nothing of the texts.
    The newest prompt as a whole weighs 60,000 tokens: where it cost 0.25 to 4 times what was counted, it says that,
    else 1. The offset is what makes the newest report come out; so one report alone gives its plain ratio.

    `reports`: plausible ones of one model, oldest first; those before the last `REPORTS` have no say.
    """
    kept = reports[-REPORTS:]
    if not kept:
        return Calibration()
    slope = _slope(kept)
    newest = kept[-1]
    return Calibration(slope, newest.reported_tokens - slope * newest.counted_tokens)


def _slope(reports: Sequence[UsageReport]) -> float:
    newest = reports[-1]
    whole = newest.reported_tokens / newest.counted_tokens if newest.counted_tokens else 1.0
    steps = [(whole if _SLOPE_RANGE[0] <= whole <= _SLOPE_RANGE[1] else 1.0, _WHOLE_TOKENS)]
    for before, after in pairwise(reports):
        counted = after.counted_tokens - before.counted_tokens
        cost = (after.reported_tokens - before.reported_tokens) / counted if counted else 0.0
        if _STEP_RANGE[0] <= cost <= _STEP_RANGE[1]:
            steps.append((cost, abs(counted)))
    steps.sort()
    reached = accumulate(weight for _, weight in steps)
    half = sum(weight for _, weight in steps) / 2
    middle = next(cost for (cost, _), so_far in zip(steps, reached, strict=True) if so_far >= half)
    return min(max(middle, _SLOPE_RANGE[0]), _SLOPE_RANGE[1])
