"""The inputs of the fleet's simulation, measured on this machine: ``python -m bench.fleet measure OUT.json [SESSIONS_DIR]``.

The engine of `undrift serve` sends recorded sessions turn by turn to a real server that waits for its disk. Without a folder the
sessions are texts of the standard library.

Law: what other work on the machine changes is not used. Times are CPU times: of this process, and of the server's processes
as the system counts them. Wall times are kept for the reader.
"""

import os
import pickle
import platform
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

import psycopg

from bench.commits import folders_below, home_at
from bench.fleet_apart import apart
from bench.fleet_gateway import replayed
from bench.fleet_meters import cpu_summary
from bench.fleet_served import served
from bench.fleet_server import partitions, rates, statements, wal_of
from bench.fleet_sessions import BUDGET_TOKENS, ReplaySession, recorded_sessions, synthetic_sessions
from bench.fleet_shape import shape, words_growth
from tests.postgres_server import PostgresServer, postgres_binaries
from undrift import __version__

__all__ = ["MeasuringSize", "measure"]


@dataclass(frozen=True, slots=True)
class MeasuringSize:
    """The size of a measurement.

    Args:
        sessions: Recorded ones, the first by the SHA-256 of their files.
        turns: Of a session that is not a recorded one.
        partitions: Leaves of one table; four make a month.
        repeats: Of each statement whose CPU time is read off the server.
        seconds: Of each run of commits.
        memories: Of the project whose index is weighed.
        connections: At once, in runs of commits.
    """

    sessions: int = 16
    turns: int = 60
    partitions: Sequence[int] = (12, 120, 1_200)
    repeats: int = 1_500
    seconds: float = 8.0
    memories: int = 2_000
    connections: Sequence[int] = (1, 4, 16)


def measure(folder: Path | None = None, size: MeasuringSize | None = None) -> dict[str, Any]:
    """Measure everything, and return it as JSON values.

    Raises RuntimeError: no PostgreSQL is installed.
    """
    size, began = size or MeasuringSize(), time.time()
    load = os.getloadavg()[0]
    sessions, digest = (
        (synthetic_sessions(size.sessions, size.turns), "")
        if folder is None
        else recorded_sessions(folder, size.sessions)
    )
    version = next(iter(postgres_binaries()), "")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(folders_below(scratch))
        server = stack.enter_context(PostgresServer.start(is_fast=False))
        path = scratch / "sessions"
        path.write_bytes(pickle.dumps(sessions))
        shapes = {str(budget): shape(server, scratch, sessions, budget) for budget in (BUDGET_TOKENS, "auto")}
        changes = shapes[str(BUDGET_TOKENS)]["_changes"]
        schema = f"shape_{BUDGET_TOKENS}"
        found = {
            "shapes": {name: {key: one[key] for key in one if key != "_changes"} for name, one in shapes.items()},
            "with_affinity": _affine(server, scratch, sessions),
            "served": served(server, scratch, _few(sessions)),
            "cold": apart("_cold", home_at(server.url(), schema), str(scratch / schema), str(path), str(BUDGET_TOKENS)),
            "states": apart("_states", home_at(server.url(), schema), str(path)),
            "memory_index": apart("_memories", home_at(server.url(), "memories"), str(size.memories)),
            "process": apart("_process", home_at(server.url(), "process")),
            "words_growth": words_growth(server),
            "wal": wal_of(server, changes),
            "statements": statements(server, changes, size.repeats),
            "commits": rates(server, scratch, changes, size.connections, size.seconds),
            "partitions": partitions(server, changes, size.partitions, size.repeats),
        }
    return {"about": _about(sessions, digest, version, load, time.time() - began), **found}


def _affine(server: PostgresServer, folder: Path, sessions: Sequence[ReplaySession]) -> dict[str, Any]:
    """Return CPU and round trips of quiet turns, if a balancer sends a session to one process."""
    home = home_at(server.url(), "affine", affinity="yes")
    replay = replayed(home, folder / "affine", _few(sessions), BUDGET_TOKENS)
    every = (*replay.first, *replay.quiet, *replay.pruning)
    return {
        "turns": replay.turns,
        "turn_cpu_ms": mean(every),
        "quiet_cpu_ms": cpu_summary(replay.quiet),
        "quiet_round_trips": mean(replay.calls["quiet"]) if replay.calls["quiet"] else 0.0,
    }


def _few(sessions: Sequence[ReplaySession]) -> Sequence[ReplaySession]:
    return sessions[: max(2, len(sessions) // 4)]


def _about(sessions: Sequence[ReplaySession], digest: str, version: str, load: float, seconds: float) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "undrift": __version__,
        "python": platform.python_version(),
        "postgresql": version,
        "psycopg": psycopg.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_at_start": round(load, 1),
        "load_at_end": round(os.getloadavg()[0], 1),
        "seconds": round(seconds),
        "sessions": len(sessions),
        "sessions_sha256": digest,
        "budget_tokens": BUDGET_TOKENS,
    }
