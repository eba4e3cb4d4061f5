"""The real clients, started plainly after ``undrift install CLIENT --gateway``: their first request starts the gateway.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.clients.matrix import Room
from tests.clients.programs import PROGRAMS, ROOT, Program
from undrift.stores.secret import TOKEN_NAME
from undrift.testing import Read, Say, ScriptedProvider

STEPS = 3
OWN: Mapping[str, tuple[str, str]] = {
    "claude": (".claude/settings.json", '{\n\t"env": {"ANTHROPIC_BASE_URL": "@", "A": "b"}\r\n}'),
    "codex": (
        ".codex/config.toml",
        'openai_base_url = "@/v1" # mine\nmodel = "gpt-5.5"\n[analytics]\nenabled = false\n',
    ),
    "gemini": (".gemini/.env", "GOOGLE_GEMINI_BASE_URL=@\nOTHER=1"),
    "opencode-anthropic": (
        ".config/opencode/opencode.json",
        '{"$schema": "https://opencode.ai/config.json", "model": "anthropic/claude-sonnet-4-5", "provider": {"anthropic": {"options": {"baseURL": "@/v1"}}}}',
    ),
    "aider": (".aider.conf.yml", "openai-api-base: @/v1 # mine\n"),
    "mini": (".config/mini-swe-agent/.env", "MSWEA_CONFIGURED=true\nOPENAI_API_BASE=@/v1\n"),
}
"""Each client's settings before: the user's own address is the scripted provider's."""

_TERMINAL = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[?u": b"\x1b[?0u",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
"""A question of a client to its terminal, and the answer: place of the cursor, kind, keys, colours. Codex waits for them."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def undrift(room: Room, *words: str) -> str:
    environment = {**room.environment(), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-P", "-m", "undrift", *words, f"--home={room.home / '.undrift'}", "--yes"]
    done = subprocess.run(command, cwd=room.project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def listening(room: Room, port: int, **settings: str) -> Iterator[None]:
    """Listen as the unit of systemd does; the gateway starts at the first connection."""
    if shutil.which("systemd-socket-activate") is None:
        pytest.skip("needs systemd-socket-activate")
    gateway = [sys.executable, "-P", "-m", "undrift", "proxy", "--service", f"--home={room.home / '.undrift'}"]
    around = {**room.environment(), "PYTHONPATH": str(ROOT / "src"), **settings}
    passed = [f"--setenv={name}" for name in ("PYTHONPATH", "HOME", *settings)]
    command = ["systemd-socket-activate", f"--listen=127.0.0.1:{port}", *passed, *gateway]
    with subprocess.Popen(command, env=around, cwd=room.home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as one:
        assert one.stderr is not None
        assert b"Listening" in one.stderr.readline()
        try:
            yield
        finally:
            one.terminate()
            one.communicate(timeout=60)


def state(path: Path) -> tuple[str, int]:
    return hashlib.sha256(path.read_bytes()).hexdigest(), stat.S_IMODE(path.stat().st_mode)


def settled(room: Room, name: str, url: str) -> Path:
    """Write the user's settings."""
    path, text = OWN[name]
    (room.home / path).parent.mkdir(parents=True, exist_ok=True)
    (room.home / path).write_bytes(text.replace("@", url).encode())
    (room.home / path).chmod(0o644)
    return room.home / path


@pytest.mark.parametrize("name", list(OWN))
def test_a_client_that_is_started_plainly_goes_through_the_gateway(name: str, tmp_path: Path):
    program = PROGRAMS[name]
    if not program.is_there():
        pytest.skip(f"needs the client in {program.executable}: run `make clients`")
    client, port = program.wrap, free_port()
    with ScriptedProvider(without_tools=program.without_tools) as provider:
        room = Room(tmp_path / "room", program, STEPS)
        path = settled(room, name, provider.url)
        trusted(room)
        before = state(path)
        undrift(room, "install", client, "--gateway", f"--port={port}")
        token = (room.home / ".undrift" / TOKEN_NAME).read_text()
        assert token in path.read_text()
        with listening(room, port):
            assert not room.lines(), "nothing runs before the first request"
            ran = room.run([str(program.executable), *program.arguments(room.project)], room.environment(), provider)
        assert ran.answer(STEPS), ran.said[-2_000:]
        assert ran.refused == []
        assert ran.shown == []
        managed = [line for line in room.lines() if line.get("tokens_before")]
        assert len(managed) >= len(ran.asked) > 1
        assert {line.get("bypass") for line in room.lines()} == {None}
        undrift(room, "uninstall", client, "--gateway")
        assert state(path) == before


def trusted(room: Room) -> None:
    """Let the clients that ask begin at once: nobody is there to answer."""
    folder = room.home / ".gemini"
    folder.mkdir(exist_ok=True)
    (folder / "trustedFolders.json").write_text(json.dumps({str(room.project): "TRUST_FOLDER"}), encoding="utf-8")
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    approved = {"approved": ["sk-ant-fake"[-20:]], "rejected": []}
    claude = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(room.project): known}}
    text = json.dumps({**claude, "customApiKeyResponses": approved, "numStartups": 3})
    (room.home / ".claude.json").write_text(text, encoding="utf-8")


def seen_on_screen(command: list[str], room: Room, until: re.Pattern[str], *typed: str) -> str:
    """Start a program in a terminal, type, and return what it has shown when the pattern was there, else at the end.

    `typed`: each is sent when the program is quiet, and then Enter.
    """
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(room.project)
        os.execve(
            command[0], command, {**room.environment(), "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    is_drawn_again = False
    keys = [key for text in typed for key in (text, "\r")] + ["\r"] * 4
    shown, end_s = "", time.monotonic() + 90
    while time.monotonic() < end_s and not until.search(shown):
        if select.select([terminal], [], [], 1.5)[0]:
            try:
                given = os.read(terminal, 1 << 16)
            except OSError:
                break
            os.write(terminal, b"".join(answer for question, answer in _TERMINAL.items() if question in given))
            shown += plain(given.decode("utf-8", "replace"))
            if "all recallable" in shown and not is_drawn_again:  # the client draws changed letters only, if not all
                is_drawn_again = True
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 121, 0, 0))
        elif keys:
            os.write(terminal, keys.pop(0).encode())
    os.kill(process, 9)
    os.waitpid(process, 0)
    os.close(terminal)
    return shown


def plain(text: str) -> str:
    """Return the letters of a terminal's output; a movement to the right is one space."""
    text = re.sub(r"\x1b\[\d*C", " ", text)
    return re.sub(r"\x1b(?:\[[0-9;?<>=]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])", "", text)


def test_claude_code_shows_the_window_in_its_status_line(tmp_path: Path):
    program: Program = PROGRAMS["claude"]
    if not program.is_there():
        pytest.skip("run `make clients`")
    port = free_port()
    with ScriptedProvider() as provider:
        room = Room(tmp_path / "room", program, 12)
        path = settled(room, "claude", provider.url)
        trusted(room)
        undrift(room, "install", "claude", "--gateway", f"--port={port}")
        assert "hook StatusLine" in json.loads(path.read_text())["statusLine"]["command"]
        files = [str(room.project / f"big_{number}.txt") for number in range(1, 13)]
        provider.say(*(Read(name) for name in files), Say("All is read."))
        line = re.compile(r"undrift \d+k of 30k · \d+k left, all recallable")
        environment: dict[str, Any] = {"UNDRIFT_BUDGET_TOKENS": "30000"}
        room.program = replace(program, variables={**program.variables, "PYTHONPATH": str(ROOT / "src")})
        with listening(room, port, **environment):
            command = [str(program.executable), "--permission-mode", "default", "--allowedTools", "Read"]
            shown = seen_on_screen(command, room, line, "Read all files.")
        found = line.search(shown)
        assert found, shown[-3_000:]
        print(found[0])
