"""The survival of needed text in solved and in failed runs: `undrift bench outcomes`.

Trajectories carry their outcome beside their messages (tau-bench's ``reward``; ``resolved`` beside ``messages``, ``history``
or ``trajectory``), or a file of results names the solved ones (``resolved`` or ``resolved_ids``, as SWE-bench and
Multi-SWE-bench write it) and the trajectory's file or ``instance_id`` names the task.

Law: only reads. An outcome is what was recorded; a run without one has no part. The agent had its whole history, so this
says whether survival goes with success, not that it brings it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from undrift import transcripts
from undrift.bench.drift import Managed, Progress, run
from undrift.bench.managers import WindowManager
from undrift.bench.managers.controls import TAIL
from undrift.bench.managers.own import RECENCY, UNDRIFT
from undrift.bench.outcomes_report import JudgedRun, OutcomesReport
from undrift.bench.sessions import Case, files_below
from undrift.errors import InputError, TranscriptError
from undrift.recordings.files import open_recording
from undrift.transcripts import Recording

__all__ = ["GradedRun", "MANAGERS", "graded_in", "measure"]

MANAGERS: tuple[WindowManager, ...] = (UNDRIFT, RECENCY, TAIL)

_MESSAGES = ("messages", "history", "trajectory", "traj")
_RESOLVED = ("resolved", "resolved_ids")
_RESULTS_FOLDER = "results"
"""Beside the folder of the trajectories, in the repositories of both benchmarks."""
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class GradedRun:
    """One trajectory, its task, and whether it solved it. `solved`: None if nothing says so."""

    name: str
    task: str
    solved: bool | None
    recording: Recording


@dataclass(slots=True)
class _Results:
    """The tasks that the files of results name, by the folder that they stand in."""

    solved: dict[Path, set[str]] = field(default_factory=dict)

    def of(self, path: Path, task: str) -> bool | None:
        """Say whether a task was solved, by the nearest file of results. None means: there is none."""
        for folder in path.parents:
            if folder in self.solved:
                return task in self.solved[folder]
        return None


def measure(
    root: Path,
    *,
    fraction: float = 0.25,
    managers: Sequence[WindowManager] = MANAGERS,
    progress: Progress = lambda _: None,
) -> OutcomesReport:
    """Measure the survival of every graded run, and compare solved ones with failed ones.

    `fraction`: the budget as a share of each run's tokens, above 0 and at most 1. Raises InputError: the folder cannot
    be read, or the fraction is out of range.
    """
    if not 0 < fraction <= 1:
        raise InputError("a fraction must be above 0 and at most 1")
    left_out: Counter[str] = Counter()
    judged: list[JudgedRun] = []
    for graded in graded_in(root):
        case = Case(graded.name, graded.recording)
        if graded.solved is None:
            left_out["without an outcome"] += 1
        elif not case.history.turns:
            left_out["without an answer of the agent"] += 1
        elif not case.needs.messages:
            left_out["in which nothing old was needed"] += 1
        else:
            progress(graded.name)
            budget = max(1, int(fraction * case.tokens))
            held = {one.name: _survival(case, one, budget) for one in managers}
            judged.append(JudgedRun(graded.name, graded.task, graded.solved, len(case.history.turns), held))
    return OutcomesReport(tuple(judged), fraction, left_out)


def _survival(case: Case, manager: WindowManager, budget: int) -> float:
    with manager.start(case) as fit:
        return run(case, Managed(case, fit, budget).window).held.share


def graded_in(root: Path) -> Iterator[GradedRun]:
    """Yield every trajectory below a folder, in the order of names. Raises InputError: a folder cannot be read."""
    paths = list(files_below(root))
    results = _Results()
    for path in paths:
        if path.suffix == ".json" and (solved := _solved_tasks(path)) is not None:
            run_folder = path.parent.parent if path.parent.name == _RESULTS_FOLDER else path.parent
            results.solved.setdefault(run_folder, set()).update(solved)
    for path in paths:
        if path.stat().st_size > _MOST_BYTES or path.suffix not in (".json", ".jsonl", ".traj"):
            continue
        several = list(_several(path))
        if several:
            yield from several
            continue
        with suppress(TranscriptError):
            recording = open_recording(path)
            task = path.name.removesuffix(path.suffix).removesuffix(".traj")
            yield GradedRun(path.relative_to(root).as_posix(), task, results.of(path, task), recording)


def _solved_tasks(path: Path) -> set[str] | None:
    value = _json(path)
    if not isinstance(value, dict):
        return None
    for key in _RESOLVED:
        named = value.get(key)
        if isinstance(named, list) and all(isinstance(one, str) for one in named):
            return set(named)
    return None


def _several(path: Path) -> Iterator[GradedRun]:
    """Yield the trajectories of a file that holds many, each with what it says of its outcome."""
    for number, value in enumerate(_records(path)):
        if not isinstance(value, dict) or not (solved := _outcome(value))[0]:
            continue
        name = next((key for key in _MESSAGES if value.get(key)), None)
        if name is None:
            continue
        messages = json.loads(value[name]) if isinstance(value[name], str) else value[name]
        task = str(value.get("instance_id") or value.get("task_id") or number)
        with suppress(TranscriptError):
            recording = transcripts.read([json.dumps(messages)])
            yield GradedRun(f"{path.name} {number}", task, solved[1], recording)


def _outcome(value: Mapping[str, Any]) -> tuple[bool, bool | None]:
    """Return whether a record names an outcome, and the outcome."""
    report = value.get("report")
    for where in (value, report if isinstance(report, dict) else {}):
        if isinstance(where.get("resolved"), bool):
            return True, where["resolved"]
    reward = value.get("reward")
    if isinstance(reward, int | float) and not isinstance(reward, bool):
        return True, reward >= 1
    return False, None


def _records(path: Path) -> Iterator[Any]:
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with suppress(ValueError):
                    yield json.loads(line)
        return
    value = _json(path)
    if isinstance(value, list):
        yield from value


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size <= _MOST_BYTES else None
    except (OSError, ValueError):
        return None
