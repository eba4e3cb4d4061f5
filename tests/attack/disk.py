"""Attacks on what is stored: power cuts, kills, full, read-only and damaged disks, clocks, and many writers."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from tests.attack.cuts import NO_STRACE, cuts
from tests.attack.rows import Outcome, Row, Skipped, of_program, of_tests
from tests.builders import opened
from tests.proof import contention
from tests.proof.powercut import ROOT
from tests.stores.builders import add, database, original
from undrift import Session, Settings
from undrift.errors import RecallError, StoreError
from undrift.stores.sqlite import SqliteStore

__all__ = ["ROWS"]

_TINY = "900k"
_MOUNTED = """
import sys
from tests.attack.disk import fill
print(*fill(sys.argv[1]))
"""


def _cut(*kinds: tuple[str, int, int]) -> Callable[[bool], Outcome]:
    """Return the attack of power cuts: kind of the operations, number of cuts, seed."""

    def attack(is_short: bool) -> Outcome:
        _need_strace()
        found = Counter[str]()
        for kind, number, seed in kinds:
            found += cuts(kind, 15 if is_short else number, seed, operations=36 if is_short else 60)
        first = next((text for text in found if text.startswith("first: ")), "")
        note = f"{found['lost']} lost, {found['half']} half done, {found['damaged']} damaged; "
        note += f"{found['same bytes']} of {found['windows']} requests the same bytes {first}"
        wrong = found["lost"] + found["half"] + found["damaged"] + found["windows"] - found["same bytes"]
        return Outcome(found["cuts"], found["cuts"] - wrong, note.strip())

    return attack


def _controls(is_short: bool) -> Outcome:
    """Both weaker settings must lose something, or the cuts prove nothing. A task or a turn sets FULL again; a memory does not."""
    _need_strace()
    number = 40 if is_short else 100
    bad = {}
    for synchronous in ("OFF", "NORMAL"):
        found = cuts("memory", number, 1, operations=60, synchronous=synchronous)
        bad[synchronous] = found["lost"] + found["half"] + found["damaged"]
    survived = sum(count > 0 for count in bad.values())
    return Outcome(2, survived, f"of {number} cuts {bad['OFF']} fail with OFF, {bad['NORMAL']} with NORMAL")


def _need_strace() -> None:
    if shutil.which("strace") is None:
        raise Skipped(NO_STRACE)


def _full(is_short: bool) -> Outcome:
    """Write into a file system of 900 kB until it is full; all that was acknowledged is there."""
    del is_short
    if os.geteuid() or not shutil.which("unshare"):
        raise Skipped("needs root and unshare")
    with tempfile.TemporaryDirectory() as folder:
        program = f"mount -t tmpfs -o size={_TINY},mode=700 undrift-attack {folder} && exec {sys.executable} -c '{_MOUNTED}' {folder}"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise Skipped(done.stderr[-200:])
    acknowledged, there, refused = map(int, done.stdout.split())
    return Outcome(
        acknowledged + 1, there + int(refused > 0), f"{acknowledged} acknowledged, {there} there, then refused"
    )


def fill(folder: str) -> tuple[int, int, int]:
    """Write until the disk is full; return how much was acknowledged, how much is there, and the typed refusals."""
    acknowledged, refused = [], 0
    with SqliteStore.open(Path(folder, "home")) as store:
        for number in range(40):
            one = original(f"e{number}", f"text {number} " * 4_000)
            try:
                add(store, one, prune_them=True)
            except StoreError:
                refused += 1
                break
            acknowledged.append(one)
        there = sum(store.original(one.ref) == one for one in acknowledged)
    return len(acknowledged), there, refused


def _pages(is_short: bool) -> Outcome:
    """Three pages in the middle of the file are overwritten; nothing wrong is given, and the doctor names it."""
    trials, held, random = 3 if is_short else 20, 0, Random(5)
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch, "whole")
        truth = {one.ref: one for one in (original(f"e{n}", f"content {n} " * 300) for n in range(60))}
        with SqliteStore.open(whole) as store:
            for one in truth.values():
                add(store, one, prune_them=True)
        content = database(whole).read_bytes()
        for trial in range(trials):
            damaged, home = bytearray(content), Path(scratch, str(trial))
            for page in random.sample(range(2, len(content) // 4_096 - 1), 3):
                damaged[page * 4_096 : (page + 1) * 4_096] = random.randbytes(4_096)
            home.mkdir()
            database(home).write_bytes(damaged)
            held += _is_refused_or_right(home, truth) and database(home).read_bytes() == bytes(damaged)
    return Outcome(trials, held)


def _is_refused_or_right(home: Path, truth: Mapping[str, object]) -> bool:
    missing = 0
    try:
        with SqliteStore.open(home) as store:
            for ref, one in truth.items():
                try:
                    if store.original(ref) != one:
                        return False
                except (RecallError, StoreError):
                    missing += 1
            return not missing or bool(store.integrity())
    except StoreError:
        return True


def _clock(is_short: bool) -> Outcome:
    """The clock goes back a day at each call; the newest statement wins all the same."""
    del is_short
    day_ms, now = 86_400_000, [10**13]

    def clock() -> int:
        now[0] -= day_ms
        return now[0]

    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=home, embedder="none")
        with Session.open("s", home=home, settings=settings, clock=clock) as session:
            held = 0
            for number in range(6):
                session.remember(f"The deploy port is {8_000 + number}.", trust="user")
                active = [one.content for one in session.memories() if not one.is_contradicted]
                held += active == [f"The deploy port is {8_000 + number}."]
    return Outcome(6, held)


def _crowd(is_short: bool) -> Outcome:
    """Twelve processes, then fifty threads that remember, pin, recall and purge on one home."""
    processes, each, threads, steps = (4, 8, 12, 6) if is_short else (12, 40, 50, 20)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        found = contention.histories(home, processes, each)
        wrong = contention.problems(home, found)
        wrong += _threads(Path(scratch, "other"), threads, steps)
    attempts = processes * each + threads * steps
    return Outcome(attempts, attempts - len(wrong), wrong[0][:120] if wrong else "")


def _threads(home: Path, threads: int, steps: int) -> list[str]:
    """Let threads with a session each mix their operations; return what is wrong in the end."""
    wrong: list[str] = []
    kept: dict[str, str] = {}
    purged: list[str] = []

    def work(name: int) -> None:
        with opened(home, f"t{name}", busy_timeout_ms=60_000) as session:
            for number in range(steps):
                text = f"pin {number} of thread {name}"
                try:
                    ref = session.pin("spec", text)
                    if number % 5 == 4:
                        session.purge(ref)
                        purged.append(ref)
                    elif session.recall(ref) != text:
                        wrong.append(f"{ref} has another text")
                    else:
                        kept[ref] = text
                except Exception as error:  # noqa: BLE001 - any fault is a finding
                    wrong.append(f"{type(error).__name__}: {error}")

    workers = [threading.Thread(target=work, args=(name,)) for name in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return wrong + _compared(home, kept, purged)


def _compared(home: Path, kept: Mapping[str, str], purged: Sequence[str]) -> list[str]:
    """Return what is lost, changed, or there although it was purged."""
    wrong: list[str] = []
    with SqliteStore.open(home) as store:
        for ref, text in kept.items():
            try:
                if store.original(ref).entry.content != text:
                    wrong.append(f"{ref} has another text in the end")
            except RecallError:
                wrong.append(f"{ref} is lost")
        for ref in purged:
            try:
                store.original(ref)
                wrong.append(f"{ref} was purged and is there")
            except RecallError:
                pass
        wrong += store.integrity()
    return wrong


ROWS = (
    Row("power cut: mixed operations, 2 seeds", "600 cuts: 600", _cut(("mixed", 300, 1), ("mixed", 300, 2))),
    Row("power cut: memory, 2 seeds", "600: 600", _cut(("memory", 300, 1), ("memory", 300, 2))),
    Row("power cut: tasks and facts", "600: 537 (63 half done, F7)", _cut(("tasks", 300, 1), ("facts", 300, 2))),
    Row(
        "power cut: turns, buffers, pins, and the outside measure",
        "1,800 in all: 1,800",
        of_program(
            "tests.proof.powercut",
            "--cuts 600 --outside 100",
            "--cuts 20 --operations 45 --outside 5",
            r"synchronous=FULL: (?:the outside measure, )?(?P<attempts>[\d,]+) cuts[^\n]*?: (?P<failed>\d+) lost",
        ),
    ),
    Row("power cut: controls (2 settings must lose)", "96 and 76 of 100 fail", _controls),
    Row(
        "kill -9 of the gateway, 12 sessions in parallel",
        "12 kills: 0 failed",
        of_program(
            "tests.proof.soak",
            "3.4 --kill-every 11 --only gateway --sessions 12 --share 0.8",
            "0.4 --kill-every 8 --only gateway --sessions 4 --share 0.8",
            r"(?P<failed>\d+) lost, \d+ refused, \d+ times unwell[\s\S]*kills: gateway (?P<attempts>\d+)",
        ),
    ),
    Row("kill -9 of a dispatcher", "4 kills: 0 failed", of_tests("tests/dispatch/test_runner.py", short="crash")),
    Row("kill -9 during a migration, 12 kills a layout", "15: 15", of_tests("tests/stores/test_scopes.py", "tests/stores/test_migrations.py", short="step_that_is_killed")),
    Row("old code on a new store", "1: 1", of_tests("tests/stores/test_migrations.py::test_a_newer_file_is_refused_and_never_touched")),
    Row("disk full (tmpfs 900k)", "5: 5", _full),
    Row("read-only file system and folder", "5: 0 (F3)", of_tests("tests/stores/test_read_only.py")),
    Row("store locked by another process", "1: 1", of_tests("tests/stores/test_faults.py::test_a_lock_that_is_held_is_busy_and_nothing_is_lost")),
    Row("three overwritten pages", "1: 1", _pages),
    Row("deleted -wal after kill -9", "2: 0 (F9)", of_tests("tests/stores/test_newest.py")),
    Row("clock a day back at every call", "6: 6", _clock),
    Row("fork with an open session", "1: 1", of_tests("tests/session/test_processes.py")),
    Row("12 processes x 40, 50 threads x 20, purge among them", "1,480: 1,480", _crowd),
    Row(
        "flipped bits",
        "not in the trial",
        of_program(
            "tests.proof.flips",
            "",
            "--flips 40",
            r"(?P<attempts>[\d,]+) flipped bits \(seed \d+\): (?P<failed>\d+) gave",
        ),
    ),
    Row(
        "faults of every write, sync, open and rename",
        "not in the trial",
        of_program("tests.proof.faults", "--stride 10", "--stride 60", r"(?P<attempts>[\d,]+) runs, [\d,]+ with a fault, (?P<failed>\d+) false"),
    ),
    Row(
        "12 writers in 12 processes",
        "not in the trial",
        of_program(
            "tests.proof.contention",
            "",
            "--processes 4 --operations 10",
            r"operations: (?P<attempts>[\d,]+) acknowledged, \d+ busy, (?P<failed>\d+) lost",
        ),
    ),
    Row(
        "kill -9 of a workload, backups and restores",
        "not in the trial",
        of_program("tests.proof.kills", "", "--cycles 4", r"(?P<attempts>\d+) cycles[^\n]*: (?P<failed>\d+) lost"),
    ),
)  # fmt: skip
