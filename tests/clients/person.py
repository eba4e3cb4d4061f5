"""A person with one home, repositories and both clients, for tests that drive the real Claude Code and Codex."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.programs import PROGRAMS, ROOT
from undrift.testing import ScriptedProvider, Seen, Turn, Use

__all__ = [
    "OUTSIDE",
    "TOOLS",
    "Person",
    "allowed",
    "loading",
    "needed",
    "new_person",
    "results",
    "start_words",
    "tool",
    "trusting",
]

TOOLS = ("task_update", "remember", "search")
OUTSIDE = "/var/tmp"
"""The folder in which persons are made. Codex lets its agent write to /tmp."""

_WAITING = ("-c", "mcp_servers.undrift.required=true")
"""Codex does not wait for a server unasked."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person with one home. `folder`: the home and the repositories lie in it."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def repository(self, name: str) -> Path:
        """Make a repository with one commit."""
        root = self.folder / name
        root.mkdir(exist_ok=True)
        (root / "app.py").write_text("print('hello')\n", "utf-8")
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "first")):
            self.run(root, "git", *words)
        return root

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        both = [PROGRAMS["claude"], PROGRAMS["codex"]]
        variables = {name: value for one in both for name, value in one.variables.items()}
        path = ":".join([*(one.path for one in both), kept["PATH"]])
        return {**kept, **variables, "PATH": path, "HOME": str(self.home), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}

    def run(
        self, where: Path, *words: str | Path, check: bool = True, settings: Mapping[str, str] | None = None
    ) -> str:
        """Run a program in a folder; its output, errors last."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=where,
            env={**self.environment(), **(settings or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert not check or done.returncode == 0, f"{words[0]}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def undrift(self, where: Path, *words: str) -> str:
        return self.run(where, sys.executable, "-P", "-m", "undrift", *words)

    def settle(self, client: str, trusted: Sequence[Path], where: Path, model: str = "scripted") -> None:
        """Install our MCP server and hooks. `trusted`: Codex asks for it at its first start in a folder."""
        if client == "codex":
            (self.home / ".codex").mkdir(exist_ok=True)
            settings = f'model = "{model}"\n[analytics]\nenabled = false\n{trusting(trusted)}'
            (self.home / ".codex" / "config.toml").write_text(settings, "utf-8")
        self.undrift(where, "install", client, "--mcp", "--yes")
        self.undrift(where, "install", client, "--yes")

    def ask(self, client: str, where: Path, url: str, *more: str) -> str:
        """Start a client in a folder with one request to the model at an address; its output."""
        to = ("-c", f'openai_base_url="{url}/v1"', *_WAITING) if client == "codex" else ()
        words: list[str | Path] = [PROGRAMS[client].executable, *start_words(client, (*more, *to))]
        return self.run(where, *words, settings={"ANTHROPIC_BASE_URL": url})

    def plainly(self, client: str, where: Path) -> str:
        """Start a client in a folder as its settings are; its output."""
        return self.run(where, PROGRAMS[client].executable, *start_words(client, ()))

    def wrap(self, client: str, where: Path, url: str, *more: str) -> str:
        """Start a client behind a gateway of its own; its output."""
        upstreams = (f"--upstream-anthropic={url}", f"--upstream-openai={url}/v1")
        waits = _WAITING if client == "codex" else ()
        return self.undrift(where, "wrap", *upstreams, client, "--", *start_words(client, (*more, *waits)))


def new_person() -> Iterator[Person]:
    """Make a person, and take everything away at the end."""
    with tempfile.TemporaryDirectory(dir=OUTSIDE, ignore_cleanup_errors=True) as folder:
        (Path(folder) / "home").mkdir()
        yield Person(Path(folder))


def needed(client: str) -> str:
    """Return the name of a client, if it is installed."""
    if not PROGRAMS[client].is_there():
        pytest.skip(f"needs the client in {PROGRAMS[client].executable}: run `make clients`")
    return client


def trusting(roots: Sequence[Path]) -> str:
    """Return the lines of Codex's settings by which it trusts folders."""
    return "".join(f'[projects."{root}"]\ntrust_level = "trusted"\n' for root in roots)


def start_words(client: str, more: Sequence[str]) -> Sequence[str]:
    """Return the words with which a client is started without a person."""
    if client == "claude":
        return ("-p", "Do it.", "--output-format", "json", *more)
    return ("exec", "--json", *more, "Do it.")


def tool(client: str, name: str) -> str:
    """Our tool's name, as the client's model calls it."""
    return f"mcp__undrift__{name}" if client == "claude" else f"mcp__undrift.{name}"


def loading(client: str) -> Iterator[Turn]:
    """Claude Code's model loads our tools first."""
    if client == "claude":
        yield Use("ToolSearch", {"query": f"select:{','.join(tool(client, name) for name in TOOLS)}", "max_results": 5})


def allowed(client: str) -> Sequence[str]:
    """The options by which a person has allowed our tools: without a terminal it cannot ask."""
    return ("--allowedTools", *(tool(client, name) for name in TOOLS)) if client == "claude" else ()


def results(provider: ScriptedProvider) -> list[str]:
    """Return the result of each call, as the request after it has it."""
    return [list(_added(seen))[-1] for seen in provider.of_kind("main") if list(_added(seen))]


def _added(seen: Seen) -> Iterator[str]:
    items = seen.body.get("messages") or seen.body.get("input")
    for item in items[-4:]:
        is_output = item.get("type") in ("function_call_output", "custom_tool_call_output")
        if is_output or (item.get("role") == "user" and '"tool_result"' in json.dumps(item)):
            yield json.dumps(item)
