"""The exported logs of finished tasks: only if they are asked for, and what failed is tried again."""

from dataclasses import replace
from pathlib import Path

from tests.task_sessions import TaskSession
from undrift.tasks.logs import TaskLogs
from undrift.values.window import Decision


def logs_of(session: TaskSession, *, debug_archive: bool) -> TaskLogs:
    """The logs of a session that exports none itself."""
    context = session.session._context
    return TaskLogs(replace(context, settings=replace(context.settings, debug_archive=debug_archive)))


EVICTED = Decision("e", "evicted", "it ended", 1, "", {"task": "a"})


def test_without_the_setting_there_is_neither_a_path_nor_a_file(tmp_path: Path):
    session = TaskSession(tmp_path, debug_archive=False)
    session.does("a")
    logs = logs_of(session, debug_archive=False)
    assert (logs.path_of("a"), logs.export([EVICTED])) == ("", [])
    assert not list(tmp_path.rglob("*.log"))


def test_a_log_that_a_crash_has_kept_from_being_written_is_written_at_the_first_turn(tmp_path: Path):
    session = TaskSession(tmp_path, debug_archive=False)
    session.does("a")
    logs = logs_of(session, debug_archive=True)
    assert logs.export([]) == []
    assert "file 2 holds the number 7" in Path(logs.path_of("a")).read_text()


def test_what_could_not_be_written_is_told_at_each_turn_until_it_is(tmp_path: Path):
    session = TaskSession(tmp_path, debug_archive=False)
    session.does("a")
    logs = logs_of(session, debug_archive=True)
    path = Path(logs.path_of("a"))
    path.mkdir(parents=True)
    for written in ([EVICTED], []):
        (warning,) = logs.export(written)
        assert warning.startswith("the log of task 'a' could not be exported, the store has it: ")
    path.rmdir()
    assert logs.export([]) == []
    assert "file 2 holds the number 7" in path.read_text()
