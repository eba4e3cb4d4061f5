"""The real clients before a call that a typed rule forbids: the user's own sentence reaches the agent, or the call is asked about.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

from pathlib import Path

import pytest

from tests.clients.real_clients import Place, claude_place, codex_place, codex_program, program
from undrift.testing import Say, ScriptedProvider, Shell

RULE = "Never run make release, that is my part."
ASKED = f"Look around. {RULE}"
SAID = "This call contradicts a rule of the user"


def with_makefile(there: Place) -> Place:
    (there.project / "Makefile").write_text("release:\n\ttouch out.txt\n", encoding="utf-8")
    return there


def setting(there: Place, value: str) -> None:
    path = there.home / ".config" / "undrift" / "undrift.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'rule_guard = "{value}"\n', encoding="utf-8")


@pytest.mark.parametrize("value", ["warn", "ask", "off"])
def test_claude_code_hears_the_rule_before_the_call_or_is_refused_where_no_person_can_be_asked(
    tmp_path: Path, value: str
):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider() as provider:
        there = with_makefile(claude_place(tmp_path, provider))
        setting(there, value)
        there.undrift("install", "claude", "--yes")
        provider.say(Shell("ls"), Shell("make release"), Say("It is done."))
        there.run(claude, "-p", ASKED, "--allowedTools", "Bash", "--output-format", "json")
        sent = [request.text for request in provider.of_kind("main")]
        assert there.log() == ""
        assert (there.project / "out.txt").exists() == (value != "ask")
        assert SAID not in sent[1], "the first call contradicts nothing"
        assert (SAID in sent[2]) == (value != "off")
        assert (sent[2].count(RULE) == 1) == (value == "off")


def test_codex_hears_an_added_rule_beside_the_call(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider() as provider:
        there = with_makefile(codex_place(tmp_path, provider))
        there.undrift("install", "codex", "--yes")
        there.undrift("rules", "add", RULE)
        provider.say(Shell("ls"), Shell("make release"), Say("It is done."))
        bypass = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
        there.run(codex, "exec", "--skip-git-repo-check", "--json", *bypass, "Look around.")
        sent = [request.text for request in provider.of_kind("main")]
        assert there.log() == ""
        assert (there.project / "out.txt").exists()
        assert [SAID in text for text in sent] == [False, False, True]
