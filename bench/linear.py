"""Linear algebra of the fitting scripts, without a dependency. Pure."""

import math
from collections.abc import Sequence
from operator import mul

__all__ = ["solved"]


def solved(lower: list[list[float]], right: Sequence[float]) -> list[float]:
    """Solve a positive definite system, given by its lower triangle, by Cholesky's method."""
    factor: list[list[float]] = []
    half: list[float] = []
    for row, given in enumerate(lower):
        line: list[float] = []
        for above, number in zip(factor, given, strict=False):
            line.append((number - sum(map(mul, line, above))) / above[-1])
        line.append(math.sqrt(given[row] - sum(map(mul, line, line))))
        half.append((right[row] - sum(map(mul, line, half))) / line[-1])
        factor.append(line)
    for row in reversed(range(len(half))):
        rest = sum(factor[below][row] * half[below] for below in range(row + 1, len(half)))
        half[row] = (half[row] - rest) / factor[row][row]
    return half
