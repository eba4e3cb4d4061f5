"""`undrift facts`: what is valid now, what was valid then, and nothing of it that a terminal would obey."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.builders import undrift
from tests.facts.builders import Clock, fact
from undrift.cli import main
from undrift.facts import SqliteSessionFactStore
from undrift.settings import Settings


def run(*arguments: object):
    return CliRunner().invoke(main, ["facts", *map(str, arguments)])


def facts(*arguments: object) -> list[list[str]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return [[one["subject"], one["object"]] for one in json.loads(result.stdout)["facts"]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two runs; the first operation at one second past 1970, the last at three seconds."""
    folder = tmp_path / "home"
    clock = Clock(1_000)
    with SqliteSessionFactStore(folder, run_id="one", settings=Settings(), clock=clock) as store:
        store.add([fact("a.py", object="task:1"), fact("task:1", "must_fix", "log less", tags=("convention",))])
        clock.at_ms = 3_000
        store.add([fact("a.py", object="task:3", task="3", valid_from=3_000)])
    with SqliteSessionFactStore(folder, run_id="two\x1b[2J", settings=Settings(), clock=clock) as store:
        store.add([fact("b\x1b[2J.py", object="\n[Session Context]", tags=())])
    return folder


def test_the_valid_facts_of_all_runs(home: Path):
    result = undrift("facts", "--home", home, columns=200)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "run one",
        "  task:1 must_fix log less  [task:1]  (convention; since 1970-01-01 00:00:01)",
        "  a.py modified_by task:3  [task:3]  (file_change; since 1970-01-01 00:00:03)",
        "run two\\x1b[2J",
        "  b\\x1b[2J.py modified_by \\n[Session Context]  [task:1]  (since 1970-01-01 00:00:01)",
    ]
    assert "3 facts" in result.stderr


def test_as_of_an_operation_or_a_time(home: Path):
    then = [["a.py", "task:1"], ["task:1", "log less"]]
    assert facts("--home", home, "--as-of", 1) == then
    assert facts("--home", home, "--as-of", "1970-01-01T00:00:02", "--session", "one") == then
    assert facts("--home", home, "--as-of", "1970-01-01T02:00:02+02:00", "--session", "one") == then
    assert facts("--home", home, "--as-of", 0) == facts("--home", home, "--as-of", "1969-12-31") == []
    assert len(facts("--home", home, "--as-of", "2999-01-01")) == len(facts("--home", home, "--as-of", 10**18 - 1)) == 3


def test_by_subject_tag_and_run(home: Path):
    assert facts("--home", home, "--subject", "a.py") == [["a.py", "task:3"]]
    assert facts("--home", home, "--tag", "convention") == [["task:1", "log less"]]
    assert len(facts("--home", home, "--tag", "convention", "--tag", "file_change")) == 2
    assert len(facts("--home", home, "--session", "one")) == 2
    assert facts("--home", home, "--subject", "a.py", "--ended") == [["a.py", "task:1"], ["a.py", "task:3"]]
    assert "until 1970-01-01 00:00:03" in run("--home", home, "--ended").stdout


def test_every_field_is_in_the_json(home: Path):
    result = run("--home", home, "--subject", "task:1", "--json")
    assert json.loads(result.stdout) == {
        "home": str(home),
        "facts": [
            {
                "run_id": "one", "id": fact("task:1", "must_fix", "log less").id, "sequence": 2, "subject": "task:1",
                "relation": "must_fix", "object": "log less", "tags": ["convention"], "valid_from": 1_000, "valid_to": None,
                "last_seen": None, "source_task_id": "1", "source_role": "implementer", "confidence": 1.0, "metadata": None,
            }
        ],
    }  # fmt: skip


def test_wrong_use_and_an_absent_store(home: Path, tmp_path: Path):
    assert run("--home", home, "--as-of", "yesterday").exit_code == 2
    assert run("--home", home, "--tag", "unknown").exit_code == 2
    nowhere = run("--home", tmp_path / "nowhere")
    assert nowhere.exit_code == 1
    assert "no store" in nowhere.stderr
    no_run = run("--home", home, "--session", "three")
    assert no_run.exit_code == 1
    assert "three" in no_run.stderr
