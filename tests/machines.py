"""What the command lines of the state machines share: how a machine is played, and what is asked for.

A machine that breaks a promise prints its steps; here the seed is printed with which the same is played again.
"""

import logging
import time
from collections.abc import Iterable

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

__all__ = ["asked_for", "play"]


def play(
    machine: type[RuleBasedStateMachine],
    number: int,
    *,
    examples: int,
    steps: int,
    shrinks: bool = True,
    said: str = "",
    report_multiple_bugs: bool = True,
) -> None:
    """Play a machine with one seed.

    Raises:
        AssertionError: A promise was broken; Hypothesis has printed the steps, this prints the seed, behind `said`.
    """
    few = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=report_multiple_bugs,
    )
    try:
        run_state_machine_as_test(seed(number)(machine), settings=few)
    except BaseException:
        print(f"{said}fails with seed {number}")
        raise


def asked_for(arguments: Iterable[str]) -> tuple[int, list[str]]:
    """Return the seed that is asked for, or one that nobody has had, and the words that are no options."""
    logging.disable()  # what a session logs is another test's subject
    given = list(arguments)
    seeds = [int(one.removeprefix("--seed=")) for one in given if one.startswith("--seed=")]
    return seeds[0] if seeds else time.time_ns() % 1_000_000_000, [one for one in given if not one.startswith("--")]
