"""Work that processes share: the same results, whoever does it, and nobody left behind."""

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.builders import environment
from undrift.recordings.workers import processors, shared

ITEMS = [bytes([number]) * 100 for number in range(40)]
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc: Linux")


def children(pid: int) -> list[int]:
    return [int(one) for path in Path(f"/proc/{pid}/task").glob("*/children") for one in path.read_text().split()]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def waited(condition: Callable[[], bool]) -> bool:
    """Wait until something is so; a minute is given up."""
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def unknown_elsewhere(item: bytes) -> bytes:
    """A function that a process of its own cannot import."""
    return item[:1]


@pytest.mark.parametrize("processes", [0, 1, 3, 100])
def test_every_item_is_done_once(processes: int) -> None:
    items = ITEMS[:5] if processes == 100 else ITEMS
    assert sorted(shared(base64.b64encode, items, processes)) == sorted(map(base64.b64encode, items))
    assert list(shared(base64.b64encode, [], processes)) == []


def test_what_the_processes_cannot_do_this_one_does() -> None:
    assert sorted(shared(unknown_elsewhere, ITEMS, 2)) == sorted(map(unknown_elsewhere, ITEMS))


@NEEDS_PROC
def test_a_process_that_is_killed_costs_nothing() -> None:
    with closing(shared(base64.b64encode, ITEMS, 2)) as results:  # type: ignore[type-var]
        done = [next(results)]
        for pid in children(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        done += results
    assert sorted(done) == sorted(map(base64.b64encode, ITEMS))


@NEEDS_PROC
def test_none_is_left_when_the_work_is_broken_off() -> None:
    with closing(shared(base64.b64encode, ITEMS, 2)) as results:  # type: ignore[type-var]
        next(results)
        started = children(os.getpid())
        assert started
    assert all(map(is_gone, started))


@NEEDS_PROC
@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGINT])
def test_none_outlives_a_parent_that_is_ended(ended_by: signal.Signals) -> None:
    program = (
        "import base64, signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from undrift.recordings.workers import shared\n"
        "for done in shared(base64.b64encode, [b'x'] * 1000, 2): print(len(done), flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"4\n"
        started = children(parent.pid)
        assert started
        parent.send_signal(ended_by)
        parent.wait()
        assert waited(lambda: all(map(is_gone, started)))


def test_at_least_one_process_can_work() -> None:
    assert 1 <= processors() <= 8
