"""Record examples/demo-session.jsonl: play the plan of demo_plan.py on a copy of this repository, with real tools.

    python examples/record_demo.py [FILE]

Law: what the agent and the user say is written in the plan; what a tool answers is never written, it is what the tool
gave. A step whose outcome is not the one that the plan says stops the recording, and no file is written.
"""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from demo_plan import BREAKAGES, PLAN, Call, Said, Told

__all__ = ["Clock", "Recorder", "RecordingError", "Workshop", "main", "play"]

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = Path(__file__).with_name("demo-session.jsonl")
COPIED = ("src", "tests", "docs", "pyproject.toml", ".env.example")
NEEDED = ("apsw", "hypothesis", "msgspec", "pytest", "ruff")
REPO, TEMPORARY, VENV, PYTHON = "/repo", "/tmp", "/venv", "/python"  # noqa: S108 - names in the recording, no places
ADDRESS = re.compile(r"\b0x[0-9a-f]{9,16}\b")
LONGEST_ANSWER_CHARACTERS = 30_000
COMMAND_SECONDS = 120
STARTED = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "undrift:examples/demo-session")
MODEL = "claude-opus-4-5"


class RecordingError(Exception):
    """The plan and the code have parted: the message says at which step."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gave."""

    text: str
    is_error: bool = False


class Workshop:
    """A copy of the repository in a temporary folder, and the tools that work on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo = folder / "repo"
        self._home = folder / "home"
        for name in COPIED:
            source, target = ROOT / name, self.repo / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache"))
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        self._home.mkdir()
        python = folder / "bin" / "python"
        python.parent.mkdir()
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
        python.chmod(0o700)
        self._tools: dict[str, Callable[..., Answer]] = {
            "Bash": self._bash,
            "Edit": self._edit,
            "Glob": self._glob,
            "Grep": self._grep,
            "Read": self._read,
            "Write": self._write,
        }

    def use(self, call: Call) -> Answer:
        """Run one tool call and return its answer, without a trace of this machine."""
        answer = self._tools[call.tool](**call.given)
        return Answer(self._neutral(answer.text), answer.is_error)

    def output(self, command: str) -> str:
        """Return what a command prints, as somebody would paste it."""
        return re.sub(r"^Exit code \d+\n", "", self.use(Call("Bash", {"command": command})).text)

    def break_code(self, path: str, old: str, new: str) -> None:
        """Plant a mistake, before the session begins."""
        answer = self._edit(f"{REPO}/{path}", old, new)
        if answer.is_error:
            raise RecordingError(f"the mistake in {path} cannot be planted: {answer.text}")

    def _path(self, path: str) -> Path:
        if not path.startswith(f"{REPO}/") or ".." in path:
            raise RecordingError(f"{path}: the agent works below {REPO} only")
        return self.repo / path.removeprefix(f"{REPO}/")

    def _neutral(self, text: str) -> str:
        places = {
            str(self.repo): REPO,
            str(self.folder): TEMPORARY,
            sys.prefix: VENV,
            sys.base_prefix: PYTHON,
            str(ROOT): REPO,
        }
        for place in sorted(places, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.~-]){re.escape(place)}(?![\w-])", places[place], text)
        if len(text) > LONGEST_ANSWER_CHARACTERS:
            left = len(text) - LONGEST_ANSWER_CHARACTERS
            text = f"{text[:LONGEST_ANSWER_CHARACTERS]}\n... [{left:,} characters not shown]"
        return ADDRESS.sub("0x7f0000000000", text)

    def _bash(self, command: str, description: str = "") -> Answer:
        del description  # for the reader of the recording
        environment = {
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._home),
            "TMPDIR": str(self.folder),
            "PYTHONPATH": str(self.repo / "src"),
            "PYTEST_ADDOPTS": f"-p no:cacheprovider --basetemp={self.folder / 'pytest'}",
            "RUFF_NO_CACHE": "true",
            "PYTHONDONTWRITEBYTECODE": "1",
            "CI": "1",
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
        }
        run = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.repo,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        text = run.stdout.decode("utf-8", "replace").rstrip("\n")
        if run.returncode:
            return Answer(f"Exit code {run.returncode}\n{text}", is_error=True)
        return Answer(text or "(no output)")

    def _read(self, file_path: str, offset: int = 1, limit: int | None = None) -> Answer:
        path = self._path(file_path)
        if not path.is_file():
            return Answer(f"{file_path}: there is no such file", is_error=True)
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        return Answer(_numbered(lines, offset, limit))

    def _grep(self, pattern: str, path: str = ".", glob: str = "*.py") -> Answer:
        command = ["grep", "-rnE", f"--include={glob}", "-e", pattern, path]
        run = subprocess.run(command, cwd=self.repo, capture_output=True, text=True, check=False)
        if run.returncode > 1:
            return Answer(run.stderr.strip(), is_error=True)
        hits = [line.split(":", 2) for line in run.stdout.splitlines()]
        hits.sort(key=lambda hit: (hit[0], int(hit[1])))  # grep gives files as the folder does: unordered
        return Answer("\n".join(":".join(hit) for hit in hits) or "no matches")

    def _glob(self, pattern: str) -> Answer:
        paths = sorted(path.relative_to(self.repo).as_posix() for path in self.repo.glob(pattern) if path.is_file())
        return Answer("\n".join(paths) or "no files")

    def _edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> Answer:
        path = self._path(file_path)
        text = path.read_text(encoding="utf-8")
        times = text.count(old_string)
        if times == 0 or (times > 1 and not replace_all):
            return Answer(f"{file_path}: old_string occurs {times} times, nothing was changed", is_error=True)
        path.write_text(text.replace(old_string, new_string), encoding="utf-8")
        first = text[: text.index(old_string)].count("\n") + 1
        after = path.read_text(encoding="utf-8").split("\n")
        shown = _numbered(after, max(1, first - 3), new_string.count("\n") + 7)
        return Answer(
            f"{file_path} was changed in {times} place{'s' * (times > 1)}; from the first on it reads:\n{shown}"
        )

    def _write(self, file_path: str, content: str) -> Answer:
        path = self._path(file_path)
        existed = path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return Answer(f"{file_path} was {'overwritten' if existed else 'created'}: {content.count(chr(10))} lines")


def _numbered(lines: list[str], offset: int, limit: int | None) -> str:
    """Number lines as agents see them; `offset` counts from 1."""
    end = len(lines) if limit is None else offset - 1 + limit
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines[offset - 1 : end], offset))


@dataclass(slots=True)
class Clock:
    """A time that passes alike in every recording."""

    now: datetime = STARTED
    _ticks: int = 0

    def after(self, least_ms: int, most_ms: int) -> str:
        """Let some time within the limits pass and return the new one."""
        self._ticks += 1
        spread = uuid.uuid5(NAMES, f"tick {self._ticks}").int % (most_ms - least_ms + 1)
        self.now += timedelta(milliseconds=least_ms + spread)
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Recorder:
    """The lines of the session: one record a message, one a tool result."""

    clock: Clock = field(default_factory=Clock)
    lines: list[str] = field(default_factory=list)
    calls: int = 0
    _parent: str | None = None

    def user(self, content: Any, least_ms: int, most_ms: int) -> None:
        """Record what the user, or a tool, gives to the agent."""
        self._add("user", {"role": "user", "content": content}, self.clock.after(least_ms, most_ms))

    def agent(self, text: str, calls: tuple[Call, ...]) -> list[str]:
        """Record what the agent says and calls; return the ids of its calls."""
        ids = [f"toolu_demo_{self.calls + number:04}" for number in range(1, len(calls) + 1)]
        self.calls += len(calls)
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for id_, call in zip(ids, calls, strict=True):
            content.append({"type": "tool_use", "id": id_, "name": call.tool, "input": call.given})
        message = {
            "id": f"msg_demo_{len(self.lines) + 1:04}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
        }
        self._add("assistant", message, self.clock.after(3_000, 24_000))
        return ids

    def result(self, id_: str, answer: Answer) -> None:
        """Record the answer to a call."""
        block = {"type": "tool_result", "tool_use_id": id_, "content": answer.text, "is_error": answer.is_error}
        self.user([block], 150, 2_500)

    def _add(self, kind: str, message: dict[str, Any], timestamp: str) -> None:
        own = str(uuid.uuid5(NAMES, f"record {len(self.lines) + 1}"))
        record = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "cwd": REPO,
            "sessionId": str(NAMES),
            "version": "undrift-demo",
            "type": kind,
            "message": message,
            "uuid": own,
            "timestamp": timestamp,
        }
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))
        self._parent = own


def play(workshop: Workshop, recorder: Recorder) -> Iterator[str]:
    """Play the plan; yield a line about each call."""
    for breakage in BREAKAGES:
        workshop.break_code(*breakage)
    for number, step in enumerate(PLAN, 1):
        if isinstance(step, Told):
            text = f"{step.text}\n\n```\n{workshop.output(step.pasted)}\n```" if step.pasted else step.text
            recorder.user(text, step.after_ms, step.after_ms + 20_000)
            continue
        assert isinstance(step, Said)
        ids = recorder.agent(step.text, step.calls)
        for id_, call in zip(ids, step.calls, strict=True):
            answer = workshop.use(call)
            recorder.result(id_, answer)
            yield f"{id_} {call.tool}: {len(answer.text):,} characters{', refused or red' * answer.is_error}"
            if answer.is_error is not call.fails:
                expected = "to fail" if call.fails else "to succeed"
                given = json.dumps(call.given, ensure_ascii=False)
                raise RecordingError(
                    f"step {number}: {call.tool} {given[:400]}\nwas expected {expected}, but gave:\n{answer.text[-3000:]}"
                )


def _check(text: str, workshop: Workshop) -> None:
    """Refuse a recording that tells about this machine."""
    places = {str(ROOT), str(workshop.folder), sys.prefix, str(Path.home())} - {"/", "/usr", "/usr/local", REPO, VENV}
    told = sorted(place for place in places if re.search(rf"(?<![\w.~-]){re.escape(place)}(?![\w-])", text))
    if told:
        raise RecordingError(f"the recording names places of this machine: {told}")


def main(arguments: list[str]) -> int:
    """Record, and write the file only when all went as planned."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{', '.join(missing)} must be installed: run it with the interpreter that `make setup` makes")
        return 1
    output = Path(arguments[0]) if arguments else OUTPUT
    recorder = Recorder()
    with tempfile.TemporaryDirectory(prefix="undrift-demo-") as folder:
        workshop = Workshop(Path(os.path.realpath(folder)))
        try:
            for line in play(workshop, recorder):
                print(line)
            text = "".join(f"{line}\n" for line in recorder.lines)
            _check(text, workshop)
        except RecordingError as error:
            print(f"not recorded: {error}", file=sys.stderr)
            return 1
    output.write_text(text, encoding="utf-8")
    print(f"{output}: {len(recorder.lines)} records, {recorder.calls} calls, {len(text.encode()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
