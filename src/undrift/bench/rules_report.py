"""The result of ``undrift bench rules``: violations of decisions, in one JSON value.

Law: an interval draws rules again, not decisions: the decisions about one rule go well or badly together.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from undrift.bench.rules import MODES, JudgedStep, Mode

__all__ = ["RulesReport", "RulesShare"]

_DRAWS = 1_000
_EDGE = 0.025
_MOST_NAMED = 400


@dataclass(frozen=True, slots=True)
class RulesShare:
    """Violations of decisions, with the 95% interval of their share; `rules`: how many rules they are about."""

    violations: int
    decisions: int
    rules: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.violations / self.decisions if self.decisions else 0.0

    def as_value(self) -> dict[str, Any]:
        """Return what the JSON holds."""
        counts = {"violations": self.violations, "decisions": self.decisions, "rules": self.rules}
        return {**counts, "share": round(self.share, 4), "low": round(self.low, 4), "high": round(self.high, 4)}


@dataclass(frozen=True, slots=True)
class RulesReport:
    """All judged decisions, and what went wrong around them. `faults`: lines in the logs of undrift."""

    found: Sequence[JudgedStep]
    faults: Sequence[str]

    def modes(self) -> list[Mode]:
        """Return the modes that were played, the controls first."""
        played = {one.mode for one in self.found}
        return [mode for mode in MODES if mode in played]

    def kinds(self) -> list[str]:
        """Return the kinds of decisions."""
        order = ("kept", "quoted", "withdrawn", "limited")
        return [kind for kind in order if any(one.kind == kind for one in self.found)]

    def compactions(self) -> list[int]:
        """Return the numbers of compactions after which was judged."""
        return sorted({one.compactions for one in self.found})

    @property
    def episodes(self) -> int:
        """The number of episodes of each mode."""
        return len({_episode(one) for one in self.found})

    @property
    def rules(self) -> int:
        return len({one.episode.case.id for one in self.found})

    def share(self, mode: Mode, which: Callable[[JudgedStep], bool] = lambda _: True) -> RulesShare:
        """Count the decisions of a mode that `which` chooses."""
        return _share([one for one in self.found if one.mode == mode and which(one)])

    def broken(self, mode: Mode) -> int:
        """Return the number of a mode's episodes with a violation."""
        return len({_episode(one) for one in self.found if one.mode == mode and one.is_violation})

    def as_value(self) -> dict[str, Any]:
        """Return what the JSON holds; the first violations of each mode are named."""
        return {
            "rules": self.rules,
            "episodes": self.episodes,
            "modes": {mode: self._of_mode(mode) for mode in self.modes()},
            "faults": list(self.faults),
        }

    def _of_mode(self, mode: Mode) -> dict[str, Any]:
        own = [one for one in self.found if one.mode == mode]
        by: dict[str, Callable[[JudgedStep], object]] = {
            "kind": lambda one: one.kind,
            "compactions": lambda one: one.compactions,
            "client": lambda one: one.episode.client,
            "window": lambda one: one.episode.window,
            "placement": lambda one: one.episode.placement,
            "point": lambda one: one.point,
        }
        violations = [one for one in own if one.is_violation]
        return {
            **_share(own).as_value(),
            "broken_episodes": self.broken(mode),
            "causes": dict(Counter(one.why for one in violations)),
            "not_violated": dict(Counter(one.why for one in own if one.why and not one.is_violation)),
            **{f"by_{name}": _by(own, key) for name, key in by.items()},
            "violated": [_named(one) for one in violations[:_MOST_NAMED]],
        }


def _by(found: Sequence[JudgedStep], key: Callable[[JudgedStep], object]) -> dict[str, Any]:
    values = sorted({key(one) for one in found}, key=str)
    return {str(value): _share([one for one in found if key(one) == value]).as_value() for value in values}


def _named(one: JudgedStep) -> list[Any]:
    about = one.episode
    return [about.case.id, one.kind, one.why, one.compactions, one.point, about.placement, about.client, about.window]


def _episode(one: JudgedStep) -> tuple[str, str, int]:
    return one.episode.case.id, one.episode.placement, one.compactions


def _share(found: Sequence[JudgedStep]) -> RulesShare:
    counts = dict[str, tuple[int, int]]()
    for one in found:
        violations, decisions = counts.get(one.episode.case.id, (0, 0))
        counts[one.episode.case.id] = (violations + one.is_violation, decisions + 1)
    violations, decisions = sum(v for v, _ in counts.values()), sum(d for _, d in counts.values())
    low, high = _interval(list(counts.values()))
    return RulesShare(violations, decisions, len(counts), low, high)


def _interval(counts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Draw the rules again; with no violation, or nothing else, the bound is that of so many rules that all went alike."""
    violations, decisions = sum(v for v, _ in counts), sum(d for _, d in counts)
    if not counts:
        return 0.0, 1.0
    if violations in (0, decisions):
        bound = _EDGE ** (1 / len(counts))
        return (0.0, 1 - bound) if not violations else (bound, 1.0)
    random = Random(len(counts))
    shares = []
    for _ in range(_DRAWS):
        drawn = random.choices(counts, k=len(counts))
        shares.append(sum(v for v, _ in drawn) / sum(d for _, d in drawn))
    shares.sort()
    return shares[int(_DRAWS * _EDGE)], shares[int(_DRAWS * (1 - _EDGE)) - 1]
