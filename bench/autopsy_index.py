"""How long `undrift autopsy` takes over many files: the newest first, then all, then with a full index.

``python -m bench.autopsy_index RECORDINGS... [--files N] [--home DIR]`` copies recordings into a scratch home (DIR if it is
given, which is then kept and used again), and runs the program in processes of its own. It prints seconds of wall and
CPU time, their ratio to reading all files, and whether the report is the same with and without the index.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.autopsy_home import FILES, fill

__all__ = ["Run", "main", "run"]

_PROGRAM = "from undrift.__main__ import run; run()"  # what the installed script does
_OWN_VARIABLES = (
    "UNDRIFT_",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "COPILOT_HOME",
    "PI_CODING_AGENT_DIR",
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the program: its output, and its seconds; `cpu_s` is that of all its processes."""

    printed: str
    wall_s: float
    cpu_s: float


def run(home: Path, index: Path, *arguments: str) -> Run:
    """Run ``undrift autopsy`` over the sessions of a home, with the index in a folder; no terminal sees it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)}
    command = [sys.executable, "-c", _PROGRAM, "autopsy", "--home", str(index), *arguments]
    wall_s, cpu_s = time.perf_counter(), _children_s()
    done = subprocess.run(
        command, env=env | {"HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True
    )
    return Run(done.stdout, time.perf_counter() - wall_s, _children_s() - cpu_s)


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the home, run the program three times, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recordings", nargs="+", type=Path, help="folders with sessions of Claude Code and Codex")
    parser.add_argument("--files", type=int, default=FILES, help="how many files to copy (default: %(default)s)")
    parser.add_argument("--home", type=Path, help="keep the copies here, and use them if they are there")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        home = given.home or Path(scratch) / "home"
        if not home.exists():
            fill(home, given.recordings, given.files)
        files = [path for path in home.rglob("*.jsonl") if path.is_file()]
        print(f"{len(files):,} files, {sum(path.stat().st_size for path in files) / 1e9:.2f} GB")
        _measure(home, Path(scratch) / "index")


def _measure(home: Path, index: Path) -> None:
    newest = run(home, index)
    whole = run(home, index, "--all")
    known = run(home, index)
    for name, one in (("the newest, no index", newest), ("then all others", whole), ("all, index full", known)):
        share = one.wall_s / (newest.wall_s + whole.wall_s)
        print(f"{name:22}{one.wall_s:8.2f} s wall {one.cpu_s:8.2f} s CPU   {share:7.2%} of reading all")
        print("  " + " ".join(one.printed.split("\nIn their next calls")[0].split()))
    print("the report is the same with the index" if whole.printed == known.printed else "THE REPORTS DIFFER")


if __name__ == "__main__":
    main()
