"""Puts the scores of a re-ranker into a ranking. Pure.

Law: only the order changes, and only among the hits that were scored: no hit joins or leaves, and no score exceeds the best
or falls below the last of them. So later steps (decay, the shares of each trust) see scores like any others.
"""

from collections.abc import Sequence

__all__ = ["SHARE", "reordered"]

SHARE = 0.5
"""The share of the re-ranker in the new order; the ranking, which knows neighbours and speakers, has the rest."""


_MOST = 1e30
"""A score beyond it is this: the difference of two is a number then."""


def reordered(scores: Sequence[float], given: Sequence[float], share: float = SHARE) -> list[float]:
    """Return the new score of each hit, between the lowest and the highest of the old ones.

    Args:
        scores: The hits' scores in the ranking, 0 to 1.
        given: The re-ranker's scores of the same hits, on any scale.
    """
    if len(scores) < 2 or max(given) <= min(given):
        return list(scores)
    mixed = [(1 - share) * old + share * new for old, new in zip(_spread(scores), _spread(given), strict=True)]
    low, high = min(scores), max(scores)
    return [low + (high - low) * one for one in _spread(mixed)]


def _spread(values: Sequence[float]) -> list[float]:
    """Map values to 0 to 1, their order kept; equal ones become 0."""
    within = [min(max(one, -_MOST), _MOST) for one in values]
    low, high = min(within), max(within)
    return [(one - low) / (high - low) if high > low else 0.0 for one in within]
