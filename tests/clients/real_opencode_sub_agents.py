"""The real opencode and its own sub-agent behind the gateway: it starts with a brief of what its parent read.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import sys
from pathlib import Path

import pytest

from tests.clients.matrix import Room
from tests.clients.programs import PROGRAMS, ROOT
from tests.clients.ran import Ran
from undrift.core.text.tokens import characters_per_4
from undrift.testing import Read, Say, ScriptedProvider, Seen, Shell, Use
from undrift.testing.script import texts_of

TITLE = "# From the session that gave this task (undrift)"
FILE = "totals.py"
LINE = "def rounded_half_up(amount, digits): return quantized(amount, digits, ROUND_HALF_UP)"
TASK = "Detect where amounts are rounded in totals.py, and who calls it."
PARENT = "x-parent-session-id"
MOST_TOKENS = 2_000


def briefs(seen: Seen) -> list[str]:
    """Return the texts of a request that hold a brief."""
    return [text for text in texts_of(seen.body) if TITLE in text]


def asked_an_agent(name: str, folder: Path) -> Ran:
    """Let a session read a file and ask a sub-agent, which answers after two calls."""
    program = PROGRAMS[name]
    if not program.is_there():
        pytest.skip(f"needs the client in {program.executable}: run `make clients`")
    with ScriptedProvider() as provider:
        room = Room(folder / "room", program, 2)
        (room.project / FILE).write_text(f"import decimal\n\n\n{LINE}\n", "utf-8")
        given = {"description": "Find the callers", "prompt": TASK, "subagent_type": "general"}
        provider.say(Read(str(room.project / FILE)), Use("task", given))
        provider.say(Shell("wc -l big_1.txt"), Shell("wc -c big_1.txt"), Say("It is called by invoice_total."))
        provider.say(Say("All is done."))
        upstream = [f"--upstream-anthropic={provider.url}", f"--upstream-openai={provider.url}/v1"]
        undrift = [sys.executable, "-P", "-m", "undrift", "wrap", f"--home={room.home / '.undrift'}", *upstream]
        words = [*undrift, "opencode", "--", "run", "--format", "json", "Read the file, then ask an agent."]
        return room.run(words, {**room.environment(), "PYTHONPATH": str(ROOT / "src")}, provider)


@pytest.mark.parametrize("name", ["opencode-anthropic", "opencode-openai"])
def test_a_sub_agent_of_opencode_starts_with_a_brief_and_keeps_it(name: str, tmp_path: Path):
    ran = asked_an_agent(name, tmp_path)
    assert ran.status == 0, ran.said[-2_000:]
    of_child = [seen for seen in ran.seen if seen.headers.get(PARENT)]
    assert len(of_child) == 3
    found = [briefs(seen) for seen in of_child]
    assert [len(one) for one in found] == [1, 1, 1]
    assert LINE in found[0][0]
    assert characters_per_4(found[0][0]) <= MOST_TOKENS
    assert found[0] == found[1] == found[2]
    assert not [seen for seen in ran.seen if briefs(seen) and not seen.headers.get(PARENT)]
    assert ran.faults == []
    assert ran.refused == []
