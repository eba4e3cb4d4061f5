"""`undrift doctor`: says what is wrong and what to do, and changes nothing."""

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import undrift
from tests.stores.builders import add, database, original, raw
from undrift import Session, Settings
from undrift.doctor import examine
from undrift.stores.sqlite import SqliteStore


def filled(home: Path) -> str:
    with SqliteStore.open(home) as store:
        add(store, original("e", "kept text"), original("f", "more text"), prune_them=True)
    return original("e").ref


def findings(home: Path, **variables: str) -> dict[str, Any]:
    result = undrift("doctor", "--home", home, "--json", env={**variables, "HOME": str(home.parent)})
    told = json.loads(result.stdout)
    assert result.exit_code == (0 if told["ok"] else 1)
    return {finding["name"]: finding for finding in told["findings"]}


def wrong(found: dict[str, Any]) -> set[str]:
    for finding in found.values():
        assert (finding["state"] == "wrong") is bool(finding["remedy"])
    return {name for name, finding in found.items() if finding["state"] == "wrong"}


def test_nothing_is_wrong_with_a_store_that_is_whole(tmp_path: Path):
    filled(tmp_path / "home")
    before = database(tmp_path / "home").read_bytes()
    found = findings(tmp_path / "home")
    assert wrong(found) == set()
    assert "1 session, 1 operation, 2 originals" in found["integrity"]["text"]
    assert {"sqlite", "settings", "home", "free space", "permissions", "version", "search index", "size"} <= set(found)
    assert f"home = {tmp_path / 'home'} (--option)" in found["settings"]["details"]
    assert database(tmp_path / "home").read_bytes() == before
    text = undrift("doctor", "--home", tmp_path / "home")
    assert text.exit_code == 0
    assert text.stdout.startswith("Nothing is wrong.\n")


def test_a_new_user_is_told_what_to_do_first(tmp_path: Path):
    start = findings(tmp_path / "home")["start"]
    assert start["state"] == "note"
    assert "`undrift autopsy`" in start["text"]
    assert "`undrift setup`" in start["text"]
    filled(tmp_path / "home")
    assert "start" not in findings(tmp_path / "home")


def test_a_mistyped_variable_is_a_note_that_names_the_right_one(tmp_path: Path):
    filled(tmp_path / "home")
    found = findings(tmp_path / "home", UNDRIFT_BUGDET="3", UNDRIFT_POLICY="recency", DEVS_PRUNE_THRESHOLD="900000")
    assert found["variable"]["state"] == "note"
    assert found["variable"]["text"].startswith(
        "UNDRIFT_BUGDET is no setting and has no effect. Did you mean UNDRIFT_BUDGET_TOKENS?"
    )
    assert "variable" not in findings(tmp_path / "home", UNDRIFT_BUDGET_TOKENS="60k")


def test_of_two_homes_each_finding_names_its_own(tmp_path: Path):
    filled(tmp_path / ".undrift")
    filled(tmp_path / "own")
    text = undrift("doctor", env={"HOME": str(tmp_path), "UNDRIFT_HOME": str(tmp_path / "own")}, columns=400).stdout
    spaces = [line for line in text.splitlines() if "free space" in line]
    assert len(spaces) == 2
    assert all(f"({tmp_path / name})" in " ".join(spaces) for name in ("own", ".undrift"))


def test_searches_that_were_rated_badly_are_a_finding_with_a_remedy(tmp_path: Path):
    home = tmp_path / "home"

    def rated(times: int, useful: int) -> dict[str, Any]:
        with Session.open("s", home=home, settings=Settings()) as session:
            for _ in range(times):
                session.rate_search("q", ["a", "b"], ["a", "b"][:useful])
        return findings(home)

    assert "searches" not in rated(0, 0)
    few = rated(4, 0)
    assert wrong(few) == set()
    assert few["searches"]["text"] == "of what the last 4 rated searches returned, 0% was of use"
    bad = rated(1, 1)
    assert wrong(bad) == {"searches"}
    assert "10% was of use, of at least 70%" in bad["searches"]["text"]
    assert f"undrift memory conflicts --home {home}" in bad["searches"]["remedy"]
    good = rated(20, 2)
    assert good["searches"]["text"] == "of what the last 20 rated searches returned, 100% was of use"
    assert wrong(good) == set()
    assert wrong(findings(home, UNDRIFT_RETRIEVAL_MONITOR_WINDOW="100")) == set()
    assert findings(home, UNDRIFT_RETRIEVAL_MONITOR_WINDOW="wrong")["searches"]["state"] == "ok"


def test_a_home_that_is_not_there_is_no_fault_and_is_not_made(tmp_path: Path):
    assert wrong(findings(tmp_path / "home")) == set()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_record_is_named_and_the_rest_is_served(tmp_path: Path):
    home = tmp_path / "home"
    ref = filled(home)
    connection = raw(home)
    connection.execute("UPDATE originals SET content = CAST('other' AS BLOB) WHERE ref = ?", (ref,))
    connection.close()
    found = findings(home)
    assert wrong(found) >= {"integrity"}
    assert any(ref in line for line in found["integrity"]["details"])
    assert "undrift store restore" in found["integrity"]["remedy"]
    refused = undrift("recall", ref, "--home", home)
    assert refused.exit_code == 1
    assert "undrift doctor" in refused.stderr
    assert undrift("recall", original("f").ref, "--home", home).stdout == "more text"


def test_an_index_that_is_out_of_step_is_told_apart_from_damage(tmp_path: Path):
    home = tmp_path / "home"
    filled(home)
    connection = raw(home)
    connection.execute("INSERT INTO search(search, rowid, text) VALUES('delete', 1, 'no word of it')")
    connection.close()
    found = findings(home)
    assert wrong(found) == {"search index"}
    program, *remedy = shlex.split(found["search index"]["remedy"].split("`")[1])
    assert program == "undrift"
    assert undrift(*remedy).exit_code == 0
    assert wrong(findings(home)) == set()


@pytest.mark.parametrize("content", [b"hello world\n" * 1_000, b"SQLite format 3\0" + b"\xff" * 8_000])
def test_a_file_that_is_no_store_is_refused_with_the_remedy(tmp_path: Path, content: bytes):
    home = tmp_path / "home"
    filled(home)
    database(home).write_bytes(content)
    found = findings(home)
    assert wrong(found) == {"store"}
    assert "undrift store restore" in found["store"]["remedy"]
    assert database(home).read_bytes() == content


def test_files_that_others_can_read_are_named_with_the_command(tmp_path: Path):
    home = tmp_path / "home"
    filled(home)
    home.chmod(0o755)
    database(home).chmod(0o644)
    found = findings(home)
    assert wrong(found) == {"permissions"}
    assert f"chmod 700 {shlex.quote(str(home))}" in found["permissions"]["remedy"]
    assert f"chmod 600 {shlex.quote(str(database(home)))}" in found["permissions"]["remedy"]


def test_a_wrong_setting_is_a_finding_and_the_rest_is_looked_at(tmp_path: Path):
    filled(tmp_path / "home")
    found = findings(tmp_path / "home", UNDRIFT_BUDGET_TOKENS="0")
    assert wrong(found) == {"settings"}
    assert "UNDRIFT_BUDGET_TOKENS" in found["settings"]["text"]
    assert found["integrity"]["state"] == "ok"


def test_a_setting_names_where_it_comes_from(tmp_path: Path):
    variables = {"DEVS_PRUNE_THRESHOLD": "9000"}
    (settings,) = [f for f in examine([str(tmp_path)], overrides={}, environ=variables) if f.name == "settings"]
    assert "prune_threshold_tokens = 9000 (DEVS_PRUNE_THRESHOLD)" in settings.details
    assert "keep_tool_results = 5 (default)" in settings.details


def test_a_store_of_an_older_or_newer_version_is_told(tmp_path: Path):
    home = tmp_path / "home"
    filled(home)
    connection = raw(home)
    connection.execute("DROP VIEW searchable; DROP TABLE search; PRAGMA user_version = 1")
    connection.close()
    found = findings(home)
    assert wrong(found) == set()
    assert "after a backup beside it" in found["version"]["text"]
    connection = raw(home)
    connection.execute("PRAGMA user_version = 7000")
    connection.close()
    assert wrong(findings(home)) == {"store"}


def test_hooks_that_no_longer_work_are_told_and_their_log_is_shown(tmp_path: Path):
    home, settings = tmp_path / ".undrift", tmp_path / ".claude" / "settings.json"
    installed = undrift("install", "claude", "--yes", "--home", home, "--claude-home", tmp_path / ".claude")
    assert installed.exit_code == 0, installed.output
    (home / "hooks.log").write_text("2020-01-01T00:00:00Z claude PreCompact: what went wrong\n")
    found = findings(home)
    assert wrong(found) == set()
    assert "calls undrift" in found["hooks"]["text"]
    assert "what went wrong" in found["hooks' log"]["details"][0]
    text = settings.read_text()
    settings.write_text(text.replace(sys.executable, "/nowhere/python"))
    assert wrong(findings(home)) == {"hooks"}
    settings.write_text("{}")
    found = findings(home)
    assert "does not call undrift any more" in found["hooks"]["text"]
    assert "undrift install claude" in found["hooks"]["remedy"]


def test_the_program_of_a_plugin_is_named_or_that_it_has_none(tmp_path: Path):
    home = tmp_path / ".undrift"
    home.mkdir(mode=0o700)
    kept = home / "plugin-0.1.0-hook"
    for content in ("none\n", f"{sys.executable}\n", "pipx\n", "/nowhere/undrift\n", "/" + "x" * 5_000, "a\0b", ""):
        kept.write_text(content)
        found = findings(home)
        assert "start" not in found, "hooks are there: those of the plugin"
        assert wrong(found) == ({"plugin"} if content == "none\n" else set())
        is_known = content.strip() in (sys.executable, "pipx")
        assert ("the plugin starts undrift 0.1.0" in found["plugin"]["text"]) == is_known
    kept.write_text("none\n")
    assert "pipx install undrift==0.1.0" in findings(home)["plugin"]["remedy"]
    two_weeks_ago = time.time() - 14 * 86_400
    os.utime(kept, (two_weeks_ago, two_weeks_ago))
    assert "plugin" not in findings(home), "the plugin was removed since"


def test_a_plugin_that_rests_is_not_said_to_lack_a_program(tmp_path: Path):
    home = tmp_path / ".undrift"
    undrift("install", "claude", "--yes", "--home", home, "--claude-home", tmp_path / ".claude")
    (home / "plugin-0.1.0-hook").write_text("none\n")
    found = findings(home)
    assert wrong(found) == set()
    assert "plugin" not in found


def test_an_mcp_server_without_hooks_is_no_lost_hook(tmp_path: Path):
    home = tmp_path / ".undrift"
    installed = undrift("install", "claude", "--mcp", "--yes", "--home", home, "--claude-home", tmp_path / ".claude")
    assert installed.exit_code == 0, installed.output
    found = findings(home)
    assert wrong(found) == set()
    assert "starts undrift's MCP server" in found["mcp"]["text"]


def test_a_log_without_its_file_and_a_copy_cut_short_are_told(tmp_path: Path):
    home = tmp_path / "home"
    filled(home)
    (home / "undrift.db.restoring").touch(0o600)
    assert "cut short" in findings(home)["left over"]["text"]
    database(home).unlink()
    log = database(home).with_name("undrift.db-wal")
    log.write_bytes(b"all that is left")
    assert wrong(findings(home)) >= {"store"}
    assert log.read_bytes() == b"all that is left"


def test_a_server_in_settings_of_another_form_than_hooks_have_is_no_fault(tmp_path: Path):
    home, codex = tmp_path / "home", tmp_path / "codex"
    codex.mkdir()
    env: dict[str, str | None] = {"HOME": str(tmp_path), "CODEX_HOME": str(codex)}
    assert undrift("install", "codex", "--mcp", "--yes", "--home", home, env=env).exit_code == 0
    shown = undrift("doctor", "-v", "--home", home, env=env)
    assert shown.exit_code == 0, shown.output
    assert "starts undrift's MCP server" in " ".join(shown.stdout.split())


def test_of_a_large_store_it_says_what_a_sweep_would_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    filled(tmp_path / "home")
    assert "sweep" not in findings(tmp_path / "home")
    monkeypatch.setattr("undrift.doctor.store._LARGE_BYTES", 1)
    found = findings(tmp_path / "home")["sweep"]
    assert found["state"] == "note"
    assert "A sweep of 1 session not used for 365 days would free 0.0 GB" in found["text"]
    assert "undrift store sweep --older-than 365d" in found["text"]
