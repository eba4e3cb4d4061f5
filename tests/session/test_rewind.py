"""A session that goes back answers as it did then, deletes nothing, and can go forward again."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import assistant, body, call, result, rounds, sent, user
from tests.task_sessions import SUMMARY, TaskSession
from undrift.errors import InputError, RecallError, StoreError
from undrift.session.session import Session
from undrift.settings import Settings

START_MS = 1_700_000_000_000
SETTINGS = Settings(embedder="none", token_counter="characters/4")
FIXED = body(user("Read the files."))


class Clock:
    """Goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        self.now_ms += 1_000
        return self.now_ms


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with opened(tmp_path) as one:
        yield one


def opened(home: Path, session_id: str = "s", settings: Settings = SETTINGS) -> Session:
    return Session.open(session_id, home=home, settings=settings, clock=Clock())


def contents(session: Session) -> list[str]:
    return [entry.content for entry in session.memories()]


def test_back_to_a_number_a_label_and_a_task(session: Session):
    session.remember("one")
    number = session.checkpoint("first")
    session.remember("two")
    session.start_task("t1")
    session.complete_task("t1", SUMMARY)
    session.remember("three")
    done = session.rewind("t1")
    assert (contents(session), session.tasks()[0].status) == (["one", "two"], "completed")
    assert (done.closed, done.opened) == ({"memories": 1}, {})
    assert session.rewind("task:t1").closed == {}
    assert session.rewind("first").to_seq == number
    assert (contents(session), session.tasks()) == (["one"], ())
    assert session.rewind(number).closed == {}
    session.rewind(0)
    assert contents(session) == []
    session.rewind(done.seq - 1)
    assert contents(session) == ["one", "two", "three"]


@pytest.mark.parametrize("to", [99, -1, "nothing", "", "task:nothing", "\ud800"])
def test_a_moment_that_there_was_not_is_told(session: Session, to: Any):
    session.remember("one")
    for ask in (session.rewind, session.diff, lambda moment: session.memories(known_at=moment)):
        with pytest.raises(RecallError):
            ask(to)
    assert len(session.history()) == 1


def test_a_number_that_another_session_reached_is_no_moment_of_this_one(session: Session, tmp_path: Path):
    """A sequence belongs to a session: what a file counts over all of them is nobody's moment."""
    session.checkpoint("a")
    with opened(tmp_path, "other") as other:
        number = max(other.checkpoint(str(n)) for n in range(9))
    with pytest.raises(RecallError, match=f"no operation {number}"):
        session.rewind(number)


@pytest.mark.parametrize("to", [True, 1.5, b"x", ("t",)])
def test_what_is_no_moment_is_refused(session: Session, to: Any):
    with pytest.raises(InputError):
        session.rewind(to)


def test_the_newest_of_two_checkpoints_of_one_label(session: Session):
    session.checkpoint("a")
    session.remember("one")
    session.checkpoint("a")
    session.remember("two")
    session.rewind("a")
    assert contents(session) == ["one"]


def test_it_is_logged_and_nothing_is_deleted(session: Session):
    session.remember("one")
    before = session.history()
    session.rewind(0)
    session.undo_rewind()
    kinds = [(one.kind, (one.payload or {})["to"]) for one in session.history()[len(before) :]]
    assert kinds == [("rewind", 0), ("undo", 1)]
    assert session.history()[: len(before)] == before


def test_each_undo_takes_back_one_rewinding(session: Session):
    for word in ("one", "two", "three"):
        session.remember(word)
    session.rewind(2)
    session.rewind(1)
    session.remember("four")
    assert contents(session) == ["one", "four"]
    session.undo_rewind()
    assert contents(session) == ["one", "two"]
    session.undo_rewind()
    assert contents(session) == ["one", "two", "three"]
    with pytest.raises(RecallError, match="no rewind"):
        session.undo_rewind()
    session.rewind(session.history()[-3].seq)  # what was said in between is not lost either
    assert contents(session) == ["one", "four"]


def test_the_first_thing_that_a_session_does_may_be_going_back(tmp_path: Path):
    with opened(tmp_path, "t") as other:
        other.remember("theirs")
    with opened(tmp_path) as session:
        session.rewind(0)
        session.undo_rewind()
        assert contents(session) == ["theirs"]


def test_pins_and_the_window_are_as_they_were(session: Session):
    session.pin("requirements", "Keep it small.")
    before = sent(session.prepare(FIXED))
    number = session.checkpoint()
    session.pin("spec", "Use tabs.")
    after = sent(session.prepare(FIXED))
    assert before != after
    session.rewind(number)
    assert sent(session.prepare(FIXED)) == before
    session.undo_rewind()
    assert sent(session.prepare(FIXED)) == after
    session.rewind(number)
    session.pin("spec", "Use tabs.")
    assert sent(session.prepare(FIXED)) == after


def test_what_a_task_let_go_is_back_and_can_be_recalled_all_the_same(tmp_path: Path):
    tasks = TaskSession(tmp_path, embedder="none")
    session = tasks.session
    session.checkpoint("before")
    plain = sent(session.prepare(body(*tasks.history)))
    tasks.starts("t1", "all tests pass")
    tasks.works(0, 3)
    whole = sent(session.prepare(body(*tasks.history)))
    number = session.history()[-1].seq
    refs = tasks.completes("t1")
    assert refs
    texts = [session.recall(ref) for ref in refs]
    hits = [one.ref for one in session.find("number 7")]
    shown = tasks.history[:7]
    session.rewind(number)
    assert sent(session.prepare(body(*shown))) == whole
    assert [session.original(ref).entry.content for ref in refs] == texts
    assert [one.ref for one in session.find("number 7")] == hits
    session.undo_rewind()
    assert session.prepare(body(*tasks.history)).actions
    session.rewind("before")
    assert session.tasks() == ()
    assert sent(session.prepare(body(*tasks.history[:1]))) == plain
    tasks.close()


def test_the_notes_are_as_they_were(session: Session):
    pad = session.scratchpad
    session.checkpoint("none yet")
    pad.write("# one\n")
    session.checkpoint("one")
    pad.write("# two\n")
    session.start_task("t")
    pad.write("")
    session.checkpoint("none again")
    pad.write("# never stored\n")
    for label, text in (("one", "# one\n"), ("t", "# two\n"), ("none yet", ""), ("none again", "")):
        session.rewind(label)
        assert pad.read() == text
    for text in ("", "# two\n", "# one\n", "# never stored\n"):
        session.undo_rewind()
        assert pad.read() == text


def test_notes_that_cannot_be_written_do_not_keep_a_session_from_going_back(
    session: Session, caplog: pytest.LogCaptureFixture
):
    session.remember("one")
    path = session.scratchpad.path
    path.unlink()
    path.mkdir()
    session.rewind(0)
    assert contents(session) == []
    assert "notes are not as they were" in caplog.text


def test_a_session_without_notes_goes_back_too(tmp_path: Path):
    with Session.open("s", home=tmp_path, settings=SETTINGS, clock=Clock(), keeps_notes=False) as session:
        session.remember("one")
        session.rewind(0)
        session.undo_rewind()
        assert contents(session) == ["one"]


def test_what_differs_between_two_moments(session: Session):
    one = session.remember("The billing service uses PostgreSQL.")
    first = session.checkpoint("first")
    two = session.remember("The billing service uses SQLite.")
    session.pin("requirements", "Keep it small.")
    session.start_task("t")
    found = session.diff("first")
    assert found.added["memories"] == (two.id,)
    assert found.changed == {"memories": (one.id,)}
    assert (found.added["tasks"], found.removed) == (("t",), {})
    assert [name.split(" ")[0] for name in found.added["originals"]] == ["pin"]
    last = session.history()[-1].seq
    session.rewind("first")
    assert session.diff("first") == session.diff(first, first)
    assert session.diff("first").added == {}
    assert session.diff(first, last) == found
    assert session.diff(last, first).removed["memories"] == (two.id,)


def test_a_rewinding_leaves_what_another_session_changed(tmp_path: Path):
    with opened(tmp_path) as session, opened(tmp_path, "t") as other:
        ours = session.remember("The billing service uses PostgreSQL.")
        session.start_task("mine")
        theirs = other.remember("The billing service uses SQLite.")
        other.start_task("theirs")
        other.pin("requirements", "Keep it small.")
        window = sent(other.prepare(FIXED))
        session.rewind(0)
        assert [entry.id for entry in other.memories()] == [ours.id, theirs.id]  # the mark on ours is theirs
        assert other.tasks()[0].id == "theirs"
        assert sent(other.prepare(FIXED)) == window
        other.rewind(0)
        assert other.memories() == session.memories() == ()
        session.undo_rewind()
        assert [(entry.id, entry.is_contradicted) for entry in session.memories()] == [(ours.id, False)]


def test_what_was_taken_back_does_not_weigh_in_a_search(session: Session):
    session.remember("alpha is in the first file", source="a")
    session.remember("beta is in the second file", source="b")
    before = [(hit.entry.id, hit.decayed_score) for hit in session.search("alpha beta")]
    number = session.checkpoint()
    for count in range(30):
        session.remember(f"alpha is in file {count} as well", speaker="Beta" if count == 7 else None)
    assert [(hit.entry.id, hit.decayed_score) for hit in session.search("alpha beta")] != before
    session.rewind(number)
    assert [(hit.entry.id, hit.decayed_score) for hit in session.search("alpha beta")] == before
    session.undo_rewind()
    assert len(session.search("alpha", k=40)) == 31
    session.rewind(number)
    assert len(session.search("alpha", k=40, known_at=number + 30)) == 31


OTHER_PROCESS = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from tests.session.test_rewind import contents, opened
with opened(Path(sys.argv[1])) as session:
    session.rewind("before")
    session.remember("said by the other")
    print(contents(session))
"""


def test_another_process_is_refused_once_and_reads_anew(tmp_path: Path):
    with opened(tmp_path) as session:
        session.remember("kept")
        session.checkpoint("before")
        session.start_task("t1")
        session.remember("taken back")
        session.pin("requirements", "Keep it small.")
        history = [user("Go."), *rounds(2)]
        session.prepare(body(*history))
        paths = [path for path in sys.path if path]
        command = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path), *paths]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip() == "['kept', 'said by the other']"
        with pytest.raises(StoreError, match="was rewound"):
            session.pin("spec", "Use tabs.")
        assert contents(session) == ["kept", "said by the other"]
        prepared = session.prepare(body(*history))
        assert "Keep it small." not in str(sent(prepared))
        assert session.tasks() == ()
        session.pin("spec", "Use tabs.")
        session.start_task("t1")
        assert session.checkpoint() == session.history()[-1].seq


def test_a_checkpoint_and_a_task_follow_another_process_by_themselves(tmp_path: Path):
    with opened(tmp_path) as session, opened(tmp_path) as twin:
        session.start_task("t1")
        twin.rewind(0)
        session.checkpoint("here")
        assert session.tasks() == ()
        session.start_task("t1")
        twin.rewind("here")
        assert session.start_task("t2").status == "in_progress"
        assert [task.id for task in session.tasks()] == ["t2"]


def test_calls_of_a_task_that_was_taken_back_are_tagged_anew(session: Session):
    session.prepare(FIXED)
    number = session.checkpoint()
    session.start_task("t1")
    history = [user("Read the files."), assistant(call("c1", path="a.py")), user(result("c1", "7 passed"))]
    session.prepare(body(*history))
    assert {tag.task_id for tag in session._log.tasks.tags.values()} == {"t1"}
    session.rewind(number)
    session.prepare(FIXED)
    session.start_task("t2")
    session.prepare(body(*history))
    assert {tag.task_id for tag in session._log.tasks.tags.values()} == {"t2"}
