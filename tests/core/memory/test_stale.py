"""Which memories are stale, and how well searches do: every limit on both sides."""

from dataclasses import replace
from typing import Any

import pytest

from undrift.core.memory.stale import LEAST_SAMPLES, precision, rated, stale
from undrift.errors import InputError
from undrift.values.memory import MemoryEntry


def entry(id_: str = "m", **fields: Any) -> MemoryEntry:
    return MemoryEntry(id_, "text", **{"task_index": 1, "created_at_ms": 1, **fields})


def names(*entries: MemoryEntry, task: int = 1, phase: int = 0, **more: Any) -> list[tuple[str, str]]:
    return [(one.entry.id, one.reason) for one in stale(entries, task, phase, **more)]


def test_a_stored_weight_below_the_threshold_is_stale():
    assert names(entry("a", decay_weight=0.049), entry("b", decay_weight=0.05)) == [("a", "demoted")]


def test_age_alone_makes_nothing_stale():
    assert names(entry("a"), task=10_000, phase=100) == []


def test_a_contradicted_one_is_stale_below_twice_the_threshold_with_its_age():
    old = entry("a", contradicted_by_entry_id="b")
    assert names(old, task=47) == []  # exp(-0.05 * 46) = 0.1003
    assert names(old, task=48) == [("a", "contradicted")]  # exp(-0.05 * 47) = 0.0954
    assert names(replace(old, decay_weight=0.09), task=1) == [("a", "contradicted")]


def test_what_never_ages_is_not_stale_for_being_contradicted():
    assert names(entry("a", type="user_preference", contradicted_by_entry_id="b"), task=10_000) == []


def test_a_pinned_one_is_never_stale():
    assert names(entry("a", pinned=True, decay_weight=0.0, contradicted_by_task_id="t")) == []


@pytest.mark.parametrize("threshold", [0.51, -0.01, float("nan"), True, "0.1", None, 1])
def test_a_threshold_beyond_a_half_is_refused(threshold: Any):
    with pytest.raises(InputError, match=r"must be a number from 0 to 0\.5"):
        stale([], 0, 0, threshold)
    assert stale([entry(decay_weight=0.4)], 1, 0, 0.5) != ()
    assert stale([entry(decay_weight=0.0)], 1, 0, 0) == ()


def test_the_precision_is_the_mean_of_the_newest_shares():
    found = precision([(4, 4), (4, 2), (0, 0), (10, 0)], 2)
    assert (found.samples, found.value, found.window, found.alert) == (2, 0.75, 2, False)
    assert precision([], 20).value is None
    assert precision([(0, 0)], 20).samples == 0


def test_the_alert_needs_five_samples_and_a_mean_below_the_limit():
    bad = [(10, 6)] * LEAST_SAMPLES
    assert precision(bad, 20).alert
    assert not precision(bad[1:], 20).alert
    assert not precision([(10, 7)] * LEAST_SAMPLES, 20).alert
    assert not precision([(1, 1)] * 20 + bad, 20).alert  # newest first


def test_ids_count_once_and_only_what_was_returned_can_be_of_use():
    assert rated(["a", "b", "a"], ["b", "b"]) == (2, 1)
    with pytest.raises(InputError, match="1 of the useful ids"):
        rated(["a"], ["a", "c"])
