"""The plugins of Claude Code and Codex, checked and installed by the real clients; their hooks and server start by themselves.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.write import ROOT
from tests.clients.real_clients import (
    MARK,
    NEEDLE,
    Place,
    claude_place,
    claude_session,
    codex_place,
    codex_program,
    codex_session,
    program,
)
from tests.clients.real_mcp import TOOLS, check, tool_names, use
from undrift import __version__
from undrift.testing import Say, ScriptedProvider, Shell, Use

CANNOT = f"version {__version__} cannot be started"


def claude_program() -> Path:
    return program("claude", "node_modules", ".bin", "claude")


def without_ours(there: Place, tmp_path: Path, *programs: str) -> Place:
    """Return the user without anything of ours: no Python path, and on the PATH the client's own needs and these programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in programs:
        (folder / name).symlink_to(Path(sys.executable).with_name(name))
    hidden = ("undrift", "uvx", "pipx")
    others = [
        part
        for part in there.environment["PATH"].split(os.pathsep)
        if not any((Path(part) / name).exists() for name in hidden)
    ]
    variables = {name: value for name, value in there.environment.items() if name != "PYTHONPATH"}
    return replace(there, environment={**variables, "PATH": os.pathsep.join([str(folder), *others])})


def with_source(there: Place) -> Place:
    """Return the same user, whose commands `there.undrift` can run."""
    return replace(there, environment={**there.environment, "PYTHONPATH": str(ROOT / "src")})


def install_claude(there: Place, claude: Path) -> None:
    there.run(claude, "plugin", "validate", "--strict", ROOT)
    there.run(claude, "plugin", "validate", "--strict", ROOT / "plugins" / "claude")
    there.run(claude, "plugin", "marketplace", "add", ROOT)
    there.run(claude, "plugin", "install", "undrift@undrift")
    assert "undrift@undrift" in there.run(claude, "plugin", "list")


def install_codex(there: Place, codex: Path) -> None:
    added = json.loads(there.run(codex, "plugin", "marketplace", "add", ROOT, "--json"))
    assert added["marketplaceName"] == "undrift"
    there.run(codex, "plugin", "add", "undrift@undrift")
    (listed,) = json.loads(there.run(codex, "plugin", "list", "--json"))["installed"]
    assert (listed["pluginId"], listed["version"], listed["enabled"]) == ("undrift@undrift", __version__, True)


def lines_shown(there: Place, claude: Path, prompt: str) -> list[str]:
    """Return the lines that the hooks of a new session show to its user."""
    flags = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
    events = [json.loads(line) for line in there.run(claude, "-p", prompt, *flags).splitlines()]
    answers = [event.get("stdout") or "" for event in events if event.get("subtype") == "hook_response"]
    return [json.loads(answer)["systemMessage"] for answer in answers if "systemMessage" in answer]


def test_the_plugin_gives_claude_code_back_what_its_compaction_dropped(tmp_path: Path):
    claude = claude_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        there = without_ours(claude_place(tmp_path, provider), tmp_path, "undrift")
        install_claude(there, claude)
        claude_session(there, claude, provider)
        assert provider.of_kind("summary"), "the client did not compact"
        newest = provider.of_kind("main")[-1]
        assert MARK in newest.text, there.log()
        assert NEEDLE in newest.text
        assert "recall-and-remember" in newest.text, "the skill is not offered"
        assert there.log() == ""
        found = there.run("undrift", "recall", "--find", NEEDLE, "--home", there.home / ".undrift").split()[0]
        assert NEEDLE in there.run("undrift", "recall", found, "--home", there.home / ".undrift")
        there.run(claude, "plugin", "uninstall", "undrift@undrift")
        assert "undrift@undrift" not in there.run(claude, "plugin", "list")


def test_the_plugin_and_the_installed_hooks_do_not_fire_twice(tmp_path: Path):
    claude, texts = claude_program(), []
    for name in ("plugin", "both"):
        (tmp_path / name).mkdir()
        with ScriptedProvider(summary="They read a file.") as provider:
            there = without_ours(claude_place(tmp_path / name, provider), tmp_path / name, "undrift")
            install_claude(there, claude)
            if name == "both":
                there.run("undrift", "install", "claude", "--yes")
                provider.say(Say("hello"))
                (line,) = lines_shown(there, claude, "hello")
                assert "undrift install claude --undo" in line
            claude_session(there, claude, provider)
            texts.append(provider.of_kind("main")[-1].text)
    assert texts[0].count(MARK) == texts[1].count(MARK) >= 1


def test_the_plugin_without_any_undrift_says_so_and_claude_code_goes_on(tmp_path: Path):
    claude = claude_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        there = without_ours(claude_place(tmp_path, provider), tmp_path)
        install_claude(there, claude)
        provider.say(Say("hello"))
        (line,) = lines_shown(there, claude, "hello")
        assert CANNOT in line
        claude_session(there, claude, provider)
        assert provider.of_kind("summary"), "the client did not compact"
        assert MARK not in provider.of_kind("main")[-1].text
        assert CANNOT in there.log()


def test_the_plugin_of_claude_code_starts_undrift_through_uvx(tmp_path: Path):
    """As if it were published: uvx finds the wheel that `make wheel` has built, and nothing else of ours is there."""
    claude, tools = claude_program(), ROOT / "build" / "wheel-tools" / "bin"
    if not (tools / "uvx").exists():
        pytest.skip("needs the wheel and uvx: run `make wheel`")
    with ScriptedProvider(summary="They read a file.") as provider:
        there = without_ours(claude_place(tmp_path, provider), tmp_path)
        for name in ("uv", "uvx"):
            (tmp_path / "bin" / name).symlink_to(tools / name)
        certificates = {name: value for name, value in os.environ.items() if name.startswith("SSL_CERT")}
        variables = {**there.environment, **certificates, "UV_FIND_LINKS": str(ROOT / "build" / "wheel")}
        there = replace(there, environment=variables)
        install_claude(there, claude)
        claude_session(there, claude, provider)
        assert provider.of_kind("summary"), "the client did not compact"
        assert MARK in provider.of_kind("main")[-1].text, there.log()
        kept = there.home / ".undrift" / f"plugin-{__version__}-hook"
        assert "/.cache/uv/" in kept.read_text(encoding="utf-8")


def test_the_plugins_server_answers_claude_code(tmp_path: Path):
    claude = claude_program()
    with ScriptedProvider() as provider:
        there = without_ours(claude_place(tmp_path, provider), tmp_path, "undrift")
        install_claude(there, claude)
        prefix = "mcp__plugin_undrift_undrift__"
        allowed = [f"{prefix}{name}" for name in TOOLS]
        provider.say(Use("ToolSearch", {"query": f"select:{','.join(allowed)}", "max_results": 5}))
        use(provider, prefix)
        there.run(
            claude, "-p", "Remember when the train leaves.", "--allowedTools", *allowed, "--output-format", "json"
        )
        assert set(allowed) <= set(tool_names(provider.of_kind("main")[1]))
        check(with_source(there), provider.of_kind("main")[1:])


def codex_run(there: Place, codex: Path, prompt: str, flags: Sequence[str] = ()) -> str:
    bypass = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
    return there.run(codex, "exec", "--skip-git-repo-check", "--json", *bypass, *flags, prompt)


def test_the_plugin_gives_codex_back_what_its_compaction_dropped(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        there = without_ours(codex_place(tmp_path, provider), tmp_path, "undrift")
        install_codex(there, codex)
        codex_session(there, codex, provider)
        kinds = [seen.kind for seen in provider.requests]
        assert "summary" in kinds, "the client did not compact"
        after = provider.requests[kinds.index("summary") + 1]
        assert MARK in after.text, there.log()
        assert "recall-and-remember" in after.text, "the skill is not offered"
        assert there.log() == ""
        there.run(codex, "plugin", "remove", "undrift@undrift")
        assert json.loads(there.run(codex, "plugin", "list", "--json"))["installed"] == []


def test_the_plugin_without_any_undrift_lets_codex_go_on(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        there = without_ours(codex_place(tmp_path, provider), tmp_path)
        install_codex(there, codex)
        codex_session(there, codex, provider)
        assert provider.of_kind("summary"), "the client did not compact"
        assert MARK not in "\n".join(seen.text for seen in provider.requests)
        assert CANNOT in there.log()


def test_the_plugins_server_answers_codex_in_the_folder_of_its_project(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider() as provider:
        there = without_ours(codex_place(tmp_path, provider), tmp_path, "undrift")
        install_codex(there, codex)
        provider.say(Shell("sleep 8"))  # the client waits for no server
        use(provider, "mcp__undrift.")
        codex_run(there, codex, "Remember when the train leaves.", ("-c", "model=scripted"))
        asked = provider.of_kind("main")[1:]
        assert {f"mcp__undrift.{name}" for name in TOOLS} <= set(tool_names(asked[0]))
        check(with_source(there), asked)
