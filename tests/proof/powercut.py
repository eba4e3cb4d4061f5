"""`make powercut`: what a power cut would have left, a thousand times, with the control that must lose something.

A workload runs under strace. Its writes, syncs and names are replayed up to a random moment; of what was not synced by
then nothing, a beginning, any part, or one torn write survives. Names count as durable once their folder was synced.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.proof.check import Verdict, judge
from tests.proof.workload import acknowledged

__all__ = ["Disk", "Event", "cut", "events", "main", "recorded"]

ROOT = Path(__file__).parents[2]
NAME = "undrift.db"
CALLS = "openat,close,pwrite64,write,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,link"
SECTOR_BYTES = 512
OUTSIDE = ROOT.parent / "shared" / "measures" / "powercut.py"
NO_STRACE = "strace is not installed, and this proof needs it. Debian and Ubuntu have it: apt-get install strace"

_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += +(\d+)")  # one that succeeded
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to the disk, or was said: `file` numbers a file (0: the folder), whatever its names."""

    act: str  # write, truncate, sync, name, unname, ack
    file: int = 0
    place: int = 0  # offset, length or number of the operation
    data: bytes = b""
    name: str = ""


def recorded(log: Path, home: Path, manifest: Path, operations: int, synchronous: str) -> list[Event]:
    """Run the workload under strace and return what it did."""
    workload: list[str | Path] = [
        sys.executable,
        "-m",
        "tests.proof.workload",
        home,
        manifest,
        str(operations),
        synchronous,
    ]
    strace: list[str | Path] = ["strace", "-f", "-qq", "-xx", "-s", "200000", "-o", log, "-e", f"trace={CALLS}"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    subprocess.run([*strace, *workload], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    return events(log, home)


def events(log: Path, home: Path) -> list[Event]:
    """Read an strace log: every change of a file in the home, in order."""
    found: list[Event] = []
    names: dict[str, int] = {}
    open_files: dict[int, int] = {}
    numbers = 0
    with log.open(encoding="ascii", errors="replace") as lines:
        for call, given, result in (match.groups() for line in lines if (match := _CALL.match(line))):
            texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(given)]
            number = int(head) if (head := given.partition(",")[0]).isdigit() else -1
            file = open_files.get(number)
            if call == "openat":
                path = Path(os.fsdecode(texts[0]))
                if path == home:
                    open_files[int(result)] = 0
                elif path.parent == home:
                    if path.name not in names:
                        numbers += 1
                        names[path.name] = numbers
                        found.append(Event("name", numbers, name=path.name))
                    open_files[int(result)] = names[path.name]
                    assert "O_TRUNC" not in given, "a file that is cut as it is opened is not modelled"
            elif call == "close":
                open_files.pop(number, None)
            elif call == "write" and number == 1 and texts[0].startswith(b"ACK "):
                found.append(Event("ack", place=int(texts[0][4:])))
            elif call.startswith(("unlink", "rename")) and texts and Path(os.fsdecode(texts[0])).parent == home:
                assert call.startswith("unlink"), "a renamed file is not modelled"
                found.append(
                    Event("unname", names.pop(Path(os.fsdecode(texts[0])).name), name=Path(os.fsdecode(texts[0])).name)
                )
            elif file is not None and call == "pwrite64":
                found.append(Event("write", file, int(given.rpartition(",")[2]), texts[0][: int(result)]))
            elif file is not None and call == "ftruncate":
                found.append(Event("truncate", file, int(given.rpartition(",")[2])))
            elif file is not None and call in ("fsync", "fdatasync"):
                found.append(Event("sync", file))
            else:
                assert file is None, f"{call} of a store's file is not modelled"
    return found


@dataclass(slots=True)
class Disk:
    """What is durable, and what is on its way: contents by file, and names (the folder is file 0)."""

    contents: dict[int, bytearray] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    waiting: dict[int, list[Event]] = field(default_factory=dict)
    acknowledged: int = 0

    def take(self, event: Event) -> None:
        """Let one event happen."""
        if event.act == "ack":
            self.acknowledged = event.place
        elif event.act == "sync":
            self.settle(event.file, self.waiting.pop(event.file, []))
        else:
            self.waiting.setdefault(0 if event.act.endswith("name") else event.file, []).append(event)

    def settle(self, file: int, survivors: list[Event]) -> None:
        """Make events of one file durable."""
        for event in survivors:
            content = self.contents.setdefault(file, bytearray())
            end = event.place + len(event.data)
            if event.act == "name":
                self.names[event.name] = event.file
            elif event.act == "unname":
                self.names.pop(event.name, None)
            elif event.act == "truncate":
                content[:] = content[:end].ljust(end, b"\0")
            else:
                content.extend(bytes(max(0, end - len(content))))
                content[event.place : end] = event.data


def cut(happened: list[Event], folder: Path, random: Random) -> int:
    """Write into an empty folder what a power cut at a random moment leaves; return the last acknowledged operation."""
    disk = Disk()
    for event in happened[: random.randrange(1, len(happened) + 1)]:
        disk.take(event)
    way = random.choice(("nothing", "a beginning", "any part", "a torn write"))
    for file, waiting in sorted(disk.waiting.items()):
        end = random.randrange(len(waiting) + 1)
        if file == 0:  # a file system keeps the order of its names
            survivors = waiting[:end]
        elif way == "any part":
            survivors = [event for event in waiting if random.random() < 0.5]
        else:
            survivors = [] if way == "nothing" else waiting[:end]
            if way == "a torn write" and end < len(waiting) and waiting[end].act == "write":
                torn = waiting[end]
                sectors = random.randrange(len(torn.data) // SECTOR_BYTES + 1)
                survivors.append(Event("write", file, torn.place, torn.data[: sectors * SECTOR_BYTES]))
        disk.settle(file, survivors)
    for name, file in disk.names.items():
        if not name.endswith("-shm"):
            (folder / name).write_bytes(disk.contents.get(file, b""))
    return disk.acknowledged


def main(arguments: list[str]) -> int:
    """Run FULL and the controls; return 0 where FULL kept all and both controls lost something."""
    parser = argparse.ArgumentParser(prog="make powercut", description=__doc__)
    parser.add_argument("--cuts", type=int, default=1_000)
    parser.add_argument("--operations", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--outside", type=int, default=100, help="cuts by the outside measure, where it is there")
    chosen = parser.parse_args(arguments)
    if shutil.which("strace") is None:
        print(NO_STRACE, file=sys.stderr)
        return 2
    failed = False
    for synchronous in ("FULL", "NORMAL", "OFF"):
        is_control = synchronous != "FULL"
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(os.path.realpath(scratch))
            log, home, manifest = place / "log", place / "home", place / "manifest"
            happened = recorded(log, home, manifest, chosen.operations, synchronous)
            bad = _judged(
                happened, manifest, chosen.cuts if not is_control else chosen.cuts // 4, chosen.seed, synchronous
            )
            if OUTSIDE.is_file() and synchronous != "NORMAL" and chosen.outside:
                bad_outside = _outside(log, manifest, place, chosen.outside, synchronous)
                failed |= (bad_outside > 0) != is_control
            failed |= (bad > 0) != is_control
    if not OUTSIDE.is_file():
        print("skipped: the outside measure is not beside the checkout (../shared/measures)")
    print(
        "FAILED: FULL lost something, or a control lost nothing"
        if failed
        else "ok: FULL lost nothing, the controls did"
    )
    return int(failed)


def _judged(happened: list[Event], manifest: Path, cuts: int, seed: int, synchronous: str) -> int:
    """Cut, judge, print; return how many cuts lost or damaged something."""
    random, verdicts, promised = Random(seed), Counter[Verdict](), acknowledged(manifest)
    example = ""
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if fast.is_dir() else None) as scratch:
        for number in range(cuts):
            folder = Path(scratch, str(number))
            folder.mkdir(0o700)
            count = cut(happened, folder, random)
            verdict, why = judge(folder, [one for one in promised if one.number <= count])
            verdicts[verdict] += 1
            example = example or why
            shutil.rmtree(folder)
    acts = Counter(event.act for event in happened)
    print(
        f"synchronous={synchronous}: {cuts:,} cuts of {acts['ack']} acknowledged operations ({acts['write']:,} writes, "
        f"{acts['sync']:,} syncs, seed {seed}): {verdicts[Verdict.LOST]} lost something, "
        f"{verdicts[Verdict.DAMAGED]} damaged" + (f"; the first: {example}" if example else ""),
        flush=True,
    )
    return verdicts[Verdict.LOST] + verdicts[Verdict.DAMAGED]


def _outside(log: Path, manifest: Path, place: Path, cuts: int, synchronous: str) -> int:
    """Let the outside measure cut the same log and our judge look at it."""
    check = f"{sys.executable} -m tests.proof.check {manifest}"
    environment = {**os.environ, "CHECK": check, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command: list[str | Path] = [sys.executable, OUTSIDE, log, NAME, "1", str(cuts), "1"]
    run = subprocess.run(
        command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    )
    found = dict(re.findall(r"(corrupt_or_nonprefix|trials_losing_acked) (\d+)", run.stdout))
    lost, damaged = int(found["trials_losing_acked"]), int(found["corrupt_or_nonprefix"])
    print(
        f"synchronous={synchronous}: the outside measure, {cuts:,} cuts: {lost} lost something, {damaged} damaged",
        flush=True,
    )
    return lost + damaged


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
