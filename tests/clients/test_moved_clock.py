"""The clock that tests move for other programs."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.clients.moved_clock import MovedClock

pytestmark = pytest.mark.skipif(not MovedClock.is_possible(), reason="needs a C compiler and the loader of Linux")

SAYS_THE_TIME = "import sys, time, datetime; [print(int(time.time()), flush=True) for _ in sys.stdin]"


def test_a_running_program_sees_the_clock_move_and_its_timers_do_not(tmp_path: Path):
    start_s = int(time.time()) - 10_000
    clock = MovedClock(tmp_path, start_s)
    words, around = [sys.executable, "-c", SAYS_THE_TIME], clock.environment()
    with subprocess.Popen(words, env=around, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        before, first = clock() // 1_000, asked(program)
        clock.wait(61)
        second, after = asked(program), clock() // 1_000
        program.communicate(timeout=10)
    assert start_s <= before <= first
    assert first + 61 * 60 <= second <= after


def asked(program: subprocess.Popen[str]) -> int:
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("\n")
    program.stdin.flush()
    return int(program.stdout.readline())
