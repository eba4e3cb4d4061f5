"""``undrift setup`` as a process: killed between any two changes and then undone, and asked at a terminal."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.builders import environment
from tests.cli.test_replay import NEEDS_POSIX
from tests.cli.test_setup import BEFORE, setup, tree, variables, write_settings
from tests.warm.started import Started

pytestmark = NEEDS_POSIX

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir")
"""The changes of a folder; each file is put in its place by a rename."""


def killed_at(number: int, home: Path, *words: str) -> bool:
    """Run it in a process that ends itself before its n-th change of a folder. False: it made fewer changes."""
    child = os.fork()
    if not child:
        left = [number]

        def hook(event: str, _: object) -> None:
            if event in CHANGES:
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        os._exit(setup(home, *words).exit_code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


@pytest.mark.parametrize("first", [("--yes",), ("--yes", "--gateway"), ("--undo", "--yes")])
def test_killed_at_any_change_it_can_be_undone(tmp_path: Path, first: tuple[str, ...]):
    with socket.create_server(("127.0.0.1", 0)) as found:
        gateway = ("--gateway", "--port", str(found.getsockname()[1]))
    for number in range(1, 60):
        home = tmp_path / str(number)
        write_settings(home, ".claude/settings.json", ".codex/config.toml")
        before = tree(home)
        if "--undo" in first:
            assert setup(home, "--yes", *gateway).exit_code == 0
        elif "--gateway" in first:
            first = ("--yes", *gateway)
        if not killed_at(number, home, *first):
            break
        assert setup(home, "--undo", "--yes").exit_code == 0
        assert tree(home) == before, f"killed at change {number}"
    assert 8 < number < 59


def test_killed_and_then_repeated_it_is_set_up_as_if_nothing_had_happened(tmp_path: Path):
    whole = write_settings(tmp_path / "home", ".claude/settings.json", ".codex/config.toml")
    before = tree(whole)
    setup(whole, "--yes")
    after = tree(whole)
    assert setup(whole, "--undo", "--yes").exit_code == 0
    for number in (2, 4, 6):
        assert killed_at(number, whole, "--yes")
        assert setup(whole, "--yes").exit_code == 0
        found = {name: kind for name, kind in tree(whole).items() if ".undrift-" not in name}
        assert {name: kind for name, kind in found.items() if not name.startswith(".undrift")} == {
            name: kind for name, kind in after.items() if not name.startswith(".undrift")
        }
        assert setup(whole, "--undo", "--yes").exit_code == 0
        assert tree(whole) == before


def asked(home: Path, typed: str, *words: str) -> tuple[int, str]:
    """Run it at a terminal of 80 columns, and type; return its status and all that it showed."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        with Started(
            ["setup", *words],
            env={**environment(), **variables(home), "COLUMNS": "80", "TERM": "dumb"},
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as running:
            terminal.write(typed.encode())
            shown = running.communicate(timeout=60)[0].decode()
        os.close(theirs)
    return running.wait(), shown


def test_at_a_terminal_each_change_is_one_question_and_no_is_no_fault(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json", ".codex/config.toml")
    status, shown = asked(tmp_path, "y\ny\nn\ny\nn\ny\nn\n")
    assert status == 0, shown
    assert shown.index("See the first change? [Y/n]") < shown.index("+++")
    questions = ["hooks", "recall", "MCP server"]
    assert re.findall(r"Claude Code: add (.*)\? \[Y/n\]", shown) == questions
    assert re.findall(r"Codex: add (.*)\? \[Y/n\]", shown) == questions[::2]
    assert shown.count("Use the gateway? [y/N]") == 1
    assert "Set up: Claude Code (hooks, MCP server); Codex (MCP server)." in shown
    assert "Not done, as you chose: Claude Code (recall); Codex (hooks)." in shown
    assert "The gateway is off. To add it: undrift setup --gateway" in shown
    assert "recall:*" not in (tmp_path / ".claude" / "settings.json").read_text()
    assert not (tmp_path / ".codex" / "hooks.json").exists()
    before = tree(tmp_path)
    status, shown = asked(tmp_path, "n\nn\nn\n", "--undo")
    assert (status, shown.count("Uninstall? [Y/n]"), tree(tmp_path)) == (0, 3, before)
    status, shown = asked(tmp_path, "y\ny\ny\n", "--undo")
    assert status == 0
    assert {name: (tmp_path / name).read_bytes() for name in tree(tmp_path) if (tmp_path / name).is_file()} == {
        name: BEFORE[name].encode() for name in (".claude/settings.json", ".codex/config.toml")
    }


def test_a_rule_for_hooks_that_were_declined_is_not_offered(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json")
    before = tree(tmp_path)
    status, shown = asked(tmp_path, "y\nn\nn\nn\n")
    assert (status, tree(tmp_path)) == (0, before)
    assert shown.count("Claude Code: add ") == 2
    assert "Nothing was changed." in shown


def test_broken_off_it_says_what_was_changed_and_how_to_take_it_back(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json", ".codex/config.toml")
    before = tree(tmp_path)
    status, shown = asked(tmp_path, "y\ny\n\x04")
    assert status == 1
    assert "Set up: Claude Code (hooks)." in shown
    assert "undrift setup --undo" in shown
    assert "Aborted!" in shown
    assert setup(tmp_path, "--undo", "--yes").exit_code == 0
    assert tree(tmp_path) == before


def test_a_person_who_only_looks_changes_nothing(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json")
    before = tree(tmp_path)
    status, shown = asked(tmp_path, "n\n")
    assert (status, tree(tmp_path), "+++" in shown) == (0, before, False)
    assert "Not done, as you chose: Claude Code (hooks, recall, MCP server)." in shown
