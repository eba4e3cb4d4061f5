"""What the system says of processes: CPU times and memory, and how times are written down.

Law: what other work on the machine changes is not read. Times are CPU times.
"""

import ctypes
import gc
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from tests.postgres_server import PostgresServer

__all__ = ["cpu_of", "cpu_summary", "private_bytes", "resident", "resident_of", "server_cpu", "spread"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_QUANTILES = 20
_IN_KIB = re.compile(r"^(Private_Clean|Private_Dirty):\s+(\d+) kB", re.MULTILINE)


def cpu_of(pid: int, *, with_ended: bool = False) -> float:
    """Return the CPU seconds of a process so far. `with_ended`: of its children that have ended too."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / _TICKS


def _postmaster(server: PostgresServer) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def server_cpu(server: PostgresServer) -> float:
    """Return the CPU seconds of all processes of the server so far, ended ones included."""
    pid = _postmaster(server)
    total = cpu_of(pid, with_ended=True)
    for child in _children(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            total += cpu_of(child)
    return total


def private_bytes(pid: int) -> int:
    """Return the memory that a process shares with no other."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(int(kib) << 10 for _, kib in _IN_KIB.findall(text))


def resident() -> int:
    """Return the resident bytes of this process, after what is free was given back."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return resident_of(os.getpid())


def resident_of(pid: int) -> int:
    """Return the resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def spread(samples: Sequence[float]) -> list[float]:
    """Return the quantiles of a time in milliseconds, from the least to the greatest."""
    if len(samples) < 2:
        return [round(one, 4) for one in samples]
    inner = quantiles(samples, n=_QUANTILES, method="inclusive")
    return [round(one, 4) for one in (min(samples), *inner, max(samples))]


def cpu_summary(samples: Sequence[float]) -> dict[str, Any]:
    """Return the number, the mean and the quantiles of CPU times in milliseconds."""
    return {"count": len(samples), "mean": mean(samples) if samples else 0.0, "quantiles": spread(samples)}
