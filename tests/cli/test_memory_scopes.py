"""The memory commands in several projects of one home."""

import re
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from tests.cli.test_memory import ran, told


class Projects:
    """Two projects beside one home; commands run in one of them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = folder / "home"
        self._folder = folder
        self._monkeypatch = monkeypatch

    def go(self, name: str) -> None:
        """Work in a project from now on."""
        (self._folder / name).mkdir(exist_ok=True)
        self._monkeypatch.chdir(self._folder / name)

    def remember(self, text: str, scope: str = "project") -> str:
        memory: str = told("remember", text, "--scope", scope, "--home", self.home)["memory"]["id"]
        return memory


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Projects:
    found = Projects(tmp_path, monkeypatch)
    found.go("alpha")
    return found


def test_what_is_mine_is_there_in_a_new_project_and_says_its_scope(projects: Projects):
    mine = projects.remember("I like short answers.", "user")
    projects.remember("The port is 8080.")
    projects.go("beta")
    home = projects.home
    listed = told("memory", "list", "--home", home)["memories"]
    assert [(one["id"], one["scope"], one["project"]) for one in listed] == [(mine, "user", None)]
    shown = ran("memory", "list", "--home", home)
    assert shown.startswith("1 active memory: 1 for you in every project.")
    assert "  user  note  trust user" in shown
    assert [one["id"] for one in told("search", "short answers", "--home", home)["found"]] == [mine]
    assert "  user  note, trust user, active" in " ".join(ran("search", "answers", "--home", home).split("\n"))
    assert "scope=user" in undrift("memory", "preview", "short answers", "--home", home).stdout
    assert told("conflicts", "--home", home)["conflicts"] == []
    assert len(list((home / "projects").iterdir())) == 1  # a look makes no records of the new one


def test_a_list_of_all_projects_names_each(projects: Projects):
    first = projects.remember("The port is 8080.")
    mine = projects.remember("I like short answers.", "user")
    projects.go("beta")
    second = projects.remember("The port is 9090.")
    listed = told("memory", "list", "--all-projects", "--home", projects.home)["memories"]
    assert {one["id"]: one["project"] for one in listed} == {first: "alpha", second: "beta", mine: None}
    shown = ran("memory", "list", "--all-projects", "--home", projects.home)
    assert re.search(r"project  in alpha  note", shown)
    assert re.search(r"project  in beta  note", shown)
    named = told("memory", "list", "--project", "alpha", "--home", projects.home)["memories"]
    assert {one["id"] for one in named} == {first, mine}


def test_what_is_mine_is_changed_in_any_project_and_brought_back(projects: Projects):
    mine = projects.remember("I like short answers.", "user")
    projects.go("beta")
    edited = told("memory", "edit", mine[:9], "--text", "I like long answers.", "--home", projects.home)
    assert (edited["memory"]["scope"], edited["superseded"]) == ("user", [mine])
    done = undrift("memory", "forget", edited["memory"]["id"], mine, "--yes", "--home", projects.home)
    assert done.exit_code == 0, done.output
    command = done.stderr.partition("To bring back those of every project: undrift ")[2]
    assert undrift(*command.split()).exit_code == 0
    projects.go("alpha")
    assert len(told("memory", "list", "--all", "--home", projects.home)["memories"]) == 2
    purged = told("memory", "forget", mine, "--purge", "--yes", "--home", projects.home)["purged"]
    assert purged[0]["removed"] == {"memories": 1}


def test_a_file_becomes_memories_of_mine(projects: Projects, tmp_path: Path):
    (tmp_path / "me.md").write_text("- Answer in short sentences\n- Ask before you deploy\n")
    given = ("memory", "import", tmp_path / "me.md", "--scope", "user", "--home", projects.home)
    assert len(told(*given, "--yes")["added"]) == 2
    projects.go("beta")
    assert told(*given, "--yes")["added"] == []
    assert {one["scope"] for one in told("memory", "list", "--home", projects.home)["memories"]} == {"user"}
    exported = undrift("memory", "export", "--home", projects.home).stdout
    assert exported.count('"scope": "user"') == 2


def test_a_project_that_decides_otherwise_is_shown_first_with_the_conflict(projects: Projects):
    mine = projects.remember("The main database is PostgreSQL.", "user")
    own = projects.remember("The main database is SQLite.")
    shown = ran("search", "main database", "--home", projects.home)
    assert shown.index(own) < shown.index(f"IN CONFLICT with {mine}") < shown.index(f"IN CONFLICT with {own}")
    assert "they have different scopes" in " ".join(ran("conflicts", "--home", projects.home).split())


def test_a_search_of_all_projects_names_each_and_finds_what_is_mine_once(projects: Projects):
    first = projects.remember("The port is 8080.")
    mine = projects.remember("My port habit is 7070.", "user")
    projects.go("beta")
    second = projects.remember("Here the port is 9090.")
    found = told("search", "port", "--all-projects", "--home", projects.home)["found"]
    assert {one["id"]: one["project"] for one in found} == {first: "alpha", second: "beta", mine: None}
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert "project in alpha  note" in ran("search", "port", "--all-projects", "--home", projects.home)
    assert len(told("search", "port", "--all-projects", "--limit", "2", "--home", projects.home)["found"]) == 2
    assert {one["id"] for one in told("search", "port", "--home", projects.home)["found"]} == {second, mine}


def test_conflicts_of_all_projects(projects: Projects):
    projects.remember("The main database is PostgreSQL.", "user")
    projects.remember("The main database is SQLite.")
    projects.go("beta")
    projects.remember("The port is 8080.")
    assert told("conflicts", "--home", projects.home)["conflicts"] == []
    assert len(told("conflicts", "--all-projects", "--home", projects.home)["conflicts"]) == 1


def test_doctor_looks_at_what_is_mine(projects: Projects):
    projects.remember("I like short answers.", "user")
    projects.remember("The port is 8080.")
    path = projects.home / "user" / "undrift.db"
    shown = undrift("doctor", "--home", projects.home)
    assert str(projects.home / "user") not in shown.stdout or shown.exit_code == 0
    data = bytearray(path.read_bytes())
    place = data.index(b"short answers")
    data[place : place + 5] = b"tall "
    path.with_name("undrift.db-wal").unlink(missing_ok=True)
    path.write_bytes(data)
    broken = undrift("doctor", "--full", "--home", projects.home)
    assert broken.exit_code == 1
    assert "does not match its SHA-256" in " ".join(broken.stdout.split())
