"""Play machines until enough requests were sent: ``python -m tests.wires.play REQUESTS [WIRE]... [--seed=N]``."""

import logging
import sys
import time

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.wires.machine import MACHINES

STEPS = 60


def play(wire: str, requests: int, first_seed: int) -> int:
    """Play the machine of a form until it has sent so many requests; give how many it sent.

    Raises:
        AssertionError: A promise was broken; Hypothesis has printed the steps, this prints the seed.
    """
    machine = MACHINES[wire]
    before, number = machine.requests, first_seed
    while machine.requests - before < requests:
        number += 1
        few = settings(
            max_examples=15,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        try:
            run_state_machine_as_test(seed(number)(machine), settings=few)
        except BaseException:
            print(f"{wire}: fails with seed {number}")
            raise
    return machine.requests - before


def main(arguments: list[str]) -> int:
    """Play all forms, or those named; print a line for each."""
    logging.disable()  # what a session logs is another test's subject
    seeds = [int(one.removeprefix("--seed=")) for one in arguments if one.startswith("--seed=")]
    first_seed = seeds[0] if seeds else time.time_ns() % 1_000_000_000
    requests, *wires = (one for one in arguments if not one.startswith("--"))
    for wire in wires or list(MACHINES):
        sent = play(wire, int(requests), first_seed)
        print(f"{wire}: {sent} requests, 0 refused", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
