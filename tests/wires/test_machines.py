"""Nothing that leaves here is refused: 120 requests of each form, in a process of its own; `make wires` plays 100,000."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.wires.machine import MACHINES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("wire", MACHINES)
def test_of_hundreds_of_requests_of_a_form_none_is_refused(wire):
    command = [sys.executable, "-m", "tests.wires.play", "120", wire, "--seed=0"]
    played = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "0 refused" in played.stdout
