"""Tasks told in any order: what leaves is their own, and every original comes back; ``tests.wires.task_machine`` plays longer."""

import logging

import pytest

from tests.wires.task_machine import TaskMachine, play

STEPS = 500


@pytest.fixture
def silent():
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("silent")
def test_of_hundreds_of_steps_none_evicts_wrongly_or_loses_an_original():
    found = play(STEPS, first_seed=40)
    assert found["step"] >= STEPS
    happened = ("request", "completed", "reopened", "evicted, counted at each request", "restart", "go back")
    assert all(found[what] for what in (*happened, "died after deciding", "refused: SummaryRejected")), found
    assert any(what.startswith("fault: ") for what in found)
    assert TaskMachine.counts["step"] >= found["step"]
