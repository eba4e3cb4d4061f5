"""A session as a line: its name, its home, its tasks and its state; it reads nothing and never fails."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.builders import opened
from undrift.session.async_session import AsyncSession
from undrift.session.session import Session

HOSTILE = "\x1b]0;owned\x07\r\n\u202e'" * 500


def test_a_session_tells_its_name_its_home_its_tasks_and_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with Session.open("run-42", home="h") as session:
        assert repr(session) == "Session('run-42', home='h', 0 tasks, open)"
        session.start_task("fix-login")
        assert repr(session) == "Session('run-42', home='h', 1 task, open)"
    assert repr(session) == "Session('run-42', home='h', 1 task, closed)"


def test_an_async_session_tells_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    async def lines() -> list[str]:
        async with AsyncSession.open("run-42", home="h") as session:
            shown = repr(session)
        return [shown, repr(session)]

    assert asyncio.run(lines()) == [
        "AsyncSession('run-42', home='h', 0 tasks, open)",
        "AsyncSession('run-42', home='h', 0 tasks, closed)",
    ]


def test_a_hostile_name_stays_short_and_on_its_line(tmp_path: Path):
    with opened(tmp_path, HOSTILE) as session:
        assert repr(session).isprintable()
        assert len(repr(session)) <= 140


def test_another_process_is_told_that_it_is_not_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with opened(tmp_path) as session:
        monkeypatch.setattr(os, "getpid", lambda: 1)
        assert repr(session).endswith("opened in another process)")
        monkeypatch.undo()


def test_a_line_reads_nothing_from_the_disk_and_waits_for_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with opened(tmp_path) as session:
        expected = repr(session)
        with monkeypatch.context() as patch:
            for part in ("_store", "_sharing"):
                given = getattr(session, part)
                for name in ("tasks", "last_seq", "operations", "__enter__"):
                    if hasattr(given, name):
                        patch.setattr(type(given), name, _refusing)
            assert repr(session) == expected


def _refusing(*_: object, **__: object) -> None:
    raise AssertionError("the disk is not to be read, and the lock not to be taken")
