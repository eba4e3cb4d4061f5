"""Operations that were acknowledged and are missing are noticed, and nothing else is taken for that."""

import logging
import signal
from pathlib import Path

import pytest

from tests.stores.builders import add, database, original, python
from undrift.doctor import examine
from undrift.stores import newest
from undrift.stores.backup import back_up, restore_backup
from undrift.stores.sqlite import SqliteStore

WRITER = """
import os, signal, sys
from tests.stores.builders import add, original
from undrift.stores.sqlite import SqliteStore
store = SqliteStore.open(sys.argv[1])
for number in range(int(sys.argv[2])):
    add(store, original(f"{sys.argv[2]}-{number}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(home: Path, operations: int) -> None:
    """Write, and be killed: all of it is in the log alone."""
    with python(WRITER, home, operations) as writer:
        assert writer.wait() == -signal.SIGKILL, writer.stderr.read() if writer.stderr else ""


def missing(home: Path) -> list[str]:
    return [one.text for one in examine([str(home)], overrides={}, environ={}) if one.name == "missing"]


@pytest.mark.parametrize("before", [0, 20])
@pytest.mark.parametrize("also", [(), ("-shm",)])
def test_a_deleted_log_is_told_of_when_the_store_is_opened_and_by_the_doctor(
    home: Path, before: int, also: tuple[str, ...], caplog: pytest.LogCaptureFixture
):
    if before:
        with SqliteStore.open(home) as store:
            add(store, original("first"))
            for number in range(before - 1):
                add(store, original(f"early-{number}"))
    killed(home, 30)
    for suffix in ("-wal", *also):
        Path(f"{database(home)}{suffix}").unlink()
    told = f"30 acknowledged operations are missing: the store ended at {before}, and {before + 30} was written"
    (found,) = missing(home)
    assert found.startswith(told)
    with caplog.at_level(logging.WARNING), SqliteStore.open(home) as store:
        add(store, original("later"))
    assert told in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING), SqliteStore.open(home) as store:
        assert store.last_seq("s") == before + 1
    assert caplog.text == ""
    assert missing(home) == [found]
    (home / "undrift.lost").unlink()
    assert missing(home) == []


def test_nothing_is_missing_of_a_store_that_was_killed_restored_or_begun_anew(home: Path, tmp_path: Path):
    killed(home, 10)
    assert missing(home) == []
    with SqliteStore.open(home) as store:
        assert store.last_seq("s") == 10
    back_up(home, tmp_path / "out.db")
    killed(home, 5)
    restore_backup(tmp_path / "out.db", home)
    assert missing(home) == []
    killed(home, 3)
    for path in home.glob("undrift.db*"):
        path.unlink()
    with SqliteStore.open(home) as store:
        add(store, original("a"))
    assert missing(home) == []


@pytest.mark.parametrize("content", [b"", b"0" * 20, b"99999999999999999999 00000000\n", b"\xff" * 30, b"9" * 4_000])
def test_a_note_that_is_torn_says_nothing(home: Path, content: bytes):
    with SqliteStore.open(home) as store:
        add(store, original("a"))
    (home / "undrift.newest").write_bytes(content)
    assert newest.noted(home) == 0
    assert missing(home) == []
    with SqliteStore.open(home) as store:
        add(store, original("b"))
    assert newest.noted(home) == 2


def test_a_planted_link_is_not_followed(home: Path, tmp_path: Path):
    with SqliteStore.open(home) as store:
        (home / "undrift.newest").unlink(missing_ok=True)
        (tmp_path / "target").write_text("mine")
        (home / "undrift.newest").symlink_to(tmp_path / "target")
        add(store, original("a"))
    assert (tmp_path / "target").read_text() == "mine"
    assert newest.noted(home) == 0
    assert (home / "undrift.newest").readlink() == tmp_path / "target"
