"""The real Claude Code after a pause: it shows what our hook says of the cache, before the request, and sends nothing of it.

Run by ``make clients``, which installs the client; not part of ``make test``. No request leaves this machine.
"""

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.clients.matrix import Room
from tests.clients.programs import PROGRAMS, ROOT
from tests.clients.real_gateway import seen_on_screen, settled, trusted, undrift
from undrift.testing import Read, Say, ScriptedProvider, Turn

AWAY = timedelta(minutes=61, seconds=10)
SENTENCE = r"You were away 6\d minutes: the next message writes \d+k tokens again, \$\d".replace(
    " ", r"\s+"
)  # it wraps
SAID = "You were away"


def aged(path: Path) -> None:
    """Let a recorded session end an hour ago."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        if isinstance(stamp := record.get("timestamp"), str):
            record["timestamp"] = (datetime.fromisoformat(stamp) - AWAY).isoformat().replace("+00:00", "Z")
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def test_claude_code_shows_before_a_message_that_its_cache_is_cold(tmp_path: Path):
    program = PROGRAMS["claude"]
    if not program.is_there():
        pytest.skip("run `make clients`")
    with ScriptedProvider() as provider:
        room = Room(tmp_path / "room", program, 3)
        turns: list[Turn] = [Read(str(room.project / "big_1.txt")), Say("It is read.")]
        around = {**program.variables, "PYTHONPATH": str(ROOT / "src")}
        room.program = replace(program, variables=around, script=lambda _: list(turns))
        settled(room, "claude", provider.url)
        trusted(room)
        undrift(room, "install", "claude")
        first = [str(program.executable), "-p", "Read it.", "--allowedTools", "Read"]
        ran = room.run(first, room.environment(), provider)
        assert ran.status == 0, ran.said
        assert SAID not in ran.said
        (recording,) = (room.home / ".claude" / "projects").glob("*/*.jsonl")
        aged(recording)
        before = len(provider.requests)
        command = [str(program.executable), "--resume", recording.stem, "--permission-mode", "default"]
        answered = re.compile(rf"{SENTENCE}.*●", re.DOTALL)
        shown = seen_on_screen(command, room, answered, "Go on.")
    found = re.search(SENTENCE, shown)
    assert found, shown[-3_000:]
    print(" ".join(found[0].split()))
    sent = provider.requests[before:]
    assert "main" in {request.kind for request in sent}, "the message was sent"
    assert all(SAID.encode() not in request.raw for request in sent)
