"""After /clear: a text that was left is given once, to its own folder, and only while it is fresh."""

import json
from pathlib import Path

import pytest

from tests.hooks.builders import SESSION, User
from undrift.core.restore.carried import TITLE
from undrift.hooks import continuing
from undrift.hooks.answer import answer
from undrift.hooks.continuing import MOST_BYTES, MOST_MINUTES, LeftWork, leave
from undrift.hooks.rules import load_rules
from undrift.stores.projects import keep, place_of
from undrift.values.clock import now_ms
from undrift.values.project import Place

TEXT = "Open: measure it."


def place(someone: User, project: Path) -> Place:
    project.mkdir(exist_ok=True)
    return keep(place_of(someone.home, project, shares=True))


def left(
    someone: User, project: Path, text: str = TEXT, *, at_ms: int | None = None, folder: Path | None = None
) -> Path:
    """Leave a text for a folder of a project; return its file."""
    at_ms = now_ms() if at_ms is None else at_ms
    leave(place(someone, project), LeftWork(text, at_ms, "claude 0199f1d2", (str(folder or project),)))
    return next((someone.home / "hooks" / "continue").glob("*/*.json"))


def test_it_is_given_to_the_first_session_of_its_folder_alone(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    left(someone, project)
    assert someone.starts("clear", cwd=str(tmp_path / "other")) == ""
    assert someone.starts("startup", cwd=str(project)) == ""
    assert someone.starts("clear", cwd=str(project)) == TEXT
    assert someone.starts("clear", cwd=str(project)) == ""


def test_another_folder_of_the_project_does_not_take_it(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "inner").mkdir()
    left(someone, project)
    left(someone, project, "Of inner.", folder=project / "inner")
    assert someone.starts("clear", cwd=str(project)) == TEXT
    assert someone.starts("clear", cwd=str(project)) == ""
    assert someone.starts("clear", cwd=str(project / "inner")) == "Of inner."


def test_the_recordings_folder_of_the_old_session_is_enough(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "inner").mkdir()
    left(someone, project, folder=someone.transcript().parent)
    assert someone.starts("clear", cwd=str(project / "inner")) == TEXT


def test_the_person_sees_which_session_is_continued(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    left(someone, project)
    printed = answer("SessionStart", someone.payload("SessionStart", "clear", cwd=str(project)), someone.options())
    assert json.loads(printed)["systemMessage"] == "undrift: this session continues the open work of claude 0199f1d2"


def test_of_two_sessions_that_read_it_at_once_one_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    file, real = left(someone, project), continuing._waiting

    def both_read(here: Place) -> list[tuple[Path, LeftWork]]:
        found = list(real(here))
        file.rename(file.with_name("theirs"))  # the other one was quicker
        return found

    monkeypatch.setattr(continuing, "_waiting", both_read)
    assert someone.starts("clear", cwd=str(project)) == ""
    assert someone.log() == []


def test_its_rules_hold_in_the_new_session(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    left(someone, project, f"{TITLE}\n## Rules that hold\nNever push to main.\n")
    someone.starts("clear", cwd=str(project))
    rules = load_rules(someone.home / "hooks" / f"claude-{SESSION}")
    assert [rule.text for rule in rules] == ["Never push to main."]


@pytest.mark.parametrize("age_minutes", [-5, MOST_MINUTES + 1])
def test_one_that_waited_too_long_or_is_of_the_future_is_taken_away(tmp_path: Path, age_minutes: int) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    file = left(someone, project, at_ms=now_ms() - age_minutes * 60_000)
    assert someone.starts("clear", cwd=str(project)) == ""
    assert not file.exists()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"at_ms": "now", "text": "x"}', b'{"at_ms": 1}', b"\xff"])
def test_a_damaged_file_says_nothing_and_fails_nothing(tmp_path: Path, content: bytes) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    left(someone, project).write_bytes(content)
    assert someone.starts("clear", cwd=str(project)) == ""
    assert someone.log() == []


def test_a_text_that_the_client_would_cut_is_not_given(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    left(someone, project, "x" * (MOST_BYTES + 1))
    assert someone.starts("clear", cwd=str(project)) == ""


def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    assert left(User(tmp_path), tmp_path / "project").stat().st_mode & 0o777 == 0o600
    assert continuing.MOST_BYTES < 10_000
