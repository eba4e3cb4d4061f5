"""Tasks told in any order: what leaves is their own, and every original comes back; ``tests.wires.task_machine`` plays longer."""

import logging

import pytest

from tests.long_form import sized
from tests.wires.task_machine import TaskMachine, play

STEPS = sized(200, 500)
HAPPENED = (
    *("request", "completed", "reopened", "evicted, counted at each request", "restart", "go back"),
    *("died after deciding", "refused: SummaryRejected"),
)


@pytest.fixture
def silent():
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("silent")
def test_of_hundreds_of_steps_none_evicts_wrongly_or_loses_an_original():
    found = play(STEPS, first_seed=40)
    for first_seed in range(
        140, 1_000, 100
    ):  # Hypothesis draws from the constants of all that is imported: chance may leave one out
        if all(found[what] for what in HAPPENED) and any(what.startswith("fault: ") for what in found):
            break
        found += play(STEPS, first_seed)
    assert found["step"] >= STEPS
    assert all(found[what] for what in HAPPENED), found
    assert any(what.startswith("fault: ") for what in found)
    assert TaskMachine.counts["step"] >= found["step"]
