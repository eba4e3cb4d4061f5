"""What `restore` holds at recorded compactions by tables that never saw the repository: ``python -m bench.restore_left_out DIR...``.

Fits the tables for each repository to all others below the given folders, whichever client wrote them. All else is
`undrift.bench.restore.measure`: this counts nothing by itself. With ``--tables FILE`` the fitted tables are kept there, and
taken from there if they were fitted to the same recordings by the same code: so a run that broke goes on.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench.fit_restore import lessons_by_owner, progress, using
from bench.restore_data import recorded_below
from bench.restore_fit import RIDGE, Models, fit_each_left_out
from undrift.bench.restore import BUDGETS_TOKENS, CLIENTS, measure, repository_of
from undrift.bench.restore_report import RestoreReport
from undrift.bench.sessions import files_below
from undrift.core.restore.weights import Model
from undrift.recordings.autopsy import names_a_compaction

__all__ = ["fitted_left_out", "main", "measured_left_out"]

_EVERY_CALLS = 10
_ROOT = Path(__file__).parents[1]
_FITTED_BY = (
    "bench/restore_*.py",
    "src/undrift/core/**/*.py",
    "src/undrift/profiles/*.py",
    "src/undrift/transcripts/**/*.py",
)
"""The code that a fit depends on."""


def measured_left_out(
    folders: Sequence[Path],
    budgets: Sequence[int] = BUDGETS_TOKENS,
    every_calls: int = _EVERY_CALLS,
    ridge: float = RIDGE,
    tables: Path | None = None,
) -> RestoreReport | None:
    """Judge each repository by tables fitted to the others; None if there are not two.

    Args:
        folders: Recorded sessions, at any depth.
        budgets: Sizes of the restore texts in tokens.
        every_calls: Distance of the training cuts.
        ridge: Penalty of the weights.
        tables: As for `fitted_left_out`.
    """
    models = fitted_left_out(folders, every_calls, ridge, tables)
    if not models:
        return None

    def judging(repository: str) -> AbstractContextManager[object]:
        return using(models[repository])

    return measure(folders, budgets=budgets, judging=judging, progress=lambda name: progress(f"judging {name} ..."))


def fitted_left_out(
    folders: Sequence[Path], every_calls: int = _EVERY_CALLS, ridge: float = RIDGE, tables: Path | None = None
) -> Mapping[str, Models]:
    """Fit for each repository with a compaction the tables to all others; empty if there are not two repositories.

    `tables`: a file that keeps them, and gives them if it was written for the same recordings by the same code; None: none is.
    """
    compacted = dict.fromkeys(_repositories_with_a_compaction(folders))
    fitted_to = _fitted_to(folders, every_calls, ridge)
    kept = _kept(tables, fitted_to) if tables else {}
    if kept.keys() == compacted.keys() and kept:
        progress(f"the tables are those of {tables}")
        return kept
    sessions = [
        session for folder in folders for session in recorded_below(folder, every_calls=every_calls, clients=CLIENTS)[0]
    ]
    by_owner = lessons_by_owner(sessions)
    if not compacted or len(by_owner) < 2:
        return {}
    progress("fitting without each ...")
    models = fit_each_left_out(by_owner, compacted, ridge)
    if tables:
        value = {name: [one.names, one.lines] for name, one in models.items()}
        tables.write_text(json.dumps({"fitted_to": fitted_to, "models": value}), encoding="utf-8")
    return models


def _kept(tables: Path, fitted_to: str) -> dict[str, Models]:
    if not tables.exists():
        return {}
    told = json.loads(tables.read_text(encoding="utf-8"))
    if told["fitted_to"] != fitted_to:
        progress("the tables that were kept are of other recordings or code: fitting again")
        return {}
    return {name: Models(*map(_model, both)) for name, both in told["models"].items()}


def _model(told: tuple[float, list[list[float]]]) -> Model:
    bias, rows = told
    return bias, tuple(map(tuple, rows))


def _fitted_to(folders: Iterable[Path], every_calls: int, ridge: float) -> str:
    """Return the SHA-256 of all that a fit depends on; of recordings, their names and sizes."""
    found = hashlib.sha256(f"{every_calls} {ridge}".encode())
    for folder in folders:
        found.update(
            "".join(f"\n{path.name} {path.stat().st_size}" for path in sorted(folder.rglob("*.jsonl"))).encode()
        )
    for pattern in _FITTED_BY:
        for path in sorted(_ROOT.glob(pattern)):
            if path.name != "weights.py":  # what a fit writes
                found.update(path.read_bytes())
    return found.hexdigest()


def _repositories_with_a_compaction(folders: Iterable[Path]) -> list[str]:
    return [repository_of(path) for folder in folders for path in files_below(folder) if names_a_compaction(path)]


def main(arguments: Sequence[str]) -> int:
    """Read, fit, judge, print."""
    parser = argparse.ArgumentParser(
        prog="restore_left_out", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="recorded sessions, at any depth")
    parser.add_argument("--budget", type=int, action="append", metavar="TOKENS", help="default: 5000 and 10000")
    parser.add_argument(
        "--every", type=int, default=_EVERY_CALLS, metavar="CALLS", help="distance of the training cuts"
    )
    parser.add_argument("--ridge", type=float, default=RIDGE, help="penalty of the weights")
    parser.add_argument("--tables", type=Path, metavar="FILE", help="keep the fitted tables there")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args(arguments)
    if wanted.every < 1 or not wanted.ridge > 0 or any(budget < 1 for budget in wanted.budget or ()):
        parser.error("--every, --ridge and --budget must be above 0")
    report = measured_left_out(
        wanted.folders, wanted.budget or BUDGETS_TOKENS, wanted.every, wanted.ridge, wanted.tables
    )
    if report is None or not report.found:
        print("nothing to judge: there must be compactions, and sessions of two repositories", file=sys.stderr)
        return 1
    print(report.as_json() if wanted.json else report.as_markdown(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
