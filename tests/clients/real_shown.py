"""The real Claude Code and Codex after a compaction: the person sees one line with what was given back, the model does not.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.matrix import Room
from tests.clients.programs import PROGRAMS, ROOT
from tests.clients.real_clients import codex_settings
from tests.clients.real_gateway import seen_on_screen, settled, trusted, undrift
from undrift.hooks.given import given_back
from undrift.testing import Read, Say, ScriptedProvider, Shell, Turn

LINE = r"undrift gave back [\d,]+ tokens: lines of \d+ file"
SPACED = LINE.replace(" ", r"\s*")  # it wraps, and a client draws only the letters that changed
SAID = "undrift gave back"
SETTINGS = """
[projects."@"]
trust_level = "trusted"
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[tui.model_availability_nux]
"gpt-6.1-sol" = 1
"""
"""Codex has asked for these once."""


def room_of(tmp_path: Path, name: str, turns: list[Turn]) -> Room:
    program = PROGRAMS[name]
    if not program.is_there():
        pytest.skip("run `make clients`")
    room = Room(tmp_path / "room", program, 8)
    around = {**program.variables, "PYTHONPATH": str(ROOT / "src")}
    room.program = replace(program, variables=around, script=lambda _: list(turns))
    return room


def on_screen(room: Room, command: list[str], *typed: str, then: str) -> str:
    """Run the client until it shows the line, and a text after it; return the line's beginning as it was meant."""
    shown = seen_on_screen(command, room, re.compile(rf"{SPACED}.*{then}", re.DOTALL), *typed)
    found = re.search(SPACED, shown)
    assert found, shown[-3_000:]
    letters = "".join(found[0].split())
    print(letters)
    return letters


def check(room: Room, provider: ScriptedProvider, line: str) -> None:
    (one, *_) = given_back(room.home / ".undrift")
    assert one.contents.sentence().replace(" ", "").startswith(line)
    assert one.folder == str(room.project)
    assert any("From before the compaction" in request.text for request in provider.requests)
    assert all(SAID.encode() not in request.raw for request in provider.requests), "the model reads it"
    around = {**room.environment(), "PYTHONPATH": str(ROOT / "src")}
    words = [sys.executable, "-P", "-m", "undrift", "status", f"--home={room.home / '.undrift'}"]
    shown = subprocess.run(words, cwd=room.project, env=around, capture_output=True, text=True, check=True).stdout
    many = f"{one.contents.tokens:,} tokens after 1 compaction of this project"
    assert " ".join(shown.split()).startswith(f"undrift gave back {many}"), shown


def test_claude_code_shows_what_was_given_back(tmp_path: Path):
    with ScriptedProvider(summary="They read files.") as provider:
        room = room_of(tmp_path, "claude", [])
        settled(room, "claude", provider.url)
        trusted(room)
        undrift(room, "install", "claude")
        reads = [Read(str(room.project / f"big_{number}.txt")) for number in range(1, 9)]
        provider.say(*reads, Say("They are read."), Say("I go on."))
        first = [str(room.program.executable), "-p", "Never change a file. Read them.", "--allowedTools", "Read"]
        session = json.loads(room.run([*first, "--output-format", "json"], room.environment(), provider).said)
        command = [str(room.program.executable), "--resume", session["session_id"], "--permission-mode", "default"]
        line = on_screen(room, command, "/compact", "Go on.", then=r"I\s*go\s*on\.")
        check(room, provider, line)


def test_codex_shows_what_was_given_back(tmp_path: Path):
    with ScriptedProvider(summary="They read files.") as provider:
        room = room_of(tmp_path, "codex", [])
        settings = codex_settings(provider.url) + SETTINGS.replace("@", str(room.project))
        (room.home / ".codex" / "config.toml").write_text(settings, encoding="utf-8")
        room.program = replace(room.program, variables={**room.program.variables, "FAKE_KEY": "sk-" + "fake"})
        undrift(room, "install", "codex")
        reads = [Shell(f"cat big_{number}.txt") for number in range(1, 9)]
        provider.say(*reads, Say("I go on."))
        bypass = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
        command = [str(room.program.executable), *bypass]
        line = on_screen(room, command, "Never change a file. Read them.", then=r"I\s*go\s*on")
        check(room, provider, line)
