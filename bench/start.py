"""What starting costs: fresh processes, compiled bytecode, against an interpreter that does nothing."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from bench.figures import Report, interleaved, ratio_claim

__all__ = ["measure"]

IMPORT_LIMIT = 5.0
HELP_LIMIT = 10.0

_NOTHING = "python -c pass"
_COMMAND = "from undrift.cli import main; main()"  # what the installed script does
_STARTS: dict[str, tuple[list[str], float | None]] = {
    "import undrift": (["-c", "import undrift"], IMPORT_LIMIT),
    "undrift --help": (["-c", _COMMAND, "--help"], HELP_LIMIT),
    "from undrift import ContextPruner": (["-c", "from undrift import ContextPruner"], None),
    "from undrift import Session": (["-c", "from undrift import Session"], None),
}


def measure(rounds: int = 21) -> Report:
    """Measure each start with the bytecode of everything in a folder of its own, so that nothing is compiled again."""
    report = Report()
    try:
        importlib.import_module("resource")
    except ImportError:
        report.skipped.append("starting: this system does not tell the CPU time of a child process")
        return report
    starts = dict(_STARTS)
    if importlib.util.find_spec("undrift.cli") is None:
        del starts["undrift --help"]
        report.skipped.append("undrift --help: there is no undrift.cli yet")
    with tempfile.TemporaryDirectory() as bytecode:
        measures = {_NOTHING: _process(["-c", "pass"], bytecode)}
        measures |= {name: _process(arguments, bytecode) for name, (arguments, _) in starts.items()}
        found = {figure.name: figure for figure in interleaved(rounds, measures, "ms")}
    report.figures += found.values()
    nothing = found[_NOTHING]
    report.claims += [
        ratio_claim(f"{name} against {_NOTHING}", found[name], nothing, limit=limit)
        for name, (_, limit) in starts.items()
    ]
    return report


def _process(arguments: Sequence[str], bytecode: str) -> Callable[[], float]:
    """Start one process; its CPU time, user and system, is what the finished children have used since."""
    resource: Any = importlib.import_module("resource")  # not on every system; `measure` has looked

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode

    def measure_once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.returncode:
            raise AssertionError(f"{' '.join(arguments)} failed:\n{run.stderr}")
        return 1_000 * float(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    measure_once()  # the first start compiles
    return measure_once
