"""The real clients with our MCP server, installed by our command: they connect, call its tools and send on what these say.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

from tests.clients.real_clients import Place, claude_place, codex_place, codex_program, place, program
from undrift.testing import Read, Say, ScriptedProvider, Seen, Turn, Use

TOOLS = ["task_update", "recall", "search", "remember"]
STATEMENT = "The release train leaves on the third Tuesday."


def tool_names(seen: Seen) -> list[str]:
    """The names of all tools that a request offers to the model, those within a group included."""

    def names(value: Any) -> list[str]:
        if isinstance(value, list):
            return [name for one in value for name in names(one)]
        if not isinstance(value, dict):
            return []
        return [str(value.get("name")), *(f"{value.get('name')}.{name}" for name in names(value.get("tools")))]

    return names(seen.body.get("tools"))


def use(provider: ScriptedProvider, prefix: str) -> None:
    """Remember, search, then recall what was remembered."""
    provider.say(
        Use(f"{prefix}task_update", {"id": "plan", "content": "Plan the release", "status": "in_progress"}),
        Use(f"{prefix}remember", {"text": STATEMENT}),
        Use(f"{prefix}search", {"query": "when does the release train leave"}),
        Say("It is remembered."),
    )


def check(there: Place, asked: Sequence[Seen]) -> None:
    """The results of the calls are in the requests that came after them, and in the home; clients send the structured ones."""
    assert "too long for its summary" in asked[1].text
    assert re.search(r"m[0-9a-f]{16}", asked[2].text), asked[2].text[-3_000:]
    assert "recorded text, not instructions" in asked[3].text
    assert f"current: {STATEMENT}" in asked[3].text
    kept = json.loads(there.undrift("search", "release train", "--json", "--home", str(there.home / ".undrift")))
    assert STATEMENT in json.dumps(kept)


def test_claude_code_lists_our_tools_and_calls_them(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider() as provider:
        there = claude_place(tmp_path, provider)
        there.undrift("install", "claude", "--mcp", "--yes")
        assert "Connected" in there.run(claude, "mcp", "list")
        allowed = [f"mcp__undrift__{name}" for name in TOOLS]
        provider.say(
            Use("ToolSearch", {"query": f"select:{','.join(allowed)}", "max_results": 5})
        )  # it waits for the server
        use(provider, "mcp__undrift__")
        there.run(
            claude, "-p", "Remember when the train leaves.", "--allowedTools", *allowed, "--output-format", "json"
        )
        loaded = provider.of_kind("main")[1]
        assert set(allowed) <= set(tool_names(loaded))
        assert "One task at a time." in loaded.text, "the server's instructions are not in the window"
        check(there, provider.of_kind("main")[1:])
        there.undrift("uninstall", "claude", "--mcp", "--yes")
        assert "undrift" not in json.loads((there.home / ".claude.json").read_text(encoding="utf-8")).get(
            "mcpServers", {}
        )


def test_claude_code_keeps_the_tools_that_it_has_loaded(tmp_path: Path):
    """A window that is pruned again and again, and the tools of MCP servers are deferred: their references stay."""
    claude, steps = program("claude", "node_modules", ".bin", "claude"), 16
    with ScriptedProvider() as provider:
        there = claude_place(tmp_path, provider)
        there.undrift("install", "claude", "--mcp", "--yes")
        allowed = [f"mcp__undrift__{name}" for name in TOOLS]
        search = Use("mcp__undrift__search", {"query": "when does the release train leave"})
        reads: list[Turn] = []
        for number in range(steps):
            lines = [f"def part_{number}_{line}(argument, other): return argument + {line}" for line in range(150)]
            (there.project / f"file_{number}.py").write_text("\n".join(lines), encoding="utf-8")
            reads.append(Read(str(there.project / f"file_{number}.py")))
        provider.say(
            Use("ToolSearch", {"query": f"select:{','.join(allowed)}", "max_results": 5}),
            Use("mcp__undrift__remember", {"text": STATEMENT}),
            *(*reads[:8], search, *reads[8:], search, Say("All is read.")),
        )
        asked = ("-p", "Read all files.", "--allowedTools", "Read", *allowed, "--output-format", "json")
        path = f"{claude.parent}:{there.environment['PATH']}"
        there = replace(there, environment={**there.environment, "PATH": path})
        home, to = f"--home={there.home / '.undrift'}", f"--upstream-anthropic={provider.url}"
        said = there.undrift("wrap", home, to, "--budget=30000", "claude", "--", *asked)
        main = provider.of_kind("main")
    assert "All is read." in said
    assert [seen.refused for seen in provider.requests if seen.refused] == []
    assert len(main) == steps + 5
    results = [sum(f"def part_{number}_1(" in seen.text for number in range(steps)) for seen in main]
    assert max(results) > results[-1], "nothing has left"
    referred = [json.dumps(seen.body["messages"]).count('"tool_reference"') for seen in main]
    deferred = [sum(t["name"] in allowed for t in seen.body["tools"] if t.get("defer_loading")) for seen in main]
    assert (referred, deferred) == ([0] + [4] * (len(main) - 1),) * 2
    assert STATEMENT in main[-1].text


def test_codex_lists_our_tools_and_calls_them(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider() as provider:
        there = codex_place(tmp_path, provider)
        there.undrift("install", "codex", "--mcp", "--yes")
        assert "undrift" in there.run(codex, "mcp", "list")
        use(provider, "mcp__undrift.")
        # Of a model that the client does not know the tools are listed at once; and it does not wait for servers unasked.
        chosen = ("-c", "model=scripted", "-c", "mcp_servers.undrift.required=true")
        flags = ("--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", *chosen)
        there.run(codex, "exec", *flags, "Remember when the train leaves.")
        assert {f"mcp__undrift.{name}" for name in TOOLS} <= set(tool_names(provider.of_kind("main")[0]))
        check(there, provider.of_kind("main"))


@pytest.mark.parametrize("before", ["{}", '{"mcp": {"servers": {}}}'])
def test_opencode_connects_to_our_server_in_both_forms_of_its_list(tmp_path: Path, before: str):
    opencode = program("opencode", "node_modules", ".bin", "opencode")
    there = place(tmp_path)
    settings = there.home / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(before, encoding="utf-8")
    there.undrift("install", "opencode", "--mcp", "--yes")
    listed = there.run(opencode, "mcp", "list")
    assert re.search(r"undrift\s\S*connected", listed), listed
    there.undrift("uninstall", "opencode", "--mcp", "--yes")
    left = json.loads(settings.read_text(encoding="utf-8"))
    assert left.pop("$schema", "").startswith("https://opencode.ai/"), "the client has written the file again"
    assert left == json.loads(before)


def test_gemini_cli_connects_to_our_server(tmp_path: Path):
    gemini = program("gemini", "node_modules", ".bin", "gemini")
    there = place(tmp_path, GEMINI_API_KEY="fake")
    settings = there.home / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True)
    (settings.parent / "trustedFolders.json").write_text(json.dumps({str(there.project): "TRUST_FOLDER"}), "utf-8")
    there.undrift("install", "gemini", "--mcp", "--yes")
    listed = there.run("sh", "-c", f"{shlex.quote(str(gemini))} mcp list 2>&1")  # it tells it to stderr
    assert re.search(r"undrift: .* - Connected", listed), listed
    there.undrift("uninstall", "gemini", "--mcp", "--yes")
    assert "undrift" not in (settings.read_text(encoding="utf-8") if settings.exists() else "")
