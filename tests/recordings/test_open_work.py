"""The session that another agent is to continue is found, however many sub-agents were recorded after it."""

import json
from pathlib import Path

from tests.cli.builders import Record, claude
from undrift.recordings.open_work import sessions_of


def recorded(path: Path, record: Record) -> Path:
    path.write_text(json.dumps(record) + "\n")
    return path


def test_sub_agents_files_hide_no_session(tmp_path: Path) -> None:
    task = {**claude("user", "Find it."), "cwd": "/repo", "isSidechain": True}
    side = [recorded(tmp_path / f"agent-{number}.jsonl", task) for number in range(205)]
    own = recorded(tmp_path / "own.jsonl", {**claude("user", "Go on."), "cwd": "/repo"})
    assert list(sessions_of([*side, own], lambda cwd: cwd == "/repo")) == [own]


def test_a_session_that_says_late_where_it_worked_is_found(tmp_path: Path) -> None:
    own = recorded(tmp_path / "own.jsonl", {**claude("user", "x" * 100_000), "cwd": "/repo"})
    assert list(sessions_of([own], lambda cwd: cwd == "/repo")) == [own]
