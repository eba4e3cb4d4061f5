"""`undrift setup` with the real Claude Code and Codex: one command is enough for both, and one takes it back, by hashes.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import hashlib
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

from tests.clients.real_clients import (
    MARK,
    NEEDLE,
    Place,
    claude_place,
    codex_program,
    codex_settings,
    program,
)
from undrift.hooks.home import recall_command
from undrift.testing import Follow, Read, Say, ScriptedProvider, Shell, Turn

COMMAND = re.compile(r"/\S+ -P -m undrift recall --find WORDS --home \S+")


def recalled(text: str) -> Turn:
    """The agent runs the very command that the text of the hooks names."""
    command = COMMAND.search(text)
    assert command, text[-2_000:]
    return Shell(command[0].replace("WORDS", NEEDLE))


def sha(*paths: Path) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def both(tmp_path: Path, provider: ScriptedProvider) -> tuple[Place, list[Path]]:
    """A person who has both clients; the settings that setup will change."""
    there = claude_place(tmp_path, provider)
    there.environment["FAKE_KEY"] = "sk-" + "fake"
    (there.home / ".codex").mkdir()
    (there.home / ".codex" / "config.toml").write_text(codex_settings(provider.url) + "# mine", encoding="utf-8")
    return there, [there.home / ".claude" / "settings.json", there.home / ".codex" / "config.toml"]


def test_claude_code_after_setup_gets_its_work_back_and_recalls_without_a_question(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider(summary="They read a file.") as provider:
        there, settings = both(tmp_path, provider)
        before = sha(*settings)
        said = there.undrift("setup", "--yes")
        assert "Set up: Claude Code (hooks, recall, MCP server); Codex (hooks, MCP server)." in said
        assert "undrift: " in there.run(claude, "mcp", "list")
        provider.say(Read(str(there.project / "work.py")), Say("It is read."), Follow(recalled), Say("I go on."))
        tools = ("--allowedTools", "Read", "--output-format", "json")
        session = json.loads(there.run(claude, "-p", "Read work.py.", *tools))["session_id"]
        there.run(claude, "-p", "--resume", session, "/compact", *tools)
        there.run(claude, "-p", "--resume", session, "go on", *tools)
        newest = provider.of_kind("main")[-1]
        assert MARK in newest.text
        answer = json.dumps(newest.body["messages"][-1])
        assert "requires approval" not in answer
        assert "To print one: " in answer
        assert "compaction" in there.undrift("status")
        assert "is set up already" in there.undrift("setup")
        there.undrift("setup", "--undo", "--yes")
        assert sha(*settings) == before
        assert not (there.home / ".codex" / "hooks.json").exists()
        servers = json.loads((there.home / ".claude.json").read_text(encoding="utf-8")).get("mcpServers", {})
        assert "undrift" not in servers
        assert "undrift: " not in there.run(claude, "mcp", "list")


def test_codex_after_setup_gets_its_work_back_and_recalls_in_its_sandbox(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        there, settings = both(tmp_path, provider)
        before = sha(*settings)
        there.undrift("setup", "--yes")
        command = recall_command(there.home / ".undrift")
        steps = [Shell("cat work.py"), *[Shell(f"seq {number} 3000") for number in range(6)]]
        provider.say(*steps, Shell(command.replace("WORDS", NEEDLE)), Say("All is read."))
        flags = ("--skip-git-repo-check", "--json", "--dangerously-bypass-hook-trust")
        there.run(codex, "exec", *flags, "Read work.py and count its lines.")
        kinds = [seen.kind for seen in provider.requests]
        assert "summary" in kinds, "the client did not compact"
        after = provider.requests[kinds.index("summary") + 1].text
        assert MARK in after, there.log()
        assert command in after
        assert "To print one: " in provider.requests[-1].text, provider.requests[-1].text[-3_000:]
        there.undrift("setup", "--undo", "--yes")
        assert sha(*settings) == before
        assert not (there.home / ".codex" / "hooks.json").exists()
