"""Fits the two tables of `restore`, and judges them: which lessons they order well. Needs numpy.

A table is a logistic regression over binned features. A bin that few lessons show stays near the mean of all: the ridge is
heavy, so that a small or one-sided repository does not pull it about.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from bench.restore_data import Lesson, Lessons
from undrift.core.restore.weights import Model
from undrift.core.restore.worth import LINE_BINS, NAME_BINS

__all__ = [
    "LINE_FEATURES",
    "LessonRows",
    "Models",
    "NAME_FEATURES",
    "RIDGE",
    "auc",
    "fit",
    "fit_all",
    "fit_each_left_out",
]

LINE_FEATURES = (
    "places",
    "uses by the agent",
    "calls since its last use (0: never)",
    "taken out by an edit",
    "characters",
    "lines to the nearest edited line x calls since the file's last edit",
    "lines to the nearest hot name x calls since it was shown",
    "heat of its file (0: no file)",
    "lines of what showed it",
    "reads and edits of its file",
    "what showed it (trace.KINDS) x calls since it was shown",
)
"""What the rows of `weights.LINES` are, in the order of `worth.line_features`."""

NAME_FEATURES = (
    "calls since it was last shown",
    "places",
    "uses by the agent",
    "calls since its last use (0: never)",
    "what showed it (trace.KINDS)",
    "looks, sorted by form",
    "calls since it was learned",
    "heat of the file that showed it (0: no file)",
    "heat of the file that it names (0: names none)",
    "lines of what showed it",
    "characters",
    "in the newest texts",
)
"""What the rows of `weights.NAMES` are, in the order of `worth.name_features`."""

RIDGE = 150.0
"""Penalty on half the sum of the squared weights.

Identifiers / lines held at 34 compactions of Claude Code, each repository left out, at 5,000 and at 10,000 tokens: 0.71 /
0.57 and 0.83 / 0.71 with a ridge of 6, 0.71 / 0.64 and 0.83 / 0.71 with 20, 0.73 / 0.65 and 0.84 / 0.73 with 60, 0.73 / 0.66
and 0.84 / 0.73 with 150. Differences of neighbouring bins as a second penalty brought nothing.
"""

_ROUNDS = 40  # of Newton's method, far more than it takes
_CLOSE = 1e-4  # a step this small changes no written digit
_LONGEST_STEP = 4.0
_FREE = 1e-6  # the penalty of the bias


@dataclass(frozen=True, slots=True)
class Models:
    """Both tables."""

    names: Model
    lines: Model


@dataclass(frozen=True, slots=True)
class LessonRows:
    """Lessons as arrays.

    Args:
        columns: A row for each kind of lesson, with the column of each of its bins; columns of all features are numbered
            through.
        met: How often it was met.
        used: How often it was used.
    """

    columns: Any
    met: Any
    used: Any

    @classmethod
    def of(cls, lessons: Mapping[Lesson, int], sizes: Sequence[int]) -> "LessonRows":
        """Count lessons by their features. `sizes`: bins of each feature."""
        import numpy as np

        rows: dict[tuple[int, ...], list[int]] = {}
        for (features, is_used), count in lessons.items():
            row = rows.setdefault(features, [0, 0])
            row[0] += count
            row[1] += count * is_used
        starts = np.array([0, *accumulate(sizes)][:-1])
        counts = np.array(list(rows.values()), dtype=float).reshape(-1, 2)
        bins = np.array(list(rows), dtype=np.int64).reshape(-1, len(sizes))
        return cls(bins + starts, counts[:, 0], counts[:, 1])

    @classmethod
    def joined(cls, many: Sequence["LessonRows"]) -> "LessonRows":
        """Put many together."""
        import numpy as np

        parts = ([getattr(one, part) for one in many] for part in ("columns", "met", "used"))
        return cls(*map(np.concatenate, parts))


def fit(lessons: Counter[Lesson], sizes: Sequence[int], ridge: float = RIDGE) -> Model:
    """Fit a logistic regression over binned features: Newton's method on the ridge-penalised likelihood.

    Args:
        lessons: How often each row of bins was met, used and not used.
        sizes: Bins of each feature.
        ridge: Penalty on half the sum of the squared weights, above 0; the bias goes free.

    Returns:
        Bias and weights, rounded to the two digits that are written down.
    """
    return _fitted(LessonRows.of(lessons, sizes), sizes, ridge)


def _fitted(rows: LessonRows, sizes: Sequence[int], ridge: float) -> Model:
    import numpy as np

    bias = sum(sizes)
    solution = np.zeros(bias + 1)
    solution[bias] = math.log((rows.used.sum() + 0.5) / ((rows.met - rows.used).sum() + 0.5))
    for _ in range(_ROUNDS):
        step = _step(rows, solution, ridge)
        longest = float(np.abs(step).max())
        solution -= step * (min(1.0, _LONGEST_STEP / longest) if longest else 1.0)
        if longest < _CLOSE:
            break
    rounded = [round(float(value), 2) + 0.0 for value in solution]  # + 0.0: no minus before a zero
    starts = [0, *accumulate(sizes)]
    return rounded[bias], tuple(
        tuple(rounded[start : start + size]) for start, size in zip(starts, sizes, strict=False)
    )


def _step(rows: LessonRows, solution: Any, ridge: float) -> Any:
    """Give Newton's step: curvature^-1 x slope."""
    import numpy as np

    size = len(solution)
    penalties = np.array([ridge] * (size - 1) + [_FREE])
    columns = np.hstack([rows.columns, np.full((len(rows.columns), 1), size - 1)])
    chance = 1.0 / (1.0 + np.exp(-np.clip(solution[columns].sum(axis=1), -700.0, 700.0)))
    rest = rows.met * chance - rows.used
    weight = rows.met * np.maximum(chance * (1.0 - chance), 1e-9)
    slope = penalties * solution
    curvature = np.zeros(size * size)
    for place in range(columns.shape[1]):
        slope += np.bincount(columns[:, place], weights=rest, minlength=size)
        for other in range(place + 1):  # later features have later columns: this is the lower triangle
            both = columns[:, place] * size + columns[:, other]
            curvature += np.bincount(both, weights=weight, minlength=size * size)
    lower = curvature.reshape(size, size)
    whole = lower + lower.T - np.diag(np.diag(lower)) + np.diag(penalties)
    return np.linalg.solve(whole, slope)


def fit_all(lessons: Lessons, ridge: float = RIDGE) -> Models:
    """Fit both tables."""
    return Models(fit(lessons.names, NAME_BINS, ridge), fit(lessons.lines, LINE_BINS, ridge))


def fit_each_left_out(
    by_owner: Mapping[str, Lessons], left_out: Iterable[str], ridge: float = RIDGE
) -> dict[str, Models]:
    """Fit for each of some repositories both tables to all others.

    Args:
        by_owner: What each repository teaches; at least two.
        left_out: Those of them to leave out, one at a time.
        ridge: As for `fit`.
    """
    rows = {
        owner: (LessonRows.of(own.names, NAME_BINS), LessonRows.of(own.lines, LINE_BINS))
        for owner, own in by_owner.items()
    }
    found: dict[str, Models] = {}
    for owner in left_out:
        others = [both for name, both in rows.items() if name != owner]
        fitted = [
            _fitted(LessonRows.joined([both[part] for both in others]), sizes, ridge)
            for part, sizes in enumerate((NAME_BINS, LINE_BINS))
        ]
        found[owner] = Models(*fitted)
    return found


def auc(lessons: Counter[Lesson], model: Model) -> float:
    """Give the chance that something used scores above something unused, ties counting half; 0.5 where there is no pair."""
    bias, tables = model
    at: dict[float, list[int]] = {}
    for (features, is_used), count in lessons.items():
        score = bias + sum(table[bin_] for table, bin_ in zip(tables, features, strict=True))
        at.setdefault(score, [0, 0])[is_used] += count
    unused = pairs = 0
    better = 0.0
    for score in sorted(at):
        out, hit = at[score]
        better += hit * (unused + out / 2)
        unused += out
        pairs += hit
    return better / (pairs * unused) if pairs and unused else 0.5
