"""A session that went back answers as it did then: machines of every kind, in a process of their own; the model has more."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.long_form import sized

ROOT = Path(__file__).parents[2]
NEEDS = {"words": "apsw", "vectors": "wordllama", "lance": "lancedb"}
EXAMPLES = {"words": sized(4, 8), "vectors": 5, "lance": 8}


@pytest.mark.parametrize("name", NEEDS)
def test_a_session_that_went_back_answers_as_it_did_then(name: str):
    if find_spec(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}: make lance")
    command = [sys.executable, "-m", "tests.memory.machine", str(EXAMPLES[name]), name, "--seed=2"]
    played = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "0 differences" in played.stdout
    assert not played.stdout.startswith(f"{name}: 0 times")
