"""`undrift tasks`: how the tasks of a session ended, and what they let go."""

import json
from pathlib import Path

import pytest

from tests.cli.builders import Record, long_session, on_a_terminal, replayed, undrift, written
from tests.cli.test_replay import NEEDS_POSIX
from tests.task_sessions import AT_MS, SUMMARY, TaskSession
from undrift.stores.sqlite import SqliteStore
from undrift.tasks.archive import Archive

HOSTILE = "evil\x1b[2J\nid\u202e"


def told(home: Path, *arguments: str) -> Record:
    result = undrift("tasks", *arguments, "--home", home, "--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.isascii()
    value: Record = json.loads(result.stdout)
    return value


def test_the_json_agrees_with_the_store(tmp_path: Path):
    session = TaskSession(tmp_path)
    refs = session.does("read", content="Read the files")
    session.starts("rest", content="Do the rest")
    found = told(tmp_path)
    assert (found["home"], found["session_id"]) == (str(tmp_path), "s")
    read, rest = found["tasks"]
    assert (read["id"], read["ordinal"], read["status"], read["title"]) == ("read", 1, "completed", "Read the files")
    assert (read["agent"], read["score"]) == ("main", 1.0)
    assert read["summary"].startswith(SUMMARY)
    assert read["validation"]["is_valid"]
    assert set(read["refs"]) == set(refs)
    with SqliteStore.open(tmp_path, create=False) as store:
        archive = Archive(store, "s")
        assert read["tokens_saved"] == sum(one.tokens_saved for one in archive.decisions("read")) > 0
        assert read["completed_at_ms"] == archive.changed_at_ms("read") > AT_MS
    assert (rest["ordinal"], rest["status"], rest["summary"]) == (2, "in_progress", "")
    assert (rest["completed_at_ms"], rest["score"], rest["validation"]) == (None, None, None)
    assert (rest["tokens_saved"], rest["refs"]) == (0, [])


def test_the_newest_session_with_tasks_is_shown_unless_another_is_named(tmp_path: Path):
    TaskSession(tmp_path, "old").does("one")
    TaskSession(tmp_path, "new").does("two")
    TaskSession(tmp_path, "newer, without tasks").session.pin("spec", "It must be fast.")
    assert told(tmp_path)["session_id"] == "new"
    assert [one["id"] for one in told(tmp_path, "old")["tasks"]] == ["one"]


def test_the_table_has_each_task_with_what_it_let_go(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("read", content="Read the files")
    session.starts("vague", content="Something else")
    session.works(40, 2)
    session.completes("vague", "It is all done now, more or less.")
    session.starts("open")
    result = undrift("tasks", "--home", tmp_path)
    assert result.exit_code == 0
    heading, *lines = (line.strip() for line in result.stdout.splitlines())
    assert heading == "Session s: 3 tasks"
    (read,) = [line for line in lines if line.startswith("read")]
    (vague,) = [line for line in lines if line.startswith("vague")]
    (open_,) = [line for line in lines if line.startswith("open")]
    tokens = f"{told(tmp_path)['tasks'][0]['tokens_saved']:,}"
    assert read.split()[:4] == ["read", "completed", "1.00", tokens]
    assert read.endswith("Read the files")
    assert "2023-11-14 22:13" in read
    assert "0.00" not in vague  # there was nothing to check
    assert open_.split() == ["open", "in", "progress"]
    where = f"--home {tmp_path} --session s"
    recall, archive = f"undrift recall task:ID {where}", f"undrift session archive ID {where}"
    assert lines[-3:] == [recall, "Write it into a file to search with grep:", archive]


def test_a_summary_that_its_log_does_not_bear_out_is_marked(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.starts("read", "all tests pass")
    session.works(0, 3)
    session.completes("read", "All tests pass, and the number is in src/never_seen.py line 4711.")
    assert "1.00, unlike its log" in " ".join(undrift("tasks", "--home", tmp_path).stdout.split())


def test_nothing_of_an_id_or_title_reaches_the_terminal_as_such(tmp_path: Path):
    session = TaskSession(tmp_path, HOSTILE)
    session.does(HOSTILE, content="title\x1b]0;x\x07")
    result = undrift("tasks", "--home", tmp_path)
    assert result.exit_code == 0
    assert not set("\x1b\x07\u202e") & set(result.stdout)
    assert "evil\\x1b[2J\\nid\\u202e" in result.stdout
    assert told(tmp_path, HOSTILE)["tasks"][0]["id"] == HOSTILE


@NEEDS_POSIX
@pytest.mark.parametrize("columns", [60, 80])
def test_no_figure_is_cut_on_a_narrow_terminal(tmp_path: Path, columns: int):
    session = TaskSession(tmp_path)
    session.does("a-task-of-a-rather-long-name-" * 4, content="A title that goes on and on " * 5)
    session.close()
    (task,) = told(tmp_path)["tasks"]
    shown = on_a_terminal("tasks", "--home", tmp_path, columns=columns)
    assert f"{task['tokens_saved']:,}" in shown.split()
    lines = [line for line in shown.splitlines() if not line.startswith("  undrift ")]  # a command is never broken
    assert max(map(len, lines)) <= columns


def test_what_is_not_known_is_one_line_with_a_remedy(tmp_path: Path):
    home = tmp_path / "home"
    nowhere = undrift("tasks", "--home", home)
    assert (nowhere.exit_code, nowhere.stdout, nowhere.stderr.count("\n")) == (1, "", 1)
    assert not home.exists()
    replayed(written(tmp_path / "session.jsonl", long_session(30)), home)
    for arguments, what in ((), "there is no task in"), (("s\x1b",), "there is no task of session 's"):
        result = undrift("tasks", *arguments, "--home", home)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert what in result.stderr
        assert "when its agent reports some" in result.stderr
        assert "\x1b" not in result.stderr
