"""Limits how many of the first hits come from untrusted sources. Pure.

Law: nothing is left out but what stands after the last place. A flood of notes moves trusted hits by a place or two, for
any text and any number of sources.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["USERS", "stratum_of", "within_quotas"]

_Hit = TypeVar("_Hit")

USERS = 2
"""The stratum of what a user or a specification says."""
_STRATA = (0, 1, 1, USERS)

_A_HALF = 2
"""The share of the first n hits, rounded up, for sources without trust, as long as there is another hit."""
_A_FIFTH = 5
"""The share of the first n hits, rounded up, for one such source: a brief gives it the same share of its tokens."""


def stratum_of(tier: int) -> int:
    """Return the stratum of a tier of trust: 0 for a tool's output, 1 for agents and tasks, `USERS` for the rest."""
    return _STRATA[min(max(tier, 0), len(_STRATA) - 1)]


def within_quotas(hits: Sequence[_Hit], untrusted: Callable[[_Hit], str | None], k: int) -> list[_Hit]:
    """Return the first k hits; untrusted sources get only a limited share of them.

    Args:
        untrusted: The source of a hit without trust; None for all others.

    Returns:
        In the order given, except where a hit would exceed its share: then the best that does not comes first.
    """
    sources = [untrusted(hit) for hit in hits]
    trusted = deque(place for place, source in enumerate(sources) if source is None)
    others = [place for place, source in enumerate(sources) if source is not None]
    counts: Counter[str | None] = Counter()
    chosen: list[int] = []
    while len(chosen) < k and (trusted or others):
        after = len(chosen) + 1
        has_room = not trusted or _fits(len(chosen) - counts[None] + 1, after, _A_HALF)
        fitting = (one for one in others if has_room and _fits(counts[sources[one]] + 1, after, _A_FIFTH))
        other = next(fitting, None)
        if trusted and (other is None or trusted[0] < other):
            best = trusted.popleft()
        else:
            best = others[0] if other is None else other  # nothing else is left
            others.remove(best)
        counts[sources[best]] += 1
        chosen.append(best)
    return [hits[place] for place in chosen]


def _fits(count: int, of: int, parts: int) -> bool:
    """Return whether a count is at most one of so many parts of a number, rounded up."""
    return count <= -(-of // parts)
