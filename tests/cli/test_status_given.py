"""`undrift status`: what was given back after compactions, what is wrong, and with and without undrift."""

import json
import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli import test_status
from tests.cli.builders import Record, answered, called, claude, listing, said
from tests.hooks.builders import with_ids
from undrift import Session
from undrift.hooks.home import LOG, note
from undrift.stores.gateways import Presence, announce
from undrift.values.clock import now_ms
from undrift.values.restored import TITLE, RestoredContents

HOSTILE = "\x1b[2J\x1b]52;c;ZXZpbA==\x07\u202e"
MINUTE_MS = 60_000
CONTENTS = RestoredContents(tokens=4_900, files=3, rules=1, steps=2)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def compacted(tmp_path: Path, cwd: Path, name: str, *, days_ago: float, by_us: bool) -> None:
    """A session of Claude Code that read a file, was compacted, and used a line of it again."""
    stamp = datetime.fromtimestamp(now_ms() / 1_000 - days_ago * 86_400, tz=UTC).isoformat()
    line = listing(0).splitlines()[3]
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 0}
    records: list[Record] = [claude("user", "Look at part_0.py.")]
    records += [
        claude("assistant", [called(0, file_path="/repo/part_0.py")]),
        claude("user", [answered(0, listing(0))]),
    ]
    records.append({"type": "system", "subtype": "compact_boundary", "isSidechain": False})
    records.append(claude("user", "This session is being continued.", isCompactSummary=True))
    if by_us:
        attachment = {"type": "hook_additional_context", "content": [f"{TITLE}{listing(0)}"]}
        records.append({"type": "attachment", "attachment": attachment, "isSidechain": False})
    records.append(claude("assistant", [said(f"It is this line:\n{line}\n")]))
    records.append(claude("assistant", [called(1, file_path="/repo/other.py")]))
    records.append(claude("user", [answered(1, listing(1))]))
    for number, record in enumerate(records):
        record["timestamp"] = stamp
        if record["type"] == "assistant":
            record["message"] |= {"id": f"{name}-{number}", "model": "claude-opus-5", "usage": usage}
    path = tmp_path / "claude" / "projects" / "p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [{**record, "uuid": f"{name}-{record['uuid']}"} for record in with_ids(records, cwd)]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def gave_back(home: Path, folder: Path | str, name: str = "s", *, days_ago: float = 0, **more: Any) -> None:
    at_ms = now_ms() - int(days_ago * 1_440) * MINUTE_MS
    contents = {field: getattr(CONTENTS, field) for field in CONTENTS.__slots__}
    record = {"at_ms": at_ms, "client": "claude", "session_id": name, "folder": str(folder), "mark": name}
    path = home / "hooks" / f"claude-{name}" / "given.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([{**record, "contents": contents, **more}]))


def status(tmp_path: Path, *options: str) -> Any:
    return test_status.status(tmp_path, f"--home={tmp_path / 'undrift'}", *options)


def words(result: Any) -> str:
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_it_opens_with_what_was_given_back_and_its_use(tmp_path: Path, project: Path):
    compacted(tmp_path, project, "s", days_ago=0.1, by_us=True)
    gave_back(tmp_path / "undrift", project)
    text = words(status(tmp_path))
    assert text.startswith("undrift gave back 4,900 tokens after 1 compaction of this project; they cost ")
    assert "Claude Code: 4,900 tokens: lines of 3 files, your rules, the open plan." in text
    assert "stood in what was given back" in text
    assert "Used without reading it again: 1 result of " in text
    assert "Read again: none." in text
    found = json.loads(status(tmp_path, "--json").stdout)
    assert (found["given_back"]["compactions"], found["given_back"]["tokens"]) == (1, 4_900)
    assert found["used"]["held"] == found["used"]["used"] > 0
    assert found["given_back"]["records"][0]["sentence"] == CONTENTS.sentence()


def test_each_project_has_its_own_and_all_have_them_together(tmp_path: Path, project: Path):
    gave_back(tmp_path / "undrift", project, "a")
    gave_back(tmp_path / "undrift", tmp_path, "b")
    assert "gave back 4,900 tokens after 1 compaction of this project" in words(status(tmp_path))
    assert "gave back 9,800 tokens after 2 compactions of all your projects" in words(
        status(tmp_path, "--all-projects")
    )


def test_too_few_sessions_are_not_compared(tmp_path: Path, project: Path):
    compacted(tmp_path, project, "before", days_ago=9, by_us=False)
    compacted(tmp_path, project, "with", days_ago=1, by_us=True)
    gave_back(tmp_path / "undrift", project, days_ago=2)
    text = words(status(tmp_path))
    assert "too few sessions to say (1 session before undrift's hooks, 1 with them; at least 5 of each)." in text
    (one,) = json.loads(status(tmp_path, "--json").stdout)["comparisons"]
    assert (one["is_enough"], one["without"]["sessions"], one["with"]["sessions"]) == (False, 1, 1)


def test_enough_sessions_are_compared_without_a_claim(tmp_path: Path, project: Path):
    for number in range(5):
        compacted(tmp_path, project, f"before-{number}", days_ago=9 + number / 100, by_us=False)
        compacted(tmp_path, project, f"with-{number}", days_ago=1 + number / 100, by_us=True)
    compacted(tmp_path, project, "missed", days_ago=0.5, by_us=False)
    gave_back(tmp_path / "undrift", project, days_ago=2)
    result = status(tmp_path)
    text = words(result)
    assert "Claude Code with and without undrift in this project, means of one compaction:" in text
    assert "before 5 5 0.0 0 0%" in text
    assert "with undrift 5 5 0.0 0 100%" in text
    assert "Other things may differ too." in text
    assert "After 1 compaction since then nothing was given back." in text
    lines = result.stdout.splitlines()
    assert len(lines) <= 30, result.stdout
    assert max(map(len, lines)) <= 80


def test_only_what_is_wrong_is_shown_with_its_remedy(tmp_path: Path, project: Path):
    assert "WRONG" not in words(status(tmp_path))
    compacted(tmp_path, project, "s", days_ago=0.1, by_us=False)
    text = words(status(tmp_path))
    assert "WRONG hooks: Claude Code has no hooks of undrift" in text
    assert "do: `undrift install claude`" in text
    note(tmp_path / "undrift", "claude SessionStart: OSError: no space")
    text = words(status(tmp_path))
    assert "WRONG hooks' log: 1 line of the last 7 days" in text
    assert "OSError: no space" in text
    assert "home: " not in text, "what is well is not shown"


def test_a_gateway_that_does_not_answer_is_wrong(tmp_path: Path, project: Path):
    home = tmp_path / "undrift"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    announce(home, Presence(f"http://127.0.0.1:{port}", port, os.getpid(), now_ms(), {}))
    text = words(status(tmp_path))
    assert f"WRONG gateway: http://127.0.0.1:{port}, process {os.getpid()}: it runs, and does not answer" in text


def test_a_file_in_the_place_of_a_home_is_wrong_and_the_rest_is_shown(tmp_path: Path, project: Path):
    compacted(tmp_path, project, "s", days_ago=0.1, by_us=False)
    (tmp_path / "undrift").write_text("no folder")
    text = words(status(tmp_path))
    assert "is no folder" in text
    assert "in 1 session of this project" in text


def test_a_store_that_cannot_be_written_is_wrong(tmp_path: Path, project: Path):
    with Session.open("s", home=tmp_path / "undrift"):
        path = next((tmp_path / "undrift").rglob("undrift.db"))
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("needs a user whom permissions bind: this one writes everything (root, or Windows)")
    assert f"{path} cannot be written, so nothing is recorded any more" in status(tmp_path).stdout.replace("\n", " ")


def test_another_project_is_named(tmp_path: Path, project: Path):
    other = tmp_path / "other-one"
    other.mkdir()
    compacted(tmp_path, other, "s", days_ago=0.1, by_us=True)
    gave_back(tmp_path / "undrift", other)
    text = words(status(tmp_path, f"--project={other}"))
    assert "after 1 compaction of project other-one" in text
    assert json.loads(status(tmp_path, f"--project={other}", "--json").stdout)["project"] == str(other)


def test_an_old_line_of_the_log_is_no_news(tmp_path: Path, project: Path):
    (tmp_path / "undrift").mkdir()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 8 * 86_400))
    (tmp_path / "undrift" / LOG).write_text(f"{stamp} claude SessionStart: OSError: no space\n")
    assert "WRONG" not in words(status(tmp_path))


def test_a_client_with_the_plugin_or_unused_for_a_week_is_not_wrong(tmp_path: Path, project: Path):
    compacted(tmp_path, project, "s", days_ago=8, by_us=False)
    assert "WRONG" not in words(status(tmp_path))
    compacted(tmp_path, project, "t", days_ago=0.1, by_us=False)
    enabled = {"enabledPlugins": {"undrift@undrift": True}}
    (tmp_path / "claude" / "settings.json").write_text(json.dumps(enabled))
    assert "WRONG" not in words(status(tmp_path))


def test_hostile_records_reach_no_terminal(tmp_path: Path, project: Path):
    gave_back(tmp_path / "undrift", project, "a", session_id=HOSTILE)
    gave_back(tmp_path / "undrift", HOSTILE, "b")
    gave_back(tmp_path / "undrift", "\0", "c")
    note(tmp_path / "undrift", HOSTILE)
    for options in ((), ("--all-projects",), ("--json",), ("--json", "--all-projects")):
        shown = status(tmp_path, *options).stdout
        assert not set(shown) & set("\x1b\x07\u202e\0")
    assert "after 1 compaction of this project" in words(status(tmp_path))


def test_a_session_that_is_not_examined_yet_is_counted(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("undrift.cli.status_found._MOST_BYTES", 1)
    for number in range(3):
        compacted(tmp_path, project, f"s{number}", days_ago=1, by_us=True)
    assert "2 recordings with a compaction not examined yet: `undrift autopsy` reads them, once." in words(
        status(tmp_path)
    )
