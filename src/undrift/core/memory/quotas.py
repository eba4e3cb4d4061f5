"""Divides the first hits among strata of trust: users and specifications, agents and tasks, tools. Pure.

Law: nothing is left out but what stands after the last place. No flood of lesser hits, for any text, number and sources,
moves a user's statement out of the first five hits; one that fits the question well stands before all lesser hits.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

__all__ = ["HitStanding", "STRONG", "TOOLS", "USERS", "stratum_of", "within_quotas"]

_Hit = TypeVar("_Hit")

TOOLS, _AGENTS, USERS = 0, 1, 2
"""The strata; `USERS` is for what a user or a specification says."""
_STRATA = (TOOLS, _AGENTS, _AGENTS, USERS)

STRONG = 0.75
"""The share of a question's words from which a user's statement stands before all lesser hits. With half of LoCoMo said by
a user and half by an agent, 0.5 costs 0.08 of any@1, this at most 0.02."""
_FIRST = 5
"""Places that users' statements have a right to."""
_A_HALF = 2
"""The share of the first n hits, rounded up, for lesser hits, as long as there is another. It holds for tools at any n, for
agents among the first five."""
_A_FIFTH = 5
"""The share of the first n hits, rounded up, for one source of tools: a brief gives it the same share of its tokens."""


class HitStanding(NamedTuple):
    """The claim of a hit to a place.

    Args:
        source: Only one of a tool's output counts.
        is_strong: It fits the question well, by a measure that no lesser memory can change.
    """

    stratum: int
    source: str = ""
    is_strong: bool = False


def stratum_of(tier: int) -> int:
    """Return the stratum of a tier of trust."""
    return _STRATA[min(max(tier, 0), len(_STRATA) - 1)]


def within_quotas(hits: Sequence[_Hit], standing: Callable[[_Hit], HitStanding], k: int) -> list[_Hit]:
    """Return the first k hits; each stratum and each source of tools gets only a limited share of them.

    Returns:
        In the order given, but for strong hits of users, which come first, up to five; and where a hit would exceed its
        share: then the best that does not comes first.
    """
    standings = [standing(hit) for hit in hits]
    if len({one.stratum for one in standings} | {USERS}) == 1:
        return list(hits[: max(k, 0)])
    first = [place for place, one in enumerate(standings) if one.stratum == USERS and one.is_strong][:_FIRST]
    chosen = _Chosen(standings)
    chosen.take(first)
    others = [place for place in range(len(hits)) if place not in set(first)]
    while others and len(chosen.places) < k:
        best = chosen.best(others)
        others.remove(best)
        chosen.take([best])
    return [hits[place] for place in chosen.places[: max(k, 0)]]


class _Chosen:
    """The hits that have a place, and the number of those that have none yet."""

    def __init__(self, standings: Sequence[HitStanding]) -> None:
        self.places: list[int] = []
        self._standings = standings
        self._left = Counter(one.stratum for one in standings)
        self._strata: Counter[int] = Counter()
        self._sources: Counter[str] = Counter()

    def take(self, places: Sequence[int]) -> None:
        """Set these hits on the next places."""
        self.places += places
        for one in (self._standings[place] for place in places):
            self._left[one.stratum] -= 1
            self._strata[one.stratum] += 1
            self._sources[one.source] += one.stratum == TOOLS

    def best(self, others: Sequence[int]) -> int:
        """Return the first hit within its share; the first of all if there is none."""
        unfit: set[tuple[int, str]] = set()
        for place in others:
            stratum, source, _ = self._standings[place]
            if stratum == USERS or (stratum, source) not in unfit:
                if self._fits(stratum, source):
                    return place
                unfit.add((stratum, source))
        return others[0]

    def _fits(self, stratum: int, source: str) -> bool:
        after, lesser = len(self.places) + 1, self._strata[TOOLS] + self._strata[_AGENTS] + 1
        if stratum == USERS:
            return True
        if self._left[USERS] and after <= _FIRST and not _is_within(lesser, after, _A_HALF):
            return False
        if stratum == _AGENTS:
            return True
        has_room = not (self._left[_AGENTS] or self._left[USERS]) or _is_within(self._strata[TOOLS] + 1, after, _A_HALF)
        return has_room and _is_within(self._sources[source] + 1, after, _A_FIFTH)


def _is_within(count: int, of: int, parts: int) -> bool:
    """Return whether a count is at most one of so many parts of a number, rounded up."""
    return count <= -(-of // parts)
