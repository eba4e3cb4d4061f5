"""Logs of tasks from the store: what each completion let go, in order, the same bytes whatever stood there before."""

from pathlib import Path

import pytest

from tests.task_sessions import AT_MS, SUMMARY, TaskSession, log_text
from undrift.errors import StoreCorrupt, TaskError
from undrift.stores.exports import Exports
from undrift.stores.sqlite import SqliteStore
from undrift.tasks.archive import Archive

VERDICT = "\n\n\u2705 [Sigma Validation] All criteria met (Score: 1.00)"
HOSTILE = ("../../x", "a\x1b[2Jb\nc", "\ud800", "x" * 300, "task:1")


def reading(home: Path) -> SqliteStore:
    return SqliteStore.open(home, create=False)


def exports(home: Path) -> Exports:
    return Exports(home, scratchpad_limit_bytes=1)


def test_what_a_completion_let_go_stands_in_the_order_of_the_window(tmp_path: Path):
    """R3-17, A3-5."""
    session = TaskSession(tmp_path)
    refs = session.does("read")
    with reading(tmp_path) as store:
        (log,) = Archive(store, "s").logs("read")
        assert [store.original(item.ref).entry.content for item in log.items] == [item.text for item in log.items]
    assert (log.task_id, log.summary) == ("read", SUMMARY + VERDICT)
    assert {item.ref for item in log.items} == set(refs)
    texts = [item.text for item in log.items]
    assert (
        texts.index("I look at 1.") < texts.index(log_text(1)) < texts.index("I look at 2.") < texts.index(log_text(2))
    )
    assert {item.kind for item in log.items} == {"text", "result"}


def test_the_log_is_dated_with_the_request_in_which_it_left(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("read")
    with reading(tmp_path) as store:
        (log,) = Archive(store, "s").logs("read")
        (left,) = [one for one in store.operations("s") if one.kind == "evict"]
        completed = Archive(store, "s").changed_at_ms("read")
    assert log.archived_at_ms == left.at_ms > completed > AT_MS


def test_each_completion_has_a_log_of_its_own_with_its_summary(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("read")
    second = "All of the others were read as well: the number 7 again, all tests pass."
    session.session.update_task("read", status="in_progress")
    session.works(10, 3)
    session.completes("read", second)
    with reading(tmp_path) as store:
        first, again = Archive(store, "s").logs("read")
    assert (first.summary, again.summary) == (SUMMARY + VERDICT, second + VERDICT)
    assert log_text(2) in {item.text for item in first.items}
    assert {item.text for item in again.items} >= {log_text(11), log_text(12)}
    assert not {item.ref for item in first.items} & {item.ref for item in again.items}


def test_what_leaves_later_has_a_log_of_its_own(tmp_path: Path):
    """AX-1: nothing was measured, so the newest results stay until newer ones displace them."""
    session = TaskSession(tmp_path, keep_tool_results=2)
    session.starts("read")
    session.works(0, 4)
    session.completes("read")
    session.works(20, 3)
    with reading(tmp_path) as store:
        logs = Archive(store, "s").logs("read")
    assert len(logs) > 1
    assert {log.summary for log in logs} == {SUMMARY}
    left = [item.text for log in logs for item in log.items]
    assert [one for one in left if one.startswith("file")] == [log_text(number) for number in range(4)]


def test_what_a_history_that_goes_back_lets_go_again_stands_there_once(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("read")
    with reading(tmp_path) as store:
        before = Archive(store, "s").logs("read")
    session.history[-1] = {"role": "user", "content": "Something else instead."}
    assert session.prepare()
    with reading(tmp_path) as store:
        assert len(store.decided("s")) > sum(len(log.items) for log in before)
        assert Archive(store, "s").logs("read") == before


def test_of_one_place_in_the_history_each_task_has_its_own_time(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.works(0, 2)
    session.session.update_task("a", status="pending")
    session.starts("b", "all tests pass")
    session.works(10, 2)
    session.completes("b")
    session.session.complete_task("a", SUMMARY)
    session.prepare()  # the same history again
    with reading(tmp_path) as store:
        (a,), (b,) = Archive(store, "s").logs("a"), Archive(store, "s").logs("b")
        assert [one.at_ms for one in store.operations("s") if one.kind == "evict"] == [
            b.archived_at_ms,
            a.archived_at_ms,
        ]


def test_an_export_is_the_same_again_and_heals_what_was_there(tmp_path: Path):
    """AX-4: the seed's path."""
    session = TaskSession(tmp_path)
    session.does("read")
    with reading(tmp_path) as store:
        path = Archive(store, "s").export(exports(tmp_path), "read")
        assert path == tmp_path / "archives" / "s" / "read.log"
        written = path.read_bytes()
        for damage in (b"", written[: len(written) // 2], written * 2, b"\xff"):
            path.write_bytes(damage)
            assert Archive(store, "s").export(exports(tmp_path), "read") == path
            assert path.read_bytes() == written
    shown = written.decode()
    assert shown.count("#undrift end\n") == 1
    assert SUMMARY in shown
    assert log_text(1) in shown


def test_a_session_has_a_file_for_each_task_that_let_something_go(tmp_path: Path):
    session = TaskSession(tmp_path)
    for number, task_id in enumerate(HOSTILE):
        session.does(task_id, 10 * number)
    session.starts("open")
    with reading(tmp_path) as store:
        archive = Archive(store, "s")
        assert archive.evicted_ids == HOSTILE
        assert Archive(store, "another").evicted_ids == ()
        paths = [archive.export(exports(tmp_path), task_id) for task_id in HOSTILE]
    assert len(set(paths)) == len(HOSTILE)
    assert sorted(paths) == sorted((tmp_path / "archives" / "s").glob("*.log"))
    assert all(b"\x1b" not in path.read_bytes() for path in paths)


def test_a_secret_is_masked_in_the_file_too(tmp_path: Path):
    session = TaskSession(tmp_path)
    secret = "sk-" + "ant-" + "api03-" + "aB3dE5gH7jK9" * 8
    session.starts("read", "all tests pass")
    session.works(0, 3, f"{log_text(1)} key = {secret}")
    session.completes("read")
    with reading(tmp_path) as store:
        path = Archive(store, "s").export(exports(tmp_path), "read")
    assert secret not in path.read_text()
    assert "the number 7" in path.read_text()


def test_an_open_task_that_let_nothing_go_says_so(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.starts("open")
    session.works(0, 2)
    with reading(tmp_path) as store:
        assert Archive(store, "s").logs("open") == ()
        with pytest.raises(TaskError, match=r"task 'open' of session 's' \(in_progress\) has no log"):
            Archive(store, "s").export(exports(tmp_path), "open")
    assert not (tmp_path / "archives" / "s" / "open.log").exists()


def test_an_unknown_task_is_refused_with_the_names_of_the_known(tmp_path: Path):
    session = TaskSession(tmp_path)
    for number in range(12):
        session.starts(f"t{number}\x1b")
        session.session.update_task(f"t{number}\x1b", status="cancelled")
    with reading(tmp_path) as store:
        with pytest.raises(
            TaskError, match=r"no task 'nope' in session 's', which has 't2.* and 2 earlier ones"
        ) as error:
            Archive(store, "s").logs("nope")
        assert "\x1b" not in str(error.value)
        with pytest.raises(TaskError, match="session 'nowhere' has no tasks"):
            Archive(store, "nowhere").logs("nope")
        assert Archive(store, "s").changed_at_ms("nope") == 0


def test_a_damaged_original_leaves_the_former_file_as_it_was(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("read")
    session.close()
    with reading(tmp_path) as store:
        path = Archive(store, "s").export(exports(tmp_path), "read")
    written = path.read_bytes()
    file = tmp_path / "undrift.db"
    data = file.read_bytes()
    assert b"file 1 holds the number 7" in data
    file.write_bytes(data.replace(b"file 1 holds the number 7", b"file 1 holds the number 8"))
    with reading(tmp_path) as store, pytest.raises(StoreCorrupt, match="SHA-256"):
        Archive(store, "s").export(exports(tmp_path), "read")
    assert path.read_bytes() == written
