"""The result of `undrift bench drift`: one JSON, one Markdown table. Pure but for `DriftReport.write`.

Law: nothing is rounded before the last moment, and a system that was not measured is named with the reason.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift.core.autopsy.survival import AGE_MESSAGES, SurvivalCount
from undrift.core.text.references import RARE_MENTIONS

__all__ = ["DriftReport", "Outcome", "READ_PRICES", "Row", "WRITE_PRICE"]

READ_PRICES = (0.1, 0.05)
"""The price of a cached token, as a share of a plain one; with the cheaper one pruning pays less."""

WRITE_PRICE = 1.25

_PLACES = 6


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one system in one session.

    Args:
        prompts: The cost of all prompts, at each of `READ_PRICES`, in plain input tokens.
        refetch: The additional cost of reading lost needs again, in the same unit.
    """

    held: SurvivalCount
    sizes: tuple[int, ...]
    prompts: tuple[float, ...]
    refetch: tuple[float, ...]
    over_budget: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One system at one budget, over all sessions.

    `budget`: a share of each session's tokens (float), or tokens (int).
    """

    budget: float | int
    system: str
    outcomes: tuple[Outcome, ...]
    unmanaged: tuple[Outcome, ...]

    @property
    def held(self) -> SurvivalCount:
        """The counts of all sessions together: a session with many needs says more."""
        counts = [outcome.held for outcome in self.outcomes]
        return SurvivalCount(
            sum(c.identifiers_held for c in counts),
            sum(c.identifiers for c in counts),
            sum(c.lines_held for c in counts),
            sum(c.lines for c in counts),
        )

    @property
    def turns(self) -> int:
        return sum(len(outcome.sizes) for outcome in self.outcomes)

    @property
    def over_budget(self) -> int:
        return sum(outcome.over_budget for outcome in self.outcomes)

    @property
    def tokens(self) -> float:
        """All tokens sent, as a share of what would have been sent unmanaged."""
        return _share(_sent(self.outcomes), _sent(self.unmanaged))

    def cost(self, price: int) -> float:
        """Return the cost of the prompts as a share of the cost without management, at `READ_PRICES`[price]."""
        return _share(sum(o.prompts[price] for o in self.outcomes), sum(o.prompts[price] for o in self.unmanaged))

    def total_cost(self, price: int) -> float:
        """The same with what bringing back costs."""
        return _share(_total(self.outcomes, price), _total(self.unmanaged, price))

    def as_value(self) -> dict[str, Any]:
        """Return what the JSON holds."""
        held = self.held
        return {
            "budget": self.budget,
            "system": self.system,
            **{name: None if share is None else round(share, _PLACES) for name, share in _shares(held).items()},
            "needs": held.needs,
            "needed_identifiers": held.identifiers,
            "needed_lines": held.lines,
            "tokens": round(self.tokens, _PLACES),
            "costs": [
                {
                    "read_price": price,
                    "prompts": round(self.cost(number), _PLACES),
                    "total": round(self.total_cost(number), _PLACES),
                }
                for number, price in enumerate(READ_PRICES)
            ],
            "turns": self.turns,
            "over_budget_turns": self.over_budget,
            "sessions": len(self.outcomes),
        }


@dataclass(slots=True)
class DriftReport:
    """The rows, budget by budget, and what is not in them."""

    rows: list[Row] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    left_out: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def as_json(self) -> str:
        value = {
            "measure": {
                "age_messages": AGE_MESSAGES,
                "rare_mentions": RARE_MENTIONS,
                "read_prices": READ_PRICES,
                "write_price": WRITE_PRICE,
                "tokens": "characters/4",
            },
            "sessions": self.sessions,
            "left_out": dict(sorted(self.left_out.items())),
            "versions": dict(self.versions),
            "rows": [row.as_value() for row in self.rows],
            "skipped": self.skipped,
        }
        return json.dumps(value, indent=2) + "\n"

    def as_markdown(self) -> str:
        prices = [f"total cost, read at {price:g}" for price in READ_PRICES]
        head = ["budget", "system", "survival", "identifiers", "lines", "needs", "tokens", *prices, "turns over budget"]
        versions = "; ".join(f"{name} {version}" for name, version in self.versions.items())
        lines = [
            f"{len(self.sessions)} sessions; {versions}. Costs and tokens are shares of the unmanaged row's.",
            "",
            f"| {' | '.join(head)} |",
            f"| {' | '.join(['---'] * len(head))} |",
            *(f"| {' | '.join(_cells(row))} |" for row in self.rows),
            "",
            *(f"LEFT OUT: {count:,} {reason}" for reason, count in sorted(self.left_out.items())),
            *(f"SKIPPED: {reason}" for reason in self.skipped),
        ]
        return "\n".join(lines).rstrip("\n") + "\n"

    def write(self, folder: Path) -> None:
        """Write ``drift.json`` and ``drift.md`` into a folder, made if it is absent."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "drift.json").write_text(self.as_json(), encoding="utf-8")
        (folder / "drift.md").write_text(self.as_markdown(), encoding="utf-8")


def _cells(row: Row) -> list[str]:
    held = row.held
    return [
        f"{row.budget:,}" if isinstance(row.budget, int) else f"{row.budget:g}",
        row.system,
        *("none needed" if share is None else f"{share:.3f}" for share in _shares(held).values()),
        f"{held.needs:,}",
        f"{row.tokens:.3f}",
        *(f"{row.total_cost(number):.3f}" for number in range(len(READ_PRICES))),
        f"{row.over_budget:,} of {row.turns:,}",
    ]


def _shares(held: SurvivalCount) -> dict[str, float | None]:
    """Give what was held of what was needed; None if nothing was: then nothing is shown by it."""
    return {
        "survival": held.share if held.needs else None,
        "identifiers": held.identifier_share if held.identifiers else None,
        "lines": held.line_share if held.lines else None,
    }


def _sent(outcomes: tuple[Outcome, ...]) -> int:
    return sum(sum(outcome.sizes) for outcome in outcomes)


def _total(outcomes: tuple[Outcome, ...], price: int) -> float:
    return sum(outcome.prompts[price] + outcome.refetch[price] for outcome in outcomes)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
