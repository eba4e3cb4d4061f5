"""`make kills`: a workload, a backup and a restore, each killed at random moments; what was acknowledged is there."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.proof.check import Verdict, judge
from tests.proof.faults import prepared
from tests.proof.powercut import ROOT
from tests.proof.workload import acknowledged
from undrift.stores.backup import restore_backup

__all__ = ["killed", "main"]

OPERATIONS = 100_000


def _started(*arguments: object) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )


def killed(arguments: Sequence[object], delay_s: float, *, first_line: bool = False) -> bool:
    """Start Python, kill it after a moment (from its first line on, if it says one); tell whether it was still running."""
    with _started(*arguments) as process:
        assert process.stdout is not None
        if first_line:
            process.stdout.readline()
        time.sleep(delay_s)
        process.kill()
    return process.returncode == -signal.SIGKILL


def _workload(scratch: Path, cycles: int, random: Random) -> Counter[str]:
    found, home, manifest = Counter[str](), scratch / "home", scratch / "manifest"
    manifest.touch()
    for cycle in range(cycles):
        # Every tenth from the start: an opening may be hit as well. The next one is another session: the last
        # operation of a killed one may be there without having been acknowledged.
        arguments = ("-m", "tests.proof.workload", home, manifest, OPERATIONS, "FULL", f"w{cycle}")
        found["killed"] += killed(arguments, random.uniform(0, 0.3), first_line=cycle % 10 != 0)
        promised = acknowledged(manifest)
        verdict, why = judge(home, promised)
        found["lost"] += verdict is Verdict.LOST
        found["damaged"] += verdict is Verdict.DAMAGED
        if why:
            found[f"first: {why}"] += 1
    found["acknowledged"] = len(acknowledged(manifest))
    return found


def _backups(scratch: Path, cycles: int, random: Random) -> Counter[str]:
    """Kill `undrift backup` over an older backup, and `undrift restore-backup` over a store with more in it."""
    found, base = Counter[str](), prepared(scratch / "base")
    shutil.copytree(base, scratch / "whole")
    began = time.monotonic()
    with _started(
        "-m", "undrift", "backup", scratch / "whole" / "backup", "--home", scratch / "whole" / "home"
    ) as process:
        process.wait()
    whole_s = time.monotonic() - began  # most of it goes into starting Python
    promised = acknowledged(base / "manifest")
    for cycle in range(cycles):
        folder = scratch / str(cycle)
        shutil.copytree(base, folder)
        command = ("backup", folder / "backup") if cycle % 2 else ("restore-backup", folder / "backup")
        arguments = ("-m", "undrift", *command, "--home", folder / "home")
        found["killed"] += killed(arguments, random.uniform(0.4, 1.0) * whole_s)
        verdict, why = judge(folder / "home", promised)
        restore_backup(folder / "backup", folder / "restored")
        verdict_of_backup, why_backup = judge(folder / "restored", promised)
        found["lost"] += Verdict.LOST in (verdict, verdict_of_backup)
        found["damaged"] += Verdict.DAMAGED in (verdict, verdict_of_backup)
        if why or why_backup:
            found[f"first: {why or why_backup}"] += 1
        shutil.rmtree(folder)
    return found


def main(arguments: list[str]) -> int:
    """Run and print; return 0 where nothing was lost or damaged."""
    parser = argparse.ArgumentParser(prog="make kills", description=__doc__)
    parser.add_argument("--cycles", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    failed = False
    for name, proof in (("workload", _workload), ("backup and restore-backup", _backups)):
        with tempfile.TemporaryDirectory() as scratch:
            found = proof(Path(scratch), chosen.cycles, Random(chosen.seed))
        failed |= bool(found["lost"] or found["damaged"] or not found["killed"])
        said = f", {found['acknowledged']:,} acknowledged" if found["acknowledged"] else ""
        print(
            f"{name}: {chosen.cycles} cycles, {found['killed']} killed while running{said}: {found['lost']} lost "
            f"something, {found['damaged']} damaged",
            *(text for text in found if text.startswith("first: ")),
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
