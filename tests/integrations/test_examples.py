"""Each example runs with one command, offline, and shows the window before and after."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "integrations"
NEEDED = {
    "anthropic_memory.py": ("anthropic", "window before"),
    "langchain_agent.py": ("langchain", "sent to the model"),
    "langgraph_thread.py": ("langchain", "last window"),
    "openai_agents_run.py": ("agents", "sent to the model"),
    "pydantic_ai_agent.py": ("pydantic_ai", "sent to the model"),
}


def test_every_example_is_run_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(NEEDED)


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_an_example_runs(name: str, tmp_path: Path):
    package, words = NEEDED[name]
    if find_spec(package) is None:
        pytest.skip(f"needs the package {package} (make conformance installs it)")
    run = subprocess.run([sys.executable, EXAMPLES / name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert words in run.stdout
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
