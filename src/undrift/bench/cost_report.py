"""The result of `undrift bench cost`, as values and as one JSON. Pure.

Law: no cost stands alone: survival stands beside it. Nothing is rounded before the last moment.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.core.autopsy.survival import SurvivalCount
from undrift.recordings.replay.report import NativeCost

__all__ = ["ABOVE", "CostOutcome", "CostReport", "CostRow"]

ABOVE = 1.0005
"""From this share on a session counts as dearer; below it the difference is a rounding."""

_PLACES = 6


@dataclass(frozen=True, slots=True)
class CostOutcome:
    """One session under one budget at one price.

    Args:
        cost: All prompts and what was lost and fetched again, in plain input tokens.
        everything: The cost of sending everything.
        worst_turn: The highest share of the cost of everything that was reached at any turn.
        native: The same session as its client compacted it; None: it never did.
    """

    session: str
    cost: float
    everything: float
    worst_turn: float
    turns: int
    held: SurvivalCount
    native: NativeCost | None

    @property
    def share(self) -> float:
        """The cost as a share of sending everything."""
        return self.cost / self.everything if self.everything else 1.0


@dataclass(frozen=True, slots=True)
class CostRow:
    """One budget at one price, over all sessions; `scenario`: as in `undrift.bench.cost.SCENARIOS`, or ``own``."""

    budget: str
    scenario: str
    outcomes: tuple[CostOutcome, ...]

    @property
    def above(self) -> int:
        """The sessions that cost more than sending everything at their end."""
        return sum(one.share > ABOVE for one in self.outcomes)

    @property
    def ever(self) -> int:
        """The sessions that cost more at some turn."""
        return sum(one.worst_turn > ABOVE for one in self.outcomes)

    @property
    def mean(self) -> float:
        return sum(one.share for one in self.outcomes) / len(self.outcomes)

    @property
    def sum(self) -> float:
        """All sessions together: what a user pays."""
        return _ratio(sum(one.cost for one in self.outcomes), sum(one.everything for one in self.outcomes))

    @property
    def compacted(self) -> tuple[CostOutcome, ...]:
        """The sessions that their client compacted."""
        return tuple(one for one in self.outcomes if one.native is not None)

    def as_value(self) -> dict[str, Any]:
        """Return what the JSON holds."""
        natives = [(one, one.native) for one in self.outcomes if one.native is not None]
        ours = sum(one.cost for one, _ in natives)
        found: dict[str, Any] = {
            "budget": self.budget,
            "scenario": self.scenario,
            "sessions": len(self.outcomes),
            "turns": sum(one.turns for one in self.outcomes),
            "above": self.above,
            "ever": self.ever,
            "worst": max(one.share for one in self.outcomes),
            "worst_turn": max(one.worst_turn for one in self.outcomes),
            "mean": self.mean,
            "sum": self.sum,
            "survival": _share(one.held for one in self.outcomes),
            "needs": sum(one.held.needs for one in self.outcomes),
            "native_sessions": len(natives),
        }
        if natives:
            found |= {
                "of_native": _ratio(ours, sum(native.total for _, native in natives)),
                "of_native_alone": _ratio(ours, sum(native.cost for _, native in natives)),
                "above_native": sum(one.cost > ABOVE * native.total for one, native in natives),
                "survival_there": _share(one.held for one, _ in natives),
                "native_survival": _share(native.survival for _, native in natives),
                "native_sum": _ratio(
                    sum(native.total for _, native in natives), sum(one.everything for one, _ in natives)
                ),
                "native_unreadable": sum(native.unreadable for _, native in natives),
            }
        rounded = {name: round(value, _PLACES) if isinstance(value, float) else value for name, value in found.items()}
        return rounded | {"dearer": self._dearer()}

    def _dearer(self) -> list[dict[str, Any]]:
        """Name the sessions that cost more at some turn, the dearest first."""
        above = sorted((one for one in self.outcomes if one.worst_turn > ABOVE), key=lambda one: -one.worst_turn)
        return [
            {"session": one.session, "share": round(one.share, _PLACES), "worst_turn": round(one.worst_turn, _PLACES)}
            for one in above
        ]


@dataclass(slots=True)
class CostReport:
    """The rows, scenario by scenario, and the sessions that are not in them."""

    rows: list[CostRow] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    left_out: Mapping[str, int] = field(default_factory=dict)
    fixed_tokens: int = 0
    version: str = ""

    def as_json(self) -> str:
        value = {
            "measure": {"tokens": "characters/4", "fixed_tokens": self.fixed_tokens, "undrift": self.version},
            "sessions": self.sessions,
            "left_out": dict(sorted(self.left_out.items())),
            "rows": [row.as_value() for row in self.rows],
        }
        return json.dumps(value, indent=2) + "\n"


def _share(counts: Any) -> float:
    listed: Sequence[SurvivalCount] = list(counts)
    needs = sum(count.needs for count in listed)
    return sum(count.identifiers_held + count.lines_held for count in listed) / needs if needs else 1.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
