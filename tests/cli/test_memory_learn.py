"""`undrift memory learn`, and `forget --learned`, which undoes it."""

import json
from pathlib import Path

import pytest

from tests.cli.builders import Record, claude, said, undrift, written
from tests.cli.test_memory import ran, told
from tests.cli.test_memory_exchange import listed

RULE = "Never edit the lock file by hand."
CONVENTION = "We use pnpm in all of our packages."


def session(folder: Path, name: str = "one", *, sub_agent: bool = False) -> Path:
    records: list[Record] = [
        claude("user", "Fix the build."),
        claude("assistant", [said("Done. Always check the port.")]),
        claude("user", f"Fine. {RULE}"),
        claude("user", CONVENTION),
    ]
    marked = [{**one, "sessionId": name, "isSidechain": sub_agent} for one in records]
    return written(folder / f"{name}.jsonl", marked)


def test_a_dry_run_prints_each_statement_with_its_origin_and_stores_nothing(tmp_path: Path):
    file, home = session(tmp_path), tmp_path / "home"
    found = told("memory", "learn", file, "--dry-run", "--home", home)
    (one,) = found["sessions"]
    assert (one["path"], one["session_id"], one["format"]) == (str(file), "claude:one", "claude-code")
    assert [(x["text"], x["kind"], x["trust"], x["line"]) for x in one["statements"]] == [
        (RULE, "rule", "user", 3),
        (CONVENTION, "decision", "user", 4),
    ]
    assert (found["dry_run"], found["learned"], home.exists()) == (True, {}, False)
    shown = undrift("memory", "learn", file, "--dry-run", "--home", home)
    assert f"  line 3     rule       {RULE}" in shown.stdout
    assert "2 statements in 1 session." in shown.stdout


def test_what_was_learned_is_shown_with_its_line_and_forgotten_by_one_command(tmp_path: Path):
    file, home = session(tmp_path), tmp_path / "home"
    assert "nothing was learned; --yes does it" in ran("memory", "learn", file, "--home", home, code=1)
    assert len(told("memory", "learn", file, "--yes", "--home", home)["learned"]["claude:one"]) == 2
    assert "from session:claude:one line 3" in undrift("memory", "list", "--home", home).stdout
    undrift("memory", "remember", "The port is 8080.", "--home", home)
    assert "nothing was learned from 'claude:two'" in ran(
        "memory", "forget", "--learned", "claude:two", "--yes", "--home", home, code=1
    )
    (done,) = told("memory", "forget", "--learned", "claude:one", "--yes", "--home", home)["forgotten"]
    assert [one["content"] for one in listed(home)] == ["The port is 8080."]
    assert told("memory", "learn", file, "--yes", "--home", home)["learned"] == {"claude:one": []}
    undrift("session", "rewind", str(done["seq"] - 1), "--session", done["session_id"], "--home", home)
    assert {one["content"] for one in listed(home)} >= {RULE, CONVENTION}
    assert len(told("memory", "forget", "--learned", "all", "--purge", "--yes", "--home", home)["purged"]) == 2
    assert told("memory", "forget", "--learned", "all", "--home", home) == {"forgotten": []}
    assert RULE.encode() not in b"".join(one.read_bytes() for one in home.rglob("*.db*"))


@pytest.mark.parametrize("how", [(), ("--purge",)])
def test_what_a_second_session_taught_stays_when_the_first_one_is_forgotten(tmp_path: Path, how: tuple[str, ...]):
    home, said_again = tmp_path / "home", "We use pnpm in every one of our packages."
    for name, text in (("one", CONVENTION), ("two", said_again)):
        file = written(tmp_path / f"{name}.jsonl", [{**claude("user", text), "sessionId": name}])
        told("memory", "learn", file, "--yes", "--home", home)
    assert [[again["source"] for again in one["restated"]] for one in listed(home)] == [["session:claude:two"]]
    told("memory", "forget", "--learned", "claude:one", "--yes", *how, "--home", home)
    (left,) = listed(home)
    assert (left["content"], left["source"], left["restated"]) == (said_again, "session:claude:two", [])
    told("memory", "forget", "--learned", "claude:two", "--yes", *how, "--home", home)
    assert listed(home) == []


def test_a_folder_is_read_and_what_is_no_session_of_a_person_is_passed_over(tmp_path: Path):
    folder = tmp_path / "sessions"
    session(folder, "one")
    session(folder / "below", "two")
    session(folder, "agent", sub_agent=True)
    (folder / "notes.txt").write_text("nothing", encoding="utf-8")
    (folder / "link.jsonl").symlink_to(folder / "one.jsonl")
    found = told("memory", "learn", folder, "--dry-run")
    assert {one["session_id"]: len(one["statements"]) for one in found["sessions"]} == {
        "claude:one": 2,
        "claude:two": 2,
        "claude:agent": 0,
    }
    assert [Path(one["path"]).name for one in found["passed_over"]] == ["notes.txt"]
    assert "not a recorded session" in ran("memory", "learn", folder / "notes.txt", code=1)
    assert "there is no such file or folder" in ran("memory", "learn", folder / "absent", code=1)


def test_forget_takes_ids_or_what_was_learned(tmp_path: Path):
    for arguments in ((), ("m1234567", "--learned", "all")):
        assert "name the memories by ID, or all that was learned" in ran("memory", "forget", *arguments, code=2)


def test_words_of_a_session_never_reach_a_terminal_raw(tmp_path: Path):
    file = written(
        tmp_path / "s.jsonl", [json.loads(json.dumps(claude("user", "Never print \x1b[2J or \u202e there.")))]
    )
    shown = undrift("memory", "learn", file, "--dry-run").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
