"""Play every property of the tests with inputs drawn at random until the time is up: ``python -m tests.fuzz.fuzz_properties SECONDS [TEST]...``.

`make test` draws the same inputs everywhere; here each round has a new seed and another order. What is found is printed
with its input and its seed: write it as an ``@example`` to the test that failed, or as a test of its own, and mend it.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

__all__ = ["main", "pytest_runtest_teardown"]

ROOT = Path(__file__).parents[2]
_UNTIL = "UNDRIFT_FUZZ_UNTIL"  # tells the process of a round when it ends, on the clock of time.monotonic
_OPTIONS = (
    *("-m", "hypothesis", "--hypothesis-profile=random", "-p", "tests.fuzz.fuzz_properties"),
    *("-x", "-q", "--no-header", "-p", "no:cacheprovider"),
)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """End a round between two tests when its time is up."""
    if time.monotonic() > float(os.environ[_UNTIL]):
        item.session.shouldstop = "the time is up"


def main(arguments: Iterable[str]) -> int:
    """Play rounds for so many seconds, of all tests or those named; return 0 if nothing was found."""
    seconds, *names = arguments
    end, seed, rounds = time.monotonic() + float(seconds), time.time_ns() % 1_000_000_000, 0
    files = names or sorted(str(path) for path in (ROOT / "tests").rglob("test_*.py") if _has_properties(path))
    while time.monotonic() < end:
        seed, rounds = seed + 1, rounds + 1
        random.Random(seed).shuffle(files)  # a round that is cut short leaves out others each time
        code = subprocess.run(
            [sys.executable, "-m", "pytest", *_OPTIONS, f"--hypothesis-seed={seed}", *files],
            cwd=ROOT,
            env={**os.environ, _UNTIL: str(end)},
            check=False,
        ).returncode
        was_stopped = code == pytest.ExitCode.INTERRUPTED and time.monotonic() > end
        if code and not was_stopped:
            print(
                f"round {rounds} fails with seed {seed}: write its input as an @example to the test, and mend what it shows"
            )
            return 1
    print(f"rounds played in {float(seconds):g} s: {rounds}, nothing was found")
    return 0 if rounds else 1


def _has_properties(path: Path) -> bool:
    return "hypothesis" in path.read_text("utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
