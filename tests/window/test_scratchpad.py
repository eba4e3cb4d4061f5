"""The agent's notes in a session: a file of its own, at the end of the window, stored at each task's ends."""

import json
from pathlib import Path

import pytest

from tests.builders import assistant, body, opened, parts, rounds, sent, user
from tests.task_sessions import SUMMARY, TaskSession
from undrift.errors import InputError
from undrift.session.session import Session
from undrift.stores.sqlite import SqliteStore
from undrift.values.prepared import Prepared

TITLE = "[active_context.md: the notes of this session, as they are now]\n"
SECRET = "sk-" + "ant-" + "api03-" + "A" * 90


def prepared(session: Session, *more: object) -> Prepared:
    return session.prepare(body(user("Go."), *more))


def notes(found: Prepared) -> list[tuple[int, str]]:
    """Where the notes stand: number of the message, and what they say."""
    blocks = [(n, part.get("text", "")) for n, m in enumerate(sent(found)) for part in parts(m)]
    return [(n, one.removeprefix(TITLE)) for n, one in blocks if one.startswith(TITLE)]


def test_it_is_there_once_its_path_is_told_and_what_was_written_before_stays(tmp_path):
    """A3-20, as docs/adr/0033 changed it."""
    with opened(tmp_path) as session:
        given = body(user("Go."))
        assert session.prepare(given).body is given
        assert session.scratchpad.read() == ""
        assert session.checkpoint("now")
        session.rewind("now")
        with pytest.raises(InputError, match="there are: none"):
            session.scratchpad.drop("A")
        assert not (tmp_path / "archives").exists()
        assert session.scratchpad.path.read_bytes() == b""
        assert session.scratchpad.path.stat().st_mode & 0o777 == 0o600
        session.scratchpad.write("kept")
    with opened(tmp_path) as again:
        assert again.scratchpad.read() == "kept"


def test_an_empty_one_changes_no_request(tmp_path):
    with opened(tmp_path) as session:
        given = body(user("Go."))
        assert session.prepare(given).body is given
        session.scratchpad.write(" \n\n")
        assert session.prepare(given).body is given


def test_it_stands_at_the_tail_as_an_entry_of_its_own_and_nothing_before_it_changes(tmp_path):
    with opened(tmp_path) as session:
        history = rounds(3)
        before = sent(prepared(session, *history))
        session.scratchpad.append("the port is 8080")
        after = prepared(session, *history)
        assert notes(after) == [(6, "the port is 8080")]
        assert sent(after)[:6] == before[:6]
        assert sent(after)[6]["content"][0] == before[6]["content"][0]
        (action,) = after.actions
        assert (action.kind, action.reason) == ("noted", "the agent's notes, as they were when they last changed")
        assert after.tokens_after == after.tokens_before - action.tokens_saved
        assert session.recall(action.ref) == f"{TITLE}the port is 8080"
        later = prepared(session, *history, *rounds(2, first=3))
        assert sent(later)[:7] == sent(after)
        assert len(notes(later)) == 1


def test_a_change_is_put_behind_what_was_sent_and_the_older_one_stays_where_it_is(tmp_path):
    """No prefix of the cache breaks for a note."""
    with opened(tmp_path) as session:
        session.scratchpad.write("one")
        first = prepared(session, *rounds(2))
        session.scratchpad.path.write_text("two")  # with the agent's own tools
        second = prepared(session, *rounds(3))
        assert notes(second) == [(4, "one"), (6, "two")]
        assert sent(second)[:5] == sent(first)
        session.scratchpad.write("one")
        third = prepared(session, *rounds(4))
        assert notes(third) == [(4, "one"), (6, "two"), (8, "one")]


def test_beyond_the_limit_its_end_stands_in_the_window_and_a_warning_says_so(tmp_path):
    with opened(tmp_path) as session:
        assert session.scratchpad.append("short") == ""
        assert prepared(session).warnings == ()
        said = session.scratchpad.append("line\n" * 2_000)
        assert "8,192 go into the window (its end): drop sections" in said
        found = prepared(session, *rounds(1))
        assert any("active_context.md has 10,006 bytes, 8,192 go into the window" in one for one in found.warnings)
        assert notes(found)[-1][1] == ("line\n" * 1_638).strip()


def test_sections_are_groomed_one_by_one(tmp_path):
    with opened(tmp_path) as session:
        session.scratchpad.write("top\n## A\none\n## B\ntwo\n")
        assert session.scratchpad.drop("A") == ""
        assert session.scratchpad.read() == "top\n## B\ntwo\n"
        with pytest.raises(InputError, match="there are: 'B'"):
            session.scratchpad.drop("A")


def test_a_session_without_notes_makes_no_file_and_says_why(tmp_path):
    with Session.open("s", home=tmp_path, keeps_notes=False) as session:
        assert not (tmp_path / "archives").exists()
        for act in (session.scratchpad.read, lambda: session.scratchpad.append("x"), lambda: session.scratchpad.path):
            with pytest.raises(InputError, match="no scratchpad: it was opened with keeps_notes=False"):
                act()
        given = body(user("Go."))
        assert session.prepare(given).body is given


def test_what_cannot_be_read_is_a_warning_and_the_session_goes_on(tmp_path, caplog):
    path = tmp_path / "archives" / "s" / "active_context.md"
    path.mkdir(parents=True)
    with opened(tmp_path) as session:
        found = prepared(session)
        assert session.scratchpad.path == path
        assert "no scratchpad" in caplog.text
        assert any("the scratchpad cannot be read" in one for one in found.warnings)
        session.start_task("a")
        session.complete_task("a", SUMMARY)  # without a snapshot
    assert [kind for kind, _ in snapshots(tmp_path)] == ["", ""]


def test_a_link_in_its_place_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    home = tmp_path / "home"
    (home / "archives" / "s").mkdir(parents=True)
    (home / "archives" / "s" / "active_context.md").symlink_to(outside)
    with opened(home) as session:
        assert "not ours" not in json.dumps(sent(prepared(session)))
    assert outside.read_text() == "not ours"


def test_a_secret_in_it_reaches_neither_the_window_nor_the_store(tmp_path):
    with opened(tmp_path) as session:
        session.scratchpad.append(f"the key is {SECRET}")
        assert SECRET in session.scratchpad.read()  # the file is the agent's own
        found = prepared(session)
        assert "the key is [masked:" in notes(found)[0][1]
        session.start_task("a")
    on_disk = b"".join(path.read_bytes() for path in tmp_path.glob("undrift.db*"))
    assert SECRET.encode() not in on_disk


def snapshots(home: Path) -> list[tuple[str, str]]:
    """For each change of a task the reference of the notes that were stored with it, and what they said."""
    with SqliteStore.open(home, create=False) as store:
        refs = [(one.payload or {}).get("scratchpad", "") for one in store.operations("s") if one.kind == "task"]
        return [(ref, store.original(ref).entry.content if ref else "") for ref in refs]


def test_at_each_end_of_a_task_the_notes_are_stored_as_they_are(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.session.scratchpad.write("first finding")
    session.works(0, 2)
    session.completes("a")
    session.session.scratchpad.append("second finding")
    session.starts("b")
    session.session.update_task("b", status="cancelled")
    found = snapshots(tmp_path)
    assert [text for _, text in found] == ["", "first finding", *["first finding\nsecond finding\n"] * 2]
    assert found[2][0] == found[3][0]  # the same notes are stored once
    assert session.session.recall(found[1][0]) == "first finding"


def test_they_outlive_the_tasks_logs_and_a_restart(tmp_path):
    session = TaskSession(tmp_path)
    session.session.scratchpad.write("the number is 7")
    session.does("a")
    window = session.session.prepare(body(*session.history))
    assert [text for _, text in notes(window)] == ["the number is 7"]
    history = session.history
    session.close()
    with opened(tmp_path) as again:
        assert again.prepare(body(*history)).body == window.body
        longer = again.prepare(body(*history, assistant("So."), user("Go on.")))
        assert [text for _, text in notes(longer)] == ["the number is 7"]


@pytest.mark.parametrize("session_id", ["../../x", "a\x00b", "\ud800", "x" * 5_000, "con", ".."])
def test_no_session_id_leads_out_of_the_home(tmp_path, session_id):
    home = tmp_path / "home"
    with opened(home, session_id) as session:
        session.scratchpad.write("mine")
        assert session.scratchpad.path.resolve().is_relative_to(home.resolve())
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def tagged(home: Path, session_id: str) -> int:
    """The number of calls that belong to tasks of a session."""
    with SqliteStore.open(home, create=False) as store:
        return len(store.tasks(session_id).tags)


def test_a_task_that_another_process_starts_does_not_claim_calls_from_before_though_nothing_had_left(tmp_path):
    """The first request is noted on disk, so a later process does not take the session for a new one."""
    history = rounds(2)
    with opened(tmp_path) as first:
        prepared(first, *history)
    with opened(tmp_path) as second:
        second.start_task("a")
        prepared(second, *history)
        assert tagged(tmp_path, "s") == 0
    with opened(tmp_path, "new") as new:
        new.start_task("a")
        prepared(new, *history)
        assert tagged(tmp_path, "new") == 2
