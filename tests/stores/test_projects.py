"""The project of a folder, and the folders of its records and of its agent's files."""

import os
import subprocess
from pathlib import Path

import pytest

from undrift import Session
from undrift.stores.projects import keep, place_at, place_for, place_of, places_in, project_of, user_records
from undrift.values.project import Place


def repository(folder: Path, remote: str = "") -> Path:
    """A repository as git makes it, with one commit's worth of settings."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *own, *words], check=True, capture_output=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default home of a user whose folder is in `tmp_path`."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("UNDRIFT_HOME", raising=False)
    return tmp_path / "user" / ".undrift"


def test_a_folder_in_a_repository_belongs_to_its_root(tmp_path: Path):
    root = repository(tmp_path / "shop")
    (root / "src" / "deep").mkdir(parents=True)
    assert project_of(root / "src" / "deep").root == str(root)
    assert project_of(root).name == "shop"
    assert project_of(tmp_path).root == str(tmp_path)


def test_a_link_leads_to_the_same_project(tmp_path: Path):
    root = repository(tmp_path / "shop")
    (tmp_path / "link").symlink_to(root)
    assert project_of(tmp_path / "link").key == project_of(root).key


def test_a_worktree_belongs_to_its_repository_and_has_files_of_its_own(tmp_path: Path, home: Path):
    root = repository(tmp_path / "shop")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    git(root, "worktree", "add", "-q", str(tmp_path / "side"))
    main, side = place_of(home, root), place_of(home, tmp_path / "side")
    assert side.records == main.records
    assert (main.files, side.files) == (root / ".undrift", tmp_path / "side" / ".undrift")


def test_a_folder_cannot_claim_to_be_another_repositorys_worktree(tmp_path: Path):
    root = repository(tmp_path / "shop")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    git(root, "worktree", "add", "-q", str(tmp_path / "side"))
    (tmp_path / "hostile").mkdir()
    (tmp_path / "hostile" / ".git").write_text((tmp_path / "side" / ".git").read_text())
    assert project_of(tmp_path / "hostile").root == str(tmp_path / "hostile")


def test_a_folder_that_brings_both_sides_of_a_worktree_claims_no_repository(tmp_path: Path):
    root, hostile = repository(tmp_path / "shop"), tmp_path / "hostile"
    (hostile / "side").mkdir(parents=True)
    (hostile / ".git").write_text("gitdir: side\n")
    (hostile / "side" / "gitdir").write_text("../.git\n")
    (hostile / "side" / "commondir").write_text(f"{root / '.git'}\n")
    assert project_of(hostile).root == str(hostile)


@pytest.mark.parametrize("name", [".git", ".git/config", "side/config", "side/gitdir", "side/commondir"])
def test_a_pipe_in_a_repository_is_not_waited_for(tmp_path: Path, name: str):
    (tmp_path / "side").mkdir()
    pipe = tmp_path / name
    if name.startswith("side"):
        (tmp_path / ".git").write_text("gitdir: side\n")
        (tmp_path / "side" / "commondir").touch()
    pipe.parent.mkdir(exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    assert project_of(tmp_path).root == str(tmp_path)


def test_a_folder_that_is_too_deep_for_the_system_is_a_project(tmp_path: Path):
    assert project_of(tmp_path / "/".join(["d" * 200] * 30)).remote == ""


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path):
    root = repository(tmp_path / "shop")
    inner = root / "lib"
    inner.mkdir()
    (root / ".git" / "modules" / "lib").mkdir(parents=True)
    (inner / ".git").write_text("gitdir: ../.git/modules/lib\n")
    assert project_of(inner).root == str(inner)


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("https://user:secret@example.org/team/shop.git", "example.org/team/shop"),
        ("git@example.org:team/shop.git", "example.org/team/shop"),
        ("ssh://git@example.org:22/team/shop", "example.org:22/team/shop"),
        ("/srv/git/shop.git", "/srv/git/shop"),
    ],
)
def test_a_remote_is_kept_without_scheme_and_credentials(tmp_path: Path, url: str, remote: str):
    assert project_of(repository(tmp_path / "shop", url)).remote == remote


@pytest.mark.parametrize("content", [b"\xff\xfe[", b"[" * 100_000, b'[remote "origin"]\nurl\n', b"\0" * 4096])
def test_settings_of_a_repository_that_cannot_be_read_name_no_remote(tmp_path: Path, content: bytes):
    root = repository(tmp_path / "shop")
    (root / ".git" / "config").write_bytes(content)
    assert project_of(root).remote == ""


def test_each_project_has_its_own_sessions_under_one_id(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("a", "b"):
        monkeypatch.chdir(repository(tmp_path / name))
        with Session.open("run-1") as session:
            session.remember(f"The test command of {name} is make {name}.")
    monkeypatch.chdir(tmp_path / "a")
    with Session.open("run-1") as session:
        assert [entry.content for entry in session.memories()] == ["The test command of a is make a."]
        assert session.scratchpad.path == tmp_path / "a" / ".undrift" / "archives" / "run-1" / "active_context.md"
    assert {place.project.name for place in places_in(home) if place.project} == {"a", "b"}


def test_the_agents_files_ignore_themselves_for_git(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    root = repository(tmp_path / "a")
    monkeypatch.chdir(root)
    with Session.open("run-1") as session:
        session.scratchpad.write("kept")
    shown = subprocess.run(["git", "-C", str(root), "status", "--short"], capture_output=True, text=True, check=True)
    assert (root / ".undrift").is_dir()
    assert shown.stdout == ""


def test_a_link_in_the_place_of_the_agents_files_is_not_followed(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    root, elsewhere = repository(tmp_path / "a"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / ".undrift").symlink_to(elsewhere)
    monkeypatch.chdir(root)
    Session.open("run-1").close()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["data", ".sigma"])
def test_a_home_that_is_made_in_a_repository_ignores_itself(tmp_path: Path, name: str):
    root = repository(tmp_path / "a")
    Session.open("run-1", home=root / name).close()
    shown = subprocess.run(["git", "-C", str(root), "status", "--short"], capture_output=True, text=True, check=True)
    assert shown.stdout == ""
    assert (root / name / "undrift.db").is_file()


def test_a_folder_that_existed_before_gets_no_gitignore(tmp_path: Path):
    root = repository(tmp_path / "a")
    Session.open("run-1", home=root).close()
    assert not (root / ".gitignore").exists()


def test_a_repository_that_moved_keeps_its_records(tmp_path: Path, home: Path):
    old = keep(place_of(home, repository(tmp_path / "old", "git@example.org:team/shop.git")))
    (tmp_path / "old").rename(tmp_path / "new")
    moved = keep(place_of(home, tmp_path / "new"))
    assert moved.records == old.records
    assert place_at(moved.records).project == moved.project
    again = keep(place_of(home, repository(tmp_path / "old", "git@example.org:team/other.git")))
    assert again.records != old.records
    assert place_of(home, tmp_path / "new").records == old.records


def test_two_clones_of_one_remote_are_two_projects(tmp_path: Path, home: Path):
    remote = "git@example.org:team/shop.git"
    one = keep(place_of(home, repository(tmp_path / "one", remote)))
    assert place_of(home, repository(tmp_path / "two", remote)).records != one.records


def test_a_folder_that_a_program_names_is_a_home_of_one_project(tmp_path: Path, home: Path):
    place = place_for(tmp_path / "x", str(home), tmp_path)
    assert place == Place(tmp_path / "x", tmp_path / "x", tmp_path / "x")
    assert user_records(place) == tmp_path / "x"


def test_a_named_home_keeps_everything_in_itself(tmp_path: Path, home: Path):
    root = repository(tmp_path / "a")
    place = keep(place_of(tmp_path / "elsewhere", root, shares=True))
    assert place.files == place.records
    assert place.records.is_relative_to(tmp_path / "elsewhere" / "projects")
    assert user_records(place) == tmp_path / "elsewhere" / "user"


@pytest.mark.parametrize("note", [b"", b"[]", b'{"root": 1, "remote": ""}', b'{"root": "", "remote": ""}', b"\xff"])
def test_a_damaged_note_names_no_project(tmp_path: Path, home: Path, note: bytes):
    place = keep(place_of(home, repository(tmp_path / "a")))
    (place.records / "project.json").write_bytes(note)
    assert places_in(home) == ()
    assert keep(place_of(home, tmp_path / "a")).records == place.records  # its next use repairs the note
    assert len(places_in(home)) == 1


def test_a_purge_names_the_copies_in_every_worktree(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    words = "the vault opens at nine, as the porter says"
    root = repository(tmp_path / "shop")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    git(root, "worktree", "add", "-q", str(tmp_path / "side"))
    monkeypatch.chdir(tmp_path / "side")
    with Session.open("run-1") as session:
        session.scratchpad.append(words)
        copy = session.scratchpad.path
    monkeypatch.chdir(root)
    with Session.open("run-1") as session:
        done = session.purge(session.remember(words).id)
    assert done.traces == (str(copy),)
