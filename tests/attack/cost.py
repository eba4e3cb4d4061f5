"""Attacks on cost: texts, bodies and transcripts of up to 1 MB that are made to be slow; and calls that run their input."""

import ast
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.attack.rows import Outcome, Row, of_program, of_tests
from tests.cli.builders import environment
from tests.cost.hostile import SESSIONS
from tests.proof.powercut import ROOT

__all__ = ["ROWS"]

_MOST_S = 2.0  # of CPU, the start of the program included
_RUNS = {"eval", "exec", "os.system", "pickle.load", "pickle.loads", "yaml.load", "marshal.loads", "shelve.open"}
_NAMED = ("recordings/workers.py",)  # pipes from the process that started it: docs/threats.md says so


def _transcripts(is_short: bool) -> Outcome:
    """Recorded sessions of a megabyte with slow commands, through `session restore` and `autopsy`."""
    attempts, slow = 0, []
    for name, lines in list(SESSIONS.items())[: 1 if is_short else None]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "session.jsonl")
            path.write_text(lines(), encoding="utf-8")
            for words in (["session", "restore", str(path)], ["autopsy", str(path)]):
                attempts += 1
                took_s = _cpu_s(words, folder)
                if took_s > _MOST_S:
                    slow.append(f"{name}, {words[0]}: {took_s:.1f} s")
    return Outcome(attempts, attempts - len(slow), "; ".join(slow))


def _cpu_s(words: list[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "undrift", *words]
    subprocess.run(command, env=environment(HOME=folder), cwd=folder, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _runs(is_short: bool) -> Outcome:
    """The package's own code: nothing that runs or unpickles what it is given, and no shell."""
    del is_short
    files, bad, named = list((ROOT / "src").rglob("*.py")), set[str](), list[str]()
    for path in files:
        place = path.relative_to(ROOT / "src" / "undrift").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (ast.unparse(node.func) in _RUNS or _has_shell(node)):
                named.append(f"{place}:{node.lineno} {ast.unparse(node.func)}")
                bad |= {place} - set(_NAMED)
    return Outcome(len(files), len(files) - len(bad), ", ".join(named))


def _has_shell(node: ast.Call) -> bool:
    values = [word.value for word in node.keywords if word.arg == "shell"]
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in values)


ROWS = (
    Row(
        "cost: each public call and hook on texts, bodies and sessions of 1 MB",
        "713: 703 (F2b)",
        of_program("tests.cost.calls", "", "20", r"(?P<attempts>\d+) pairs, (?P<failed>\d+) above"),
    ),
    Row("cost: transcripts of 1 MB through restore, autopsy", "4: 1 (F2b)", _transcripts),
    Row("regular expressions x pump strings", "298: 297 (F2b)", of_tests("tests/house/test_expression_cost.py")),
    Row("pickle, yaml, eval, exec, shells in the package", "none", _runs),
)
