"""The real clients and their own sub-agents: one starts with a brief of what its parent read, and what it found becomes facts.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

from collections.abc import Sequence
from pathlib import Path

from tests.clients.real_clients import Place, claude_place, codex_place, codex_program, program
from undrift.core.text.tokens import characters_per_4
from undrift.testing import Read, Say, ScriptedProvider, Seen, Shell, Use
from undrift.testing.script import texts_of

TITLE = "# From the session that gave this task (undrift)"
FILE = "totals.py"
LINE = "def rounded_half_up(amount, digits): return quantized(amount, digits, ROUND_HALF_UP)"
TASK = "Detect where amounts are rounded in totals.py, and who calls it."
FOUND = "rounded_half_up of totals.py is called by invoice_total alone."
MOST_TOKENS = 2_000


def briefs(seen: Seen) -> list[str]:
    """Return the texts of a request that hold a brief."""
    return [text for text in texts_of(seen.body) if TITLE in text]


def of_sub_agents(provider: ScriptedProvider, header: str) -> Sequence[Seen]:
    """Return the first request of each sub-agent."""
    first: dict[str, Seen] = {}
    for seen in provider.requests:
        if seen.headers.get(header):
            first.setdefault(seen.headers[header], seen)
    return tuple(first.values())


def facts_of(there: Place) -> str:
    return there.undrift("agent", "facts", "--home", str(there.home / ".undrift"))


def claude_session(there: Place, claude: Path, provider: ScriptedProvider) -> None:
    """Read two files, ask one sub-agent, then a second one with the same words."""
    (there.project / FILE).write_text(
        f"import decimal\n\n\n{LINE}\n\n\ndef tax_of(rate): return TAXES[rate]\n", "utf-8"
    )

    def asked(name: str) -> Use:
        given = {"description": "Find the callers", "prompt": TASK, "subagent_type": "general-purpose"}
        return Use(name, {**given, "run_in_background": False})

    provider.say(Read(str(there.project / FILE)), Read(str(there.project / "work.py")))
    provider.say(asked("Agent"), Shell("wc -l work.py"), Say(FOUND))
    provider.say(asked("Agent"), Say("As the first one said."), Say("Both are done."))
    tools = ("--allowedTools", "Bash", "Read", "Agent", "--output-format", "json")
    there.run(claude, "-p", "Read the files, then ask an agent.", *tools)


def test_a_sub_agent_of_claude_code_starts_with_a_brief_and_leaves_facts(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider() as provider:
        there = claude_place(tmp_path, provider)
        there.undrift("install", "claude", "--yes")
        claude_session(there, claude, provider)
        first, second = of_sub_agents(provider, "x-claude-code-agent-id")
        (text,) = briefs(first)
        assert LINE in text, there.log()
        (other,) = briefs(second)
        assert FOUND in other[other.index("earlier sub-agents") :]
        assert max(map(characters_per_4, (text, other))) <= MOST_TOKENS + 40  # with the client's own words around it
        assert not [
            seen for seen in provider.of_kind("main") if briefs(seen) and not seen.headers.get("x-claude-code-agent-id")
        ]
        facts = facts_of(there)
        assert f"summary {FOUND}" in facts
        assert "Detect where amounts" in facts
        assert there.log() == ""


def test_a_sub_agent_of_claude_code_without_the_hooks_knows_nothing_of_its_parent(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider() as provider:
        claude_session(claude_place(tmp_path, provider), claude, provider)
        first, _ = of_sub_agents(provider, "x-claude-code-agent-id")
        assert LINE not in first.text


def test_a_sub_agent_of_codex_starts_with_a_brief_and_leaves_facts(tmp_path: Path):
    codex = codex_program()
    given = {"message": "Look it up.", "task_name": "rounded_half_up_of_totals", "fork_turns": "none"}
    with ScriptedProvider() as provider:
        there = codex_place(tmp_path, provider)
        (there.project / FILE).write_text(f"import decimal\n\n\n{LINE}\n", "utf-8")
        there.undrift("install", "codex", "--yes")
        provider.say(Shell(f"cat {FILE}"), Use("collaboration.spawn_agent", given))
        provider.say(Use("collaboration.wait_agent", {"timeout_ms": 10_000}))
        provider.say(*[Say(FOUND)] * 4)  # whichever of the two asks first
        bypass = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
        feature = ("-c", "features.multi_agent_v2=true")
        there.run(codex, "exec", "--skip-git-repo-check", "--json", *bypass, *feature, "Read it, then ask an agent.")
        header = "x-openai-subagent"
        first = next(seen for seen in provider.requests if seen.headers.get(header))
        (text,) = briefs(first)
        assert LINE in text, there.log()
        assert characters_per_4(text) <= MOST_TOKENS
        assert not [seen for seen in provider.requests if briefs(seen) and not seen.headers.get(header)]
        facts = " ".join(facts_of(there).split())
        assert f"summary {FOUND}" in facts
        assert "task:rounded_half_up_of_totals" in facts
        assert there.log() == ""
