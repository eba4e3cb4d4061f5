"""The line for the person after a compaction, and the record of what was given back."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.builders import called, claude
from tests.hooks.builders import SESSION, User, compacted, session, with_ids
from undrift.core.text.tokens import characters_per_4
from undrift.hooks.answer import answer
from undrift.hooks.given import given_back
from undrift.hooks.home import folder_of
from undrift.hooks.rule_guard import SAID
from undrift.session.session import Session
from undrift.values.restored import RestoredContents

LONG = 40  # results of 2,000 characters: more than one part holds


def printed(user: User, part: int = 1) -> dict[str, Any]:
    text = answer("SessionStart", user.payload("SessionStart", "compact"), user.options(part))
    return json.loads(text) if text else {}


def lived_through(tmp_path: Path, results: int = 12) -> User:
    """A session that was compacted, with an open plan."""
    user = User(tmp_path)
    steps = [{"content": "Look at pay.py", "status": "pending"}, {"content": "Read", "status": "completed"}]
    plan = {"type": "tool_use", "id": "plan", "name": "TodoWrite", "input": {"todos": steps}}
    user.write(with_ids([*session(results), claude("assistant", [plan])]))
    user.pre_compact()
    user.add(compacted())
    return user


def test_the_person_reads_one_line_with_what_the_text_holds(tmp_path: Path):
    user = lived_through(tmp_path)
    first, second = printed(user), printed(user, 2)
    assert "systemMessage" not in second
    texts = [one["hookSpecificOutput"]["additionalContext"] for one in (first, second) if one]
    said, text = first["systemMessage"], "".join(texts)
    files = {line for line in text.splitlines() if line.startswith(("### part_", "### /repo"))}
    assert said.startswith(f"undrift gave back {characters_per_4(text):,} tokens: lines of {len(files)} files, ")
    assert "your requests and rules" in said or "your rules" in said
    assert "the open plan" in said
    assert "\n" not in said
    assert said not in text


def test_after_a_compaction_the_guard_says_again_what_it_said_before(tmp_path: Path):
    user = lived_through(tmp_path)
    folder = folder_of(user.home, f"claude-{SESSION}")
    (folder / SAID).write_text('{"0123456789ab": 3}')
    printed(user, 2)
    assert (folder / SAID).exists()
    printed(user)
    assert not (folder / SAID).exists()


def test_of_a_session_that_was_purged_nothing_is_kept_again_and_nothing_given(tmp_path: Path):
    user = lived_through(tmp_path)
    folder = folder_of(user.home, f"claude-{SESSION}")
    with Session.open(f"claude:{SESSION}", home=user.home) as session:
        session.purge("session")
    kept = {one: one.read_bytes() for one in folder.iterdir()}
    assert [one.name for one in kept] == ["purged"]
    user.pre_compact()
    assert printed(user) == {}
    assert {one: one.read_bytes() for one in folder.iterdir()} == kept
    assert user.log() == []


def test_what_is_not_in_the_text_is_not_in_the_line(tmp_path: Path):
    user = User(tmp_path)
    user.write(with_ids([claude("user", "Look at it."), claude("assistant", [called(1, file_path="/repo/a.py")])]))
    said = printed(user)["systemMessage"]
    assert said.startswith("undrift gave back ")
    assert "your requests" in said
    assert all(words not in said for words in ("rules", "plan", "file", "error", "pasted"))


def test_nothing_given_back_is_nothing_said_and_still_recorded(tmp_path: Path):
    user = User(tmp_path)
    user.write(with_ids([claude("user", "hi"), claude("assistant", [{"type": "thinking", "thinking": "x"}])]))
    folder = call_folder(user)
    value = {"mark": json.loads((folder / "restore.json").read_text())["mark"]}
    empty = {**value, "parts": [], "contents": asdict(RestoredContents())}
    (folder / "restore.json").write_text(json.dumps(empty))
    assert printed(user) == {}
    assert [one.contents for one in given_back(user.home)] == [RestoredContents()]


def call_folder(user: User) -> Path:
    user.pre_compact()
    return user.home / "hooks" / f"claude-{SESSION}"


def test_both_calls_and_a_later_one_record_one_compaction(tmp_path: Path):
    user = lived_through(tmp_path, LONG)
    said = [printed(user, part).get("systemMessage") for part in (1, 2, 1)]
    assert said[0] == said[2] is not None
    (one,) = given_back(user.home)
    assert (one.client, one.session_id, one.folder) == ("claude", SESSION, "/repo")
    assert one.contents.sentence() == said[0]
    assert one.contents.rules == 1
    assert user.log() == []


def test_each_compaction_is_recorded(tmp_path: Path):
    user = lived_through(tmp_path)
    printed(user)
    user.add([{**record, "uuid": f"later-{number}"} for number, record in enumerate(session(5))])
    user.pre_compact()
    user.add(compacted(1))
    assert printed(user)
    found = list(given_back(user.home))
    assert len(found) == 2
    assert found[0].at_ms <= found[1].at_ms


def test_a_record_that_cannot_be_written_stops_nothing(tmp_path: Path):
    user = lived_through(tmp_path)
    (user.home / "hooks" / f"claude-{SESSION}" / "given.json").mkdir()
    assert printed(user)["systemMessage"].startswith("undrift gave back ")
    assert "was not recorded" in user.log()[-1]
    assert list(given_back(user.home)) == []


def test_no_text_of_the_session_is_in_the_record(tmp_path: Path):
    user = lived_through(tmp_path)
    printed(user)
    (path,) = user.home.glob("hooks/*/given.json")
    assert "build.lock" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


DAMAGED = ["", "{}", "[1]", "[{}]", "[" * 100_000, '[{"at_ms": true}]', '[{"at_ms": 1e400}]', "\0", "[null]"]


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_record_is_passed_over(tmp_path: Path, damaged: str):
    user = lived_through(tmp_path)
    printed(user)
    (path,) = user.home.glob("hooks/*/given.json")
    path.write_text(damaged)
    assert list(given_back(user.home)) == []
    assert printed(user)["systemMessage"]
    assert len(list(given_back(user.home))) == 1


@pytest.mark.parametrize("name", ["client", "session_id", "folder", "mark", "at_ms", "contents"])
@pytest.mark.parametrize("value", [None, -1, 1 << 70, "x" * 5_000, {"tokens": -1}, []])
def test_a_record_with_a_wrong_value_is_none(tmp_path: Path, name: str, value: Any):
    user = lived_through(tmp_path)
    printed(user)
    (path,) = user.home.glob("hooks/*/given.json")
    (record,) = json.loads(path.read_text())
    path.write_text(json.dumps([{**record, name: value}]))
    assert list(given_back(user.home)) == []


def test_a_link_is_not_followed(tmp_path: Path):
    user = lived_through(tmp_path)
    printed(user)
    (folder,) = (user.home / "hooks").iterdir()
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert list(given_back(user.home)) == []
    assert list(given_back(tmp_path / "none")) == []


@given(st.builds(RestoredContents, *[st.integers(0, 3)] * 10))
def test_the_line_is_one_line_and_names_only_what_is_there(contents: RestoredContents):
    said = contents.sentence()
    assert bool(said) == bool(contents.tokens)
    assert "\n" not in said
    if said:
        assert ("plan" in said) == bool(contents.steps)
        assert ("rules" in said) == bool(contents.rules)
        assert (" file" in said) == bool(contents.files)
