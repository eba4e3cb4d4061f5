"""What a client waits for at its hooks: fresh processes over a session of 4 MB, the first time and later."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any, Self

from bench.figures import Claim, Figure, Report

__all__ = ["measure"]

LIMIT_MS = 300.0
_BYTES = 4_000_000
_SESSION = "0199f1d2-aaaa-4bbb-8ccc-000000000001"
_START = "from undrift.__main__ import run; run()"
_LINES = 60
_WAIT_S = 60.0


def measure(later: int = 40, first: int = 5) -> Report:
    """Measure wall time: a client waits for its hook, on whatever machine it is."""
    report = Report()
    with tempfile.TemporaryDirectory() as bytecode:
        with _Client(bytecode) as warm:  # compiles
            warm.call("PreCompact")
            warm.wait()
            warm.call("SessionStart", "compact")
        unprepared, sent, prepared, again = [], [], [], []
        for _ in range(first):
            with _Client(bytecode) as client:
                unprepared.append(client.call("SessionStart", "compact"))
        with _Client(bytecode) as client:
            for number in range(later):
                client.add(number)
                sent.append(client.call("PreCompact"))
                client.wait()
                prepared.append(client.call("SessionStart", "compact"))
                again.append(client.call("SessionStart", "resume"))
    figures = {
        "SessionStart after a compaction, prepared": prepared,
        "PreCompact, session seen before": sent,
        "SessionStart, resume": again,
        "SessionStart after a compaction, nothing prepared (first call)": unprepared,
    }
    for name, samples in figures.items():
        report.figures.append(Figure(f"hook: {name}", "ms", tuple(samples)))
        limit = LIMIT_MS if samples is not unprepared else None
        report.claims.append(Claim(f"hook: {name}, p50 of wall time", _quantile(samples, 50), "ms", limit))
        report.claims.append(Claim(f"hook: {name}, p99 of wall time", _quantile(samples, 99), "ms", limit))
    return report


def _quantile(samples: list[float], percent: int) -> float:
    return quantiles(samples, n=100, method="inclusive")[percent - 1]


class _Client:
    """A client with one recorded session, and a home of undrift, both new."""

    def __init__(self, bytecode: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        top = Path(self._folder.name)
        self._home, self._own = top / "undrift", top / "claude"
        self._transcript = self._own / "projects" / "-repo" / f"{_SESSION}.jsonl"
        self._transcript.parent.mkdir(parents=True)
        self._environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._environment["PYTHONPYCACHEPREFIX"] = bytecode
        self._records = _session(str(top))
        with self._transcript.open("w", encoding="utf-8") as file:
            while file.tell() < _BYTES:
                file.write(json.dumps(next(self._records)) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def add(self, number: int) -> None:
        """Go on with the session, and compact."""
        with self._transcript.open("a", encoding="utf-8") as file:
            for _ in range(10):
                file.write(json.dumps(next(self._records)) + "\n")
            boundary = {"type": "system", "subtype": "compact_boundary", "isSidechain": False, "uuid": f"b-{number}"}
            file.write(json.dumps(boundary) + "\n")

    def call(self, event: str, source: str = "") -> float:
        """Call a hook in a fresh process; return how many milliseconds the client waits."""
        given = {"session_id": _SESSION, "transcript_path": str(self._transcript), "cwd": str(self._own.parent)}
        payload = json.dumps({**given, "hook_event_name": event, "source": source}).encode()
        words = ["hook", event, f"--home={self._home}", f"--client-home={self._own}"]
        started = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-P", "-c", _START, *words],
            input=payload,
            capture_output=True,
            env=self._environment,
            check=True,
        )
        waited_ms = (time.perf_counter() - started) * 1_000
        if (source == "compact") != bool(run.stdout):
            raise AssertionError(f"{event} {source}: answered {run.stdout[:200]!r}\n{self._log()}")
        return waited_ms

    def wait(self) -> None:
        """Wait until what PreCompact has started is done, as the client does while it summarises."""
        recorded = self._home / "hooks" / f"claude-{_SESSION}" / "recorded.json"
        size = self._transcript.stat().st_size
        deadline = time.monotonic() + _WAIT_S
        while not recorded.exists() or json.loads(recorded.read_bytes())["offset"] < size:
            if time.monotonic() > deadline or self._log():
                raise AssertionError(f"the session was not recorded: {self._log()}")
            time.sleep(0.01)

    def _log(self) -> str:
        path = self._home / "hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def _session(cwd: str) -> Iterator[dict[str, Any]]:
    """A session that reads files of made-up code, without an end."""
    chance = random.Random(7)
    yield _record(0, "user", "Find out where the value is computed.", cwd)
    number = 0
    while True:
        number += 1
        call = {"type": "tool_use", "id": f"c-{number}", "name": "Read"}
        call |= {"input": {"file_path": f"{cwd}/src/part_{number % 40}.py"}}
        yield _record(2 * number, "assistant", [{"type": "text", "text": f"I look at part {number % 40}."}, call], cwd)
        lines = (
            f"{line:6}\tdef function_{number}_{line}(argument_{chance.randrange(99)}): return {chance.random()}"
            for line in range(_LINES)
        )
        result = {"type": "tool_result", "tool_use_id": f"c-{number}", "content": "\n".join(lines)}
        yield _record(2 * number + 1, "user", [result], cwd)


def _record(number: int, role: str, content: Any, cwd: str) -> dict[str, Any]:
    message = {"role": role, "content": content, "id": f"m-{number}"}
    stamp = "2026-03-01T10:00:00.000Z"
    common = {"isSidechain": False, "sessionId": _SESSION, "cwd": cwd, "uuid": f"u-{number}", "timestamp": stamp}
    return {"type": role, **common, "message": message}
