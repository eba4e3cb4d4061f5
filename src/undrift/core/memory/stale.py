"""Find memories without any weight left, and measure how useful searches are. Pure.

Law: age alone makes no memory stale, as it would take away what the floor of decay protects; a pinned one never is.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from undrift.core.memory.decay import DECAY_RATES, age_tasks
from undrift.errors import InputError
from undrift.values.memory import DECAY_RATE, MOST_STALE_THRESHOLD, PHASE_WEIGHT, STALE_THRESHOLD, MemoryEntry

__all__ = ["LEAST_PRECISION", "LEAST_SAMPLES", "Precision", "Stale", "precision", "rated", "stale"]

LEAST_PRECISION = 0.7
LEAST_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Stale:
    """A memory whose score is so low that it may be hidden, with the reason.

    Args:
        weight: Its weight now: for a contradicted one by its age, for any other the stored weight alone.
        reason: ``demoted`` or ``contradicted``.
    """

    entry: MemoryEntry
    weight: float
    reason: str


@dataclass(frozen=True, slots=True)
class Precision:
    """The share of search results that were useful.

    Args:
        samples: The number of rated searches that count.
        value: The mean of their shares of useful results, 0 to 1; None without any.
        window: The most searches that count (setting `retrieval_monitor_window`).
        alert: True if the share is too low.
    """

    samples: int
    value: float | None
    window: int
    alert: bool


def stale(
    entries: Iterable[MemoryEntry],
    current_task_index: int,
    current_phase_index: int,
    threshold: float = STALE_THRESHOLD,
    *,
    decay_rate: float = DECAY_RATE,
    phase_weight: int = PHASE_WEIGHT,
) -> tuple[Stale, ...]:
    """Return the memories with a score below the threshold, in the given order. Raises InputError: bad threshold.

    Args:
        threshold: 0 to 0.5: below it a stored weight is stale; a contradicted memory is below twice of it, after decay.
        decay_rate: For each task of age, at least 0; `DECAY_RATES` are multiples of it by type.
    """
    if type(threshold) not in (int, float) or not 0 <= threshold <= MOST_STALE_THRESHOLD:
        raise InputError(f"threshold={threshold!r}: must be a number from 0 to {MOST_STALE_THRESHOLD}")
    found = []
    for entry in entries:
        if entry.pinned:
            continue
        if entry.decay_weight < threshold:
            found.append(Stale(entry, entry.decay_weight, "demoted"))
        elif entry.is_contradicted:
            age = age_tasks(entry, current_task_index, current_phase_index, phase_weight)
            weight = entry.decay_weight * math.exp(-decay_rate * DECAY_RATES.get(entry.type, 1.0) * age)
            if weight < 2 * threshold:
                found.append(Stale(entry, weight, "contradicted"))
    return tuple(found)


def precision(rated: Sequence[tuple[int, int]], window: int) -> Precision:
    """Return the precision of the newest rated searches.

    Args:
        rated: Results and useful ones of each, newest first; a search without results has no share and does not count.
        window: How many count, at least 1.
    """
    shares = [useful / returned for returned, useful in rated if returned][:window]
    value = sum(shares) / len(shares) if shares else None
    return Precision(
        len(shares), value, window, value is not None and len(shares) >= LEAST_SAMPLES and value < LEAST_PRECISION
    )


def rated(returned: Collection[str], useful: Collection[str]) -> tuple[int, int]:
    """Return how many results a search had, and how many were of use.

    Raises InputError: one was of use that was not returned.
    """
    given, of_use = set(returned), set(useful)
    if not of_use <= given:
        raise InputError(f"{len(of_use - given)} of the useful ids were not returned; rate what the search gave")
    return len(given), len(of_use)
