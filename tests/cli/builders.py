"""Recorded sessions as the two clients write them, small enough to reckon by hand; and the program itself."""

import array
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.warm.started import Started
from undrift.cli import main

SRC = Path(__file__).parents[2] / "src"
PROGRAM = "from undrift.cli import main; main(prog_name='undrift')"

_FOREIGN = (
    "UNDRIFT_",
    "DEVS_",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "COPILOT_HOME",
    "PI_CODING_AGENT_DIR",
    "FORCE_COLOR",
    "TTY_",
)
"""Variables of whoever runs the tests; what they say must not count."""

Record = dict[str, Any]


def claude(type_: str, content: Any, *, at_s: int = 0, model: str = "claude-opus-4-6", **more: Any) -> Record:
    """One record of Claude Code, `at_s` seconds into the session."""
    message = {"role": type_, "content": content, **({"model": model} if type_ == "assistant" else {})}
    stamp = f"2026-03-01T10:{at_s // 60:02}:{at_s % 60:02}.000Z"
    return {"type": type_, "isSidechain": False, "sessionId": "s-1", "timestamp": stamp, "message": message, **more}


def said(text: str) -> Record:
    return {"type": "text", "text": text}


def called(number: int, tool: str = "Read", **given: Any) -> Record:
    return {"type": "tool_use", "id": f"call-{number}", "name": tool, "input": given}


def answered(number: int, text: str) -> Record:
    return {"type": "tool_result", "tool_use_id": f"call-{number}", "content": text}


def listing(number: int, characters: int = 2_000) -> str:
    """What a tool would print: lines of code that stand nowhere else."""
    line = f"    value_{number}_{{0}} = compute_part_{number}_{{0}}(source, target)\n"
    return "".join(line.format(i) for i in range(characters // len(line) + 1))[:characters]


def long_session(results: int = 30, *, characters: int = 2_000, last: str = "", tool: str = "Read") -> list[Record]:
    """A user who asks once, and an agent that reads one file after the other; `last` is its last word."""
    records = [claude("user", "Find out where the value is computed.")]
    for number in range(results):
        at_s = 10 * number
        records.append(claude("assistant", [called(number, tool, file_path=f"src/part_{number}.py")], at_s=at_s))
        records.append(claude("user", [answered(number, listing(number, characters))], at_s=at_s + 1))
    return [*records, claude("assistant", [said(last or "Done.")], at_s=10 * results)]


def codex_session(results: int = 3) -> list[Record]:
    """The same as a Codex rollout."""

    def item(**payload: Any) -> Record:
        return {"timestamp": "2026-03-01T10:00:00.000Z", "type": "response_item", "payload": payload}

    def message(role: str, text: str) -> Record:
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    records: list[Record] = [
        {"type": "session_meta", "payload": {"id": "c-1", "cwd": "/repo", "base_instructions": {"text": "Be brief."}}},
        {"type": "turn_context", "payload": {"model": "gpt-5.5", "cwd": "/repo"}},
        message("developer", "Work in the sandbox."),
        message("user", "Find out where the value is computed."),
    ]
    for number in range(results):
        arguments = json.dumps({"cmd": f"cat src/part_{number}.py"})
        records.append(item(type="function_call", name="shell", call_id=f"call-{number}", arguments=arguments))
        records.append(item(type="function_call_output", call_id=f"call-{number}", output=listing(number)))
    return [*records, message("assistant", "Done.")]


def written(path: Path, records: Iterable[Record | str]) -> Path:
    """Write a session's file; a string stands for itself, as on a damaged line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (record if isinstance(record, str) else json.dumps(record) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def undrift(
    *arguments: str | Path,
    env: dict[str, str | None] | None = None,
    columns: int = 80,
    stdin: str | bytes | None = None,
) -> Result:
    """Run the program in this process; neither stdout nor stderr is a terminal."""
    foreign: dict[str, str | None] = {name: None for name in os.environ if name.startswith(_FOREIGN)}
    runner = CliRunner(env={**foreign, "COLUMNS": str(columns), **(env or {})})
    words = [str(argument) for argument in arguments]
    return runner.invoke(main, words, input=stdin, prog_name="undrift", terminal_width=columns)


def environment(**more: str) -> dict[str, str]:
    """The environment of a process of its own: no setting of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return {**kept, "PYTHONPATH": str(SRC), "PYTHONUTF8": "1", "COLUMNS": "100", **more}


FOREGROUND = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""As a terminal starts a program: what a shell starts in the background inherits that Ctrl-C is ignored."""


def process(
    *arguments: str | Path,
    before: str = "",
    stdin: Any = None,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
    columns: int = 100,
) -> "subprocess.Popen[bytes] | Started":
    """Start the program in a process of its own; `before` is Python that runs first, in a new interpreter."""
    env = environment(COLUMNS=str(columns))
    if not before:
        return Started([str(one) for one in arguments], env=env, stdin=stdin, stdout=stdout, stderr=stderr)
    command: Sequence[str] = [sys.executable, "-c", FOREGROUND + before + PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=env)


def on_a_terminal(*arguments: str | Path, columns: int) -> str:
    """Run the program where stdout is a terminal; return what it shows, without its colours."""
    ours, theirs = os.openpty()
    with process(*arguments, stdout=theirs, columns=columns) as running:
        os.close(theirs)
        shown = everything(ours).decode()
        assert running.stderr is not None
        assert running.stderr.read() == b""
    assert running.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")


def everything(descriptor: int) -> bytes:
    """Read a terminal until its other end is closed."""
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # Linux says so with EIO
            part = b""
        if not part:
            os.close(descriptor)
            return b"".join(parts)
        parts.append(part)


def waits_for_input(pipe: int) -> None:
    """Wait until the program has read all that was written into its stdin."""
    import fcntl
    import termios

    unread = array.array("i", [1])
    while unread[0]:
        fcntl.ioctl(pipe, termios.FIONREAD, unread)
        time.sleep(0.01)


def replayed(path: Path, home: Path, budget: int = 6_000) -> Record:
    """Replay a file and return its part of the JSON."""
    result = undrift("replay", path, "--home", home, "--budget", str(budget), "--json")
    assert result.exit_code == 0, result.output
    (session,) = json.loads(result.stdout)["sessions"]
    return session
