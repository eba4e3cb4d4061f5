"""When to prune, and how far down, without a chosen budget. Pure.

Law: below the model's limit text leaves only where the provider writes the prompt again in any case, so that no turn
costs more than it would have cost anyway. Above the limit as much leaves as a client's own compaction would take.
See docs/adr/0030-the-auto-budget.md for the figures behind the shares.
"""

from dataclasses import dataclass

from undrift.core.window.low_water import Thresholds

__all__ = ["FREE_SHARE", "LEAST_HISTORY_TOKENS", "LIMIT_SHARE", "Size", "auto_thresholds"]

LEAST_HISTORY_TOKENS = 20_000
"""A shorter history is left alone: little would be saved, and its newest part is needed most."""

FREE_SHARE = 0.5
"""The share of the history that stays where the prompt is written again in any case."""

LIMIT_SHARE = 0.15
"""The share of the room for the history that stays at the model's limit, about what is left after a client's compaction.
To stand just below the limit is the dearest place: each turn reads nearly all of the window."""

_LEAST_GAIN = 0.05


@dataclass(frozen=True, slots=True)
class Size:
    """The tokens of a prompt, of its parts beside the history, and the most that the model takes."""

    total_tokens: int
    fixed_tokens: int
    limit_tokens: int

    @property
    def history_tokens(self) -> int:
        """The tokens of the history alone: all that a prune can free."""
        return self.total_tokens - self.fixed_tokens


def auto_thresholds(size: Size, *, is_cold: bool, rewritten_from: int | None) -> Thresholds | None:
    """Return the limits of a prune. None means: do not prune now.

    `rewritten_from`: tokens before the first place that is written again in any case; None: there is none.
    """
    if size.total_tokens > size.limit_tokens:
        goal = size.fixed_tokens + int(LIMIT_SHARE * (size.limit_tokens - size.fixed_tokens))
        budget = min(size.limit_tokens, 2 * goal)
        return Thresholds("budget", goal / budget, goal / budget, 0, 0.0, budget)
    free_from = 0 if is_cold else rewritten_from
    if free_from is None or size.history_tokens < LEAST_HISTORY_TOKENS:
        return None
    share = (size.fixed_tokens + FREE_SHARE * size.history_tokens) / size.total_tokens
    return Thresholds("pause" if is_cold else "task", share, share, free_from, _LEAST_GAIN, size.total_tokens)
