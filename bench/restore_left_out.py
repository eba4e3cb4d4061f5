"""What `restore` holds at recorded compactions by tables that never saw the repository: ``python -m bench.restore_left_out DIR...``.

Fits the tables for each repository to all others below the given folders, whichever client wrote them. All else is
`undrift.bench.restore.measure`: this counts nothing by itself.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench.fit_restore import lessons_by_owner, progress, using
from bench.restore_data import recorded_below
from bench.restore_fit import RIDGE, fit_each_left_out
from undrift.bench.restore import BUDGETS_TOKENS, CLIENTS, measure, repository_of
from undrift.bench.restore_report import RestoreReport
from undrift.bench.sessions import files_below
from undrift.recordings.autopsy import names_a_compaction

__all__ = ["main", "measured_left_out"]

_EVERY_CALLS = 10


def measured_left_out(
    folders: Sequence[Path],
    budgets: Sequence[int] = BUDGETS_TOKENS,
    every_calls: int = _EVERY_CALLS,
    ridge: float = RIDGE,
) -> RestoreReport | None:
    """Judge each repository by tables fitted to the others; None if there are not two.

    Args:
        folders: Recorded sessions, at any depth.
        budgets: Sizes of the restore texts in tokens.
        every_calls: Distance of the training cuts.
        ridge: Penalty of the weights.
    """
    sessions = [
        session for folder in folders for session in recorded_below(folder, every_calls=every_calls, clients=CLIENTS)[0]
    ]
    by_owner = lessons_by_owner(sessions)
    compacted = dict.fromkeys(_repositories_with_a_compaction(folders))
    if not compacted or len(by_owner) < 2:
        return None
    progress("fitting without each ...")
    models = fit_each_left_out(by_owner, compacted, ridge)

    def judging(repository: str) -> AbstractContextManager[object]:
        return using(models[repository])

    return measure(folders, budgets=budgets, judging=judging, progress=lambda name: progress(f"judging {name} ..."))


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
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args(arguments)
    if wanted.every < 1 or not wanted.ridge > 0 or any(budget < 1 for budget in wanted.budget or ()):
        parser.error("--every, --ridge and --budget must be above 0")
    report = measured_left_out(wanted.folders, wanted.budget or BUDGETS_TOKENS, wanted.every, wanted.ridge)
    if report is None or not report.found:
        print("nothing to judge: there must be compactions, and sessions of two repositories", file=sys.stderr)
        return 1
    print(report.as_json() if wanted.json else report.as_markdown(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
