"""What is forked is what a new interpreter would be: its status, its streams, its variables, its folder, its end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.builders import environment
from tests.warm.started import Started, run

GIVEN = b'{"messages": [{"role": "user", "content": "go"}]}'


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--version"], 0),
        (["frobnicate"], 2),
        (["rules", "--json"], 0),
        (["rules", "remove", "ff"], 1),
        (["replay"], 1),
    ],
)
def test_it_does_and_says_the_same(words: list[str], status: int, tmp_path: Path):
    env = environment(HOME=str(tmp_path), CLAUDE_CONFIG_DIR=str(tmp_path))
    forked = run(words, env=env, cwd=tmp_path)
    command = [sys.executable, "-m", "undrift", *words]
    new = subprocess.run(command, env=env, cwd=tmp_path, input="", capture_output=True, text=True, check=False)
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)
    assert forked.returncode == status


def test_it_sees_its_own_folder_and_variables(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\nAlways run make check before you commit.\n")
    env = environment(HOME=str(tmp_path), UNDRIFT_HOME=str(tmp_path / "mine"))
    assert run(["rules", "add", "Use tabs.", "--scope", "project"], env=env, cwd=tmp_path).returncode == 0
    assert "Use tabs." in run(["rules"], env=env, cwd=tmp_path).stdout
    assert (tmp_path / "mine").is_dir()
    assert "UNDRIFT_HOME" not in os.environ


def test_a_signal_ends_it_alone(tmp_path: Path):
    pipe = subprocess.PIPE
    words = ["manage", "--wire", "anthropic", "--session", "s", "--home", str(tmp_path)]
    env = environment()
    with (
        Started(words, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as one,
        Started(words, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as other,
    ):
        assert (one.poll(), other.poll()) == (None, None)
        one.kill()
        assert one.wait(30) == -signal.SIGKILL
        assert other.poll() is None
        assert other.communicate(GIVEN) == (GIVEN, b"")
