"""The real opencode and its own sub-agents behind the gateway: one starts with a brief, and the next has what it found.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import sys
from pathlib import Path

import pytest

from tests.clients.matrix import Room
from tests.clients.programs import PROGRAMS, ROOT
from tests.clients.ran import Ran
from undrift.core.text.tokens import characters_per_4
from undrift.facts import SqliteSessionFactStore
from undrift.testing import Read, Say, ScriptedProvider, Seen, Shell, Use
from undrift.testing.script import texts_of

TITLE = "# From the session that gave this task (undrift)"
FILE = "totals.py"
LINE = "def rounded_half_up(amount, digits): return quantized(amount, digits, ROUND_HALF_UP)"
TASK = "Detect where amounts are rounded in totals.py, and who calls it."
PARENT, OWN = "x-parent-session-id", "x-session-id"
FOUND = "rounded_half_up of totals.py is called by invoice_total alone."
NEXT = "Rename rounded_half_up in totals.py and in what calls it."
MOST_TOKENS = 2_000


def briefs(seen: Seen) -> list[str]:
    """Return the texts of a request that hold a brief."""
    return [text for text in texts_of(seen.body) if TITLE in text]


def asks(task: str) -> Use:
    return Use("task", {"description": "Find the callers", "prompt": task, "subagent_type": "general"})


def asked_agents(name: str, folder: Path) -> Ran:
    """Let a session read a file and ask a sub-agent, which answers after two calls; and then another."""
    program = PROGRAMS[name]
    if not program.is_there():
        pytest.skip(f"needs the client in {program.executable}: run `make clients`")
    with ScriptedProvider() as provider:
        room = Room(folder / "room", program, 2)
        (room.project / FILE).write_text(f"import decimal\n\n\n{LINE}\n", "utf-8")
        provider.say(Read(str(room.project / FILE)), asks(TASK))
        provider.say(Shell("wc -l big_1.txt"), Shell("wc -c big_1.txt"), Say(FOUND))
        provider.say(asks(NEXT), Say("It is renamed."), Say("All is done."))
        upstream = [f"--upstream-anthropic={provider.url}", f"--upstream-openai={provider.url}/v1"]
        undrift = [sys.executable, "-P", "-m", "undrift", "wrap", f"--home={room.home / '.undrift'}", *upstream]
        words = [*undrift, "opencode", "--", "run", "--format", "json", "Read the file, then ask an agent."]
        return room.run(words, {**room.environment(), "PYTHONPATH": str(ROOT / "src")}, provider)


@pytest.mark.parametrize("name", ["opencode-anthropic", "opencode-openai"])
def test_a_sub_agent_of_opencode_starts_with_a_brief_and_leaves_facts_for_the_next(name: str, tmp_path: Path):
    ran = asked_agents(name, tmp_path)
    assert ran.status == 0, ran.said[-2_000:]
    of_child = [seen for seen in ran.seen if seen.headers.get(PARENT)]
    assert len(of_child) == 4
    found = [briefs(seen) for seen in of_child]
    assert [len(one) for one in found] == [1, 1, 1, 1]
    assert LINE in found[0][0]
    assert FOUND not in found[0][0]
    assert FOUND in found[3][0]
    assert all(characters_per_4(one[0]) <= MOST_TOKENS for one in found)
    assert found[0] == found[1] == found[2]
    assert not [seen for seen in ran.seen if briefs(seen) and not seen.headers.get(PARENT)]
    (store,) = (path.parent for path in (tmp_path / "room").rglob("undrift.db"))
    with SqliteSessionFactStore(store, run_id=f"opencode:{of_child[0].headers[PARENT]}") as kept:
        facts = kept.get_valid()
    assert [one.object for one in facts if one.relation == "summary"] == [FOUND, "It is renamed."]
    assert facts[0].source_task_id.endswith(of_child[0].headers[OWN][-8:])
    assert ran.faults == []
    assert ran.refused == []
