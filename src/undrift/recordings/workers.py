"""Processes that share a list of work; each result is returned as soon as it is ready.

Law: the processes only make it faster. If one ends or cannot be started, this process does its work. None of them
outlives this process, and Ctrl-C reaches this process alone.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, TypeVar

__all__ = ["processors", "serve", "shared"]

I = TypeVar("I")  # noqa: E741 - the item
R = TypeVar("R")

_MOST = 8
_COMMAND = "from undrift.recordings.workers import serve; serve()"


def processors() -> int:
    """Return how many processes can work at once, at most 8."""
    usable = getattr(os, "sched_getaffinity", None)
    return min(_MOST, len(usable(0)) if usable else os.cpu_count() or 1)


def shared(work: Callable[[I], R], items: Sequence[I], processes: int) -> Iterator[R]:
    """Yield the results, in the order in which they are ready; the items are begun in their order.

    Args:
        work: A function of a module, or a `functools.partial` of one: it is pickled, as items and results are.
        processes: At most so many; below 2 all work is done in this process.
    """
    if processes < 2:
        yield from map(work, items)
        return
    left = deque(items)
    ready: SimpleQueue[Callable[[], R] | None] = SimpleQueue()
    started = [_start() for _ in range(min(processes, len(items)))]
    threads = [
        threading.Thread(target=_feed, args=(process, work, left, ready), daemon=True) for process in started if process
    ]
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            result = ready.get()
            if result is None:
                running -= 1
            else:
                yield result()
        while left:
            yield work(left.popleft())
    finally:
        left.clear()
        for process in started:
            if process:
                process.kill()
                process.wait()
        for thread in threads:
            thread.join()


def serve() -> None:
    """Do the work that arrives on stdin until it closes; the first thing that arrives is the function."""
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print does not disturb the answers
    with suppress(EOFError, BrokenPipeError):
        work = pickle.load(given)  # noqa: S301 - the parent's own words
        while True:
            _send(answers, work(pickle.load(given)))  # noqa: S301


def _start() -> "subprocess.Popen[bytes] | None":
    """Start a process; it is no part of the terminal's group. None means: the system refuses."""
    group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
    command = [sys.executable, "-P", "-c", _COMMAND]
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, **group)  # noqa: S603
    except OSError:
        return None


def _feed(
    process: "subprocess.Popen[bytes]",
    work: Callable[[I], R],
    left: "deque[I]",
    ready: "SimpleQueue[Callable[[], R] | None]",
) -> None:
    """Send one item after the other to a process, until nothing is left or the process ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdin as questions, process.stdout as answers:
            _send(questions, work)
            while left:
                item = left.popleft()
                try:
                    _send(questions, item)
                    result = pickle.load(answers)  # noqa: S301 - our own process wrote it
                except (OSError, EOFError, ValueError, pickle.UnpicklingError):
                    ready.put(lambda item=item: work(item))  # type: ignore[misc]
                    return
                ready.put(lambda result=result: result)  # type: ignore[misc]
    except (OSError, ValueError, IndexError):
        return  # it could not be started, or another thread took the last item
    finally:
        ready.put(None)


def _send(stream: IO[bytes], value: Any) -> None:
    pickle.dump(value, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()
