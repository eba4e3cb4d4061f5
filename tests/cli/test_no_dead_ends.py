"""An error says what to type next, and the command that it names works."""

import dataclasses
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.builders import records_of
from tests.cli.builders import long_session, replayed, undrift, written
from tests.cli.test_terminal import compacted_session
from undrift.cli.story import show_one
from undrift.recordings.files import open_recording
from undrift.recordings.replay import replay
from undrift.settings import Settings


@pytest.mark.parametrize("command", ["history", "diff 0", "purge x --yes"])
def test_a_replays_store_is_named_where_the_home_has_none(tmp_path: Path, command: str):
    home = tmp_path / "the home"
    folder = Path(replayed(written(tmp_path / "s.jsonl", long_session(30)), home)["home"])
    result = undrift(*command.split(), "--home", home)
    assert result.exit_code == 1
    found = re.search(r"there is one elsewhere: add (--home .*)\n", result.stderr)
    assert found, result.stderr
    assert shlex.split(found[1]) == ["--home", str(folder)]
    assert undrift("history", "--home", folder).exit_code == 0


@pytest.mark.parametrize(
    ("command", "makes"),
    [
        *((f"memory {words}", "`undrift memory remember TEXT` makes one") for words in ("search x", "conflicts")),
        *(
            (words, "`undrift wrap CLIENT` or `undrift memory remember TEXT` makes one")
            for words in ("undo", "checkpoint", "rewind 1", "backup out.db", "rebuild")
        ),
    ],
)
def test_a_replays_store_is_no_advice_where_it_is_of_no_use(tmp_path: Path, command: str, makes: str):
    home = tmp_path / "home"
    replayed(written(tmp_path / "s.jsonl", long_session(30)), home)
    result = undrift(*command.split(), env={"UNDRIFT_HOME": str(home), "HOME": str(tmp_path)})
    assert result.exit_code == 1
    assert "add --home" not in result.stderr
    assert makes in result.stderr
    undrift("memory", "remember", "The cache is Redis.", "--home", tmp_path / ".undrift")
    result = undrift(*command.split(), env={"UNDRIFT_HOME": str(home), "HOME": str(tmp_path)})
    assert f"there is one elsewhere: add --home {tmp_path / '.undrift'}\n" in result.stderr


def test_without_any_store_the_homes_and_what_makes_one_are_named(tmp_path: Path):
    result = undrift("session", "history", env={"UNDRIFT_HOME": str(tmp_path / "x"), "HOME": str(tmp_path)})
    assert result.exit_code == 1
    assert str(tmp_path / "x") in result.stderr
    assert "`undrift replay` or `undrift install claude` makes one" in result.stderr


@pytest.mark.parametrize("command", ["replay", "autopsy", "restore x", "proxy", "manage --wire anthropic"])
def test_a_budget_that_is_no_number_says_what_is_accepted(command: str):
    result = undrift(*command.split(), "--budget", "abc")
    assert result.exit_code == 2
    accepted = "60000 or 60k" if command in ("autopsy", "restore x") else "60000, 60k, 60% or auto"
    assert f"'abc' is not a number of tokens; type for example {accepted}" in result.stderr


@pytest.mark.parametrize("budget", ["6000", "6,000", "6k", "6K", "0.006m"])
def test_a_budget_is_written_in_any_of_these_ways(tmp_path: Path, budget: str):
    path = written(tmp_path / "s.jsonl", long_session(30))
    result = undrift("replay", path, "--budget", budget, "--home", tmp_path / "home", "--json")
    assert json.loads(result.stdout)["sessions"][0]["budget_tokens"] == 6_000


@pytest.mark.parametrize("budget", ["0", "-1", "1.5", "k", "6kk", ""])
def test_a_budget_below_one_or_of_half_a_token_is_refused(budget: str):
    assert undrift("replay", "--budget", budget).exit_code == 2


def test_a_compaction_before_the_first_call_is_not_called_none(tmp_path: Path):
    records = compacted_session()
    start = next(number for number, record in enumerate(records) if record.get("subtype") == "compact_boundary")
    path = written(tmp_path / "claude" / "projects" / "p" / "s.jsonl", records[start:])
    shown = undrift("autopsy", path)
    assert "1 compaction before the first call" in shown.stdout
    assert "No compaction" not in shown.stdout
    assert json.loads(undrift("autopsy", path, "--json").stdout)["sessions"][0]["early_compactions"] == 1
    assert (
        json.loads(undrift("replay", path, "--home", tmp_path / "h", "--json").stdout)["sessions"][0]["compactions"]
        == 1
    )


def test_the_headline_of_a_replay_says_what_made_it_leave(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path / "s.jsonl", long_session(30))
    report = replay(open_recording(path), path, home=tmp_path / "home", settings=Settings(budget_tokens=6_000))
    assert {prune.moment for prune in report.prunes} == {"budget"}
    show_one(report, None)
    assert "to keep the prompt within 6,000 tokens" in " ".join(capsys.readouterr().out.split())
    paused = tuple(dataclasses.replace(prune, moment="pause") for prune in report.prunes)
    show_one(dataclasses.replace(report, prunes=paused), None)
    shown = " ".join(capsys.readouterr().out.split())
    assert "of 31 turns, after a pause, when the cache was cold." in shown
    assert "to keep the prompt within" not in shown


def test_a_session_without_tasks_is_a_plain_sentence(tmp_path: Path):
    replayed(written(tmp_path / "s.jsonl", long_session(30)), tmp_path / "home")
    result = undrift("session", "tasks", "--home", tmp_path / "home")
    assert result.stderr.startswith(
        f"undrift: there is no task in {records_of(tmp_path / 'home')}, or in their replays;"
    )


def test_every_printed_next_step_acts_on_the_store_that_was_shown(tmp_path: Path):
    """The current home has a session too; a step without --home would act on that one."""
    home = tmp_path / "the home"
    other: dict[str, str | None] = {"UNDRIFT_HOME": str(tmp_path / "other")}
    path = written(tmp_path / "s.jsonl", long_session(30))
    undrift("memory", "remember", "The cache is Redis.", env=other)
    undrift("memory", "remember", "The database is MySQL.", "--session", "a b", "--home", home)
    shown = undrift("replay", path, "--budget", "6000", "--home", home, env=other).stdout
    ref = re.search(r"undrift recall ([0-9a-f]{16}) ", shown)
    assert ref, shown
    for words in (
        ("recall", "--find", "compute_part_3_1", "--home", home),
        ("recall", ref[1], "--why", "--home", home),
        ("session", "list", "--home", home),
        ("session", "history", "--home", home),
        ("session", "history", "--session", "none", "--home", home),
        ("session", "rewind", "0", "--home", home),
        ("store", "backup", str(tmp_path / "copy"), "--home", home),
    ):
        result = undrift(*words, env=other)
        shown += result.stdout + result.stderr
    steps = re.findall(r"undrift (?:recall|session|store|memory) [^`\n]*?(?=[`.\n]|$)", shown)
    assert len(steps) >= 10
    assert [step for step in steps if f"--home '{home}'" not in step] == []
    back = undrift("session", "history", "--home", home, env=other).stderr
    assert f"undrift session rewind NUMBER --home '{home}' --session 'a b'\n" in back
