"""`undrift archive`: what tasks let go, in files that grep reads."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from tests.stores.test_projects import git, repository
from tests.task_sessions import TaskSession, log_text

HOSTILE = "../../evil\x1b[2J"


def three_sessions(home: Path) -> None:
    for name in ("s1", "s2"):
        session = TaskSession(home, name)
        session.does("a")
        session.does(f"only-{name}", 10)
        session.close()
    TaskSession(home, "s3").starts("open")


def logs(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home / "archives")) for path in home.glob("archives/*/*.log"))


def test_the_logs_of_the_newest_session_are_written_and_their_paths_printed(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("a")
    session.does("b", 10)
    result = undrift("archive", "--home", tmp_path)
    assert result.exit_code == 0
    paths = result.stdout.splitlines()
    assert paths == [str(tmp_path / "archives" / "s" / name) for name in ("a.log", "b.log")]
    assert result.stderr == "2 logs written. To search one: grep -n WORDS PATH\n"
    found = subprocess.run(["grep", "-c", "file 1 holds the number 7", paths[0]], capture_output=True, text=True)
    assert found.stdout == "1\n"
    written = Path(paths[1]).read_bytes()
    Path(paths[1]).write_bytes(written[:100])
    assert undrift("archive", "b", "--home", tmp_path).stdout.splitlines() == paths[1:]
    assert Path(paths[1]).read_bytes() == written


def test_a_projects_logs_lie_in_the_checkout_where_its_agents_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("UNDRIFT_HOME", raising=False)
    shop = repository(tmp_path / "shop")
    git(shop, "commit", "-q", "--allow-empty", "-m", "first")
    git(shop, "worktree", "add", "-q", str(tmp_path / "tree"))
    monkeypatch.chdir(shop)
    session = TaskSession(None)
    session.does("a")
    session.close()
    for checkout in (shop, tmp_path / "tree"):
        monkeypatch.chdir(checkout)
        result = undrift("session", "archive")
        assert result.stdout == f"{checkout / '.undrift' / 'archives' / 's' / 'a.log'}\n", result.output
        assert "the number 7" in Path(result.stdout.strip()).read_text("utf-8")
    monkeypatch.chdir(repository(tmp_path / "blog"))
    named = undrift("session", "archive", "--project", "shop")
    assert named.stdout == f"{shop / '.undrift' / 'archives' / 's' / 'a.log'}\n", named.output
    assert not list((tmp_path / "user").glob("**/*.log"))


def test_a_task_is_looked_for_in_the_newest_session_that_has_it_unless_one_is_named(tmp_path: Path):
    three_sessions(tmp_path)
    for arguments in (["a"], ["only-s1"], ["a", "only-s1", "a", "--session", "s1"]):
        assert undrift("archive", *arguments, "--home", tmp_path).exit_code == 0
    assert logs(tmp_path) == ["s1/a.log", "s1/only-s1.log", "s2/a.log"]


def test_all_takes_every_session(tmp_path: Path):
    three_sessions(tmp_path)
    result = undrift("archive", "--all", "--home", tmp_path, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert (told["home"], told["failed"]) == (str(tmp_path), [])
    names = [(one["session_id"], one["task_id"]) for one in told["logs"]]
    assert sorted(names) == [("s1", "a"), ("s1", "only-s1"), ("s2", "a"), ("s2", "only-s2")]
    assert all(Path(one["path"]).is_file() for one in told["logs"])
    assert logs(tmp_path) == ["s1/a.log", "s1/only-s1.log", "s2/a.log", "s2/only-s2.log"]


@pytest.mark.parametrize("arguments", [["--all", "a"], ["--all", "--session", "s"]])
def test_all_goes_without_a_choice(tmp_path: Path, arguments: list[str]):
    assert undrift("archive", *arguments, "--home", tmp_path).exit_code == 2


def test_a_hostile_id_stays_in_its_folder_and_off_the_terminal(tmp_path: Path):
    home = tmp_path / "home"
    TaskSession(home, HOSTILE).does(HOSTILE)
    result = undrift("archive", HOSTILE, "--home", home)
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    (path,) = map(Path, result.stdout.splitlines())
    assert path.is_relative_to(home / "archives")
    assert log_text(1) in path.read_text()
    assert list(tmp_path.iterdir()) == [home]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "no task 'nope' in session 's3', which has 'open'"),
        (["nope", "--session", "s1"], "no task 'nope' in session 's1', which has 'a', 'only-s1'"),
        (["open"], "task 'open' of session 's3' (in_progress) has no log"),
        ([], "no task of session 's3' has removed anything"),
        (["a", "--session", "s9\x1b"], "there is no task of session 's9"),
    ],
)
def test_what_cannot_be_written_is_one_line(tmp_path: Path, arguments: list[str], said: str):
    three_sessions(tmp_path)
    result = undrift("archive", *arguments, "--home", tmp_path)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert said in result.stderr
    assert "\x1b" not in result.stderr
    assert logs(tmp_path) == []


def test_where_no_session_let_anything_go_that_is_said(tmp_path: Path):
    TaskSession(tmp_path).starts("open")
    result = undrift("archive", "--all", "--home", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no task of any session has removed anything" in result.stderr


def test_one_log_that_cannot_be_written_does_not_stop_the_others(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("a")
    session.does("b", 10)
    (tmp_path / "archives" / "s" / "a.log").mkdir(parents=True)
    result = undrift("archive", "--home", tmp_path)
    assert result.exit_code == 1
    assert result.stdout == f"{tmp_path / 'archives' / 's' / 'b.log'}\n"
    assert "undrift: task a: " in result.stderr
    told = json.loads(undrift("archive", "--home", tmp_path, "--json").stdout)
    assert [one["task_id"] for one in told["logs"]] == ["b"]
    assert [(one["session_id"], one["task_id"]) for one in told["failed"]] == [("s", "a")]
