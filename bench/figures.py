"""Figures of a benchmark: CPU times over several rounds, what is claimed of them, and the two reports.

Law: a time is printed for the reader; what is claimed is a ratio of two figures of one run, or a limit that is printed
and not asserted, because a busy machine is slower and not wrong.
"""

import gc
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["Claim", "Figure", "Report", "cpu_ms", "interleaved", "machine", "ratio_claim", "wall_ms"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured several times.

    Args:
        name: What was measured.
        unit: Of `samples`.
        samples: One number a round, in the order of the rounds.
    """

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.samples)

    def __str__(self) -> str:
        low, high = min(self.samples), max(self.samples)
        return f"{_shown(self.median)} {self.unit} ({_shown(low)}-{_shown(high)})"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said of the figures.

    Args:
        text: What the value is of.
        value: A ratio, or a figure with its `unit`.
        unit: ``x`` for a ratio.
        limit: What it is to stay at or under; None: no such limit.
        least: What it is to reach; None: no such mark.
    """

    text: str
    value: float
    unit: str = "x"
    limit: float | None = None
    least: float | None = None

    @property
    def mark(self) -> str:
        """Say what was promised."""
        unit = "x" if self.unit == "x" else f" {self.unit}"
        limit = [f"at most {self.limit:g}{unit}"] if self.limit is not None else []
        least = [f"at least {self.least:,g}{unit}"] if self.least is not None else []
        return ", ".join(limit + least)

    @property
    def verdict(self) -> str:
        """Say whether it was kept; empty where nothing was promised."""
        if self.limit is None and self.least is None:
            return ""
        kept = (self.limit is None or self.value <= self.limit) and (self.least is None or self.value >= self.least)
        return "kept" if kept else "MISSED"


@dataclass(slots=True)
class Report:
    """What a run found; `skipped` says what was not measured and why."""

    figures: list[Figure] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        self.figures += other.figures
        self.claims += other.claims
        self.skipped += other.skipped

    def as_json(self) -> str:
        value = {
            "machine": machine(),
            "claims": [{**asdict(c), "verdict": c.verdict} for c in self.claims],
            "figures": [{**asdict(f), "median": f.median} for f in self.figures],
            "skipped": self.skipped,
        }
        return json.dumps(value, indent=2) + "\n"

    def as_markdown(self) -> str:
        about = ", ".join(f"{name} {value}" for name, value in machine().items())
        rows = [
            f"CPU times where nothing else is said, medians (min-max) of the rounds of one run; {about}.",
            "",
            "| claim | value | promised | |",
            "| --- | --- | --- | --- |",
            *(f"| {c.text} | {_value(c)} | {c.mark} | {c.verdict} |" for c in self.claims),
            "",
            "| figure | median (min-max) | rounds |",
            "| --- | --- | --- |",
            *(f"| {f.name} | {f} | {len(f.samples)} |" for f in self.figures),
        ]
        rows += ["", *(f"SKIPPED: {reason}" for reason in self.skipped)] if self.skipped else []
        return "\n".join(rows) + "\n"

    def write(self, folder: Path) -> None:
        """Write ``bench.json`` and ``bench.md`` into a folder, made where it is absent."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bench.json").write_text(self.as_json(), encoding="utf-8")
        (folder / "bench.md").write_text(self.as_markdown(), encoding="utf-8")


def machine() -> Mapping[str, Any]:
    """Say where the figures come from; the load average tells how far to trust them."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "load": load,
    }


def cpu_ms(act: Callable[[], object]) -> float:
    """Return the CPU milliseconds of one call, garbage of what was before collected first."""
    gc.collect()
    started = time.process_time_ns()
    act()
    return (time.process_time_ns() - started) / 1e6


def wall_ms(act: Callable[[], object]) -> float:
    """Return the milliseconds that pass during one call, waits for the disk included."""
    gc.collect()
    started = time.perf_counter_ns()
    act()
    return (time.perf_counter_ns() - started) / 1e6


def interleaved(rounds: int, measures: Mapping[str, Callable[[], float]], unit: str) -> list[Figure]:
    """Run every measure once a round, so that a busy moment hits all alike; return one figure each."""
    samples: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            samples[name].append(measure())
    return [Figure(name, unit, tuple(found)) for name, found in samples.items()]


def ratio_claim(
    text: str, over: Figure, under: Figure, *, limit: float | None = None, least: float | None = None
) -> Claim:
    """Claim how many times the figure `under` the figure `over` is."""
    return Claim(text, over.median / under.median, limit=limit, least=least)


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _value(claim: Claim) -> str:
    return f"{claim.value:,.1f}x" if claim.unit == "x" else f"{_shown(claim.value)} {claim.unit}"
