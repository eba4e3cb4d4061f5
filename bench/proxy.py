"""What the gateway adds to a stream of 500 chunks and to a request of 1 MB: ``python -m bench.run proxy``.

All sides take turns in one run, each in a process of its own: straight to the upstream, a bare pass-through of aiohttp, the
gateway on a path that it passes through, and the gateway managing. A promise compares sides of the same run. Connections are
kept, as clients keep theirs.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from bench.figures import Claim, Figure, Report
from bench.kept import Kept

__all__ = ["cpu_s", "measure", "started"]

_SINGLE = 150
_SMALL = 200
_LATE_MS = 35.0  # for an acknowledgement that a client puts off, which is what a kept connection may wait for
_ROUNDS = 5
_SESSIONS = 8  # that take turns
_IDLE = 1_000
_MANAGED, _PASSED = "/v1/messages", "/v1/messages/count_tokens"
_TICKS = os.sysconf("SC_CLK_TCK")


class _Side:
    """One way to the upstream."""

    def __init__(self, name: str, url: str, path: str, pid: int | None) -> None:
        self.name, self.path, self.pid = name, path, pid
        self.kept = Kept(url)
        self.small: list[float] = []
        self.first: list[float] = []
        self.last: list[float] = []
        self.rates: dict[int, list[float]] = {32: [], 256: []}
        self.cpu: list[float] = []
        self.errors = 0

    def cpu_s(self) -> float:
        """CPU time of its process so far."""
        return 0.0 if self.pid is None else cpu_s(self.pid)


def cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measure() -> Report:
    """Measure, and hold the figures against the promises of the issue."""
    report = Report()
    with (
        tempfile.TemporaryDirectory() as home,
        started("upstream") as (upstream, _),
        started("bare", upstream) as (bare, bare_pid),
        started("gateway", upstream, home) as (ours, our_pid),
    ):
        sides = [
            _Side("direct", upstream, _MANAGED, None),
            _Side("bare aiohttp", bare, _MANAGED, bare_pid),
            _Side("gateway, passed through", ours, _PASSED, our_pid),
            _Side("gateway, managed", ours, _MANAGED, our_pid),
        ]
        added, idle_mb = asyncio.run(_all(sides))
    direct, plain, *gateways = sides
    for side in sides:
        report.figures.append(
            Figure(f"proxy: {side.name}, a small answer on a kept connection", "ms", tuple(side.small))
        )
        report.figures.append(Figure(f"proxy: {side.name}, first byte of one stream", "ms", tuple(side.first)))
        report.figures.append(Figure(f"proxy: {side.name}, last byte of one stream", "ms", tuple(side.last)))
        for count, rates in side.rates.items():
            report.figures.append(Figure(f"proxy: {side.name}, {count} streams", "requests/s", tuple(rates)))
        if side.cpu:
            report.figures.append(Figure(f"proxy: {side.name}, CPU of a request", "ms", tuple(side.cpu)))
    report.figures.append(Figure("proxy: managing a request of 1 MB adds", "ms", tuple(added)))
    base_first = median(plain.first) - median(direct.first)
    for side in gateways:
        last = median(side.last) / median(direct.last)
        first = (median(side.first) - median(direct.first)) / base_first
        report.claims += [
            Claim(f"{side.name}: last byte against direct", last, "x", 2.0),
            Claim(f"{side.name}: added first byte against bare aiohttp's", first, "x", 3.0),
            Claim(
                f"{side.name}: CPU of a request against bare aiohttp's", median(side.cpu) / median(plain.cpu), "x", 2.0
            ),
            Claim(
                f"{side.name}: time of 32 streams against bare aiohttp's",
                median(plain.rates[32]) / median(side.rates[32]),
                "x",
                1 / 0.6,
            ),
            Claim(f"{side.name}: errors in 256 streams", float(side.errors), "", 0.0),
        ]
        late = 100 * sum(ms > _LATE_MS for ms in side.small) / len(side.small)
        report.claims.append(Claim(f"{side.name}: small answers on a kept connection over 35 ms", late, "%", 5.0))
    report.claims.append(Claim("gateway: managing 1 MB adds, median", median(added), "ms", 15.0))
    report.claims.append(Claim(f"gateway: memory with {_IDLE:,} idle connections", idle_mb, " MB", 200.0))
    return report


async def _all(sides: list[_Side]) -> tuple[list[float], float]:
    """Fill the sides; return what managing 1 MB adds, and the memory of the gateway with idle connections."""
    await _streams(sides)
    for number in range(_SMALL):
        for side in sides:
            side.small.append((await side.kept.ask(side.path, _request(number, 100, stream=False))).last_ms)
    added = await _large(sides[-1], sides[0])
    idle_mb = await _idle(sides[-1])
    for side in sides:
        side.kept.close()
    return added, idle_mb


async def _idle(side: _Side) -> float:
    """Memory of the gateway, in MB, while so many clients are connected and ask nothing."""
    opened = [await asyncio.open_connection(side.kept.host, side.kept.port) for _ in range(_IDLE)]
    await _one(side, 0)
    with open(f"/proc/{side.pid}/status", encoding="ascii") as file:  # noqa: PTH123
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    for _, writer in opened:
        writer.close()
    return resident / 1024


async def _streams(sides: list[_Side]) -> None:
    for side in sides:
        for number in range(10):
            await _one(side, number)
    for number in range(_SINGLE):
        for side in sides:
            first, last = await _one(side, number)
            side.first.append(first)
            side.last.append(last)
    for _ in range(_ROUNDS):
        for side in sides:
            before = side.cpu_s()
            for number in range(60):
                await _one(side, number)
            if side.pid is not None:
                side.cpu.append((side.cpu_s() - before) / 60 * 1000)
            for count in (32, 256):
                started = time.perf_counter()
                found = await asyncio.gather(*(_one(side, n) for n in range(count)), return_exceptions=True)
                side.errors += sum(isinstance(one, BaseException) for one in found)
                side.rates[count].append(count / (time.perf_counter() - started))


def _request(number: int, size: int = 1_500, *, stream: bool = True) -> bytes:
    words = f"request {number % _SESSIONS} " + "word " * (size // 5)
    return json.dumps(
        {"stream": stream, "model": "claude-opus-4-5", "messages": [{"role": "user", "content": words}]}
    ).encode()


async def _one(side: _Side, number: int) -> tuple[float, float]:
    """Ask for a stream; return milliseconds to its first and last byte.

    Raises:
        OSError: It did not come whole.
    """
    answer = await side.kept.ask(side.path, _request(number))
    return answer.first_ms, answer.last_ms


async def _large(ours: _Side, direct: _Side) -> list[float]:
    """Milliseconds that a managed request of 1 MB takes more than the same one straight to the upstream."""
    found: list[float] = []
    for number in range(200, 260):
        body = _history(number)
        mine, theirs = [(await side.kept.ask(_MANAGED, body)).last_ms for side in (ours, direct)]
        found.append(mine - theirs)
    return found[10:]


def _history(rounds: int) -> bytes:
    """A session of about 5 KB a round; 200 rounds are 1 MB."""
    messages: list[object] = [{"role": "user", "content": "Fix it."}]
    for number in range(rounds):
        call = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "Bash", "input": {"command": f"run {number}"}}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]})
        text = f"line {number} of output abc def\n" * 180
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": text}]}
        )
    return json.dumps({"model": "claude-opus-4-5", "messages": messages}).encode()


@contextmanager
def started(*words: str) -> Iterator[tuple[str, int]]:
    """A process of `bench.proxy_parts`: its address and its number."""
    command = [sys.executable, "-m", "bench.proxy_parts", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.stdin.close()
            process.wait(120)
