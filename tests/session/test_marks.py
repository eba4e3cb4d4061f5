"""What is noted of a session to recognise it by: lost, damaged, refused by the store, and written by a process that was killed."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import assistant, body, call, locked, user
from tests.session.talk import Talk, marks, seen
from tests.stores.builders import python, raw
from undrift.session.identity import TAIL, chain, note, recognise
from undrift.stores.marks import MOST_MARKS
from undrift.stores.sqlite import SqliteStore
from undrift.testing.simulators import (
    AnthropicSimulator,
)
from undrift.window.request import Request
from undrift.wire.forms import form_of

KILLED = """
import json, os, signal, sys
from undrift.session.identity import recognise
from undrift.window.request import Request
from undrift.stores.sqlite import SqliteStore
from undrift.wire.forms import form_of
home, *bodies = sys.argv[1:]
form, store = form_of("anthropic"), SqliteStore.open(home)
for body in bodies:
    print(recognise(store, form, Request(body.encode(), form)).session_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_kill_between_two_requests_does_not_lose_the_session(tmp_path, before):
    talk = Talk(AnthropicSimulator())
    bodies = [json.dumps(talk.body())]
    bodies += [json.dumps(talk.works(f"{number}.py").body()) for number in range(5)]
    killed = python(KILLED, tmp_path, *bodies[:before])
    said, errors = killed.communicate()
    assert killed.returncode == -signal.SIGKILL, errors
    (session,) = set(said.split())
    with SqliteStore.open(tmp_path) as store:  # what came after was never seen, up to the newest
        assert seen(store, bodies[-1].encode())[0] == session
        assert store.integrity() == ()


def test_a_mark_that_was_lost_is_made_good_by_an_older_one(store):
    talk = Talk(AnthropicSimulator())
    session, _ = seen(store, talk)
    for number in range(4):
        seen(store, talk.works(f"{number}.py"))
    connection = raw(store.path.parent)
    connection.execute("DELETE FROM marks WHERE number > (SELECT max(number) FROM marks) - 4")
    connection.execute("UPDATE marks SET session_id = 'another' WHERE number = (SELECT max(number) FROM marks)")
    connection.close()
    assert seen(store, talk.works("b.py")) == (session, "known")
    (problem,) = store.integrity()
    assert problem.startswith("mark ")


def test_a_beginning_whose_mark_is_damaged_does_not_open_the_old_session_to_others(store):
    talk = Talk(AnthropicSimulator(), "hello")
    session, _ = seen(store, talk)
    seen(store, talk.works("a.py"))
    connection = raw(store.path.parent)
    connection.execute("UPDATE marks SET session_id = 'another' WHERE kind = 'birth'")
    connection.close()
    other, how = seen(store, Talk(AnthropicSimulator(), "hello"))
    assert (how, other == session) == ("new", False)


def test_a_request_is_recognised_when_nothing_can_be_noted(tmp_path):
    talk, form = Talk(AnthropicSimulator()), form_of("anthropic")
    with SqliteStore.open(tmp_path, busy_timeout_ms=20) as store:
        session, _ = seen(store, talk)
        with locked(tmp_path):
            found = recognise(store, form, Request(talk.works("a.py").body(), form))
            assert (found.session_id, found.how) == (session, "beginning")
            assert "another process" in found.fault
        assert seen(store, talk) == (session, "beginning")


def test_a_session_keeps_only_its_newest_marks_and_is_still_found(store):
    form = form_of("anthropic")
    history = [user("Fix it.")]
    session, _ = seen(store, body(*history))
    for number in range(MOST_MARKS):
        said = assistant(call(f"toolu_{number:08}", path="a.py"))
        note(store, session, form, f"{number:032x}", [(form.digest(said), form.read(said, ""))])
    assert marks(store) == MOST_MARKS + 1  # and the birth
    other, how = seen(store, body(*history))
    assert (how, other == session) == ("new", False)
    assert seen(store, body(user("A summary."), assistant(call("toolu_00001000", path="a.py")))) == (
        session,
        "continued",
    )


def test_a_session_that_notes_its_own_requests_is_found_again(store):
    """`Session` knows the chain already, and hands it on instead of having it computed again."""
    talk, form = Talk(AnthropicSimulator()), form_of("anthropic")
    session, _ = seen(store, talk)
    for number in range(3):
        request = Request(talk.works(f"{number}.py").body(), form)
        request.open()
        tail = [(form.digest(item), form.read(item, "")) for item in request.given[-TAIL:]]
        note(store, session, form, chain(form, request)[-1], tail)
    assert seen(store, talk) == (session, "known")
    assert seen(store, talk.compacted(keep=2)) == (session, "continued")
    side = Request(body(user("hello")), form)
    side.open()
    note(store, session, form, chain(form, side)[-1], [(form.digest(side.given[0]), form.read(side.given[0], ""))])
    assert seen(store, body(user("hello")))[1] == "new"
