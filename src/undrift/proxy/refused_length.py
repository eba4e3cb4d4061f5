"""The smaller budget of a session whose prompt the provider refused for its length. Pure."""

from dataclasses import replace

from undrift.settings import Settings
from undrift.wire.refusals import TooLong

__all__ = ["limited", "smaller_budget"]

_AFTER_REFUSAL = 0.9  # of what the provider says fits: its count of the next request is not ours
_WITHOUT_FIGURES = 0.7


def limited(settings: Settings, tokens: int) -> Settings:
    """Return the settings with a smaller limit: without a chosen budget there is none after a refusal either."""
    if settings.is_auto:
        return replace(settings, prune_threshold_tokens=tokens)
    return replace(settings, budget_tokens=tokens)


def smaller_budget(refusal: TooLong, sent_tokens: int, share: float) -> int:
    """Return a smaller budget after a refusal: the tokens sent, scaled by the provider's figures."""
    if refusal.sent_tokens and refusal.limit_tokens:
        return int(sent_tokens * refusal.limit_tokens / refusal.sent_tokens * _AFTER_REFUSAL)
    if refusal.limit_tokens:
        return int(min(refusal.limit_tokens * share, sent_tokens * _WITHOUT_FIGURES))
    return int(sent_tokens * _WITHOUT_FIGURES)
