"""The two queues of a fleet, simulated: how long jobs wait for processors that they share. Pure.

Law: the same load and the same seed give the same waits.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean

__all__ = ["Load", "drawn", "fewest", "share_of", "sojourns"]

_MS = 1e-3
_LEAST_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Load:
    """The jobs that come to some processors: `rate` jobs a second, each of a size in CPU milliseconds that `size` draws."""

    rate: float
    mean_ms: float
    size: Callable[[Random], float]

    @property
    def busy(self) -> float:
        """The processors that it fills."""
        return self.rate * self.mean_ms * _MS


def sojourns(load: Load, cores: int, arrivals: int, random: Random) -> list[float]:
    """Return by how many milliseconds each job is done later than alone, sorted; the first tenth is not counted.

    Events are arrivals and ends. Jobs share the processors evenly, as threads of a process and processes of a system do: of n
    jobs each gets the share cores/n of a processor, at most one. Arrivals are a Poisson process.
    """
    if load.rate <= 0:
        return [0.0]
    now_ms, shared, gap_ms = 0.0, 0.0, 1_000 / load.rate
    next_ms, left = random.expovariate(1) * gap_ms, arrivals
    running: list[tuple[float, int]] = []  # by the shared time at which each is done
    begun: dict[int, tuple[float, float]] = {}
    late: dict[int, float] = {}
    while left or running:
        speed = min(1.0, cores / len(running)) if running else 1.0
        done_ms = now_ms + (running[0][0] - shared) / speed if running else math.inf
        if left and next_ms <= done_ms:
            shared, now_ms = shared + (next_ms - now_ms) * speed, next_ms
            number, size_ms = arrivals - left, load.size(random)
            heapq.heappush(running, (shared + size_ms, number))
            begun[number] = (now_ms, size_ms)
            left, next_ms = left - 1, now_ms + random.expovariate(1) * gap_ms
        else:
            shared, now_ms = running[0][0], done_ms
            _, number = heapq.heappop(running)
            start_ms, size_ms = begun.pop(number)
            late[number] = max(0.0, round(now_ms - start_ms - size_ms, 6))
    return sorted(wait for number, wait in late.items() if number >= arrivals // 10)


def share_of(waits: Sequence[float], share: float) -> float:
    return waits[min(len(waits) - 1, int(share * len(waits)))]


def drawn(
    kinds: Sequence[tuple[float, float, Sequence[float]]], more_ms: float
) -> tuple[float, Callable[[Random], float]]:
    """Return the mean of a mix, and its draws: each kind has a weight, a mean and quantiles. Draws are scaled to the mean."""
    weights = [weight for weight, _, _ in kinds]
    whole = sum(weights)
    average = sum(weight * value for weight, value, _ in kinds) / whole + more_ms

    # of each kind the mean of its draws, about
    between_of = [
        mean([quantiles[0] / 2 + quantiles[-1] / 2, *quantiles[1:-1]]) if len(quantiles) > 1 else 0.0
        for _, _, quantiles in kinds
    ]
    rows = [(value, quantiles, between) for (_, value, quantiles), between in zip(kinds, between_of, strict=True)]

    def draw(random: Random) -> float:
        value, quantiles, between = random.choices(rows, weights)[0]
        if len(quantiles) < 2:
            return value + more_ms
        place = random.random() * (len(quantiles) - 1)
        low = int(place)
        drawn = quantiles[low] + (place - low) * (quantiles[low + 1] - quantiles[low])
        return value * drawn / between + more_ms if between > 0 else value + more_ms

    return average, draw


def fewest(load: Load, share: float, most_ms: float, waits: Callable[[int], list[float]]) -> tuple[int, list[float]]:
    """Return the fewest processors that are filled at most to a share, and with which 99 of 100 jobs wait at most so long.

    `waits`: of each job, sorted, with so many processors.
    """
    while True:
        cores = max(1, math.ceil(load.busy / share))
        found = waits(cores)
        if share_of(found, 0.99) <= most_ms or share < _LEAST_SHARE:
            return cores, found
        share *= 0.9
