"""The list of what may enter the memory by itself is closed."""

from itertools import product
from typing import get_args

from undrift.core.memory.gate import ADMITTED, is_admitted, is_borne_out
from undrift.values.memory import MEMORY_TYPES, MemoryStatus
from undrift.values.window import Task


def test_three_pairs_may_enter_and_no_other():
    statuses = get_args(MemoryStatus)
    found = {pair for pair in product(MEMORY_TYPES, statuses) if is_admitted(*pair)}
    assert found == ADMITTED
    assert found == {
        ("task_outcome", "approved"), ("architectural_decision", "verified"), ("lesson_learned", "verified")
    }  # fmt: skip


def test_research_never_enters():
    assert not any(is_admitted("research", status) for status in get_args(MemoryStatus))


def test_a_task_is_borne_out_by_both_halves_of_its_verdict_once_it_is_completed():
    both = {"is_valid": True, "is_faithful": True}
    assert is_borne_out(Task("t", status="completed", validation=both))
    assert not is_borne_out(Task("t", status="in_progress", validation=both))
    assert not is_borne_out(Task("t", status="completed", validation={**both, "is_faithful": False}))
    assert not is_borne_out(Task("t", status="completed", validation={**both, "is_valid": False}))
    assert not is_borne_out(Task("t", status="completed"))
