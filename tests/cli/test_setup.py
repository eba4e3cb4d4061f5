"""``undrift setup``: every part for every client after one look at each change, and all of it undone to the byte."""

import hashlib
import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.builders import PROGRAM, environment, long_session, undrift, written
from tests.cli.test_install_gateway import manager
from tests.cli.test_replay import NEEDS_POSIX
from undrift.clients.events import ENTRIES
from undrift.values import extras

BEFORE: Mapping[str, str] = {
    ".claude/settings.json": '{\n\t"model" : "opus",\r\n\t"permissions": { "allow": [ "Bash(ls:*)" ] }\n}',
    ".claude.json": '{"numStartups":7, "projects" : {}}',
    ".codex/config.toml": '# mine\nmodel = "x"',
    ".gemini/settings.json": '{\n  // my theme\n  "theme": "dark", /* and no more */\n}\n',
    ".config/opencode/opencode.json": '{ // model\n\t"model": "a/b",\n}\r\n',
}
"""Tabs, no newline at the end, both line ends, and comments where the client allows them."""


def write_settings(home: Path, *names: str) -> Path:
    for name in names or BEFORE:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(BEFORE.get(name, "").encode())
    return home


def variables(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "USERPROFILE": str(home), "PATH": "/nowhere"}


def setup(home: Path, *words: str) -> Result:
    return undrift("setup", *words, env={**variables(home), "XDG_CONFIG_HOME": None})


def tree(home: Path) -> dict[str, tuple[str, int]]:
    """Every file with its bytes and its mode, and every folder."""
    return {
        str(path.relative_to(home)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            stat.S_IMODE(path.stat().st_mode),
        )
        for path in home.rglob("*")
    }


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("text", [None, "", "\n", "{}", "{ }\n", BEFORE[".claude/settings.json"]])
def test_each_client_gets_every_part_and_all_bytes_come_back(tmp_path: Path, text: str | None):
    write_settings(tmp_path)
    settings = tmp_path / ".claude" / "settings.json"
    settings.unlink() if text is None else settings.write_bytes(text.encode())
    before = tree(tmp_path)
    done = setup(tmp_path, "--yes")
    assert done.exit_code == 0, done.output
    for name in (*BEFORE, ".codex/hooks.json"):
        assert "undrift" in (tmp_path / name).read_text(), name
    (short, full) = json.loads(settings.read_text())["permissions"]["allow"][-2:]
    assert (short, full.endswith("-P -m undrift recall:*)")) == ("Bash(undrift recall:*)", True)
    assert "Restart Claude Code, Codex, Gemini CLI and opencode" in flat(done.output)
    assert "/hooks" in done.output
    undone = setup(tmp_path, "--undo", "--yes")
    assert undone.exit_code == 0, undone.output
    assert tree(tmp_path) == before


def test_files_and_folders_that_were_not_there_are_gone_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("claude", "codex", "gemini", "opencode"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o700)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setattr(sys.modules[__name__], "variables", lambda home: {"HOME": str(home), "PATH": str(programs)})
    assert setup(home, "--yes").exit_code == 0
    assert {".claude.json", ".config/opencode/opencode.json"} <= set(tree(home))
    assert setup(home, "--undo", "--yes").exit_code == 0
    assert list(home.iterdir()) == []


def test_only_our_lines_go_after_the_person_has_edited_others(tmp_path: Path):
    write_settings(tmp_path)
    setup(tmp_path, "--yes")
    edits = {
        ".claude/settings.json": ('"opus"', '"sonnet",\n\t"x": [1]'),
        ".claude.json": ("7", "8"),
        ".codex/config.toml": ("# mine", "# mine and yours"),
        ".gemini/settings.json": ("dark", "light"),
        ".config/opencode/opencode.json": ("// model", "// our model"),
    }
    for name, (old, new) in edits.items():
        path = tmp_path / name
        path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
    assert setup(tmp_path, "--undo", "--yes").exit_code == 0
    for name, (old, new) in edits.items():
        assert (tmp_path / name).read_bytes() == BEFORE[name].replace(old, new).encode(), name


def test_entries_whose_files_the_client_has_rewritten_go_too(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json", ".claude.json")
    setup(tmp_path, "--yes")
    for name in (".claude/settings.json", ".claude.json"):
        value = json.loads((tmp_path / name).read_text())
        (tmp_path / name).write_text(json.dumps({**value, "more": 1}, sort_keys=True))
    assert setup(tmp_path, "--undo", "--yes").exit_code == 0
    for name in (".claude/settings.json", ".claude.json"):
        assert json.loads((tmp_path / name).read_text()) == {**json.loads(BEFORE[name]), "more": 1}


def test_a_second_setup_changes_nothing_and_says_so(tmp_path: Path):
    write_settings(tmp_path)
    setup(tmp_path, "--yes")
    before = tree(tmp_path)
    for words in ((), ("--yes",)):
        again = setup(tmp_path, *words)
        assert again.exit_code == 0
        assert "undrift is set up already: Claude Code (hooks, recall, MCP server);" in flat(again.output)
        assert "Nothing was changed" in flat(again.output)
        assert tree(tmp_path) == before


def test_what_one_client_has_already_stays_and_the_rest_is_added(tmp_path: Path):
    write_settings(tmp_path)
    before = tree(tmp_path)
    undrift("install", "claude", "--yes", env={**variables(tmp_path)})
    undrift("install", "codex", "--mcp", "--yes", env={**variables(tmp_path)})
    done = setup(tmp_path, "--yes")
    assert "Set up: Claude Code (recall, MCP server); Codex (hooks); Gemini CLI (MCP server)" in flat(done.output)
    setup(tmp_path, "--undo", "--yes")
    assert tree(tmp_path) == before


def test_hooks_that_serve_another_home_keep_it(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json")
    other = tmp_path / "other"
    undrift("install", "claude", "--yes", "--home", str(other), env={**variables(tmp_path)})
    assert setup(tmp_path, "--yes").exit_code == 0
    settings = (tmp_path / ".claude" / "settings.json").read_text()
    entries = sum("claude" in one.clients for one in ENTRIES)
    assert entries >= 9
    assert (settings.count(f"--home={other}"), settings.count("--home=")) == (entries, entries)
    setup(tmp_path, "--undo", "--yes")
    assert (tmp_path / ".claude" / "settings.json").read_bytes() == BEFORE[".claude/settings.json"].encode()
    assert set(tree(tmp_path)) == {".claude", ".claude/settings.json"}


def test_without_a_terminal_and_without_yes_each_change_is_shown_and_none_is_made(tmp_path: Path):
    write_settings(tmp_path)
    before = tree(tmp_path)
    shown = setup(tmp_path)
    assert shown.exit_code == 1
    assert all(f"+++ {tmp_path / name}" in shown.output for name in (*BEFORE, ".codex/hooks.json"))
    assert shown.output.count("Bash(undrift recall:*)") == 1
    assert "Nothing was changed: there is no terminal to ask at." in shown.output
    assert "undrift setup --yes" in shown.output
    assert tree(tmp_path) == before


def test_undo_without_a_terminal_and_without_yes_changes_nothing(tmp_path: Path):
    write_settings(tmp_path)
    setup(tmp_path, "--yes")
    before = tree(tmp_path)
    undone = setup(tmp_path, "--undo")
    assert (undone.exit_code, "undrift setup --undo --yes" in flat(undone.output)) == (1, True)
    assert tree(tmp_path) == before


def test_undo_of_nothing_says_so(tmp_path: Path):
    write_settings(tmp_path)
    before = tree(tmp_path)
    undone = setup(tmp_path, "--undo", "--yes")
    assert (undone.exit_code, "not set up for any client" in undone.output) == (0, True)
    assert tree(tmp_path) == before


def test_no_client_is_a_list_of_what_was_looked_for(tmp_path: Path):
    result = setup(tmp_path, "--yes")
    assert result.exit_code == 1
    assert result.stdout == ""
    for name in ("Claude Code", str(tmp_path / ".codex"), "Gemini CLI", "opencode", "aider", "mini-swe-agent"):
        assert name in result.stderr
    assert "undrift wrap PROGRAM" in result.stderr
    assert list(tmp_path.iterdir()) == []


@NEEDS_POSIX
def test_without_a_home_folder_the_remedy_is_said(tmp_path: Path):
    code = (
        f"import pathlib; pathlib.Path.home = classmethod(lambda _: (_ for _ in ()).throw(RuntimeError())); {PROGRAM}"
    )
    for words in (("--yes",), ("--undo", "--yes"), ("--json",)):
        done = subprocess.run(
            [sys.executable, "-c", code, "setup", *words],
            env=environment(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, "undrift: your home folder is not known; set HOME\n"), words
    assert list(tmp_path.iterdir()) == []


@NEEDS_POSIX
@pytest.mark.parametrize("kind", ["pipe", "folder", "malformed", "no UTF-8", "deep", "escapes", "another server"])
def test_hostile_settings_are_one_line_and_the_other_client_is_set_up(tmp_path: Path, kind: str):
    write_settings(tmp_path)
    path = tmp_path / ".codex" / "config.toml"
    contents = {
        "malformed": b"[[\x1b]0;title\x07",
        "no UTF-8": b"a = '\xff'",
        "deep": b"a = " + b"[" * 20_000,
        "escapes": b"\x1b[2J",
        "another server": b'[mcp_servers.undrift]\ncommand = "mine"\n',
    }
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(contents[kind])
    before = {name: found for name, found in tree_of(tmp_path).items() if name != ".codex/config.toml"}
    done = setup(tmp_path, "--yes")
    assert (done.exit_code, "\x1b" in done.output, "Traceback" in done.output) == (1, False, False)
    assert f"Not done: Codex, MCP server: {path}" in flat(done.output)
    assert "undrift" in (tmp_path / ".claude" / "settings.json").read_text()
    undone = setup(tmp_path, "--undo", "--yes")
    assert (undone.exit_code, "Traceback" in undone.output) == (1 if kind == "another server" else 0, False)
    assert {name: found for name, found in tree_of(tmp_path).items() if name != ".codex/config.toml"} == before
    if kind in contents:
        assert path.read_bytes() == contents[kind]


def tree_of(home: Path) -> dict[str, str]:
    """Every regular file with its bytes, and every name."""
    return {str(path.relative_to(home)): path.read_bytes().hex() if path.is_file() else "" for path in home.rglob("*")}


@NEEDS_POSIX
def test_the_gateway_is_added_only_if_it_is_asked_for_and_goes_with_the_rest(tmp_path: Path):
    write_settings(tmp_path, *BEFORE, ".aider.conf.yml")
    before = tree(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    assert "127.0.0.1" not in setup(tmp_path, "--yes").output
    assert setup(tmp_path, "--yes", "--port", str(port)).exit_code == 2
    done = setup(tmp_path, "--yes", "--gateway", "--port", str(port))
    assert done.exit_code == 0, done.output
    assert "aider (gateway)" in done.output
    assert f"127.0.0.1:{port}" in (tmp_path / ".claude" / "settings.json").read_text()
    token = (tmp_path / ".undrift" / "http-token").read_text()
    assert token not in done.output
    assert setup(tmp_path, "--undo", "--gateway").exit_code == 2
    undone = setup(tmp_path, "--undo", "--yes")
    assert undone.exit_code == 0, undone.output
    assert tree(tmp_path) == before


@NEEDS_POSIX
@pytest.mark.parametrize("there", [".config", ".config/systemd/user"])
def test_the_folders_of_the_service_go_too_if_they_were_made_for_it(
    tmp_path: Path, there: str, monkeypatch: pytest.MonkeyPatch
):
    write_settings(tmp_path, ".claude/settings.json")
    (tmp_path / there).mkdir(parents=True)
    told = manager(tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "variables", lambda home: {"HOME": str(home), "PATH": told})
    before = tree(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    assert setup(tmp_path, "--yes", "--gateway", "--port", str(port)).exit_code == 0
    assert (tmp_path / ".config/systemd/user/undrift-gateway.socket").exists()
    assert setup(tmp_path, "--undo", "--yes").exit_code == 0
    assert {name: kind for name, kind in tree(tmp_path).items() if name != "bin/told"} == before


def test_a_package_that_is_missing_is_said_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_settings(tmp_path, ".claude/settings.json")
    monkeypatch.setattr("undrift.cli.setup_parts.find_spec", lambda _: None)
    done = setup(tmp_path, "--yes")
    assert done.exit_code == 0
    assert f"MCP server: it needs mcp; first: {extras.command_for('mcp')}" in flat(done.output)
    assert not (tmp_path / ".claude.json").exists()


def test_json_is_one_object_with_each_part_and_change(tmp_path: Path):
    write_settings(tmp_path)
    planned = setup(tmp_path, "--json")
    report = json.loads(planned.stdout)
    assert (planned.exit_code, report["changed"]) == (1, False)
    assert {one["client"] for one in report["changes"]} == {"claude", "codex", "gemini", "opencode"}
    assert all(one["diff"].startswith("---") and not one["changed"] for one in report["changes"])
    done = setup(tmp_path, "--json", "--yes")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["changed"], report["losses"]["sessions"]) == (0, True, 0)
    is_set = {(one["client"], one["part"]) for one in report["parts"] if one["is_set"]}
    assert is_set == {
        *(("claude", part) for part in ("hooks", "recall", "mcp")),
        *(("codex", part) for part in ("hooks", "mcp")),
        ("gemini", "mcp"),
        ("opencode", "mcp"),
    }
    undone = json.loads(setup(tmp_path, "--undo", "--json", "--yes").stdout)
    assert (undone["changed"], len(undone["changes"]), undone["failed"]) == (True, 6, [])
    assert json.loads(setup(tmp_path, "--undo", "--json", "--yes").stdout)["changes"] == []


def compacted(home: Path) -> Path:
    """Write a session of Claude Code with one compaction."""
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto", "preTokens": 90_000},
    }
    records = long_session(12)
    return written(home / ".claude" / "projects" / "app" / "one.jsonl", [*records[:18], boundary, *records[9:]])


def test_what_was_lost_stands_first_and_the_screen_fits(tmp_path: Path):
    write_settings(tmp_path)
    compacted(tmp_path)
    shown = setup(tmp_path)
    first = shown.stdout.partition("\nClaude Code, hooks")[0]
    assert first.startswith("1 compaction removed ")
    assert len(first.splitlines()) <= 23
    assert max(map(len, first.splitlines())) <= 80
    for title in ("Claude Code", "Codex", "Gemini CLI", "opencode"):
        assert re.search(rf"^{title} .*~/", first, re.MULTILINE)


@pytest.mark.parametrize("words", [(), ("--yes",), ("--yes", "--json"), ("--yes", "--gateway")])
def test_from_a_temporary_environment_nothing_is_set_up_and_the_remedy_is_said(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write_settings(tmp_path, ".claude/settings.json") / ".claude/settings.json"
    before = path.read_bytes()
    monkeypatch.setattr(sys, "prefix", "/cache/uv/archive-v0/x")
    run = setup(tmp_path, *words)
    assert run.exit_code == 1
    assert "First: uv tool install 'undrift[all]" in flat(run.output)
    assert path.read_bytes() == before


def test_what_the_plugin_brings_is_not_added_again_and_undo_names_its_command(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json", ".codex/config.toml")
    path = tmp_path / ".claude" / "settings.json"
    path.write_text('{"enabledPlugins": {"undrift@undrift": true}}')
    before = tree(tmp_path)
    done = setup(tmp_path, "--yes")
    assert "Set up: Codex (hooks, MCP server)." in done.output
    assert re.search(r"^Claude Code  plugin +- +plugin", done.output, re.MULTILINE)
    assert "set up already: Claude Code (hooks, MCP server); Codex" in flat(setup(tmp_path, "--yes").output)
    undone = setup(tmp_path, "--undo", "--yes")
    assert "claude plugin uninstall undrift@undrift" in flat(undone.output)
    assert tree(tmp_path) == before


def test_a_session_that_the_index_knows_is_not_read_again(tmp_path: Path):
    write_settings(tmp_path, ".claude/settings.json")
    path = compacted(tmp_path)
    first = setup(tmp_path).stdout.partition("\n\n")[0]
    assert first.startswith("1 compaction removed ")
    assert not (tmp_path / ".undrift").exists()
    assert undrift("autopsy", env={**variables(tmp_path)}).exit_code == 0
    status = path.stat()
    path.write_bytes(b" " * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert setup(tmp_path).stdout.partition("\n\n")[0] == first
