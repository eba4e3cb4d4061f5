"""Every command means the project of the current folder; --project and --all-projects say otherwise."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import undrift
from tests.facts.builders import fact
from tests.stores.test_projects import repository
from undrift import Session
from undrift.facts import SqliteSessionFactStore
from undrift.settings import Settings
from undrift.stores.projects import places_in
from undrift.values.project import Project


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with two repositories, in each of which something was remembered."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("UNDRIFT_HOME", raising=False)
    for name in ("shop", "blog"):
        monkeypatch.chdir(repository(tmp_path / name))
        assert undrift("memory", "remember", f"The test command is make {name}.").exit_code == 0
    return tmp_path


def found(*words: object) -> list[str]:
    result = undrift("memory", "search", "test command", *map(str, words), "--json")
    assert result.exit_code == 0, result.output
    said: dict[str, Any] = json.loads(result.stdout)
    return [one["content"] for one in said["found"]]


def listed(*words: str) -> list[Any]:
    result = undrift("session", "list", *words, "--json")
    assert result.exit_code == 0, result.output
    return [one for one in json.loads(result.stdout)["sessions"] if one["session_id"] != "notes"]


def test_a_command_means_the_project_of_the_current_folder(two: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("shop", "blog"):
        (two / name / "src").mkdir()
        monkeypatch.chdir(two / name / "src")
        assert found() == [f"The test command is make {name}."]


def test_another_project_is_named_by_its_name_its_folder_or_its_key(two: Path):
    for named in ("shop", two / "shop", Project(str(two / "shop")).key):
        assert found("--project", named) == ["The test command is make shop."]


def test_a_project_that_is_unknown_or_ambiguous_is_an_error_that_lists_the_known(
    two: Path, monkeypatch: pytest.MonkeyPatch
):
    result = undrift("memory", "search", "x", "--project", "nothing")
    assert result.exit_code == 1
    assert "it has blog, shop" in " ".join(result.stderr.split())
    monkeypatch.chdir(repository(two / "more" / "shop"))
    undrift("memory", "remember", "Another shop.")
    result = undrift("memory", "search", "x", "--project", "shop")
    assert result.exit_code == 1
    assert "several projects are named 'shop'" in result.stderr


def test_all_projects_are_listed_together_each_with_the_option_that_names_it(
    two: Path, monkeypatch: pytest.MonkeyPatch
):
    from tests.task_sessions import AT_MS, TaskSession

    for later, name in enumerate(("shop", "blog")):
        monkeypatch.chdir(two / name)
        session = TaskSession(None, f"of-{name}", at_ms=AT_MS + later * 1_000_000)
        session.does("a")
        session.close()
    monkeypatch.chdir(two / "shop")
    assert [one["session_id"] for one in listed()] == ["of-shop"]
    assert [(one["session_id"], one["project"]) for one in listed("--all-projects")] == [
        ("of-blog", str(two / "blog")),
        ("of-shop", str(two / "shop")),
    ]
    shown = undrift("session", "list", "--all-projects").stdout
    option, root = next(line.split() for line in shown.splitlines() if "--project" in line)
    assert [one["session_id"] for one in listed(option, root)] == ["of-blog"]
    assert undrift("session", "tasks", "--all-projects").stdout.startswith("Session of-shop"), "this project is first"


def test_one_project_and_all_of_them_exclude_each_other(two: Path):
    result = undrift("session", "list", "--project", "shop", "--all-projects")
    assert result.exit_code == 2


def test_a_project_without_records_is_told_how_to_see_the_others(two: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(repository(two / "empty"))
    result = undrift("memory", "search", "x")
    assert result.exit_code == 1
    assert "2 other projects have records" in " ".join(result.stderr.split())
    assert not (two / "empty" / ".undrift").exists()


def test_in_a_named_home_projects_are_apart_too(two: Path, monkeypatch: pytest.MonkeyPatch):
    home = two / "elsewhere"
    for name in ("shop", "blog"):
        monkeypatch.chdir(two / name)
        undrift("memory", "remember", f"The test command in {name} is tox.", "--home", home)
    assert found("--home", home) == ["The test command in blog is tox."]
    assert found("--home", home, "--project", "shop") == ["The test command in shop is tox."]
    assert not (two / "blog" / ".undrift" / "archives").exists()


def test_the_project_that_a_client_names_wins_over_the_current_folder(two: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(two / "shop"))
    assert found() == ["The test command is make shop."]


def test_records_of_an_earlier_version_are_still_found(two: Path, monkeypatch: pytest.MonkeyPatch):
    from tests.builders import body, opened, rounds, user

    monkeypatch.chdir(two / "blog")
    session = opened(two / "blog" / ".undrift", "first", budget_tokens=900)
    refs = [one.ref for one in session.prepare(body(user("Go."), *rounds(12))).actions]
    session.close()
    assert undrift("recall", refs[0]).exit_code == 0


def test_the_records_of_an_earlier_version_are_taken_over_and_given_back(two: Path, monkeypatch: pytest.MonkeyPatch):
    root = repository(two / "old")
    monkeypatch.chdir(root)
    with Session.open("run-1", home=".undrift") as session:
        session.remember("The test command is make old.")
    before = (root / ".undrift" / "undrift.db").read_bytes()
    assert undrift("store", "adopt").exit_code == 1  # nobody to ask
    done = undrift("store", "adopt", "--yes")
    assert done.exit_code == 0, done.output
    assert "1 session and 1 memory" in done.stdout
    assert found() == ["The test command is make old."]
    again = undrift("store", "adopt", "--yes")
    assert again.exit_code == 1
    assert "no earlier version left records" in again.stderr
    assert undrift("store", "adopt", "--undo", "--yes").exit_code == 0
    assert (root / ".undrift" / "undrift.db").read_bytes() == before
    assert undrift("memory", "search", "test").exit_code == 1


def test_all_projects_are_backed_up_into_a_file_for_each(two: Path, monkeypatch: pytest.MonkeyPatch):
    out = two / "backups"
    done = undrift("store", "backup", out, "--all-projects")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == sorted(
        f"{Project(str(two / name)).key}.db" for name in ("shop", "blog")
    )
    undrift("memory", "remember", "The test command is tox.", "--project", "shop")
    key = Project(str(two / "shop")).key
    assert undrift("store", "restore", out / f"{key}.db", "--project", "shop", "--yes").exit_code == 0
    assert found("--project", "shop") == ["The test command is make shop."]


@pytest.mark.parametrize(
    "words",
    [
        "session checkpoint x",
        "session rewind 0",
        "session undo",
        "store purge x --yes",
        "memory import x",
        "memory preview x",
    ],
)
def test_what_writes_or_shows_one_window_is_never_about_all_projects(two: Path, words: str):
    result = undrift(*words.split(), "--all-projects")
    assert result.exit_code == 2
    assert "--all-projects" in result.stderr


def test_the_newest_session_of_all_projects_is_the_newest_of_any(two: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(repository(two / "empty"))
    for name in ("shop", "blog"):
        undrift("session", "checkpoint", f"by-{name}", "--project", name)
        shown = undrift("session", "history", "--all-projects", "--json")
        assert json.loads(shown.stdout)["operations"][-1]["payload"]["label"] == f"by-{name}"


def test_a_restore_without_a_backup_makes_nothing(two: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(repository(two / "empty"))
    assert undrift("store", "restore", two / "none.db", "--yes").exit_code == 1
    assert len(list((two / "user" / ".undrift" / "projects").iterdir())) == 2


def test_the_indexes_of_all_projects_are_rebuilt(two: Path, monkeypatch: pytest.MonkeyPatch):
    undrift("memory", "remember", "I prefer short answers.", "--scope", "user")
    monkeypatch.chdir(repository(two / "empty"))
    done = undrift("store", "rebuild", "--all-projects", "--json")
    assert done.exit_code == 0, done.output
    assert [one["memories"] for one in json.loads(done.stdout)["rebuilt"]] == [1, 1, 1]


def test_records_of_an_earlier_version_at_the_top_of_the_home_are_named_with_a_remedy_that_works(
    two: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository(two / "empty"))
    (two / "earlier").mkdir()
    Session.open("run-1", home=two / "earlier").close()
    undrift("memory", "remember", "The earlier command is tox.", "--home", two / "earlier")
    (two / "earlier" / "undrift.db").rename(two / "user" / ".undrift" / "undrift.db")
    said = " ".join(undrift("memory", "list").stderr.split())
    assert "`undrift store adopt` makes them this project's" in said
    assert undrift("store", "adopt", "--yes").exit_code == 0
    assert "The earlier command is tox." in undrift("memory", "list").stdout


def test_no_recording_of_any_project_is_said_so(two: Path):
    assert "you have no recordings" in " ".join(undrift("status", "--all-projects").stdout.split())


def test_the_facts_of_all_projects(two: Path):
    for place in places_in(two / "user" / ".undrift"):
        assert place.project is not None
        with SqliteSessionFactStore(place.records, run_id="one", settings=Settings()) as store:
            store.add([fact(f"{place.project.name}.py")])
    for words, names in (((), ["blog.py"]), (("--all-projects",), ["blog.py", "shop.py"])):
        said = json.loads(undrift("agent", "facts", *words, "--json").stdout)
        assert [one["subject"] for one in said["facts"]] == names


def test_a_purge_names_the_copy_that_a_take_over_from_elsewhere_keeps(two: Path, monkeypatch: pytest.MonkeyPatch):
    words = "The vault opens at nine, as the porter says."
    with Session.open("run-1", home=two / "earlier") as session:
        memory = session.remember(words)
    monkeypatch.chdir(repository(two / "new"))
    assert undrift("store", "adopt", two / "earlier", "--yes").exit_code == 0
    done = undrift("store", "purge", memory.id, "--session", "run-1", "--yes", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["traces"] == [str(two / "earlier" / "undrift.db.adopted")]


def test_an_agent_recalls_from_its_own_project_only(two: Path, monkeypatch: pytest.MonkeyPatch):
    from tests.builders import body, opened, rounds, user
    from undrift.stores.projects import place_of

    records = place_of(two / "user" / ".undrift", two / "shop").records
    session = opened(records, "first", budget_tokens=900)
    refs = [one.ref for one in session.prepare(body(user("Go."), *rounds(12))).actions]
    session.close()
    monkeypatch.chdir(two / "blog")
    assert undrift("recall", refs[0]).exit_code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    assert undrift("recall", refs[0]).exit_code == 1
    for option in (("--all-projects",), ("--project", "shop")):
        refused = undrift("recall", "--find", "line", *option)
        assert refused.exit_code == 1
        assert "Claude Code runs this for its agent" in " ".join(refused.stderr.split())
    monkeypatch.chdir(two / "shop")
    assert undrift("recall", refs[0]).exit_code == 0


def test_a_folder_of_another_system_is_no_folder_of_this_project(two: Path):
    from undrift.cli.status_scope import scope_of
    from undrift.stores.projects import project_of

    scope = scope_of(project_of(two / "blog"))
    assert scope.holds(str(two / "blog"))
    assert not any(scope.holds(folder) for folder in ("D:\\work\\blog", "blog", "", "src"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_store_that_came_with_a_repository_is_not_read(two: Path, monkeypatch: pytest.MonkeyPatch):
    from tests.builders import body, opened, rounds, user

    root = two / "blog"
    monkeypatch.chdir(root)
    session = opened(root / ".undrift", "planted", budget_tokens=900)
    ref = session.prepare(body(user("Go."), *rounds(12))).actions[0].ref
    session.close()
    assert undrift("recall", ref).exit_code == 0
    (root / ".undrift" / "undrift.db").chmod(0o644)  # as git writes files
    assert undrift("recall", ref).exit_code == 1
    for path in (root / ".undrift").glob("undrift.*"):
        path.unlink()
    os.mkfifo(root / ".undrift" / "undrift.db")
    assert undrift("recall", "--find", "make").exit_code == 0
