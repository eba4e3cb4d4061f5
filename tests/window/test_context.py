"""What the parts of a session share: frozen, and it knows where the run stands."""

from dataclasses import FrozenInstanceError

import pytest

from tests.builders import opened
from undrift.values.memory import UNKNOWN_TASK, RunContext


def test_it_cannot_be_changed(tmp_path):
    with opened(tmp_path) as session, pytest.raises(FrozenInstanceError):
        session._context.id = "another"  # type: ignore[misc]


def test_the_run_stands_at_the_task_in_progress_else_where_the_last_one_stood(tmp_path):
    with opened(tmp_path) as session:
        context = session._context
        assert context.run == RunContext("s")
        session.start_task("a", phase_index=1)
        session.start_task("b", phase_index=2, stack=True)
        first, second = session.tasks()
        assert context.run == RunContext("s", "b", 2, second.ordinal)
        session.update_task("b", status="cancelled")
        session.update_task("a", status="cancelled")
        assert context.run == RunContext("s", UNKNOWN_TASK, 2, second.ordinal)
        assert first.ordinal < second.ordinal
