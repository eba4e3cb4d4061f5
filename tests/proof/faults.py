"""`make faults`: every write, sync, open, rename and unlink of a workload fails once, and once for good.

One process under strace forks a child for each N. strace fails call K of each child, and the child makes K - N idle
calls first, so that its own N-th call fails. The log proves that each fault fired. A limit on the size of files, which
needs no strace, fails writes the way a quota does.
"""

import argparse
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from json import dumps, loads
from pathlib import Path

from tests.proof.check import Verdict, judge
from tests.proof.powercut import NO_STRACE, ROOT
from tests.proof.workload import Workload, acknowledged
from undrift.errors import StoreError
from undrift.stores.backup import back_up, restore_backup
from undrift.stores.sqlite import SqliteStore

__all__ = ["SWEEPS", "Sweep", "main", "prepared", "swept", "with_small_files"]

OLD, NEW = 24, 8  # operations before the faults, and under them
REOPEN_EVERY = 5
BACKUP_MADE, BACKUP_REFUSED, WRONG = 0, 4, 5  # exit codes of a child


@dataclass(frozen=True, slots=True)
class Sweep:
    """One call that fails, in one way.

    Args:
        call: Of the system.
        error: As strace names it.
        lasting: Whether all later calls fail as well.
    """

    call: str
    error: str
    lasting: bool = False

    def __str__(self) -> str:
        return f"{self.call} {self.error}{', and all after it' if self.lasting else ''}"


SWEEPS = (
    *(Sweep("pwrite64", error, lasting) for error in ("ENOSPC", "EIO") for lasting in (False, True)),
    *(Sweep(call, "EIO", lasting) for call in ("fdatasync", "fsync") for lasting in (False, True)),
    *(Sweep("openat", error, lasting) for error in ("EMFILE", "ENOSPC") for lasting in (False, True)),
    *(Sweep(call, "EIO") for call in ("rename", "unlink", "ftruncate")),
)


def _idle(call: str) -> Callable[[], object]:
    """Make one call that changes nothing; whether it fails does not matter."""
    null = os.open(os.devnull, os.O_RDWR)
    return {
        "pwrite64": lambda: os.pwrite(null, b"", 0),
        "fdatasync": lambda: os.fdatasync(null),
        "fsync": lambda: os.fsync(null),
        "ftruncate": lambda: os.ftruncate(null, 0),
        "openat": lambda: os.close(os.open(os.devnull, os.O_RDONLY)),
        "rename": lambda: Path("/dev/null/a").replace("/dev/null/b"),
        "unlink": lambda: Path("/dev/null/a").unlink(),
    }[call]


def prepared(folder: Path) -> Path:
    """Make a home with old operations in it, their manifest, and an older backup."""
    folder.mkdir()
    with Workload(folder / "home", reopen_every=REOPEN_EVERY) as workload:
        lines = [dumps(asdict(workload.operate())) for _ in range(OLD)]
    (folder / "manifest").write_text("\n".join(lines) + "\n", encoding="ascii")
    back_up(folder / "home", folder / "backup")
    return folder


def work(folder: Path, before: Callable[[], object], after: Callable[[], object] | None = None) -> int:
    """Do what is to fail: operations, each in the manifest once it has returned, then a backup; return an exit code.

    Args:
        folder: As `prepared` made it.
        before: Called when the faults are to begin.
        after: Ends them; one more operation, which must succeed, follows. None: they go on.
    """
    manifest = os.open(folder / "manifest", os.O_WRONLY | os.O_APPEND)
    report = os.open(folder / "report", os.O_WRONLY | os.O_CREAT, 0o600)  # now: soon nothing may be opened any more
    old = acknowledged(folder / "manifest")[6].kept[0][0]  # a pin of the session
    refused: list[str] = []
    unread = done = 0
    workload: Workload | None = None
    before()
    for number in range(NEW):
        try:
            if workload is None:
                workload = Workload(folder / "home", first=OLD + 1 + number, reopen_every=REOPEN_EVERY)
            os.write(manifest, dumps(asdict(workload.operate())).encode() + b"\n")
            done += 1
        except StoreError as error:
            refused.append(f"operation: {error}")
            unread += not _can_read(folder / "home", old)
    code = BACKUP_MADE
    try:
        back_up(folder / "home", folder / "backup")
    except StoreError as error:
        refused.append(f"backup: {error}")
        code = BACKUP_REFUSED
    in_backup = OLD + done if code == BACKUP_MADE else OLD
    if after is not None:
        after()
        workload = workload or Workload(folder / "home", first=OLD + 1 + NEW, reopen_every=REOPEN_EVERY)
        os.write(manifest, dumps(asdict(workload.operate())).encode() + b"\n")
    os.write(report, dumps({"refused": refused, "unread": unread, "in_backup": in_backup}).encode())
    return code


def _can_read(home: Path, ref: str) -> bool:
    """Tell whether a process that starts now is given what was stored before."""
    try:
        with SqliteStore.open(home, create=False) as store:
            return bool(store.original(ref))
    except StoreError:
        return False


def fork_all(folder: str, call: str, shifts: str) -> None:
    """Fork a child for each N of ``N:idle calls,...`` and print N, its process id and exit code. Runs under strace."""
    logging.disable()
    idle = _idle(call)
    work(prepared(Path(folder, "warm")), lambda: None)  # what is imported late is imported now
    for number, calls in (map(int, shift.split(":")) for shift in shifts.split(",")):

        def before(calls: int = calls) -> None:
            os.getpriority(os.PRIO_PROCESS, 0)  # where the counting starts, as the log shows
            for _ in range(calls):
                with suppress(OSError):
                    idle()

        print(number, *_forked(Path(folder, str(number)), before), flush=True)


def _forked(folder: Path, before: Callable[[], object], after: Callable[[], object] | None = None) -> tuple[int, int]:
    """Do the work in a child; return its process id and exit code."""
    if (child := os.fork()) == 0:
        try:
            os._exit(work(folder, before, after))
        except BaseException:  # noqa: BLE001 - the child ends here, whatever came
            with suppress(OSError):
                (folder / "wrong").write_text(traceback.format_exc())
            os._exit(WRONG)
    return child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def swept(sweep: Sweep, *, stride: int = 1) -> Counter[str]:
    """Fail the N-th call for every N (or every `stride`-th), each in a process of its own; return what came of it."""
    with tempfile.TemporaryDirectory() as scratch:
        base = prepared(Path(scratch, "base"))
        (_, child, _), *_, log = _traced(base, Path(scratch, "count"), sweep.call, {0: 0})
        mine = [line for line in log if line.startswith(f"{child} ")]
        start = next(number for number, line in enumerate(mine) if "getpriority(" in line)
        calls = len(mine) - 1 - start
        numbers = range(1, calls + 1, stride)
        # K is beyond what the process that forks calls itself, so that it is spared.
        failing = max(len(log) - len(mine), start + calls) + 20
        idle = {number: failing - start - number for number in numbers}
        when = f"{failing}{'+' if sweep.lasting else ''}"
        fault = f"{sweep.call}:error={sweep.error}:when={when}"
        folder = Path(scratch, "sweep")
        *children, log = _traced(base, folder, sweep.call, idle, fault)
        fired = Counter(line.partition(" ")[0] for line in log if line.endswith("(INJECTED)"))
        found = Counter(calls=calls, runs=len(children))
        for number, child, code in children:
            found["fired"] += fired[str(child)] > 0
            found += _what_came_of(folder / str(number), code)
        return found


def _traced(base: Path, folder: Path, call: str, idle: dict[int, int], fault: str = ""):
    """Run `fork_all` under strace on copies of a home; yield number, process id and code of each child, then the log."""
    folder.mkdir()
    for number in idle:
        shutil.copytree(base, folder / str(number))
    log = folder / "log"
    strace: list[str | Path] = ["strace", "-f", "-qq", "-s", "0", "-o", log, "-e", f"trace={call},getpriority"]
    strace += ["-e", f"inject={fault}"] if fault else []
    shifts = ",".join(f"{number}:{calls}" for number, calls in idle.items())
    program: list[str | Path] = [sys.executable, "-m", "tests.proof.faults", "--fork", folder, call, shifts]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run([*strace, *program], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    yield from (tuple(map(int, line.split())) for line in run.stdout.splitlines())
    yield [line for line in log.read_text(encoding="ascii", errors="replace").splitlines() if " --- " not in line]


def _what_came_of(folder: Path, code: int) -> Counter[str]:
    """Judge one home after its faults."""
    found = Counter[str]()
    if code not in (BACKUP_MADE, BACKUP_REFUSED):
        found["wrong"] += 1
        wrong = folder / "wrong"
        found["first: " + (wrong.read_text() if wrong.exists() else f"exit code {code}")[-600:]] += 1
        return found
    report = loads((folder / "report").read_text())
    found["refused"] += len(report["refused"])
    found["unread"] += report["unread"]
    promised = acknowledged(folder / "manifest")
    verdict, why = judge(folder / "home", promised)
    found["false"] += verdict is Verdict.LOST
    found["damaged"] += verdict is Verdict.DAMAGED
    restore_backup(folder / "backup", folder / "restored")
    verdict, why_backup = judge(folder / "restored", promised[: report["in_backup"]])
    found["bad backups"] += verdict is not Verdict.WHOLE
    if why or why_backup:
        found[f"first: {why or why_backup}"] += 1
    return found


def with_small_files(limits: range) -> Counter[str]:
    """Let no file grow beyond each limit, in bytes; when it is lifted, the same process goes on."""
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        base = prepared(Path(scratch, "base"))
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for limit in limits:
            folder = Path(scratch, str(limit))
            shutil.copytree(base, folder)
            _, code = _forked(folder, partial(_limit_files, limit, hard), partial(_limit_files, hard, hard))
            found["runs"] += 1
            came = _what_came_of(folder, code)
            found["fired"] += came["refused"] > 0
            found += came
            shutil.rmtree(folder)
    return found


def _limit_files(bytes_: int, hard: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, hard))


def main(arguments: list[str]) -> int:
    """Run all sweeps; return 0 where nothing false was acknowledged and each fault fired."""
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--stride", type=int, default=1, help="only every so many-th call")
    chosen = parser.parse_args(arguments)
    if shutil.which("strace") is None:
        print(NO_STRACE, file=sys.stderr)
        return 2
    logging.disable()  # that something could not be stored is what is asked for
    failed = False
    proofs: dict[str, Callable[[], Counter[str]]] = {
        **{str(sweep): partial(swept, sweep, stride=chosen.stride) for sweep in SWEEPS},
        "files of limited size": partial(with_small_files, range(20_000, 420_000, 4_000 * chosen.stride)),
    }
    total = Counter[str]()
    for name, proof in proofs.items():
        found = proof()
        bad = found["wrong"] + found["false"] + found["damaged"] + found["bad backups"]
        silent = found["runs"] - found["fired"] if name in map(str, SWEEPS) else int(not found["fired"])
        unread = found["unread"] if not name.startswith("openat") else 0  # what cannot be opened cannot be read
        failed |= bool(bad or silent or unread or not found["runs"])
        print(
            f"{name}: {found['runs']:,} runs, the fault fired in {found['fired']:,}; {found['refused']:,} operations "
            f"refused, {found['false']} acknowledged in vain, {found['damaged']} damaged, {found['bad backups']} bad "
            f"backups, {found['wrong']} other errors, {found['unread']} reads of old data refused",
            *(text for text in found if text.startswith("first: ")),
            flush=True,
        )
        total += found
    print(
        f"{'FAILED' if failed else 'ok'}: {total['runs']:,} runs, {total['fired']:,} with a fault, {total['false']} false"
    )
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fork"]:
        fork_all(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
