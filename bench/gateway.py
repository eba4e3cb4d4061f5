"""What the gateway costs where people are: ``python -m bench.gateway [small sessions burst memory] [--short]``.

Small: a request of 200 bytes on a kept connection, beside a bare pass-through of the same libraries and beside no gateway.
Sessions: CPU of a request with 10, 80 and 500 open sessions. Burst: 8 large sessions that nobody has seen, at once. Memory:
2,000 sessions in a gateway that may use 1 GB. What is said of them is a ratio within one run, a count, or a size.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.figures import Claim, Figure, Report
from bench.kept import Kept
from bench.proxy import cpu_s, started

__all__ = ["main", "measure"]

_PATH = "/v1/messages"
_BUDGET = "12000"
_CLIENTS = 8
_OPEN = (10, 80, 500)
_LATER = 800  # requests after the first of each session, at least two of each
_SMALL = 1_000
_BURST, _BURST_BYTES = 8, 4_000_000
_MANY, _MANY_MEMORY, _MANY_MB = 2_000, "1G", 1_024.0


def measure(*, is_short: bool = False, parts: tuple[str, ...] = ()) -> Report:
    """Measure all parts, or some; short: fewer requests and sessions, for a look within seconds."""
    report = Report()
    for name, part in _PARTS.items():
        if name in parts or not parts:
            part(report, is_short)
    return report


@contextmanager
def _gateway(*more: str, upstream: str = "instant") -> Iterator[tuple[str, int, str]]:
    """Yield the address and the process of a new gateway with a home of its own, and the address of its provider."""
    with (
        tempfile.TemporaryDirectory() as home,
        started(upstream) as (provider, _),
        started("gateway", provider, home, *more) as (url, pid),
    ):
        yield url, pid, provider


def _body(session: int, more: int = 0, *, messages: int = 200, line_count: int = 15, has_id: bool = True) -> bytes:
    """Return a history of a session that grows by a call and its result a turn; 87 kB if nothing else is said."""
    said: list[object] = [{"role": "user", "content": f"Session {session}: fix it."}]
    for step in range(messages // 2 + more):
        call = {
            "type": "tool_use",
            "id": f"t{session:05}{step:05}",
            "name": "Bash",
            "input": {"command": f"run {step}"},
        }
        text = f"{session} line {step} of output, as a tool prints it\n" * line_count
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        said += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    named = {"metadata": {"user_id": json.dumps({"session_id": f"bench-{session:08}"})}} if has_id else {}
    return json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": said, **named}).encode()


def _large(session: int, size: int) -> bytes:
    """Return a history of about so many bytes."""
    return _body(session, messages=800, line_count=size // 400 // 46)


# ------------------------------------------------------------------------------------------------------------- small
def _small(report: Report, is_short: bool) -> None:
    """Measure a small request: through the gateway, through a bare pass-through of its libraries, and direct."""
    with _gateway() as (url, pid, provider), started("plain", provider) as (plain, plain_pid):
        times, cpu = asyncio.run(_taking_turns([provider, plain, url], [None, plain_pid, pid], is_short))
    names = ("direct", "bare pass-through of the same libraries", "gateway, managed")
    for name, samples in zip(names, times, strict=True):
        report.figures.append(Figure(f"gateway: {name}, a request of 200 bytes", "ms", tuple(samples)))
    direct, bare, ours = (median(samples) for samples in times)
    report.claims += [
        Claim("gateway: a small kept-alive request against a bare pass-through, p50", ours / bare, "x", 1.5),
        Claim("gateway: the same against direct, p50", ours / direct, "x"),
        Claim("gateway: CPU of it against a bare pass-through", cpu[2] / cpu[1], "x"),
    ]


async def _taking_turns(
    urls: list[str], pids: list[int | None], is_short: bool
) -> tuple[list[list[float]], list[float]]:
    """Return milliseconds of each request and the CPU seconds of each process; the sides take turns."""
    body = json.dumps(
        {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi " * 38}]}
    )
    sides, times = [Kept(url) for url in urls], [[] for _ in urls]  # type: list[Kept], list[list[float]]
    for side in sides:
        for _ in range(50):
            await side.ask(_PATH, body.encode())
    before = [0.0 if pid is None else cpu_s(pid) for pid in pids]
    for _ in range(_SMALL // 5 if is_short else _SMALL):
        for side, found in zip(sides, times, strict=True):
            found.append((await side.ask(_PATH, body.encode())).last_ms)
    cpu = [0.0 if pid is None else cpu_s(pid) - start for pid, start in zip(pids, before, strict=True)]
    for side in sides:
        side.close()
    return times, cpu


# ----------------------------------------------------------------------------------------------------------- sessions
def _sessions(report: Report, is_short: bool) -> None:
    """Measure the CPU of a request by how many sessions are open."""
    least = 0.0
    for has_id in (True, False):
        for count in _OPEN[:-1] if is_short else _OPEN:
            first_ms, later_ms, missed, _ = _turns(count, 60 if is_short else _LATER, has_id=has_id)
            kind = "with an id" if has_id else "known by content"
            report.figures.append(Figure(f"gateway: {count} sessions {kind}, first request, CPU", "ms", (first_ms,)))
            report.figures.append(Figure(f"gateway: {count} sessions {kind}, later request, CPU", "ms", (later_ms,)))
            report.claims.append(Claim(f"gateway: {count} sessions {kind}: not managed", float(missed), "", 0.0))
            if count == _OPEN[0]:
                least = later_ms
            else:
                text = f"gateway: CPU of a request with {count} sessions {kind} against {_OPEN[0]}"
                report.claims.append(Claim(text, later_ms / least, "x", 2.0))


def _turns(count: int, later: int, memory: str = "", *, has_id: bool = True) -> tuple[float, float, int, float]:
    """Return the CPU of a first and of a later request in ms, how many were not managed, and the most memory in MB."""
    with _gateway(_BUDGET, *([memory] if memory else [])) as (url, pid, _):
        began = cpu_s(pid)
        missed = asyncio.run(_ask_for(url, [(number, 0) for number in range(count)], has_id=has_id))
        middle, rounds = cpu_s(pid), max(2, later // count)
        asked = [(number, turn) for turn in range(1, rounds + 1) for number in range(count)]
        missed += asyncio.run(_ask_for(url, asked, has_id=has_id))
        later_ms = 1000 * (cpu_s(pid) - middle) / len(asked)
        return 1000 * (middle - began) / count, later_ms, missed, _resident_mb(pid)


async def _ask_for(url: str, numbers: list[tuple[int, int]], *, has_id: bool) -> int:
    """Ask for these sessions and turns, 8 at once; return how many were not managed."""
    waiting, missed, kept = list(reversed(numbers)), 0, Kept(url)

    async def client() -> None:
        nonlocal missed
        while waiting:
            session, turn = waiting.pop()
            body = await asyncio.to_thread(_body, session, turn, has_id=has_id)
            answer = await kept.ask(_PATH, body)
            missed += "x-undrift-bypass" in answer.head

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    kept.close()
    return missed


def _resident_mb(pid: int) -> float:
    """Return the most memory that a process has used at once."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# -------------------------------------------------------------------------------------------------------------- burst
def _burst(report: Report, is_short: bool) -> None:
    """Measure large sessions that nobody has seen, at once, and small warm ones beside them."""
    size = _BURST_BYTES // 8 if is_short else _BURST_BYTES
    with _gateway(_BUDGET) as (url, _, _):
        bypassed, whole_s, small = asyncio.run(_at_once(url, size))
    report.figures.append(
        Figure(f"gateway: {_BURST} cold sessions of {size / 1e6:g} MB at once, until all are answered", "s", whole_s)
    )
    report.figures.append(Figure("gateway: a small warm request beside them", "ms", small))
    report.claims.append(
        Claim(f"gateway: {_BURST} cold sessions of {size / 1e6:g} MB at once: not managed", float(bypassed), "", 0.0)
    )


async def _at_once(url: str, size: int) -> tuple[int, tuple[float, ...], tuple[float, ...]]:
    """Return how many requests were not managed, the seconds of each large one, and the ms of the small ones."""
    kept, small = Kept(url), []  # type: Kept, list[float]
    bodies = [await asyncio.to_thread(_large, number, size) for number in range(_BURST)]
    await kept.ask(_PATH, _body(9_999))
    large = [asyncio.create_task(kept.ask(_PATH, body)) for body in bodies]
    bypassed, turn = 0, 0
    while not all(one.done() for one in large):
        turn += 1
        answer = await kept.ask(_PATH, _body(9_999, turn % 40))
        bypassed += "x-undrift-bypass" in answer.head
        small.append(answer.last_ms)
        await asyncio.sleep(0.05)
    answers = [await one for one in large]
    again = [await kept.ask(_PATH, body) for body in bodies]
    kept.close()
    bypassed += sum("x-undrift-bypass" in one.head for one in (*answers, *again))
    return bypassed, tuple(one.last_ms / 1000 for one in answers), tuple(small)


# ------------------------------------------------------------------------------------------------------------- memory
def _memory(report: Report, is_short: bool) -> None:
    """Measure the memory of a gateway that may use 1 GB, with more sessions than fit."""
    if is_short:
        return
    began_s = time.perf_counter()
    first_ms, later_ms, missed, most_mb = _turns(_MANY, 1, _MANY_MEMORY)
    name = f"gateway: {_MANY:,} sessions of 87 kB within {_MANY_MEMORY}"
    report.figures.append(Figure(f"{name}, first request, CPU", "ms", (first_ms,)))
    report.figures.append(Figure(f"{name}, later request (most were closed meanwhile), CPU", "ms", (later_ms,)))
    report.figures.append(Figure(f"{name}, in all", "s", (time.perf_counter() - began_s,)))
    report.claims.append(Claim(f"{name}: most memory", most_mb, "MB", _MANY_MB))
    report.claims.append(Claim(f"{name}: not managed", float(missed), "", 0.0))
    report.claims.append(
        Claim(f"{name}: a request after its session was closed against the first", later_ms / first_ms, "x")
    )


_PARTS: dict[str, Callable[[Report, bool], None]] = {
    "small": _small,
    "sessions": _sessions,
    "burst": _burst,
    "memory": _memory,
}


def main(arguments: list[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="bench.gateway", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(_PARTS)}; default: all")
    parser.add_argument("--short", action="store_true", help="fewer requests and sessions")
    given = parser.parse_args(arguments)
    if unknown := [part for part in given.parts if part not in _PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(_PARTS)}")
    print(measure(is_short=given.short, parts=tuple(given.parts)).as_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
