"""What a request costs by how many sessions are open: ``python -m bench.open_sessions [SESSIONS]... [--most N]``.

Every session asks once, which is its cold start, then again in turn; connections are kept. It prints CPU of the gateway for
each later request, and requests a second of 8 clients, who share the cores with it. ``--most 64`` is the limit that stood
before; ``--nameless`` leaves the sessions to be recognised by their content.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.kept import Kept
from bench.proxy import cpu_s, started

__all__ = ["main"]

_CLIENTS = 8
_MESSAGES = 200
_BUDGET = "12000"
_LATER = 800  # requests, at least two of each session


def _body(session: int, more: int, *, is_nameless: bool) -> bytes:
    """A history of about 87 kB that grows by a call and its result a turn."""
    messages: list[object] = [{"role": "user", "content": f"Session {session}: fix it."}]
    for step in range(_MESSAGES // 2 + more):
        call = {
            "type": "tool_use",
            "id": f"t{session:05}{step:05}",
            "name": "Bash",
            "input": {"command": f"run {step}"},
        }
        text = f"{session} line {step} of output, as a tool prints it\n" * 15
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    named = {} if is_nameless else {"metadata": {"user_id": f"user_a_account__session_{session:08}"}}
    return json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages, **named}).encode()


async def _round(kept: Kept, numbers: list[tuple[int, int]], *, is_nameless: bool) -> list[float]:
    """Ask for these sessions and turns, 8 at once; milliseconds of each."""
    waiting, found = list(reversed(numbers)), []

    async def client() -> None:
        while waiting:
            session, turn = waiting.pop()
            body = await asyncio.to_thread(_body, session, turn, is_nameless=is_nameless)
            answer = await kept.ask("/v1/messages", body)
            if "x-undrift-bypass" in answer.head:
                print(f"  not managed: session {session}", file=sys.stderr)
            found.append(answer.last_ms)

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    return found


def _measured(count: int, most: str, *, is_nameless: bool) -> str:
    with (
        tempfile.TemporaryDirectory() as folder,
        started("upstream") as (upstream, _),
        started("gateway", upstream, folder, _BUDGET, most) as (url, pid),
    ):

        async def go() -> tuple[float, float, float, float]:
            kept = Kept(url)
            cold = cpu_s(pid)
            await _round(kept, [(number, 0) for number in range(count)], is_nameless=is_nameless)
            began_cpu, began_s = cpu_s(pid), time.perf_counter()
            rounds = max(2, _LATER // count)
            asked = [(number, turn) for turn in range(1, rounds + 1) for number in range(count)]
            times = await _round(kept, asked, is_nameless=is_nameless)
            spent_s = time.perf_counter() - began_s
            used = 1000 * (cpu_s(pid) - began_cpu) / len(asked)
            kept.close()
            return 1000 * (began_cpu - cold) / count, used, len(asked) / spent_s, median(times)

        first, later, rate, middle = asyncio.run(go())
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        memory_mb = int(status.partition("VmRSS:")[2].split()[0]) / 1024
    return f"{count:5} {most or 'as it is':>9} {first:9.1f} {later:9.1f} {rate:11.0f} {middle:8.1f} {memory_mb:7.0f}"


def main(arguments: list[str]) -> int:
    """Print a row for each number of sessions."""
    parser = argparse.ArgumentParser(prog="bench.open_sessions", description=__doc__)
    parser.add_argument("sessions", nargs="*", type=int, default=[80, 500])
    parser.add_argument("--most", default="", metavar="N", help="sessions that the gateway keeps open")
    parser.add_argument("--nameless", action="store_true", help="the requests do not say whose they are")
    given = parser.parse_args(arguments)
    print(" open      most  first ms  later ms  requests/s   p50 ms  RSS MB   (ms of CPU but for p50)")
    for count in given.sessions:
        print(_measured(count, given.most, is_nameless=given.nameless), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
