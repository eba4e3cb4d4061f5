"""Power cuts in the middle of a session's operations: everything acknowledged is there, and nothing is half done.

The disk is that of tests/proof/powercut.py. After a cut the state is that of the last acknowledged operation or that of the
next one. Only a request may stand between its two commits; then all that was acknowledged is still as it was.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.attack.workload import Attacked, state_of
from tests.proof.powercut import CALLS, NO_STRACE, ROOT, Event, cut, events
from undrift.errors import RecallError, UndriftError

__all__ = ["NO_STRACE", "cuts", "verdict_of"]

PARTS = ("tasks", "memories", "pins", "facts")


def cuts(kind: str, number: int, seed: int, *, operations: int = 60, synchronous: str = "FULL") -> Counter[str]:
    """Cut so often; return what came of it: ``cuts``, ``whole``, ``same bytes``, ``lost``, ``half``, ``damaged``."""
    found, random = Counter[str](), Random(seed)
    fast = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory() as scratch,
        tempfile.TemporaryDirectory(dir=fast if fast.is_dir() else None) as cut_in,
    ):
        place = Path(os.path.realpath(scratch))
        happened = _recorded(place, operations, synchronous, kind)
        lines = [json.loads(line) for line in (place / "manifest").read_text().splitlines()]
        for trial in range(number):
            folder = Path(cut_in, str(trial))
            folder.mkdir(0o700)
            count = cut(happened, folder, random)
            found["cuts"] += 1
            found += _judged(folder, kind, lines, count)
            shutil.rmtree(folder)
    return found


def _recorded(place: Path, operations: int, synchronous: str, kind: str) -> list[Event]:
    words = [sys.executable, "-m", "tests.attack.workload", str(place / "home"), str(place / "manifest")]
    strace = ["strace", "-f", "-qq", "-xx", "-s", "200000", "-o", str(place / "log"), "-e", f"trace={CALLS}"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [*strace, *words, str(operations), synchronous, kind]
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    return events(place / "log", place / "home")


def _judged(folder: Path, kind: str, lines: list[dict[str, Any]], count: int) -> Counter[str]:
    """Open what a cut left, compare it with what was acknowledged, and continue."""
    try:
        one = Attacked(folder, kind, first=count + 1)
        try:
            if one.session._store.integrity():
                return Counter(["damaged"])
            verdict = verdict_of(state_of(one), lines, count)
            found = Counter([verdict])
            if count and verdict == "whole" and state_of(one) == lines[count - 1]["settled"]:
                found["windows"] += 1
                found["same bytes"] += one.window() == lines[count - 1]["window"]
            with contextlib.suppress(RecallError):  # an undo that is there already has nothing to undo
                one.operate()
        finally:
            one.close()
    except UndriftError as error:
        return Counter(["damaged", f"first: {type(error).__name__}: {error}"])
    return found


def verdict_of(state: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], count: int) -> str:
    """Tell whether a state is ``whole``, ``half`` done or ``lost``. `lines`: of the manifest. `count`: as many are acknowledged."""
    if not count:
        return "whole"  # nothing was acknowledged
    last, following = lines[count - 1], list(lines[count : count + 1])
    if state in [last["settled"], *(line[name] for line in following for name in ("done", "settled"))]:
        return "whole"
    kept = all(one in state["decided"] for one in last["settled"]["decided"])
    if kept and all(state[name] == last["settled"][name] for name in PARTS):
        return "whole" if following and following[0]["act"] in ("turn", "pin") else "half"
    return "half" if following and following[0]["act"] in ("purge", "rewind", "undo") else "lost"
