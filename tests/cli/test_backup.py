"""`undrift backup` and `undrift restore-backup`: one file out, the same store back."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import records_of
from tests.cli.builders import environment, undrift
from tests.stores.builders import add, original
from undrift.stores.sqlite import SqliteStore


def filled(home: Path) -> str:
    with SqliteStore.open(home) as store:
        add(store, original("e", "kept text"), prune_them=True)
    return original("e").ref


def test_a_store_goes_into_one_file_and_back(tmp_path: Path):
    ref, out, other = filled(tmp_path / "home"), tmp_path / "out.db", tmp_path / "other"
    made = undrift("backup", out, "--home", tmp_path / "home")
    assert made.exit_code == 0, made.output
    assert "Copied 1 original, 1 decision and 1 operation of" in made.stdout
    assert made.stdout.endswith(f"To restore it:\n  undrift store restore {out} --home {tmp_path / 'home'}\n")
    put_back = undrift("restore-backup", out, "--home", other)
    assert put_back.exit_code == 0, put_back.output
    assert "The replaced store" not in put_back.stdout
    assert undrift("recall", ref, "--home", other).stdout == "kept text"
    again = json.loads(undrift("restore-backup", out, "--home", other, "--json").stdout)
    assert (again["originals"], again["home"], again["file"]) == (1, str(records_of(other)), str(out))
    assert Path(again["kept"]).is_file()


def test_the_setting_names_the_home(tmp_path: Path):
    filled(tmp_path / "home")
    made = undrift("backup", tmp_path / "out.db", "--json", env={"UNDRIFT_HOME": str(tmp_path / "home")})
    assert json.loads(made.stdout)["kept"] is None


def test_a_refusal_is_one_line_with_the_remedy(tmp_path: Path):
    filled(tmp_path / "home")
    (tmp_path / "text").write_text("mine")
    for arguments, remedy in (
        (("backup", tmp_path / "text"), "another name"),
        (("restore-backup", tmp_path / "text"), "undrift store backup"),
        (("restore-backup", tmp_path / "nowhere"), "undrift store backup"),
    ):
        result = undrift(*arguments, "--home", tmp_path / "home")
        assert result.exit_code == 1
        assert result.stderr.startswith("undrift: ")
        assert result.stderr.count("\n") == 1
        assert remedy in result.stderr
    assert (tmp_path / "text").read_text() == "mine"


def answered(word: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the program with a terminal as its stdin, on which a word is typed."""
    ours, theirs = os.openpty()
    os.write(ours, f"{word}\n".encode())
    command = [sys.executable, "-m", "undrift", *map(str, arguments)]
    try:
        return subprocess.run(command, stdin=theirs, env=environment(), capture_output=True, text=True, check=False)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
def test_a_store_is_replaced_on_a_terminal_only_after_a_question(tmp_path: Path):
    home, out = tmp_path / "home", tmp_path / "out.db"
    filled(home)
    undrift("backup", out, "--home", home)
    undrift("memory", "remember", "Deploys happen on Friday.", "--home", home)
    refused = answered("n", "store", "restore", out, "--home", home)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"Replace the store in {home}?" in refused.stderr
    assert "Friday" in undrift("memory", "search", "friday", "--home", home).stdout
    done = answered("y", "store", "restore", out, "--home", home)
    assert done.returncode == 0, done.stderr
    assert undrift("memory", "search", "friday", "--home", home).stdout == ""
    back = shlex.split(done.stdout.rpartition("To get it back:")[2])
    assert undrift(*back[1:]).exit_code == 0  # no terminal: it does not ask
    assert "Friday" in undrift("memory", "search", "friday", "--home", home).stdout
