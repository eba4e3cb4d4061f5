"""A row of the table of attacks, its outcome, and the two usual ways to make one: tests of this repository, and a program."""

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cli.builders import environment
from tests.proof.powercut import ROOT

__all__ = ["Outcome", "Row", "Skipped", "of_program", "of_tests"]

_LONGEST_S = 3_600


class Skipped(Exception):
    """A row that cannot run on this machine; the message says what it needs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one row.

    Args:
        attempts: How often it was tried.
        survived: How often all promises held.
        note: Further words.
    """

    attempts: int
    survived: int
    note: str = ""

    @property
    def failed(self) -> int:
        """The number of times that a promise broke."""
        return self.attempts - self.survived


@dataclass(frozen=True, slots=True)
class Row:
    """One attack.

    Args:
        name: Of the row.
        before: The outcome of the first trial, in words.
        attack: Does it; True asks for the short form. It raises `Skipped` if the machine has not what it needs.
    """

    name: str
    before: str
    attack: Callable[[bool], Outcome]


def of_tests(*selectors: str, short: str | None = None) -> Callable[[bool], Outcome]:
    """Return an attack that consists of tests of this repository. `short`: what `-k` takes in the short form."""

    def attack(is_short: bool) -> Outcome:
        there = [one for one in selectors if Path(ROOT, one.partition("::")[0]).exists()]
        if not there:
            raise Skipped(f"{', '.join(selectors)}: not there")
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch, "report.xml")
            words = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}", *there]
            words += ["-k", short] if is_short and short else []
            command = [sys.executable, "-m", "pytest", *words]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
            if not report.exists():
                return Outcome(1, 0, f"pytest ended with {done.returncode}: {done.stderr[-200:]}")
            suite = ET.parse(report).getroot()[0]
        total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        if total == skipped:
            raise Skipped(_reason(suite) or "no test was run")
        names = [case.get("name", "") for case in suite if case.find("failure") is not None]
        note = f"tests; {skipped} skipped: {_reason(suite)}" if skipped else "tests"
        return Outcome(total - skipped, total - skipped - failed, "; ".join([note, *names[:3]]))

    return attack


def _reason(suite: ET.Element) -> str:
    found = next(iter(suite.iter("skipped")), None)
    return "" if found is None else found.get("message", "")


def of_program(module: str, long: str, short: str, pattern: str) -> Callable[[bool], Outcome]:
    """Return an attack that a program of this repository carries out.

    `long`, `short`: its arguments. `pattern`: finds attempts and failures in what it prints, as groups `attempts` and
    `failed`; all matches are added up.
    """

    def attack(is_short: bool) -> Outcome:
        words = (short if is_short else long).split()
        command = [sys.executable, "-m", module, *words]
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
        found = list(re.finditer(pattern, done.stdout))
        if not found:
            return Outcome(1, 0, f"ended with {done.returncode}: {(done.stdout + done.stderr)[-200:]}")
        attempts = sum(int(one["attempts"].replace(",", "")) for one in found)
        failed = sum(int(one["failed"].replace(",", "")) for one in found)
        line = done.stdout[done.stdout.rfind("\n", 0, found[-1].start()) + 1 :].partition("\n")[0][:200]
        if done.returncode and not failed:
            return Outcome(attempts, attempts - 1, f"ended with {done.returncode}: {line}")
        return Outcome(attempts, attempts - failed, f"{module}: {line}")

    return attack
