"""Figures that must not grow while a program runs for a long time. The thirds of the time are compared; the first is warming up."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

__all__ = ["SLACK", "WARMING", "Looks", "cpu_s", "home_figures", "process_figures"]

SLACK = {"memory_mb": 8.0, "descriptors": 8.0, "threads": 2.0, "wal_mb": 8.0, "files": 4.0}
"""The growth that is allowed on top of a tenth."""

WARMING = {"memory_mb": 120.0, "descriptors": 30.0, "threads": 8.0, "wal_mb": 8.0, "files": 30.0}
"""The same for a short run, which is over while the programs still load what they use."""

_LEAST_LOOKS = 9  # three in each third


class Looks:
    """Figures of one process or one home, one after the other. Each process that is started again begins a new life."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lives: list[list[dict[str, float]]] = []
        self._pid = -1

    def add(self, figures: dict[str, float], pid: int = 0) -> None:
        """Take figures in."""
        if pid != self._pid:
            self._pid = pid
            self.lives.append([])
        self.lives[-1].append(figures)

    def verdicts(self, slack: Mapping[str, float] = SLACK) -> list[tuple[str, float, float, float, bool]]:
        """Return for each figure its name, its medians over the thirds, and whether it is flat.

        All looks together are judged, and each life for itself: a leak in a process that is killed again and again
        does not show in the whole. The middle one of the lives counts, as one alone may have met a larger session.
        """
        whole = [one for life in self.lives for one in life]
        found = []
        for name in whole[0] if whole else ():
            spans = [thirds([one[name] for one in whole])]
            lives = [thirds([one[name] for one in life]) for life in self.lives if len(life) >= _LEAST_LOOKS]
            spans += sorted(lives, key=lambda one: one[2] - one[1])[len(lives) // 2 :][:1]
            worst = max(spans, key=lambda one: one[2] - one[1] * 1.1)
            found.append((name, *worst, worst[2] <= worst[1] * 1.1 + slack[name]))
        return found


def thirds(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the medians of the thirds."""
    third = max(1, len(values) // 3)
    first, middle, last = values[:third], values[third : 2 * third], values[2 * third :]
    return median(first), median(middle or first), median(last or middle or first)


def process_figures(pid: int) -> dict[str, float]:
    """Return what a process holds now. Raises OSError: it has ended."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    if "VmRSS" not in status:
        raise ProcessLookupError(pid)
    return {
        "memory_mb": int(status["VmRSS"].split()[0]) / 1024,
        "descriptors": float(len(list(Path(f"/proc/{pid}/fd").iterdir()))),
        "threads": float(status["Threads"]),
    }


def home_figures(home: Path) -> dict[str, float]:
    """Return the number of files in a home, and the size of its logs."""
    files = [path for path in home.rglob("*") if path.is_file()]
    wal = sum(path.stat().st_size for path in files if path.name.endswith("-wal") and path.exists())
    return {"files": float(len(files)), "wal_mb": wal / 1e6}


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process so far; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
