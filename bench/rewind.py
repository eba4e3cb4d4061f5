"""How long it takes to take a session back over 10,000 operations, and what the first reading after it costs."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.figures import Claim, Figure, Report, cpu_ms
from undrift import ContextEntry, Session, Settings
from undrift.core.text.refs import ref_of
from undrift.memory.repository import MemoryRepository
from undrift.stores.base import Context
from undrift.stores.memory_values import MemoryUpdate
from undrift.stores.opening import open_store
from undrift.values.memory import MemoryEntry
from undrift.values.scope import Scope
from undrift.values.window import Decision, Original, Task, TaskUpdate

__all__ = ["measure"]

OPERATIONS = 10_000
ROUNDS = 15
LIMIT_MS = 50.0
START_MS = 1_700_000_000_000
SESSION = "s"
QUERY = "What was changed in module 77?"
MOMENTS = {"the first": 1, "the middle": OPERATIONS // 2, "a near": OPERATIONS - 10}


def measure(rounds: int = ROUNDS) -> Report:
    """Measure going back to the first, the middle and a near operation, forward again, and the readings after it."""
    report = Report()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        _make(home)
        for _ in range(rounds):
            for name, to in MOMENTS.items():
                with _copied(home, Path(folder) / "copy") as session:
                    for what, value in _times(session, to).items():
                        found.setdefault(what.format(name), []).append(value)
    for name, samples in found.items():
        report.figures.append(Figure(name, "ms", tuple(samples)))
        if name.startswith("rewind"):
            worst = sorted(samples)[min(len(samples) - 1, round(0.99 * len(samples)))]
            report.claims.append(Claim(f"{name}, p99 of {len(samples)}", worst, "ms", limit=LIMIT_MS))
    return report


def _times(session: Session, to: int) -> Mapping[str, float]:
    session.search(QUERY)
    times = {
        "search before a rewinding": cpu_ms(lambda: session.search(QUERY)),
        "memories before a rewinding": cpu_ms(session.memories),
    }
    started = time.perf_counter()
    times["rewind over 10,000 operations to {} operation"] = cpu_ms(lambda: session.rewind(to))
    times["the same, by the clock on the wall, {} operation"] = 1_000 * (time.perf_counter() - started)
    steps: dict[str, Callable[[], Any]] = {
        "first search after going to {} operation": lambda: session.search(QUERY),
        "second search after going to {} operation": lambda: session.search(QUERY),
        "memories after going to {} operation": session.memories,
        "tasks after going to {} operation": session.tasks,
        "undo_rewind from {} operation": session.undo_rewind,
        "first search after undo from {} operation": lambda: session.search(QUERY),
    }
    return times | {name: cpu_ms(step) for name, step in steps.items()}


def _make(home: Path) -> None:
    """Write mixed operations: of ten, six memories, one of them superseding, and a pin, a task, a decision, a checkpoint."""
    with open_store(home, Scope()) as store:
        repository, before = MemoryRepository(store), None
        task: Task | None = None
        for number in range(1, OPERATIONS + 1):
            at_ms, kind = START_MS + 1_000 * number, number % 10
            if kind < 6:
                new = _memory(number, at_ms)
                updates = [MemoryUpdate(None, new)]
                if kind == 5 and before is not None:
                    updates.append(MemoryUpdate(before, _superseded(before, new)))
                before = None if kind == 5 else new
                repository.write(SESSION, "remember", updates, at_ms=at_ms, payload={"memory": new.id})
            elif kind == 6:
                entry = ContextEntry(f"pin:{number}", "requirements", f"Keep requirement {number} in view.", 8, at_ms)
                pin = Original(ref_of(SESSION, entry.id), SESSION, "pin", entry)
                store.commit(Context(Scope(SESSION), at_ms), "pin", [pin])
            elif kind == 7:
                after = Task(f"t{number // 20}", f"do {number}") if task is None else _done(task)
                context, changes = Context(Scope(SESSION), at_ms), [TaskUpdate(task, after)]
                store.commit(context, "task", changes, payload={"tasks": [after.id]})
                task = after if task is None else None
            elif kind == 8:
                entry = ContextEntry(f"e{number}", "tool_result", f"file {number} holds the number 7 " * 20, 100, at_ms)
                original = Original(ref_of(SESSION, entry.id), SESSION, "window", entry)
                decision = Decision(entry.id, "pruned", "over budget", 90, original.ref)
                store.commit(Context(Scope(SESSION), at_ms), "turn", [original, decision])
            else:
                store.commit(Context(Scope(SESSION), at_ms), "checkpoint", payload={"label": f"c{number}"})


def _memory(number: int, at_ms: int) -> MemoryEntry:
    words = f"Module {number} was changed to read {number * 7 % 1000} lines of part {number % 97} at a time"
    return MemoryEntry(f"m{number}", words, created_at_ms=at_ms, source=f"talk {number // 20}", seq=number)


def _superseded(old: MemoryEntry, new: MemoryEntry) -> MemoryEntry:
    return replace(
        old, contradicted_by_entry_id=new.id, contradicted_at_ms=new.created_at_ms, valid_to_ms=new.created_at_ms
    )


def _done(task: Task) -> Task:
    return replace(task, status="cancelled")


@contextmanager
def _copied(home: Path, to: Path) -> Iterator[Session]:
    shutil.copytree(home, to)
    with Session.open(SESSION, home=to, settings=Settings(embedder="none")) as session:
        yield session
    shutil.rmtree(to)
