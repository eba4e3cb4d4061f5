"""The real Claude Code behind a gateway: what it reads again comes whole, although its first reading has left the window.

Run by ``make clients``, which installs the client; not part of ``make test``. No request leaves this machine. The release
that is installed may read the file again of its own accord: so a hook of the test makes it say, as others do, that the file
has not changed.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.matrix import Ran, Room, budget_of
from tests.clients.programs import PROGRAMS, Program
from undrift.testing import Read, Say, Shell, Turn

NOTE = "file unchanged since your last Read"
NEEDLE = "needle_of_file_1_"
STEPS = 10
HOOK = f"""
import json, os, sys
path = json.load(sys.stdin)["tool_input"]["file_path"]
if os.path.exists(sys.argv[1]):
    content = "Wasted call \\u2014 {NOTE}. Refer to that earlier tool_result instead."
    file = {{"filePath": path, "content": content, "numLines": 1, "startLine": 1, "totalLines": 1}}
    said = {{"hookEventName": "PostToolUse", "updatedToolOutput": {{"type": "text", "file": file}}}}
    print(json.dumps({{"hookSpecificOutput": said}}))
open(sys.argv[1], "w").close()
"""


def claude(folder: Path) -> Program:
    """Claude Code that reads a file, runs commands with long outputs, and reads the file again."""
    program = PROGRAMS["claude"]
    if not program.is_there():
        pytest.skip(f"needs the client in {program.executable}: run `make clients`")
    first = str(folder / "project" / "big_1.txt")
    hook = folder.parent / "hook.py"
    hook.write_text(HOOK, encoding="utf-8")
    command = f"'{sys.executable}' '{hook}' '{folder / 'was-read'}'"
    entry = {"matcher": "Read", "hooks": [{"type": "command", "command": command}]}

    def script(steps: int) -> list[Turn]:
        middle = [Shell(f"cat big_{number}.txt") for number in range(2, steps + 1)]
        return [Read(first), *middle, Read(first), Say(f"All {steps} files are read.")]

    files = {".claude/settings.json": json.dumps({"hooks": {"PostToolUse": [entry]}})}
    return replace(program, script=script, files=files)


def newest(ran: Ran) -> tuple[str, str]:
    """The last request as it left the client, and as it reached the provider."""
    sent = max(ran.sent, key=lambda body: len(json.loads(body).get("messages", ())))
    arrived = max(ran.asked, key=lambda seen: len(seen.body.get("messages", ())))
    return sent.decode(), arrived.raw.decode()


def test_a_file_that_is_read_again_comes_back_whole(tmp_path: Path):
    wide = Room(tmp_path / "wide", claude(tmp_path / "wide"), 2).managed(None)
    sent, arrived = newest(wide)
    assert NOTE in sent, "the client did not say that the file is unchanged"
    assert arrived == sent, "with room enough the note stays as the client wrote it"
    budget = budget_of(wide, STEPS)
    assert budget is not None, wide.said
    ran = Room(tmp_path / "small", claude(tmp_path / "small"), STEPS).managed(budget)
    assert ran.answer(STEPS), ran.said
    assert not ran.refused
    sent, arrived = newest(ran)
    assert NOTE in sent
    assert max(line.get("restored") or 0 for line in ran.lines) == 1
    assert NOTE not in arrived
    assert arrived.count(NEEDLE) == 1
