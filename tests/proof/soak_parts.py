"""The four parts of a soak, each as its users drive it: the gateway, the hooks, the MCP server and the command line.

Each part does one step after the other, notes what was acknowledged, and is killed from outside. A step that was cut off
by a kill is done again, as a client would; any other refusal is a finding.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.builders import answered, called, claude, said
from tests.hooks.builders import compacted
from tests.proof.soak_ledger import Ledger, sha256
from undrift.core.text.refs import ref_of

__all__ = ["SESSION", "CommandLine", "Hooks", "Mcp", "Part", "Soaked", "text_of"]

SESSION = "together"
"""The session of the memories and tasks, for the MCP server and the command line."""

REF = re.compile(r"\b[0-9a-f]{16}\b")
WORDS = ("oak", "elm", "ash", "fir", "yew", "bay", "fig", "ivy", "pea", "rye")
TRIES = 20
MOST_S = 120


@dataclass(slots=True)
class Soaked:
    """The state that all parts share.

    Args:
        folder: Outside of the home: the transcripts, the ledger.
        home: The one home.
        ledger: Gets each acknowledged reference.
        random: For all that is left to chance.
        refused: What was refused, in words.
        done: Steps that succeeded, by part.
        again: Steps that a kill cut off, and that were done again.
    """

    folder: Path
    home: Path
    ledger: Ledger
    random: Random
    refused: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    again: int = 0

    @property
    def repo(self) -> Path:
        """The folder that all clients work in."""
        return self.folder / "repo"


class Part:
    """One part; `step` is called by one thread, `kill` by another.

    Args:
        soaked: What all parts share.
    """

    name = ""

    def __init__(self, soaked: Soaked) -> None:
        self.soaked = soaked
        self.kills = 0
        self._killed_s = -MOST_S * 1.0

    def step(self) -> None:
        """Do the next thing that a user would."""
        raise NotImplementedError

    def kill(self) -> bool:
        """Kill it with SIGKILL. False means: nothing of it ran within two minutes."""
        until_s = time.monotonic() + MOST_S
        while time.monotonic() < until_s:
            if pid := self.pid():
                self._killed_s = time.monotonic()
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                self.kills += 1
                return True
            time.sleep(0.02)
        return False

    def pid(self) -> int:
        """Return the process to kill or to look at now; 0 if there is none."""
        raise NotImplementedError

    def close(self) -> None:
        """End what is still running."""

    def succeeded(self) -> None:
        """Count a step."""
        self.soaked.done[self.name] = self.soaked.done.get(self.name, 0) + 1

    def failed(self, began_s: float, why: str) -> bool:
        """Tell whether a kill since `began_s` excuses a failure; else it is noted as a refusal."""
        if self._killed_s >= began_s - 1:
            self.soaked.again += 1
            time.sleep(0.2)
            return True
        self.soaked.refused.append(f"{self.name}: {why[:300]}")
        return False


def text_of(random: Random, name: str, lines: int) -> str:
    """Return a text that stands nowhere else, as a tool would print it."""
    return "".join(f"{name}, line {n}: {' '.join(random.choices(WORDS, k=8))}\n" for n in range(lines))


def program(*words: str | Path) -> list[str]:
    """Return the command of the program itself."""
    return [sys.executable, "-P", "-m", "undrift", *map(str, words)]


class CommandLine(Part):
    """Commands that a person types, one process each."""

    name = "cli"

    def __init__(self, soaked: Soaked) -> None:
        super().__init__(soaked)
        self._number = 0
        self._running: subprocess.Popen[bytes] | None = None

    def pid(self) -> int:
        running = self._running
        return running.pid if running is not None and running.poll() is None else 0

    def step(self) -> None:
        self._number += 1
        turn = self._number % 3
        if turn == 1:
            text = f"The {' '.join(self.soaked.random.sample(WORDS, 4))} of item {self._number} is here."
            answer = self._run("memory", "remember", text, "--session", SESSION, "--json")
            if answer is not None:
                memory = json.loads(answer)["memory"]
                self.soaked.ledger.note("memory", self.name, memory["id"], memory["content"])
        elif turn == 2:
            self._recall()
        else:
            self._run("session", "list", "--json")

    def _recall(self) -> None:
        one = self.soaked.ledger.any("original", self.soaked.random)
        if one is None:
            return
        answer = self._run("recall", one.ref, "--json")
        if answer is not None and sha256(json.loads(answer)["text"]) != one.sha256:
            self.soaked.refused.append(f"cli: recall {one.ref} gives another text")

    def _run(self, *words: str, given: bytes = b"") -> bytes | None:
        """Run a command, again as long as it is killed; return what it says. None means: it was refused."""
        for _ in range(TRIES):
            began_s = time.monotonic()
            self._running = subprocess.Popen(
                program(*words, f"--home={self.soaked.home}"),
                cwd=self.soaked.repo,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            out, errors = self._running.communicate(given, timeout=MOST_S)
            if self._running.returncode == 0:
                self.succeeded()
                return out
            why = f"{' '.join(words[:2])} ended with {self._running.returncode}: {errors.decode(errors='replace')}"
            if not self.failed(began_s, why):
                return None
        self.soaked.refused.append(f"cli: {words[0]} did not succeed in {TRIES} tries")
        return None


class Mcp(Part):
    """An agent with an MCP server on stdin and stdout; it starts a new one when the old one has ended."""

    name = "mcp"

    def __init__(self, soaked: Soaked) -> None:
        super().__init__(soaked)
        self._server: subprocess.Popen[bytes] | None = None
        self._number = 0
        self._asked = 0

    def pid(self) -> int:
        server = self._server
        return server.pid if server is not None and server.poll() is None else 0

    def step(self) -> None:
        self._number += 1
        turn, ledger = self._number % 4, self.soaked.ledger
        if turn == 1 and self._number % 8 == 1:
            text = f"The {' '.join(self.soaked.random.sample(WORDS, 4))} of part {self._number} is there."
            if answer := self._call("remember", text=text):
                ledger.note("memory", self.name, answer["id"], text)
        elif turn == 2 and self._number % 8 == 2:
            id_ = f"task-{self._number}"
            if self._call("task_update", id=id_, content=f"do {self._number}"):
                ledger.note("task", self.name, id_)
        elif turn == 3 and (one := ledger.any("memory", self.soaked.random)):
            self._call("recall", ref=one.ref)
        else:
            self._call("search", query=" ".join(self.soaked.random.sample(WORDS, 2)))

    def _call(self, tool: str, **given: Any) -> dict[str, Any] | None:
        """Call a tool, again if the server was killed meanwhile; None means: it was refused."""
        for _ in range(TRIES):
            began_s = time.monotonic()
            try:
                result = self._ask("tools/call", {"name": tool, "arguments": given})
            except (OSError, ValueError) as error:
                self.close()
                if not self.failed(began_s, f"{tool}: {type(error).__name__}: {error}"):
                    return None
                continue
            if result.get("isError"):
                self.soaked.refused.append(f"mcp: {tool}: {json.dumps(result)[:300]}")
                return None
            self.succeeded()
            return dict(result["structuredContent"])
        self.soaked.refused.append(f"mcp: {tool} did not succeed in {TRIES} tries")
        return None

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if self._server is None or self._server.poll() is not None:
            self._start()
        return self._exchange(method, params)

    def _start(self) -> None:
        self.close()
        words = program("agent", "mcp", f"--home={self.soaked.home}", "--session", SESSION)
        self._server = subprocess.Popen(
            words, cwd=self.soaked.repo, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        client = {"name": "soak", "version": "1"}
        self._exchange("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _exchange(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._say({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        assert self._server is not None
        assert self._server.stdout is not None
        while line := self._server.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._asked:
                return dict(answer["result"])
        raise ConnectionError("the server has ended")

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message).encode() + b"\n")
        self._server.stdin.flush()

    def close(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.communicate()
            self._server = None


@dataclass(slots=True)
class _Transcript:
    """A transcript that grows.

    Args:
        session: Its id.
        path: Of the file.
        lines: So far.
        results: Number of the line, the offset of its end and the text, of what is not acknowledged yet.
    """

    session: str
    path: Path
    lines: int = 0
    results: list[tuple[int, int, str]] = field(default_factory=list)


class Hooks(Part):
    """Claude Code with its hooks: transcripts that grow, and are compacted again and again."""

    name = "hooks"

    def __init__(self, soaked: Soaked, transcripts: int = 2) -> None:
        super().__init__(soaked)
        folder = soaked.folder / "claude" / "projects" / "-repo"
        folder.mkdir(parents=True)
        ids = [f"0199f1d2-aaaa-4bbb-8ccc-{number:012}" for number in range(transcripts)]
        self._transcripts = [_Transcript(id_, folder / f"{id_}.jsonl") for id_ in ids]
        self._number = 0
        self._calls = 0
        self._running: subprocess.Popen[bytes] | None = None

    def pid(self) -> int:
        running = self._running
        if running is not None and running.poll() is None:
            return running.pid
        return next(iter(self._asides()), 0)

    def step(self) -> None:
        self._number += 1
        one = self._transcripts[self._number % len(self._transcripts)]
        self._work(one)
        if self._hook("PreCompact", one, trigger="auto") is None:
            return
        self._append(one, compacted(self._number))
        printed = self._hook("SessionStart", one, source="compact")
        if printed is None:
            return
        if not printed.strip():
            self.soaked.refused.append("hooks: nothing was given back after a compaction")
            return
        for ref in REF.findall(json.loads(printed)["hookSpecificOutput"]["additionalContext"]):
            self.soaked.ledger.note("original", self.name, ref)
        self.succeeded()
        self._take_acknowledged()

    def _work(self, one: _Transcript) -> None:
        """The agent reads files and answers."""
        if not one.lines:
            self._append(one, [claude("user", "Say where it is computed. Never touch the file build.lock.")])
        for _ in range(5):
            self._calls += 1
            text = text_of(self.soaked.random, f"file {self._calls}", 30)
            self._append(one, [claude("assistant", [called(self._calls, file_path=f"/repo/{self._calls}.py")])])
            self._append(one, [claude("user", [answered(self._calls, text)])])
            one.results.append((one.lines - 1, one.path.stat().st_size, text))
        self._append(one, [claude("assistant", [said(f"I have read up to {self._calls}.")])])

    def _append(self, one: _Transcript, records: Sequence[dict[str, Any]]) -> None:
        with one.path.open("a", encoding="utf-8") as file:
            for record in records:
                record = {**record, "uuid": f"u-{one.lines}", "cwd": str(self.soaked.repo), "sessionId": one.session}
                file.write(json.dumps(record) + "\n")
                one.lines += 1

    def _hook(self, event: str, one: _Transcript, **more: str) -> bytes | None:
        """Call a hook as the client does; None means: a kill or a fault took its answer."""
        payload = {"session_id": one.session, "transcript_path": str(one.path), "cwd": str(self.soaked.repo)}
        began_s = time.monotonic()
        client = self.soaked.folder / "claude"
        self._running = subprocess.Popen(
            program("agent", "hook", event, "--client=claude", f"--home={self.soaked.home}", f"--client-home={client}"),
            cwd=self.soaked.repo,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        out, _ = self._running.communicate(
            json.dumps({**payload, "hook_event_name": event, **more}).encode(), timeout=MOST_S
        )
        if self._running.returncode:
            self.failed(began_s, f"{event} ended with {self._running.returncode}")
            return None
        return out

    def _take_acknowledged(self) -> None:
        """Note all results that stand before the place up to which a transcript is recorded."""
        for one in self._transcripts:
            found = list(self.soaked.home.rglob(f"hooks/*{one.session}*/recorded.json"))
            place = json.loads(found[0].read_bytes() or b"{}").get("offset", 0) if found else 0
            for line, end, text in [result for result in one.results if result[1] <= place]:
                ref = ref_of(f"claude:{one.session}", f"u-{line}:0")
                self.soaked.ledger.note("original", self.name, ref, text)
                one.results.remove((line, end, text))

    def _asides(self) -> list[int]:
        """The processes that the hooks have left to do the work."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if b"PreCompact" in words and b"--now" in words and f"--home={self.soaked.home}".encode() in words:
                found.append(int(path.parent.name))
        return found

    def close(self) -> None:
        """Wait until the newest of what was said is recorded."""
        until_s = time.monotonic() + MOST_S
        while self._asides() and time.monotonic() < until_s:
            time.sleep(0.1)
        self._take_acknowledged()
