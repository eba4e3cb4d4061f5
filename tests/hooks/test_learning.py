"""Memories from the sessions that hooks see: with the record of a session, and from earlier ones of its folder."""

import os
import time
from pathlib import Path

import pytest

from tests.builders import records_of
from tests.cli.builders import Record, claude
from tests.hooks.builders import EARLIER, SESSION, User, session, with_ids
from undrift.errors import StoreError
from undrift.memory.learning import Learning
from undrift.stores.sqlite import SqliteStore
from undrift.values.memory import MemoryEntry

RULE = "Never edit the lock file by hand."
OF_SESSION = "Never touch the file build.lock."


@pytest.fixture(autouse=True)
def _sessions_teach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDRIFT_LEARNS", "all")


def learned(user: User) -> list[MemoryEntry]:
    if not any(user.home.rglob("undrift.db")):
        return []
    with SqliteStore.open(records_of(user.home), create=False) as store:
        return store.memories.seen(None)


def earlier(user: User, *, cwd: str = "/repo", **more: bool) -> None:
    records: list[Record] = [{**claude("user", words), **more} for words in ("Fix it.", RULE)]
    path = user.write(with_ids(records, cwd), EARLIER)
    os.utime(path, (time.time() - 900,) * 2)


def begins(user: User) -> list[str]:
    """Do what the start of a session has done aside; return what the project has learned by then."""
    user.pre_compact(source="begun")
    return [one.content for one in learned(user)]


def test_what_a_session_teaches_is_stored_with_its_record(tmp_path: Path):
    user = User(tmp_path)
    user.write(session())
    user.pre_compact()
    (one,) = learned(user)
    assert (one.content, one.trust, one.source, one.metadata["learned"]["line"]) == (
        OF_SESSION,
        "user",
        f"session:claude:{SESSION}",
        1,
    )
    with SqliteStore.open(records_of(user.home), create=False) as store:
        (recorded,) = store.operations(f"claude:{SESSION}", ["recorded", "learn"])
    assert recorded.payload is not None
    assert recorded.payload["remembered"] == [one.id]
    user.add([{**claude("user", RULE), "uuid": "n-1"}])
    user.pre_compact()
    assert {entry.content for entry in learned(user)} == {OF_SESSION, RULE}


def test_the_next_session_of_a_folder_finds_what_the_one_before_it_taught(tmp_path: Path):
    user = User(tmp_path)
    earlier(user)
    assert begins(user) == [RULE]
    assert begins(user) == [RULE]
    assert learned(user)[0].source == f"session:claude:{EARLIER}"
    assert user.log() == []


@pytest.mark.parametrize(("cwd", "is_sub_agent"), [("/repo", True), ("/elsewhere", False)])
def test_a_sub_agent_and_a_session_of_another_folder_teach_nothing(tmp_path: Path, cwd: str, is_sub_agent: bool):
    user = User(tmp_path)
    earlier(user, cwd=cwd, isSidechain=is_sub_agent)
    assert begins(user) == []


@pytest.mark.parametrize("learns", ["", "tasks", "off"])
def test_the_setting_switches_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learns: str):
    if learns:
        monkeypatch.setenv("UNDRIFT_LEARNS", learns)
    else:  # not set: the default
        monkeypatch.delenv("UNDRIFT_LEARNS")
    user = User(tmp_path)
    earlier(user)
    user.write(session())
    user.pre_compact()
    assert begins(user) == []


def test_a_fault_of_the_memory_does_not_stop_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuses(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(Learning, "change", refuses)
    user = User(tmp_path)
    user.write(session())
    user.pre_compact()
    assert learned(user) == []
    with SqliteStore.open(records_of(user.home), create=False) as store:
        assert len(store.operations(f"claude:{SESSION}", ["recorded"])) == 1
    assert "nothing is learned: no room" in user.log()[0]


def test_a_start_leaves_the_work_to_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr("undrift.hooks.aside.start_process", lambda payload, _: asked.append(payload["source"]))
    user = User(tmp_path)
    user.write(session())
    for source in ("startup", "resume"):
        user.starts(source)
    assert asked == ["begun"]
