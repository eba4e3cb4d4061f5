"""The protocol's own conformance suite, and its inspector over both transports; `make conformance` installs and runs them.

Law: every scenario that applies passes; each that does not stands in `NOT_APPLICABLE` with the reason, and must still fail.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.builders import environment
from tests.mcp.builders import command, served

__all__ = ["NOT_APPLICABLE", "main"]

_ASKS = "undrift never asks the client for anything: no sampling, no elicitation"
_LOGS = "undrift sends no log messages (the protocol has deprecated them); what goes wrong is in the answer"
_PUSHES = "undrift announces no changes of resources: a client reads them when it needs them"

NOT_APPLICABLE = {
    "logging-set-level": _LOGS,
    "tools-call-with-logging": _LOGS,
    "completion-complete": "no argument of ours is completed: references come from search",
    "tools-call-sampling": _ASKS,
    "tools-call-elicitation": _ASKS,
    "elicitation-sep1034-defaults": _ASKS,
    "elicitation-sep1330-enums": _ASKS,
    "server-sse-polling": "an answer is not kept for a client that has lost its stream: it calls again (a SHOULD; 2 warnings)",
    "resources-subscribe": _PUSHES,
    "resources-unsubscribe": _PUSHES,
}
"""Scenario -> why it does not apply."""

_SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
_INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
_WAIT_S = 60
_CALLS: tuple[tuple[str, ...], ...] = (
    ("--method", "tools/list", "--strict"),
    ("--method", "tools/call", "--tool-name", "remember", "--tool-arg", "text=The port is 8080."),
    ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=which port"),
    (
        "--method",
        "tools/call",
        "--tool-name",
        "task_update",
        "--tool-arg",
        "id=t1",
        "content=Fix it",
        "status=in_progress",
    ),
    ("--method", "resources/list"),
    ("--method", "resources/templates/list"),
    ("--method", "resources/read", "--uri", "undrift://sessions"),
    ("--method", "prompts/list"),
    ("--method", "prompts/get", "--prompt-name", "agent_rules"),
)


@contextmanager
def fixtures() -> Iterator[str]:
    """Serve the fixture tools; give the address once it can be reached."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "tests.mcp.fixture_server", str(port)]
    with subprocess.Popen(words, env=environment(), cwd=Path(__file__).parents[2]) as process:
        try:
            for _ in range(_WAIT_S * 10):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://localhost:{port}/mcp"
        finally:
            process.terminate()


def suite(node: str, folder: Path) -> list[str]:
    """Run the conformance suite; return what is wrong."""
    results = folder / "results"
    expected = folder / "not-applicable.yml"
    expected.write_text("server:\n" + "".join(f"  - {name}\n" for name in NOT_APPLICABLE), encoding="utf-8")
    with fixtures() as url:
        words = [node, str(folder / _SUITE), "server", "--url", url, "--suite", "all"]
        words += ["--expected-failures", str(expected), "-o", str(results)]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if line.startswith(("\u2713", "\u2717"))]
    passed = 0
    for line in lines:
        name = line[2:].split(":")[0]
        passed += line.startswith("\u2713") and name not in NOT_APPLICABLE
        print(f"{line}{f' (does not apply: {NOT_APPLICABLE[name]})' if name in NOT_APPLICABLE else ''}")
    print(f"conformance: {passed} of {len(lines)} scenarios pass, {len(NOT_APPLICABLE)} do not apply")
    is_right = run.returncode == 0 and lines
    return (
        []
        if is_right
        else [f"the conformance suite ended with {run.returncode}", run.stdout[-1_000:], run.stderr[-1_000:]]
    )


def inspector(node: str, folder: Path) -> list[str]:
    """Run the inspector over both transports; return what is wrong."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        near = ["-e", f"PYTHONPATH={environment()['PYTHONPATH']}", *command(Path(scratch, "a"))]
        wrong += _called(node, folder, "stdio", near)
        with served(Path(scratch, "b")) as server:
            far = [server.url, "--transport", "http", "--header", f"Authorization: Bearer {server.token}"]
            wrong += _called(node, folder, "http", far)
    return wrong


def _called(node: str, folder: Path, transport: str, target: Sequence[str]) -> list[str]:
    wrong = []
    for call in _CALLS:
        words = [node, str(folder / _INSPECTOR), "--cli", *target, "--connect-timeout", f"{_WAIT_S}000", *call]
        run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=3 * _WAIT_S)
        try:
            answer: Any = json.loads(run.stdout)
        except ValueError:
            answer = None
        is_right = run.returncode == 0 and isinstance(answer, dict) and not answer.get("isError")
        print(f"inspector, {transport}: {' '.join(call)}: {'ok' if is_right else 'FAILED'}")
        if not is_right:
            wrong.append(f"{transport} {call}: {run.returncode} {run.stdout[-500:]} {run.stderr[-500:]}")
    return wrong


def main(arguments: list[str]) -> int:
    """Run both from the folder into which they were installed; return 0 where nothing is wrong."""
    node, folder = arguments[0], Path(arguments[1]).absolute()
    wrong = suite(node, folder) + inspector(node, folder)
    for line in wrong:
        print(line)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
