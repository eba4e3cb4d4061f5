"""Semantic decay, requirement by requirement: seed 001, R1-03 to R1-14, decisions A1-1 to A1-4, A1-9, A1-11, A1-12."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.memory.decay import age_tasks, apply_decay_by_type, apply_semantic_decay, ranked
from undrift.errors import InputError
from undrift.values.memory import (
    CONTRADICTION_PENALTY,
    DECAY_RATE,
    MIN_DECAY_FLOOR,
    PHASE_WEIGHT,
    MemoryEntry,
    ScoredMemoryEntry,
)


def hit(raw: float = 0.9, *, task: int = 0, phase: int = 0, id: str = "m", **of_entry: Any) -> ScoredMemoryEntry:
    return ScoredMemoryEntry(MemoryEntry(id, "Use PostgreSQL", task_index=task, phase_index=phase, **of_entry), raw)


def decayed(*hits: ScoredMemoryEntry, task: int = 10, phase: int = 0, **options: Any) -> list[float]:
    return [one.decayed_score for one in apply_semantic_decay(list(hits), task, phase, **options)]


def test_r1_03_a_decayed_score_is_no_field_of_what_is_stored() -> None:
    assert not {"raw_score", "decayed_score"} & {field.name for field in fields(MemoryEntry)}


def test_r1_04_it_is_pure_and_keeps_the_order_of_its_input() -> None:
    given_hits = [hit(0.3, task=9, id="a"), hit(0.9, task=1, id="b"), hit(0.5, task=4, id="c")]
    before = list(given_hits)
    after = apply_semantic_decay(given_hits, 10, 0)
    assert given_hits == before
    assert [one.entry.id for one in after] == ["a", "b", "c"]
    assert [one.raw_score for one in after] == [0.3, 0.9, 0.5]
    assert apply_semantic_decay([], 10, 0) == []


def test_r1_05_to_r1_08_the_formula_and_its_constants() -> None:
    assert (PHASE_WEIGHT, MIN_DECAY_FLOOR, CONTRADICTION_PENALTY, DECAY_RATE) == (50, 0.05, 0.6, 0.05)
    assert decayed(hit(task=4)) == [0.9 * math.exp(-0.05 * 6)]
    assert decayed(hit(task=4, decay_weight=0.5)) == [0.9 * 0.5 * math.exp(-0.05 * 6)]
    assert decayed(hit(task=8, phase=1), task=3, phase=2) == [0.9 * math.exp(-0.05 * (50 + 3 - 8))]
    assert decayed(hit(task=8, phase=1), task=3, phase=2, phase_weight=10) == [0.9 * math.exp(-0.05 * 5)]
    assert decayed(hit(task=4), decay_rate=0.1) == [0.9 * math.exp(-0.1 * 6)]
    assert decayed(hit(task=0), decay_rate=5, floor=0.5) == [0.5]
    contradicted = hit(task=4, contradicted_by_task_id="t9")
    assert decayed(contradicted) == [0.9 * math.exp(-0.05 * 6) * 0.6]
    assert decayed(contradicted, penalty=0.25) == [0.9 * math.exp(-0.05 * 6) * 0.25]


def test_r1_09_it_is_exponential() -> None:
    first, second, third = decayed(hit(task=8), hit(task=6), hit(task=4))
    assert first / second == pytest.approx(second / third)
    assert first - second > second - third


def test_r1_10_of_equal_raw_scores_the_older_is_lower() -> None:
    older, newer = decayed(hit(task=1), hit(task=10))
    assert older < newer


def test_r1_11_it_falls_strictly_with_age() -> None:
    scores = decayed(*(hit(task=task) for task in (1, 3, 5, 7, 9)))
    assert scores == sorted(set(scores))


@pytest.mark.parametrize("task", [0, 1, 5, 9, 10])
@pytest.mark.parametrize("now", [10, 60, 100, 10_000])
@pytest.mark.parametrize("mark", ["contradicted_by_task_id", "contradicted_by_entry_id"])
def test_r1_12_a_contradicted_entry_is_at_least_30_percent_lower_at_every_age(task: int, now: int, mark: str) -> None:
    marks: dict[str, Any] = {mark: "other"}
    clean, contradicted = decayed(hit(task=task), hit(task=task, **marks), task=now)
    assert contradicted <= 0.7 * clean


@pytest.mark.parametrize("weight", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("raw", [0.05, 0.1, 0.9, 1.0])
def test_r1_13_a_valid_entry_never_falls_below_the_floor(raw: float, weight: float) -> None:
    for now in (10, 60, 100, 10_000, 10**9):
        assert decayed(hit(raw, decay_weight=weight), task=now)[0] >= 0.05


def test_r1_14_an_entry_of_the_current_task_keeps_its_raw_score_exactly() -> None:
    assert decayed(hit(0.9, task=10)) == [0.9]


def test_a1_01_the_floor_never_lifts_a_score_above_its_raw_one_and_the_penalty_may_go_below_it() -> None:
    assert decayed(hit(0.01), task=1_000) == [0.01]
    assert decayed(hit(0.9, contradicted_by_task_id="t9"), task=1_000) == [0.05 * 0.6]


def test_a1_02_what_lies_ahead_has_no_age_and_what_lies_behind_has_at_least_one() -> None:
    assert age_tasks(hit(task=1, phase=5).entry, 40, 4, 50) == 0
    assert age_tasks(hit(task=60, phase=4).entry, 1, 5, 50) == 1
    assert decayed(hit(0.9, task=1, phase=5), task=40, phase=4) == [0.9]
    assert decayed(hit(0.9, task=60, phase=4), task=1, phase=5)[0] < 0.9


def test_a1_03_in_the_current_task_weight_does_not_count_but_a_contradiction_does() -> None:
    assert decayed(hit(0.9, task=10, decay_weight=0.1)) == [0.9]
    assert decayed(hit(0.9, task=10, contradicted_by_task_id="t9")) == [0.9 * 0.6]


def test_a1_09_pinned_entries_do_not_decay() -> None:
    assert decayed(hit(0.9, pinned=True, decay_weight=0.2), task=500) == [0.9]


def test_a1_09_a_search_decays_by_type_and_the_seed_s_function_does_not() -> None:
    hits = [hit(type=type, id=type) for type in ("note", "architectural_decision", "user_preference", "req_context")]
    plain = apply_semantic_decay(hits, 20, 0)
    assert len({one.decayed_score for one in plain}) == 1
    note, decision, preference, requirement = (one.decayed_score for one in apply_decay_by_type(hits, 20, 0))
    assert note == plain[0].decayed_score
    assert note < decision < preference == requirement == 0.9


def test_a1_11_ties_go_to_the_raw_score_then_to_the_newer_then_to_the_order_of_recording() -> None:
    hits = [
        hit(0.2, id="low"),
        hit(0.6, id="high"),
        hit(0.6, id="later", created_at_ms=5),
        hit(0.6, id="later and recorded after", created_at_ms=5, seq=1),
        hit(0.6, id="a"),
    ]
    floored = apply_semantic_decay(hits, 0, 2)
    assert {one.decayed_score for one in floored} == {0.05}
    assert [one.entry.id for one in ranked(floored)] == ["later and recorded after", "later", "a", "high", "low"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"current_task_index": -1},
        {"current_phase_index": True},
        {"decay_rate": -0.1},
        {"decay_rate": math.nan},
        {"phase_weight": 0},
        {"floor": 1.1},
        {"penalty": 0},
    ],
)
@pytest.mark.parametrize("function", [apply_semantic_decay, apply_decay_by_type])
def test_a1_12_a_number_out_of_range_is_named(function: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        function([], **{"current_task_index": 1, "current_phase_index": 0, **wrong})


def test_a_hit_says_what_decay_made_of_it() -> None:
    why = apply_semantic_decay([ScoredMemoryEntry(hit(task=4).entry, 0.9, why={"lexical": 0.9})], 10, 0)[0].why
    assert why == {"lexical": 0.9, "age_tasks": 6, "kept": math.exp(-0.05 * 6), "contradicted": False}


@given(
    raw=st.floats(0, 1),
    weight=st.floats(0, 1),
    place=st.tuples(st.integers(0, 9), st.integers(0, 200)),
    now=st.tuples(st.integers(0, 9), st.integers(0, 200)),
    rate=st.floats(0, 2),
    contradicted=st.booleans(),
)
def test_no_score_rises_and_none_that_is_valid_falls_below_the_floor(
    raw: float, weight: float, place: tuple[int, int], now: tuple[int, int], rate: float, contradicted: bool
) -> None:
    mark = {"contradicted_by_task_id": "t9"} if contradicted else {}
    one = hit(raw, phase=place[0], task=place[1], decay_weight=weight, **mark)
    score = decayed(one, task=now[1], phase=now[0], decay_rate=rate)[0]
    assert 0 <= score <= raw
    assert contradicted or score >= min(0.05, raw)


def test_the_page_shows_the_drawing_that_is_made_from_the_formula() -> None:
    """`tests/website` compares the drawing with a run of `website.pictures`, which calls the formula."""
    page = (Path(__file__).parents[3] / "docs" / "decay-model.md").read_text(encoding="utf-8")
    drawing = Path(__file__).parents[3] / "docs" / "images" / "decay.svg"
    assert "](images/decay.svg)" in page
    assert "pinned" in drawing.read_text(encoding="utf-8")
