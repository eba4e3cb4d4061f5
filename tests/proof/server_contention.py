"""`make server-contention`: twelve processes on three networks, two hundred sessions, one server, and all histories.

Every process writes to every session. Each keeps a line for what it began and what came back, and reads what its neighbour
was acknowledged. Then the judge compares. With ``--control`` the engine's condition on the sequence is taken out.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence

from tests.postgres_server import PostgresServer
from tests.proof.server_check import History, problems, shown, started, told
from tests.proof.server_networks import Network, networks, server_on
from tests.proof.server_workload import Order

__all__ = ["address", "main", "run"]

_OPTIONS = "sslmode=disable&gssencmode=disable&undrift_schema=proof&undrift_connections=4"
_HOUR_MS = 3_600_000
LIMIT_MS = 50.0
"""Until another process has read what was acknowledged, at the 99th percentile."""


def address(server: PostgresServer, host: str, port: int = 0) -> str:
    """Return the address of the proof's home."""
    return f"postgresql://postgres@{host}:{port or server.port}/postgres?{_OPTIONS}"


def run(
    server: PostgresServer,
    places: Sequence[Network],
    *,
    processes: int,
    count: int,
    sessions: int,
    pause_s: float = 0.0,
    weaker: str = "",
) -> list[History]:
    """Let the processes work, their clocks up to an hour apart; return their histories."""
    start = time.time() + 1 + processes / 3
    pipes = [os.pipe() for _ in range(processes)]
    running = []
    for number in range(processes):
        place = places[number % len(places)]
        inbox, outbox = pipes[number][0], pipes[(number + 1) % processes][1]
        order = Order(
            address(server, place.host), f"p{number}", count, sessions, number, start,
            (number % 3 - 1) * _HOUR_MS, pause_s, inbox, outbox, weaker,
        )  # fmt: skip
        running.append(started(order, place, (inbox, outbox)))
    for one in pipes:
        for end in one:
            os.close(end)
    return told(running)


def part(values: Sequence[float], share: float) -> float:
    """Return a percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def main(arguments: list[str]) -> int:
    """Run and print; return 0 if nothing was refused, lost, doubled or late; with --control, 0 if that was noticed."""
    parser = argparse.ArgumentParser(prog="make server-contention", description=__doc__)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--operations", type=int, default=100)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--pause-ms", type=float, default=600.0)
    parser.add_argument("--control", action="store_true")
    chosen = parser.parse_args(arguments)
    weaker = "no sequence" if chosen.control else ""
    with networks(3) as (places, reason), server_on(places) as server:
        began = time.monotonic()
        found = run(
            server, places, processes=chosen.processes, count=chosen.operations, sessions=chosen.sessions,
            pause_s=chosen.pause_ms / 1_000, weaker=weaker,
        )  # fmt: skip
        took_s = time.monotonic() - began
        wrong = problems(address(server, places[0].host), found)
    took = [one for each in found for one in each.took_ms]
    since = [one for each in found for one in each.since_ms]
    read = [one for each in found for one in each.read_ms]
    refused = [why for each in found for why in each.refused.values()]
    late = part(since, 0.99)
    print(
        f"{chosen.processes} processes on {len(places)} networks{f' ({reason})' if reason else ''}, {chosen.sessions} sessions, "
        f"clocks two hours apart, {took_s:.0f} s: {len(took):,} acknowledged, {len(refused)} refused, {shown(wrong)}; "
        f"a commit p50 {part(took, 0.5):.1f} ms, p99 {part(took, 0.99):.1f} ms; another process had read it after p50 "
        f"{part(since, 0.5):.1f} ms, p99 {late:.1f} ms ({len(since)} readings; the reading itself p50 {part(read, 0.5):.1f} ms, "
        f"p99 {part(read, 0.99):.1f} ms)"
    )
    for line in [*refused, *wrong][:10]:
        print(line[:300])
    if chosen.control:
        return int(not wrong)
    return int(bool(refused or wrong or late > LIMIT_MS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
