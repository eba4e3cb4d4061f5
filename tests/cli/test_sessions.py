"""`undrift session list`: the sessions of one folder, and how many another folder of the user has."""

import json
from pathlib import Path

from tests.cli.builders import undrift
from undrift import Session


def has_sessions(home: Path, *ids: str) -> Path:
    for id_ in ids:
        with Session.open(id_, home=home) as session:
            session.pin("spec", "Use British English.")
    return home


def test_the_sessions_of_another_folder_are_counted_with_the_command_that_lists_them(tmp_path: Path):
    here, daily = has_sessions(tmp_path / "repo", "own"), has_sessions(tmp_path / ".undrift", "first", "second")
    env: dict[str, str | None] = {"HOME": str(tmp_path), "UNDRIFT_HOME": str(here)}
    lines = undrift("session", "list", env=env, columns=900).stdout.splitlines()
    assert lines[0] == f"1 session in {here}"
    at = lines.index("Another folder of yours has 2 sessions:")
    command = lines[at + 1].split()
    assert command == ["undrift", "session", "list", "--home", str(daily)]
    listed = undrift(*command[1:], env=env, columns=900).stdout
    assert listed.startswith(f"2 sessions in {daily}\n")
    assert "Another folder" not in listed
    assert json.loads(undrift("session", "list", "--json", env=env).stdout)["elsewhere"] == {str(daily): 2}


def test_a_folder_without_sessions_or_that_cannot_be_read_is_not_named(tmp_path: Path):
    here, daily = has_sessions(tmp_path / "repo", "own"), tmp_path / ".undrift"
    env: dict[str, str | None] = {"HOME": str(tmp_path), "UNDRIFT_HOME": str(here)}
    with Session.open("empty", home=daily):
        pass
    assert "Another folder" not in undrift("session", "list", env=env).stdout
    (daily / "undrift.db").write_bytes(b"no database at all " * 500)
    result = undrift("session", "list", env=env)
    assert (result.exit_code, "Another folder" in result.output) == (0, False)
    assert json.loads(undrift("session", "list", "--json", env=env).stdout)["elsewhere"] == {}


def test_one_folder_under_two_names_is_counted_once(tmp_path: Path):
    daily = has_sessions(tmp_path / ".undrift", "own")
    (tmp_path / "link").symlink_to(daily)
    env: dict[str, str | None] = {"HOME": str(tmp_path), "UNDRIFT_HOME": str(tmp_path / "link")}
    assert "Another folder" not in undrift("session", "list", env=env).stdout
