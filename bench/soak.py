"""The gateway for a long time: ``python -m bench.soak [MINUTES]`` drives 50 sessions at once and watches what must not grow.

Each session keeps its connection and resends its whole history, with a budget that bites; one that is long enough gives way to
a new one. Memory, descriptors, threads, the write-ahead log and the number of files are read ten times a minute: their median
over the last third must not be more than a tenth (and a little) above that over the second third. The first third is warming
up. No request may fail, and none may pass unmanaged.
"""

import asyncio
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.kept import Kept
from bench.proxy import started

__all__ = ["main"]

_SESSIONS = 50
_ROUNDS = 40  # of a session
_PAUSE_S = 0.2
_EVERY_S = 6.0
_MEMORY = "192M"  # so that ended sessions are closed from the beginning on; else memory grows until the usual limit is reached
_SLACK = {"memory_mb": 8.0, "descriptors": 8, "threads": 2, "wal_mb": 8.0, "files": 4}


@dataclass(slots=True)
class _Counts:
    requests: int = 0
    failed: int = 0
    bypassed: int = 0


async def _session(url: str, number: int, until_s: float, counts: _Counts) -> None:
    """One client after the other, each with a history of its own."""
    kept, life = Kept(url), 0
    while time.monotonic() < until_s:
        life += 1
        messages: list[object] = [{"role": "user", "content": f"Session {number}, life {life}."}]
        for step in range(_ROUNDS):
            if time.monotonic() >= until_s:
                break
            body = json.dumps({"stream": True, "model": "claude-opus-4-5", "messages": messages}).encode()
            counts.requests += 1
            try:
                counts.bypassed += "\r\nx-undrift-bypass:" in (await kept.ask("/v1/messages", body)).head
            except OSError:
                counts.failed += 1
            call = f"toolu_{number:02}{life:04}{step:04}"
            use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"run {step}"}}
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]})
            result = {"type": "tool_result", "tool_use_id": call, "content": f"line {step} of {number}\n" * 120}
            messages.append({"role": "user", "content": [result]})
            await asyncio.sleep(_PAUSE_S)
    kept.close()


def _look(pid: int, home: Path) -> dict[str, float]:
    """What must not grow, now."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    wal = home / "undrift.db-wal"
    return {
        "memory_mb": int(status["VmRSS"].split()[0]) / 1024,
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "threads": int(status["Threads"]),
        "wal_mb": wal.stat().st_size / 1e6 if wal.exists() else 0.0,
        "files": len([path for path in home.iterdir() if path.is_file()]),
    }


async def _run(url: str, pid: int, home: Path, minutes: float) -> tuple[_Counts, list[dict[str, float]]]:
    until_s = time.monotonic() + minutes * 60
    counts, seen = _Counts(), []
    clients = [asyncio.create_task(_session(url, number, until_s, counts)) for number in range(_SESSIONS)]
    while time.monotonic() < until_s:
        await asyncio.sleep(_EVERY_S)
        seen.append(await asyncio.to_thread(_look, pid, home))
    await asyncio.gather(*clients)
    return counts, seen


def main(arguments: list[str]) -> int:
    """Drive the sessions; print what was seen, and return 1 where something grew, failed, or was not managed."""
    minutes = float(arguments[0]) if arguments else 20.0
    with (
        tempfile.TemporaryDirectory() as folder,
        started("upstream") as (upstream, _),
        started("gateway", upstream, folder, "20000", _MEMORY) as (url, pid),
    ):
        counts, seen = asyncio.run(_run(url, pid, Path(folder), minutes))
    third = len(seen) // 3
    grew = []
    print(f"{minutes:g} minutes, {counts.requests:,} requests, {counts.failed} failed, {counts.bypassed} not managed")
    for name, slack in _SLACK.items():
        values = [one[name] for one in seen]
        first, middle, last = (median(values[i * third : (i + 1) * third] or [0]) for i in range(3))
        is_flat = last <= middle * 1.1 + slack
        grew += [] if is_flat else [name]
        print(f"  {name:12} {first:10.1f} {middle:10.1f} {last:10.1f}   {'flat' if is_flat else 'GREW'}")
    return 1 if grew or counts.failed or counts.bypassed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
