"""How the cost of a turn grows with its session: the same turn at 1,000 and at 10,000 messages, and what an open session holds.

``python -m bench.growth [CASE]...`` prints CPU milliseconds, medians; a case is ``pruned`` (a budget of 60,000 tokens, so
that most of the history has left) or ``whole`` (nothing leaves). Each size runs in a process of its own. It uses public
names alone, so that an earlier version's interpreter may run it.

Law: the history is synthetic, made of text of the standard library; nothing of the user's is read.
"""

import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from undrift import Session, Settings

__all__ = ["grown", "main", "reopened"]

_BUDGETS = {"pruned": 60_000, "whole": 10**9}
_SIZES = (1_000, 10_000)
_STEPS = 100  # in which a session grows before it is measured
_TURNS = 41  # that are measured
_HEAD = {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "system": "You are a careful engineer.", "tools": []}


def main(arguments: list[str]) -> int:
    """Print the figures of the cases that are named, or of both."""
    for case in arguments or _BUDGETS:
        found = {}
        for size in _SIZES:
            with tempfile.TemporaryDirectory() as home:
                found[size] = _apart("grown", case, size, home) | _apart("reopened", case, size, home)
        small, large = (found[size] for size in _SIZES)
        print(f"{case:24} {_SIZES[0]:>10,} {_SIZES[1]:>10,}      ratio")
        for name in small:
            ratio = f"{large[name] / small[name]:10.2f}" if small[name] else " " * 10
            print(f"  {name:22} {small[name]:10.2f} {large[name]:10.2f} {ratio}")
    return 0


def grown(case: str, size: int, home: str) -> dict[str, float]:
    """Let a session grow to a size, then measure turns of two messages each."""
    messages = list(itertools.islice(_messages(), size + 2 * _TURNS))
    pruning: list[float] = []
    quiet: list[float] = []
    with Session.open("s", home=home, settings=_settings(case)) as session:
        count, last = 0, b""
        for end in [*range(size // _STEPS, size + 1, size // _STEPS), *range(size + 2, size + 2 * _TURNS, 2)]:
            last = _body(messages[: end // 2 * 2 - 1])
            spent, prepared = _spent_ms(partial(session.prepare, last))
            is_quiet, count = len(prepared.actions) == count, len(prepared.actions)
            if not is_quiet:
                pruning.append(spent)
            elif end > size:
                quiet.append(spent)
    Path(home, "body.json").write_bytes(last)
    return {
        "body MB": len(last) / 1e6,
        "quiet turn ms": statistics.median(quiet),
        "pruning turn ms": statistics.median(pruning[-20:]) if pruning else 0.0,
    }


def reopened(case: str, size: int, home: str) -> dict[str, float]:
    """Open what has grown once more, in a process that has had a small session already."""
    del size
    with tempfile.TemporaryDirectory() as other, Session.open("s", home=other, settings=_settings(case)) as session:
        session.prepare(_body(list(itertools.islice(_messages(), 99))))
    body = Path(home, "body.json").read_bytes()
    gc.collect()
    before = _resident() - len(body)
    open_ms, session = _spent_ms(lambda: Session.open("s", home=home, settings=_settings(case)))
    first_ms, _ = _spent_ms(lambda: session.prepare(body))
    later_ms, _ = _spent_ms(lambda: session.prepare(body))
    gc.collect()
    held = _resident() - before
    session.close()
    return {
        "open ms": open_ms,
        "first prepare ms": first_ms,
        "second prepare ms": later_ms,
        "resident / body": held / len(body),
    }


def _apart(what: str, case: str, size: int, home: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.growth", f"--{what}", case, str(size), home]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def _settings(case: str) -> Settings:
    return Settings(budget_tokens=_BUDGETS[case])


def _spent_ms(what: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = what()
    return (time.process_time() - began) * 1_000, found


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _body(messages: list[Any]) -> bytes:
    return json.dumps({**_HEAD, "messages": messages}, separators=(",", ":")).encode()


def _messages() -> Iterator[dict[str, Any]]:
    """Yield messages without end: an order of the user now and then, calls of a tool and their results; 650 bytes on average."""
    random = Random(1)
    folder = Path(sysconfig.get_path("stdlib"))
    lines = [line for path in sorted(folder.glob("*.py")) for line in path.read_text(errors="replace").splitlines()]
    yield {"role": "user", "content": "Read the library and say what it does."}
    for number in itertools.count():
        start = random.randrange(len(lines) - 40)
        call = {"type": "tool_use", "id": f"call_{number}", "name": "read", "input": {"path": f"lib/{start}.py"}}
        said = {"type": "text", "text": " ".join(lines[start : start + 2]) or "."}
        yield {"role": "assistant", "content": [said, call]}
        text = "\n".join(lines[start : start + random.randrange(10, 40)])
        result: list[Any] = [{"type": "tool_result", "tool_use_id": f"call_{number}", "content": text}]
        if number % 20 == 19:
            result.append({"type": "text", "text": f"Now look at part {number}: {lines[-start]}"})
        yield {"role": "user", "content": result}


if __name__ == "__main__":
    given = sys.argv[1:]
    if given and given[0].startswith("--"):
        measure = {"--grown": grown, "--reopened": reopened}[given[0]]
        print(json.dumps(measure(given[1], int(given[2]), given[3])))
    else:
        sys.exit(main(given))
