"""A task that is completed and what is remembered of it are one commit: killed in the midst, both are there or neither."""

import signal
from pathlib import Path

import pytest

from tests.builders import opened, refusing
from tests.stores.builders import python
from tests.task_sessions import SUMMARY, TaskSession
from undrift.session.session import Session

CLIENT = """
import os, signal, sys
from pathlib import Path
from tests.stores.builders import python
from tests.task_sessions import SUMMARY
from tests.session.test_completion import at_work
home, hook = Path(sys.argv[1]), sys.argv[2]
session = at_work(home).session
with session._store._database.using() as connection:
    getattr(connection, hook)(lambda *_: os.kill(os.getpid(), signal.SIGKILL))
session.complete_task("read", SUMMARY)
"""


def at_work(home: Path) -> TaskSession:
    session = TaskSession(home)
    session.starts("read", "all tests pass")
    session.works(0, 3)
    return session


def _killed(home: Path, hook: str) -> None:
    """Complete a task in a process of its own that the system kills at that moment."""
    with python(CLIENT, home, hook) as client:
        _, errors = client.communicate()
    assert client.returncode == -signal.SIGKILL, errors


@pytest.mark.parametrize(("hook", "is_there"), [("set_commit_hook", False), ("set_wal_hook", True)])
def test_a_kill_leaves_both_or_neither_and_to_complete_it_again_gives_both(tmp_path: Path, hook: str, is_there: bool):
    """SQLite calls the one hook before it commits, and the other as soon as a commit is in its log."""
    _killed(tmp_path, hook)
    with Session.open("s", home=tmp_path) as session:
        (task,) = session.tasks()
        assert (task.status == "completed", len(session.memories())) == (is_there, is_there)
        assert session._store.integrity() == ()
    again = at_work(tmp_path) if not is_there else TaskSession(tmp_path)
    again.session.complete_task("read", SUMMARY)
    assert [task.status for task in again.session.tasks()] == ["completed"]
    assert [one.source for one in again.session.memories()] == ["task:read"]
    assert [one.entry.source for one in again.session.search("number 7 in every file")] == ["task:read"]


def test_one_operation_of_the_log_holds_both_and_to_go_back_takes_both(tmp_path: Path):
    session = at_work(tmp_path).session
    before = session.checkpoint("before")
    session.complete_task("read", SUMMARY)
    (memory,) = session.memories()
    (operation,) = (one for one in session.history() if one.seq > before)
    assert operation.kind == "task"
    assert operation.payload is not None
    assert (operation.payload["tasks"], operation.payload["remembered"]) == (["read"], [memory.id])
    session.rewind(before)
    assert ([task.status for task in session.tasks()], session.memories()) == (["in_progress"], ())
    session.undo_rewind()
    assert ([task.status for task in session.tasks()], session.memories()) == (["completed"], (memory,))


@pytest.mark.parametrize(("second", "count"), [(SUMMARY, 1), ("The port is 9090, and all tests pass.", 2)])
def test_tasks_that_are_completed_by_one_call_are_remembered_together(tmp_path: Path, second: str, count: int):
    session = opened(tmp_path)
    first = SUMMARY if second == SUMMARY else "The port is 8080, and all tests pass."
    done = {"status": "completed"}
    session.change_tasks([{"id": name, "content": name, "acceptance_criteria": ["all tests pass"]} for name in "ab"])
    session.change_tasks([{**done, "id": "a", "result_summary": first}, {**done, "id": "b", "result_summary": second}])
    assert [task.status for task in session.tasks()] == ["completed", "completed"]
    found = session.memories()
    assert len(found) == count
    if count == 2:
        assert [one.is_contradicted for one in found] == [True, False]
    assert [one.kind for one in session.history()][-1] == "task"


def test_where_the_memory_alone_is_in_the_way_the_task_is_completed_without_it(tmp_path: Path, caplog):
    session = at_work(tmp_path).session
    with refusing(tmp_path, "memories"):
        assert session.complete_task("read", SUMMARY).status == "completed"
    assert session.memories() == ()
    assert "a task's summary is not remembered" in caplog.text
