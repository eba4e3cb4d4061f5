"""The real clients with and without a gateway, against a scripted provider: ``python -m tests.clients.matrix [NAME]...``.

Each is run five times, in a namespace with loopback only where the machine allows it: straight to the provider; and by
``undrift proxy`` and ``undrift wrap``, first with room enough, where every body must arrive as it left, then in a longer
session with so little room that results leave. Run by ``make clients``, which installs them. Not part of ``make test``.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.clients.programs import PICTURE, PROGRAMS, ROOT, Program
from tests.clients.ran import Ran
from undrift.clients.wrapped import Addresses, wrapped
from undrift.stores.secret import TOKEN_NAME
from undrift.testing import ScriptedProvider

__all__ = ["Ran", "Room", "WAYS", "Way", "budget_of", "enter", "is_inside", "main"]

Way = Literal["proxy", "wrap"]
WAYS: tuple[Way, ...] = ("proxy", "wrap")
"""A gateway that runs already, and one that begins and ends with its client."""

_UNDRIFT = (sys.executable, "-P", "-m", "undrift")
_INSIDE = "UNDRIFT_CLIENTS_INSIDE"
_STEPS = 3
_LINES = 150
_TIME_OUT_S = 240
_ROOM = 0.5  # of what the results of a session take: so much of them fits, more than the newest that always stay


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
        (self.project / PICTURE).write_bytes(_picture())
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
            at = Addresses(provider.url, f"{provider.url}/v1", provider.url, provider.url, provider.url)
            words = [
                str(self.program.executable),
                *told.words(at, self.environment()),
                *self.program.arguments(self.project),
            ]
            return self.run(words, told.environment(at, self.environment()), provider)

    def managed(self, budget: int | None, way: Way = "wrap", more: Sequence[str] = ()) -> Ran:
        """Run it through a gateway, with so much room or what the model's window gives. `more`: its other options."""
        with ScriptedProvider(without_tools=self.program.without_tools) as provider:
            options = [f"--home={self.home / '.undrift'}", f"--upstream-openai={provider.url}/v1"]
            options += [f"--upstream-{name}={provider.url}" for name in ("anthropic", "gemini", "bedrock", "vertex")]
            options += [*([f"--budget={budget}"] if budget else []), *more]
            return self._wrapped(provider, options) if way == "wrap" else self._beside(provider, options)

    def _wrapped(self, provider: ScriptedProvider, options: Sequence[str]) -> Ran:
        name = self.program.wrap if "/" not in self.program.wrap else str(self.shim)
        words = [*_UNDRIFT, "wrap", *options, name, "--", *self.program.arguments(self.project)]
        environment = self.environment()
        path = f"{self.shim.parent}:{environment['PATH']}"
        return self.run(words, {**environment, "PATH": path, "PYTHONPATH": str(ROOT / "src")}, provider)

    def _beside(self, provider: ScriptedProvider, options: Sequence[str]) -> Ran:
        """The gateway runs already, and the client is given the address that it prints."""
        (self.home / ".undrift").mkdir(mode=0o700)
        environment = {**self.environment(), "PYTHONPATH": str(ROOT / "src")}
        words = [*_UNDRIFT, "proxy", "--port=0", "--json", *options]
        with (
            (self.home / ".undrift" / "gateway.log").open("wb") as log,
            subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=log) as gateway,
        ):
            try:
                urls = json.loads(gateway.stdout.readline() if gateway.stdout else b"")["base_urls"]
                told = wrapped(self.program.wrap)
                at = Addresses(
                    urls["anthropic"], f"{urls['openai']}/v1", urls["gemini"], urls["bedrock"], urls["vertex"]
                )
                client = [str(self.shim), *told.words(at, self.environment()), *self.program.arguments(self.project)]
                return self.run(client, told.environment(at, self.environment()), provider)
            finally:
                gateway.terminate()
                gateway.wait(30)


def _picture() -> bytes:
    """A grey square."""
    side = 64
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0),
        b"IDAT": zlib.compress((b"\0" + b"\x80" * side) * side),
        b"IEND": b"",
    }
    written = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, and what was wrong."""

    cells: Mapping[str, str]
    problems: tuple[str, ...]


def try_one(program: Program, folder: Path) -> Row:
    """Run a client without a gateway, and by each way with enough room and with little; compare."""
    cells, version = {"client": program.name}, program.says(folder)
    direct = Room(folder / "direct", program, _STEPS).direct()
    problems = _whole(direct, _STEPS, "without")
    wide = {way: Room(folder / f"{way}-wide", program, _STEPS).managed(None, way) for way in WAYS}
    for way, ran in wide.items():
        problems += _compared(direct, ran, way)
    budgets = {way: budget_of(ran, program.steps_small) for way, ran in wide.items()}
    small = {
        way: Room(folder / f"{way}-small", program, program.steps_small).managed(budget, way)
        for way, budget in budgets.items()
        if budget
    }
    for way, ran in small.items():
        problems += _held(program, ran, budgets[way] or 0, f"{way}, small")
    over = [sum(size > (budgets[way] or 0) for size in ran.sizes) for way, ran in small.items()]
    cells |= {
        "version": version,
        "requests": " / ".join(str(len(ran.asked)) for ran in (direct, *wide.values())),
        "same bytes": _each("{0[0]} of {0[1]}", [ran.arrived_alike() for ran in wide.values()]),
        "small budget: requests": _each("{0}", [len(ran.asked) for ran in small.values()]),
        "largest / budget": _each("{0}", [f"{max(ran.sizes)} / {budgets[way]}" for way, ran in small.items()]),
        "over": _each("{0}", over),
        "refused": _each("{0}", [len(ran.refused) for ran in (*wide.values(), *small.values())]),
        "left": _each("{0}", [_left(ran) for ran in small.values()]),
        "sessions": _each("{0}", [len(ran.sessions) for ran in small.values()]),
        "loaded tools": _each("{0[0]} of {0[1]}", [ran.loaded() for ran in small.values()]).replace("0 of 0", "-"),
    }
    return Row(cells, tuple(problems))


def _each(form: str, values: Sequence[object]) -> str:
    """What the ways came to, once where it is the same."""
    shown = [form.format(value) for value in values]
    return shown[0] if len(set(shown)) == 1 else ", ".join(shown)


def _left(ran: Ran) -> int:
    return max((line.get("actions") or 0 for line in ran.lines), default=0)


def _compared(direct: Ran, ran: Ran, way: str) -> list[str]:
    """The faults of a run with room enough: everything is as it was without a gateway."""
    found = _whole(ran, _STEPS, way)
    found += [f"{way}: the token reached the provider: {text}" for text in ran.shown]
    found += [f"{way}: {line}" for line in ran.faults]
    if direct.answer(_STEPS) != ran.answer(_STEPS) or direct.results(_STEPS) != ran.results(_STEPS):
        found.append(f"{way}: other answers than without")
    if len(direct.asked) != len(ran.asked):
        found.append(f"{way}: {[seen.path for seen in direct.asked]} {[seen.path for seen in ran.asked]}")
    alike, left = ran.arrived_alike()
    if alike != left or not left:
        found.append(f"{way}: {alike} of {left} bodies arrived as they left")
    return found


def _held(program: Program, ran: Ran, budget: int, which: str) -> list[str]:
    """The faults of a run with a small budget."""
    found = _whole(ran, program.steps_small, which) + [f"{which}: {line}" for line in ran.faults]
    over = [size for size in ran.sizes if size > budget]
    if over and not program.without_tools:  # a user's own text stays, and there is nothing else
        found.append(f"{which}: {over} tokens were sent, {budget} is the budget")
    if not _left(ran):
        found.append(f"{which}: nothing left the window")
    if len(ran.sessions) != 1:
        found.append(f"{which}: {len(ran.sessions)} sessions for one conversation")
    good, due = ran.loaded()
    if good != due:
        found.append(f"{which}: what loads a deferred tool stands in {good} of {due} requests")
    return found


def budget_of(managed: Ran, steps: int) -> int | None:
    """A budget that the first request fits in, and not all results of the longer session."""
    sizes = sorted(line["tokens_before"] for line in managed.lines if line.get("tokens_before"))
    if len(sizes) < _STEPS:
        return None
    count = min(_STEPS, len(sizes) - 1)
    a_result = (sizes[-1] - sizes[-1 - count]) // count
    return sizes[-1] - count * a_result + int(a_result * steps * _ROOM)


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


def main(words: Sequence[str]) -> int:
    """Run the clients of these names, or all; print the table; return 1 where something was wrong.

    `words`: names, and ``--json=FILE`` for the table as data.
    """
    if not is_inside():
        enter([sys.executable, "-m", "tests.clients.matrix", *words])
    rows, skipped = [], []
    print(f"loopback only: {os.environ.get(_INSIDE, 'no, this machine allows no namespace')}", flush=True)
    for name in [word for word in words if not word.startswith("--")] or PROGRAMS:
        program = PROGRAMS[name]
        if not program.is_there():
            skipped.append(f"{program.name}: not installed in {program.executable}")
            continue
        folder = Path(tempfile.mkdtemp(prefix=f"undrift-{name}-"))
        row = try_one(program, folder)
        rows.append(row)
        print(" | ".join(row.cells.values()), *row.problems, sep="\n  ", flush=True)
        if not row.problems:
            shutil.rmtree(folder, ignore_errors=True)
    print(*_table(rows), *(f"SKIPPED {line}" for line in skipped), sep="\n")
    for word in words:
        if word.startswith("--json="):
            told = [{**row.cells, "problems": row.problems} for row in rows]
            Path(word.removeprefix("--json=")).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row.problems for row in rows) else 0


def _table(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    head = list(rows[0].cells)
    lines = ["", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return lines + [f"| {' | '.join(row.cells.values())} |" for row in rows]


def is_inside() -> bool:
    """Whether this process was started where nothing but loopback can be reached, or that was tried."""
    return _INSIDE in os.environ


def enter(words: Sequence[str]) -> None:
    """Start again where nothing but loopback can be reached; return where the machine does not allow that."""
    script = f'ip link set lo up && {_INSIDE}=yes exec "$@"'
    if shutil.which("unshare") and shutil.which("ip"):
        tried = subprocess.run(["unshare", "-rn", "sh", "-c", "ip link set lo up"], capture_output=True, check=False)
        if tried.returncode == 0:
            os.execvp("unshare", ["unshare", "-rn", "sh", "-c", script, "sh", *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
