"""The result of `undrift bench outcomes`: the survival of solved and failed runs, and their correlation.

Law: every figure has its 95% interval, from drawing runs again, and tasks again where solved and failed runs of one task
are compared. The same runs give the same figures.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any, TypeVar

from undrift.bench.resampling import interval

__all__ = ["JudgedRun", "OutcomesReport", "outcomes_table"]

T = TypeVar("T")
_DRAWS = 5_000
_PLACES = 4
_LEAST = 10
"""Runs of each outcome: with fewer, an interval says nothing."""
_LEAST_TASKS = 5


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One run: its task, its outcome, its turns, and the survival within each manager's windows."""

    name: str
    task: str
    solved: bool
    turns: int
    survival: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OutcomesReport:
    """All runs that were judged. `fraction`: the budget as a share of each run's tokens."""

    runs: tuple[JudgedRun, ...]
    fraction: float
    left_out: Mapping[str, int]

    @property
    def solved(self) -> int:
        """The number of runs that solved their task."""
        return sum(run.solved for run in self.runs)

    @property
    def is_comparable(self) -> bool:
        """There are enough runs of both outcomes."""
        return min(self.solved, len(self.runs) - self.solved) >= _LEAST

    def as_value(self) -> dict[str, Any]:
        """Return what the JSON holds."""
        names = list(self.runs[0].survival) if self.runs and self.is_comparable else []
        rows = [{"manager": name, **_figures(self.runs, lambda run, name=name: run.survival[name])} for name in names]  # type: ignore[misc]
        turns = [_figures(self.runs, lambda run: float(run.turns))] if self.is_comparable else []
        return {
            "fraction": self.fraction,
            "runs": len(self.runs),
            "solved": self.solved,
            "tasks": len({run.task for run in self.runs}),
            "rows": rows,
            "turns": turns[0] if turns else None,
            "left_out": dict(sorted(self.left_out.items())),
        }

    def as_json(self) -> str:
        """Return one JSON object."""
        return json.dumps(self.as_value(), indent=1) + "\n"

    def as_markdown(self) -> str:
        """Return the table, or the sentence that there is nothing to compare."""
        return outcomes_table(self.as_value())


def outcomes_table(value: Mapping[str, Any]) -> str:
    """Write figures as Markdown. `value`: as `OutcomesReport.as_value` gives it."""
    lines = [f"{value['runs']} runs of {value['tasks']} tasks at {value['fraction']:g}, {value['solved']} solved.", ""]
    if value["rows"]:
        lines += [
            "| manager | survival: solved | failed | difference (95%) | correlation (95%) | within a task (95%) |",
            "| --- | --- | --- | --- | --- | --- |",
            *(_cells(row["manager"], row) for row in value["rows"]),
            "",
            f"Turns of a run: solved {value['turns']['solved']:.1f}, failed {value['turns']['failed']:.1f}.",
        ]
    else:
        lines.append(
            f"Nothing is compared: that needs {_LEAST} runs of each outcome in which something old was needed."
        )
    lines += ["", *(f"- left out: {count:,} {reason}" for reason, count in value["left_out"].items())]
    return "\n".join(lines) + "\n"


def _figures(runs: Sequence[JudgedRun], of: Callable[[JudgedRun], float]) -> dict[str, Any]:
    points = [(of(run), run.solved) for run in runs]
    by_task = [
        [(of(run), run.solved) for run in some]
        for _, some in groupby(sorted(runs, key=lambda run: run.task), key=lambda run: run.task)
    ]
    mixed = [some for some in by_task if len({solved for _, solved in some}) == 2]
    figures: dict[str, Any] = {
        "solved": round(fmean(value for value, solved in points if solved), _PLACES),
        "failed": round(fmean(value for value, solved in points if not solved), _PLACES),
        "difference": _with_interval(points, _difference),
        "correlation": _with_interval(points, _correlation),
        "mixed_tasks": len(mixed),
        "within_task": _with_interval(mixed, _mean_difference) if len(mixed) >= _LEAST_TASKS else None,
    }
    return figures


def _difference(points: Sequence[tuple[float, bool]]) -> float | None:
    solved, failed = ([value for value, one in points if one is kind] for kind in (True, False))
    return fmean(solved) - fmean(failed) if solved and failed else None


def _correlation(points: Sequence[tuple[float, bool]]) -> float | None:
    """Pearson's, of the value with the outcome. None means: one of them never changes."""
    xs, ys = [value for value, _ in points], [float(solved) for _, solved in points]
    mx, my = fmean(xs), fmean(ys)
    spread = math.sqrt(sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys))
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / spread if spread else None


def _mean_difference(tasks: Sequence[Sequence[tuple[float, bool]]]) -> float | None:
    differences = [one for points in tasks if (one := _difference(points)) is not None]
    return fmean(differences) if differences else None


def _with_interval(given: Sequence[T], figure: Callable[[Sequence[T]], float | None]) -> list[float] | None:
    """Return a figure and the bounds of its 95% interval."""
    value, bounds = figure(given), interval(given, figure, draws=_DRAWS)
    return None if value is None or bounds is None else [round(one, _PLACES) for one in (value, *bounds)]


def _cells(name: str, row: Mapping[str, Any]) -> str:
    def shown(given: Sequence[float] | None) -> str:
        return "none" if given is None else f"{given[0]:+.3f} ({given[1]:+.3f} to {given[2]:+.3f})"

    within = f"{shown(row['within_task'])}, {row['mixed_tasks']} tasks"
    figures = (f"{row['solved']:.3f}", f"{row['failed']:.3f}", shown(row["difference"]), shown(row["correlation"]))
    return f"| {' | '.join((name, *figures, within))} |"
