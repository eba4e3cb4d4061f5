"""The page as a program: it says where it is, answers there, and ends when it is told to."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.cli.builders import environment
from tests.web.builders import recorded, turns


def address(serving: subprocess.Popen[str]) -> str:
    """What a started page prints of itself."""
    assert serving.stdout is not None
    told: str = json.loads("".join(iter(serving.stdout.readline, "}\n")) + "}")["url"]
    return told


def test_the_page_answers_at_its_address_and_ends_although_a_page_is_open(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    command = [sys.executable, "-m", "undrift", "web", "--port", "0", "--json"]
    around = {**environment(), "HOME": str(tmp_path)}
    with subprocess.Popen(command, env=around, stdout=subprocess.PIPE, text=True) as serving:
        url = address(serving)
        with urllib.request.urlopen(f"{url}api/live", timeout=20) as stream:
            assert stream.readline() == b"event: now\n"
            assert b'"s1"' in stream.readline()
            serving.terminate()
            serving.wait(timeout=20)
    assert serving.returncode is not None


def test_a_port_that_is_taken_is_an_error_with_a_remedy(tmp_path: Path):
    command = [sys.executable, "-m", "undrift", "web", "--json", "--port"]
    around = {**environment(), "HOME": str(tmp_path)}
    with subprocess.Popen([*command, "0"], env=around, stdout=subprocess.PIPE, text=True) as serving:
        port = address(serving).split(":")[2].split("/")[0]
        second = subprocess.run([*command, port], env=around, capture_output=True, text=True, check=False, timeout=30)
        serving.terminate()
    assert second.returncode == 1
    assert "--port 0 picks a free one" in second.stderr
    assert "Traceback" not in second.stderr
