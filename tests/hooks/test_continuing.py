"""After /clear: a text that was left is given once, to its own project, and only while it is fresh."""

from pathlib import Path

import pytest

from tests.hooks.builders import User
from undrift.hooks import continuing
from undrift.hooks.continuing import MOST_BYTES, MOST_MINUTES, leave
from undrift.stores.projects import keep, place_of
from undrift.values.clock import now_ms
from undrift.values.project import Place


def place(someone: User, project: Path) -> Place:
    project.mkdir(exist_ok=True)
    return keep(place_of(someone.home, project, shares=True))


def test_it_is_given_to_the_first_session_of_its_project_alone(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    leave(place(someone, project), "Open: measure it.", now_ms())
    assert someone.starts("clear", cwd=str(tmp_path / "other")) == ""
    assert someone.starts("startup", cwd=str(project)) == ""
    assert someone.starts("clear", cwd=str(project)) == "Open: measure it."
    assert someone.starts("clear", cwd=str(project)) == ""


@pytest.mark.parametrize("age_minutes", [-5, MOST_MINUTES + 1])
def test_one_that_waited_too_long_or_is_of_the_future_is_taken_away(tmp_path: Path, age_minutes: int) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    leave(place(someone, project), "Open: measure it.", now_ms() - age_minutes * 60_000)
    assert someone.starts("clear", cwd=str(project)) == ""
    assert not list((someone.home / "hooks" / "continue").iterdir())


@pytest.mark.parametrize("content", [b"", b"[]", b'{"at_ms": "now", "text": "x"}', b'{"at_ms": 1}', b"\xff"])
def test_a_damaged_file_says_nothing_and_fails_nothing(tmp_path: Path, content: bytes) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    here = place(someone, project)
    leave(here, "Open: measure it.", now_ms())
    (file,) = (someone.home / "hooks" / "continue").iterdir()
    file.write_bytes(content)
    assert someone.starts("clear", cwd=str(project)) == ""
    assert someone.log() == []


def test_a_text_that_the_client_would_cut_is_not_given(tmp_path: Path) -> None:
    someone, project = User(tmp_path), tmp_path / "project"
    leave(place(someone, project), "x" * (MOST_BYTES + 1), now_ms())
    assert someone.starts("clear", cwd=str(project)) == ""


def test_the_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    someone = User(tmp_path)
    leave(place(someone, tmp_path / "project"), "Open: measure it.", now_ms())
    (file,) = (someone.home / "hooks" / "continue").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert continuing.MOST_BYTES < 10_000
