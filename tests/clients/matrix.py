"""The real clients with and without ``undrift wrap``, against a scripted provider: ``python -m tests.clients.matrix [NAME]...``.

Each is run three times, in a namespace with loopback only where the machine allows it: straight to the provider; through a
gateway with room enough, where every body must arrive as it left; and in a longer session with so little room that results
leave. Run by ``make clients``, which installs them. Not part of ``make test``.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.programs import PROGRAMS, ROOT, Program
from undrift.clients.wrapped import Addresses, wrapped
from undrift.stores.secret import TOKEN_NAME
from undrift.testing import ScriptedProvider, Seen

__all__ = ["Ran", "Room", "budget_of", "main"]

_INSIDE = "UNDRIFT_CLIENTS_INSIDE"
_STEPS = 2
_LINES = 150
_TIME_OUT_S = 240
_ROOM = 0.65  # of what the results of a session take: so much of them fits, more than the newest that always stay


@dataclass(slots=True)
class Ran:
    """What one run of a client came to."""

    status: int
    said: str
    seen: tuple[Seen, ...]
    lines: list[dict[str, Any]] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    token: str = ""

    @property
    def shown(self) -> list[str]:
        """Requests in which the owner's token reached the provider."""
        texts = [f"{seen.path} {seen.headers} {seen.raw!r}" for seen in self.seen]
        return [text[:200] for text in texts if self.token and self.token in text]

    @property
    def asked(self) -> list[Seen]:
        """Requests to a model; not those for a message thread, of which nobody here has any."""
        posts = [seen for seen in self.seen if seen.method == "POST" and "count" not in seen.path]
        return [seen for seen in posts if not _is_thread(seen.raw)]

    @property
    def refused(self) -> list[str]:
        return [seen.refused for seen in self.seen if seen.refused and not _is_thread(seen.raw)]

    def answer(self, steps: int) -> str:
        return f"All {steps} files are read." if f"All {steps} files are read." in self.said else ""

    def results(self, steps: int) -> list[bool]:
        """Whether the model was ever shown the result of each tool."""
        text = "\n".join(seen.text for seen in self.asked)
        return [f"needle_of_file_{number}_" in text for number in range(1, steps + 1)]


def _is_thread(body: bytes) -> bool:
    return b'"thread"' in body and json.loads(body).get("thread") is not None


class Room:
    """A user's home and project, both new, for one run."""

    def __init__(self, folder: Path, program: Program, steps: int) -> None:
        self.home, self.project, self.tapped = folder / "home", folder / "project", folder / "tapped"
        for each in (self.home, self.project, self.tapped, folder / "bin"):
            each.mkdir(parents=True)
        for path, content in program.files.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(content, encoding="utf-8")
        (self.project / "a.py").write_text("print('hello')\n", encoding="utf-8")
        for number in range(1, steps + 1):
            lines = [
                f"line {line} of file {number}: value_{number}_{line * 7919 % 1000} is set" for line in range(_LINES)
            ]
            lines[_LINES // 2] = f"needle_of_file_{number}_ stands here"
            (self.project / f"big_{number}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.program, self.steps = program, steps
        self.shim = folder / "bin" / Path(program.wrap).name
        tap = f"cd '{self.project}' && PYTHONPATH='{ROOT}:{ROOT / 'src'}' exec '{sys.executable}' -m tests.clients.tap"
        self.shim.write_text(f"#!/bin/sh\n{tap} '{self.tapped}' '{program.executable}' \"$@\"\n", encoding="utf-8")
        self.shim.chmod(0o700)

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        kept["PATH"] = f"{self.program.path}:{kept['PATH']}"
        return {**kept, "HOME": str(self.home), **self.program.variables}

    def run(self, words: Sequence[str], environment: dict[str, str], provider: ScriptedProvider) -> Ran:
        provider.say(*self.program.script(self.steps))
        typed = self.program.stdin(self.steps)
        try:
            done = subprocess.run(
                words, cwd=self.project, env=environment, input=typed, capture_output=True, text=True,
                timeout=_TIME_OUT_S, check=False, errors="replace",
            )  # fmt: skip
            status, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            status, said = -1, str(late.stdout or b"") + str(late.stderr or b"")
        sent = [path.read_bytes() for path in sorted(self.tapped.iterdir())]
        secret = self.home / ".undrift" / TOKEN_NAME
        token = secret.read_text(encoding="ascii") if secret.exists() else ""
        return Ran(status, said, provider.requests, self.lines(), sent, token)

    def lines(self) -> list[dict[str, Any]]:
        log = self.home / ".undrift" / "gateway.log"
        found = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [line for line in found if line.get("event") != "started"]

    def direct(self) -> Ran:
        with ScriptedProvider(without_tools=self.program.without_tools) as provider:
            told = wrapped(self.program.wrap)
            at = Addresses(provider.url, f"{provider.url}/v1", provider.url)
            words = [str(self.program.executable), *told.words(at), *self.program.arguments(self.project)]
            return self.run(words, told.environment(at, self.environment()), provider)

    def managed(self, budget: int | None) -> Ran:
        with ScriptedProvider(without_tools=self.program.without_tools) as provider:
            name = self.program.wrap if "/" not in self.program.wrap else str(self.shim)
            words = [sys.executable, "-P", "-m", "undrift", "wrap", f"--home={self.home / '.undrift'}"]
            words += [f"--upstream-anthropic={provider.url}", f"--upstream-gemini={provider.url}"]
            words += [f"--upstream-openai={provider.url}/v1", *([f"--budget={budget}"] if budget else [])]
            words += [name, "--", *self.program.arguments(self.project)]
            environment = self.environment()
            path = f"{self.shim.parent}:{environment['PATH']}"
            return self.run(words, {**environment, "PATH": path, "PYTHONPATH": str(ROOT / "src")}, provider)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, and what was wrong."""

    cells: tuple[str, ...]
    problems: tuple[str, ...]


def try_one(program: Program, folder: Path) -> Row:
    """Run a client three times and compare."""
    version = program.says(folder)
    direct = Room(folder / "direct", program, _STEPS).direct()
    managed = Room(folder / "managed", program, _STEPS).managed(None)
    problems = [*_whole(direct, _STEPS, "without"), *_whole(managed, _STEPS, "with")]
    same_answer = direct.answer(_STEPS) == managed.answer(_STEPS) != "" and direct.results(_STEPS) == managed.results(
        _STEPS
    )
    arrived = Counter(seen.raw for seen in managed.seen if seen.method == "POST")
    same_bytes = Counter(body for body in managed.sent if not _is_thread(body)) == arrived
    problems += [f"with: the token reached the provider: {text}" for text in managed.shown]
    problems += [f"with: {line}" for line in managed.lines if line.get("bypass") or line["event"] == "fault"]
    small = Room(folder / "small", program, program.steps_small)
    budget = budget_of(managed, program.steps_small)
    tight = small.managed(budget) if budget else None
    cells = [program.name, version, f"{len(direct.asked)} / {len(managed.asked)}", _yes(same_answer), _yes(same_bytes)]
    if tight is not None:
        problems += _whole(tight, program.steps_small, "small")
        problems += [f"small: {line}" for line in tight.lines if line.get("bypass") or line["event"] == "fault"]
        left = max((line.get("actions") or 0 for line in tight.lines), default=0)
        over = [line["tokens_after"] for line in tight.lines if (line.get("tokens_after") or 0) > (budget or 0)]
        if over and not program.without_tools:  # a user's own text stays, and there is nothing else
            problems.append(f"small: {over} tokens were sent, {budget} is the budget")
        cells += [str(budget), str(len(tight.asked)), str(left), str(len(tight.refused))]
        if not left:
            problems.append("small: nothing left the window")
    if len(direct.asked) != len(managed.asked) or not same_answer or not same_bytes:
        problems.append(f"differs: {[seen.path for seen in direct.asked]} {[seen.path for seen in managed.asked]}")
    return Row(tuple(cells), tuple(problems))


def budget_of(managed: Ran, steps: int) -> int | None:
    """A budget that the first request fits in, and not all results of the longer session."""
    sizes = sorted(line["tokens_before"] for line in managed.lines if line.get("tokens_before"))
    if len(sizes) < _STEPS:
        return None
    count = min(_STEPS, len(sizes) - 1)
    a_result = (sizes[-1] - sizes[-1 - count]) // count
    return sizes[-1] - _STEPS * a_result + int(a_result * steps * _ROOM)


def _whole(ran: Ran, steps: int, which: str) -> list[str]:
    found = []
    if not ran.answer(steps) or ran.status:
        found.append(f"{which}: status {ran.status}, no final answer:\n{ran.said[-1_500:]}")
    if ran.refused:
        found.append(f"{which}: refused: {ran.refused[:3]}")
    if not all(ran.results(steps)):
        found.append(f"{which}: results that the model never saw: {ran.results(steps)}")
    return found


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "NO"


_HEAD = (
    "client",
    "version",
    "requests without / with",
    "same answers",
    "same bytes",
    "small budget",
    "requests",
    "left",
    "refused",
)


def main(names: Sequence[str]) -> int:
    """Run the clients of these names, or all; print the table; return 1 where something was wrong."""
    if _INSIDE not in os.environ:
        _enter([sys.executable, "-m", "tests.clients.matrix", *names])
    rows, skipped, wrong = [], [], False
    print(f"loopback only: {os.environ.get(_INSIDE, 'no, this machine allows no namespace')}", flush=True)
    for name in names or PROGRAMS:
        program = PROGRAMS[name]
        if not program.is_there():
            skipped.append(f"{program.name}: not installed in {program.executable}")
            continue
        folder = Path(tempfile.mkdtemp(prefix=f"undrift-{name}-"))
        row = try_one(program, folder)
        rows.append(row)
        print(" | ".join(row.cells), *row.problems, sep="\n  ", flush=True)
        wrong = wrong or bool(row.problems)
        if not row.problems:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"\n| {' | '.join(_HEAD)} |\n|{' --- |' * len(_HEAD)}")
    for row in rows:
        print(f"| {' | '.join(row.cells)} |")
    for line in skipped:
        print(f"SKIPPED {line}")
    return 1 if wrong else 0


def _enter(words: Sequence[str]) -> None:
    """Start again where nothing but loopback can be reached; return where the machine does not allow that."""
    script = f'ip link set lo up && {_INSIDE}=yes exec "$@"'
    if shutil.which("unshare") and shutil.which("ip"):
        tried = subprocess.run(["unshare", "-rn", "sh", "-c", "ip link set lo up"], capture_output=True, check=False)
        if tried.returncode == 0:
            os.execvp("unshare", ["unshare", "-rn", "sh", "-c", script, "sh", *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
