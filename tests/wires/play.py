"""Play machines until enough requests were sent: ``python -m tests.wires.play REQUESTS [WIRE]... [--seed=N]``."""

import sys

from tests import machines
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
        machines.play(machine, number, examples=5, steps=STEPS, said=f"{wire}: ")
    return machine.requests - before


def main(arguments: list[str]) -> int:
    """Play all forms, or those named; print a line for each."""
    first_seed, (requests, *wires) = machines.asked_for(arguments)
    for wire in wires or list(MACHINES):
        sent = play(wire, int(requests), first_seed)
        print(f"{wire}: {sent} requests, 0 refused", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
