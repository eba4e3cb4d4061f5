"""A public call or a hook takes at most two seconds of the processor for a hostile megabyte: some pairs here, all by `make cost`."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cost import calls
from tests.cost.calls import MOST_SECONDS, pairs, seconds_of

PAIRS = 40


def test_no_call_costs_more_than_it_should():
    """In a process of its own: what measures the coverage of these tests would slow it down."""
    command = [sys.executable, "-m", "tests.cost.calls", str(PAIRS)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{PAIRS} pairs, 0 above" in done.stdout


def test_a_call_that_costs_too_much_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(calls, "pairs", lambda: iter([("slow", lambda: MOST_SECONDS + 1), ("quick", lambda: 0.1)]))
    assert calls.main([]) == 1
    assert "slow: 3.0 s" in capsys.readouterr().out


def test_a_call_is_measured_by_the_processors_time():
    def work() -> None:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass

    assert seconds_of(work) > 0.01
    assert seconds_of(lambda: time.sleep(0.2)) < 0.1


def test_every_call_meets_every_text():
    names = [name for name, _ in pairs()]
    assert len(names) == len(set(names))
    assert len(names) > 400
