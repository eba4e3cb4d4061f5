"""Each example runs with one command, offline, and shows the window before and after."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

OFFLINE = """
import runpy, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        arguments = arguments[1]
    elif event not in ("socket.getaddrinfo", "socket.gethostbyname"):
        return
    if arguments[0] not in ("127.0.0.1", "localhost", "::1"):
        raise AssertionError(f"a connection: {event} {arguments!r}")

sys.addaudithook(refuse)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
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


def alone(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that may open no connection beyond this machine."""
    command = [sys.executable, "-c", OFFLINE, str(program)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_connection_is_noticed(tmp_path: Path):
    program = tmp_path / "calls_home.py"
    program.write_text("import socket\nsocket.socket().connect(('192.0.2.1', 9))\n")
    assert "a connection: socket.connect" in alone(program, tmp_path).stderr


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_an_example_runs(name: str, tmp_path: Path):
    package, words = NEEDED[name]
    if find_spec(package) is None:
        pytest.skip(f"needs the package {package} (make conformance installs it)")
    run = alone(EXAMPLES / name, tmp_path)
    assert run.returncode == 0, run.stderr
    assert words in run.stdout
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
