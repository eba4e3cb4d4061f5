"""Semantic decay: how much of an old memory's score remains at the time of a question. Pure.

Law: a decayed score is computed, never stored, and never above the raw one; age and stored weight apply once each.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from undrift.errors import InputError
from undrift.values.memory import (
    CONTRADICTION_PENALTY,
    DECAY_RATE,
    MIN_DECAY_FLOOR,
    PHASE_WEIGHT,
    MemoryEntry,
    ScoredMemoryEntry,
)

__all__ = ["DECAY_RATES", "age_tasks", "apply_decay_by_type", "apply_semantic_decay", "ranked"]

DECAY_RATES: Mapping[str, float] = {
    "architectural_decision": 0.2,
    "lesson_learned": 0.5,
    "req_context": 0.0,
    "user_preference": 0.0,
}
"""Multiples of the decay rate by type; any other type decays at the full rate.

Requests of the user and specifications do not age; at the full rate one phase boundary alone leaves 8% of a decision's
score.
"""


def apply_semantic_decay(
    entries: Sequence[ScoredMemoryEntry],
    current_task_index: int,
    current_phase_index: int,
    decay_rate: float = DECAY_RATE,
    *,
    phase_weight: int = PHASE_WEIGHT,
    floor: float = MIN_DECAY_FLOOR,
    penalty: float = CONTRADICTION_PENALTY,
) -> list[ScoredMemoryEntry]:
    """Return the entries with their decayed scores, in the same order.

    ``raw * max(floor, decay_weight * exp(-decay_rate * age))``, for a valid entry at least ``min(floor, raw)``; a
    contradicted entry's is multiplied by `penalty` after that, and may go below. Entries of the current task, and pinned
    ones, keep their raw score (times the penalty where contradicted).

    Args:
        entries: Scored from 0 to 1.
        current_task_index: Of the run, at least 0.
        current_phase_index: Of the run, at least 0.
        decay_rate: For each task of age, at least 0.
        phase_weight: Tasks of age that one phase counts, at least 1.
        floor: 0 to 1.
        penalty: Above 0, at most 1.

    Raises:
        InputError: A number is out of its range.
    """
    _check(current_task_index, current_phase_index, decay_rate, phase_weight, floor, penalty)
    now = (current_phase_index, current_task_index)
    return [_decayed(one, now, decay_rate, phase_weight, floor, penalty) for one in entries]


def apply_decay_by_type(
    entries: Sequence[ScoredMemoryEntry],
    current_task_index: int,
    current_phase_index: int,
    decay_rate: float = DECAY_RATE,
    *,
    phase_weight: int = PHASE_WEIGHT,
    floor: float = MIN_DECAY_FLOOR,
    penalty: float = CONTRADICTION_PENALTY,
) -> list[ScoredMemoryEntry]:
    """Decay each entry at the rate of its type in `DECAY_RATES`, as a search does."""
    _check(current_task_index, current_phase_index, decay_rate, phase_weight, floor, penalty)
    now = (current_phase_index, current_task_index)
    return [
        _decayed(one, now, decay_rate * DECAY_RATES.get(one.entry.type, 1.0), phase_weight, floor, penalty)
        for one in entries
    ]


def age_tasks(entry: MemoryEntry, current_task_index: int, current_phase_index: int, phase_weight: int) -> int:
    """Return an entry's age in tasks: 0 for the current task and later ones, at least 1 for earlier ones.

    A phase with more tasks than `phase_weight` would else give the past a negative age, which grows a score. A memory
    of the scope ``user`` has no age: the tasks of one project say nothing in another.
    """
    if entry.scope == "user":
        return 0
    if entry.task_position >= (current_phase_index, current_task_index):
        return 0
    phases, tasks = current_phase_index - entry.phase_index, current_task_index - entry.task_index
    return max(1, phases * phase_weight + tasks)


def ranked(entries: Iterable[ScoredMemoryEntry]) -> list[ScoredMemoryEntry]:
    """Sort the entries, best first: by decayed score, raw score, time, order of recording, id.

    The raw score decides second because old entries of raw scores up to 0.6 all land on the floor.
    """

    def key(one: ScoredMemoryEntry) -> tuple[float, float, int, int]:
        return one.decayed_score, one.raw_score, one.entry.created_at_ms, one.entry.seq

    return sorted(sorted(entries, key=lambda one: one.entry.id), key=key, reverse=True)


def _decayed(
    one: ScoredMemoryEntry, now: tuple[int, int], rate: float, phase_weight: int, floor: float, penalty: float
) -> ScoredMemoryEntry:
    entry, raw = one.entry, one.raw_score
    kept = 1.0
    score = raw
    age = age_tasks(entry, now[1], now[0], phase_weight)
    if not entry.pinned and (entry.task_position != now or entry.scope == "user"):
        kept = max(floor, entry.decay_weight * math.exp(-rate * age))
        score = max(raw * kept, min(floor, raw))
    if entry.is_contradicted:
        score *= penalty
    why = {**one.why, "age_tasks": age, "kept": kept, "contradicted": entry.is_contradicted}
    return replace(one, decayed_score=score, why=why)


def _check(task: int, phase: int, rate: float, phase_weight: int, floor: float, penalty: float) -> None:
    def refuse(name: str, value: object, rule: str) -> None:
        raise InputError(f"{name}={value!r}: must be {rule}")

    for name, count, least in (
        ("current_task_index", task, 0),
        ("current_phase_index", phase, 0),
        ("phase_weight", phase_weight, 1),
    ):
        if type(count) is not int or count < least:
            refuse(name, count, f"an integer of at least {least}")
    if not 0 <= rate < math.inf:  # NaN fails every comparison
        refuse("decay_rate", rate, "a number of at least 0")
    if not 0 <= floor <= 1:
        refuse("floor", floor, "a number from 0 to 1")
    if not 0 < penalty <= 1:
        refuse("penalty", penalty, "a number above 0 and at most 1")
