"""Memory records are valid from construction on."""

import math
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from undrift.errors import InputError
from undrift.values.memory import MemoryEntry, RunContext, ScoredMemoryEntry, Slot


def test_an_entry_needs_no_more_than_an_id_and_a_text():
    entry = MemoryEntry("m1", "Use SQLite", created_at_ms=7)
    assert (entry.type, entry.task_id, entry.decay_weight, entry.contradicted_by_task_id) == (
        "note",
        "unknown",
        1.0,
        None,
    )
    assert (entry.valid_from_ms, entry.valid_to_ms, entry.recorded_at_ms) == (7, None, 7)
    assert not entry.is_contradicted


@pytest.mark.parametrize("mark", ["contradicted_by_task_id", "contradicted_by_entry_id"])
def test_either_mark_makes_it_contradicted(mark: str):
    marks: dict[str, Any] = {mark: "other"}
    assert MemoryEntry("m1", "Use SQLite", **marks).is_contradicted


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"id": ""}, "id must be"),
        ({"content": " \n"}, "content must not be empty"),
        ({"content": None}, "content must be a text"),
        ({"type": "fact"}, "type must be one of"),
        ({"trust": ["user"]}, "trust must be one of"),
        ({"status": "done"}, "status must be one of"),
        ({"scope": "tenant"}, "scope must be one of"),
        ({"scope": "agent"}, "needs the agent"),
        ({"scope": "session"}, "needs the session_id"),
        ({"phase_index": -1}, "phase_index must be"),
        ({"task_index": True}, "task_index must be"),
        ({"created_at_ms": 1.5}, "created_at_ms must be"),
        ({"contradicted_at_ms": -2}, "contradicted_at_ms must be"),
        ({"seq": None}, "seq must be"),
        ({"decay_weight": 1.01}, "decay_weight must be"),
        ({"decay_weight": math.nan}, "decay_weight must be"),
        ({"valid_from_ms": 5, "valid_to_ms": 4}, "must not be before"),
        ({"contradicted_by_entry_id": "m1"}, "cannot contradict itself"),
        ({"contradicted_by_task_id": 4}, "must be a text or None"),
        ({"metadata": [1]}, "metadata must be a mapping"),
        ({"slots": ["database"]}, "slots must be"),
    ],
)
def test_a_wrong_field_is_named(fields: dict, says: str):
    with pytest.raises(InputError, match=says):
        MemoryEntry(**{"id": "m1", "content": "Use SQLite", **fields})


def test_records_do_not_change_and_keep_no_hold_of_what_they_were_given():
    given = {"epic": "e1"}
    entry = MemoryEntry("m1", "Use SQLite", metadata=given, slots=(Slot("", "database", "", "sqlite"),))
    given["epic"] = "e2"
    assert entry.metadata == {"epic": "e1"}
    with pytest.raises(FrozenInstanceError):
        entry.content = "Use PostgreSQL"  # type: ignore[misc]
    assert hash(entry) == hash(MemoryEntry("m1", "Use SQLite", slots=entry.slots))


@pytest.mark.parametrize(("given", "kept"), [(0.9, 0.9), (1.7, 1.0), (-1, 0.0), (math.nan, 0.0), (math.inf, 1.0)])
def test_a_score_lies_between_0_and_1(given: float, kept: float):
    hit = ScoredMemoryEntry(MemoryEntry("m1", "x"), given, given)
    assert (hit.raw_score, hit.decayed_score) == (kept, kept)


def test_a_run_without_a_task_stands_at_the_beginning():
    context = RunContext("run-42")
    assert (context.task_id, context.phase_index, context.task_index, context.rewind_point) == ("unknown", 0, 0, None)
