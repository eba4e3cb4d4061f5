"""What 1,000 single writes leave of LanceDB's index: its files, its size, and what a query costs beside a fresh one."""

import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import median

from bench.figures import Claim, Figure, Report, ratio_claim
from undrift.memory.parts import embedder_of
from undrift.memory.repository import MemoryRepository
from undrift.stores.memory_values import MemoryUpdate, Viewer
from undrift.stores.opening import open_store
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope

__all__ = ["measure"]

WRITES = 1_000
QUERY_LIMIT = 2.0
FILES_LIMIT = 200
DISK_LIMIT = 3.0
_BYTES = 4  # of a float32
_VIEWER = Viewer("main", "s")
_NEEDS = "LanceDB after 1,000 single writes: needs the extras `vectors` and `lancedb`"


def measure(rounds: int = 9) -> Report:
    """Measure an index that was written one by one and searched now and then, then the same made in one go."""
    report = Report()
    embedder = embedder_of("auto")
    if embedder is None or not find_spec("lancedb"):
        report.skipped.append(_NEEDS)
        return report
    with tempfile.TemporaryDirectory() as home, open_store(home, Scope()) as store:
        folder = Path(home) / "vectors"
        repository = MemoryRepository(store, embedder, "lance")
        chance = Random(7)
        for number in range(WRITES):
            text = f"module {number} reads {chance.randint(1, 999)} lines of part {chance.randint(1, 99)} at a time"
            updates = [MemoryUpdate(None, MemoryEntry(f"m{number}", text, seq=number))]
            repository.write("s", "remember", updates, at_ms=1, payload={})
            if number % 10 == 0:
                repository.find(text, _VIEWER, k=10)
        files = [path for path in folder.rglob("*") if path.is_file()]
        size, payload = sum(path.stat().st_size for path in files), WRITES * embedder.dimension * _BYTES
        worn = _queries(repository, rounds, "search by LanceDB after 1,000 single writes")
        repository.rebuild()
        fresh = _queries(repository, rounds, "search by LanceDB, its index just made")
    report.figures += [worn, fresh]
    report.claims += [
        ratio_claim("LanceDB after 1,000 single writes against just made", worn, fresh, limit=QUERY_LIMIT),
        Claim("LanceDB's files after 1,000 single writes", len(files), "files", limit=FILES_LIMIT),
        Claim("LanceDB's size over that of the vectors", size / payload, limit=DISK_LIMIT),
    ]
    return report


def _queries(repository: MemoryRepository, rounds: int, name: str) -> Figure:
    samples = []
    for _ in range(rounds):
        spent = []
        for number in range(20):
            started = time.process_time_ns()
            repository.find(f"lines of part {number}", _VIEWER, k=10)
            spent.append((time.process_time_ns() - started) / 1e6)
        samples.append(median(spent))
    return Figure(name, "ms", tuple(samples))
