"""What is created is for its owner alone, nothing planted is followed, and no id becomes a dangerous name."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from undrift.stores.files import check_regular, create_file, make_folder, safe_name


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_folders_are_for_their_owner_alone(tmp_path: Path, umask):
    make_folder(tmp_path / "a" / "b" / "c")
    assert [mode(tmp_path / path) for path in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_folder_that_exists_stays_as_it_is(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_folder(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o755


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path: Path):
    (tmp_path / "a").write_text("mine")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(OSError, match="a"):
            make_folder(path)
    assert (tmp_path / "a").read_text() == "mine"


def test_a_file_is_created_once_and_for_its_owner_alone(tmp_path: Path, umask):
    assert create_file(tmp_path / "f")
    assert mode(tmp_path / "f") == 0o600
    (tmp_path / "f").write_text("mine")
    assert not create_file(tmp_path / "f")
    assert (tmp_path / "f").read_text() == "mine"


def test_a_planted_link_is_not_followed(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert not create_file(tmp_path / "link")
    assert not (tmp_path / "target").exists()
    with pytest.raises(OSError, match="link"):
        check_regular(tmp_path / "link")


def test_only_a_regular_file_with_one_name_will_do(tmp_path: Path):
    check_regular(tmp_path / "absent")
    (tmp_path / "f").touch()
    check_regular(tmp_path / "f")
    (tmp_path / "g").hardlink_to(tmp_path / "f")
    os.mkfifo(tmp_path / "pipe")
    for path in ("f", "g", "pipe", ".", "/dev/null"):
        with pytest.raises(OSError, match="it is"):
            check_regular(tmp_path / path)


def test_plain_ids_are_their_own_names():
    for plain in ("run-42", "a", "0", "_x", "9f" * 32):
        assert safe_name(plain) == plain


HOSTILE = [
    "", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "a\0b", "a\nb", "-rf", "--help", "x" * 65, "x" * 300, "a b", "a.b", "id.", "~",
    "$(id)", "`id`", "a;b", "a&b", "*", "é", "e\u0301", "\ud800", "con", "NUL", "Com1", "lpt9", "aux", "run-42\n", " run-42", "rún",
    "Run-42", "RUN-42", "rUn-42", "\u212a", "k", "K", "\u0131", "I", "i", "ß", "ss", "\u0661",
]  # fmt: skip


def test_names_are_safe_and_never_clash_even_where_case_does_not_count():
    ids = [*HOSTILE, "run-42"]
    ids += [safe_name(one) for one in ids if safe_name(one) != one]
    names = {one: safe_name(one) for one in ids}
    for one, name in names.items():
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,96}", name), (one, name)
        assert name.split(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt9"}
    assert len({name.lower() for name in names.values()}) == len(names)


def test_a_name_stays_the_same_in_every_release():
    assert safe_name("Run-42") == "Run-42.c55523ca02845db17456a98e19639211"
    assert safe_name("../x") == "id.d6b96a97d147daaae49eb87a5ca7bfbc280e79551016df8aa5edc5920d21c274"


def test_a_home_of_the_usual_name_stays_out_of_git(tmp_path: Path):
    """For whatever lies below it too, as the homes of ``undrift replay`` do."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    make_folder(tmp_path / ".undrift" / "replays" / "one")
    (tmp_path / ".undrift" / "replays" / "one" / "undrift.db").write_bytes(b"whole sessions")
    told = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path, capture_output=True, check=True)
    assert told.stdout == b""
    assert (tmp_path / ".undrift" / ".gitignore").stat().st_mode & 0o777 == 0o600


def test_a_gitignore_that_is_there_stays(tmp_path: Path):
    own = tmp_path / ".undrift" / ".gitignore"
    own.parent.mkdir()
    own.write_text("!undrift.db\n")
    make_folder(own.parent)
    assert own.read_text() == "!undrift.db\n"


def test_no_other_folder_gets_a_gitignore(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".undrift").symlink_to(tmp_path / "elsewhere")
    for folder in (tmp_path / "home", tmp_path / ".undrift"):
        make_folder(folder)
    assert list(tmp_path.rglob(".gitignore")) == []


def test_a_home_that_is_no_more_written_to_still_serves(tmp_path: Path):
    (tmp_path / ".undrift" / ".gitignore").mkdir(parents=True)
    make_folder(tmp_path / ".undrift")
