"""One session in the hands of several threads, and one that was closed: each call waits for its turn, or says what is wrong."""

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.builders import Json, assistant, body, call, opened, result, sent, user
from undrift.errors import StoreError
from undrift.session.prepare import _CONVERSATIONS
from undrift.session.session import Session
from undrift.window.conversation import Conversation

THREADS = 4
ROUNDS = 20
OPENS = {"open", "recognise", "close"}  # these make a session or end it; all others use one


@pytest.fixture(autouse=True)
def _busy() -> Iterator[None]:
    """Threads take turns a thousand times as often as they do by themselves."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """What each thread returns; all begin together. What one raises is raised here."""
    gate = threading.Barrier(count)

    def begun(number: int) -> Any:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begun, range(count)))


def told(thread: int, rounds: int) -> list[Json]:
    """A history whose every text bears the mark of its thread."""
    mark = f"thread{thread}"
    messages = [user("Look into the files.")]  # the same: it is what a conversation is known by
    for number in range(rounds):
        answer = f"{mark} {number}: ".ljust(1_200, "x")
        call_id = f"{mark}_{number}"
        messages += [assistant(call(call_id, path=f"{mark}_{number}.py")), user(result(call_id, answer))]
    return messages


def test_no_body_holds_what_belongs_to_another_thread_and_none_fails(tmp_path):
    with opened(tmp_path, budget_tokens=2_000) as session:

        def work(thread: int) -> int:
            left = 0
            for rounds in range(1, ROUNDS):
                prepared = session.prepare(body(*told(thread, rounds)))
                session.record({"usage": {"input_tokens": prepared.tokens_after}})
                foreign = [f"thread{other}" for other in range(THREADS) if other != thread]
                assert not any(mark in str(sent(prepared)) for mark in foreign)
                left = len(prepared.actions)
            return left

        assert min(at_once(work)) > 0


def test_whatever_threads_do_with_one_session_side_by_side_all_of_it_is_there(tmp_path):
    with opened(tmp_path, budget_tokens=2_000) as session:

        def work(thread: int) -> None:
            name = f"thread{thread}"
            for number in range(5):
                session.prepare(body(*told(thread, number + 1)))
                session.remember(f"The {name} file {number} is read.")
                session.update_task(f"{name}-{number}", content=name)
                session.search(name)
                session.checkpoint(f"{name}-{number}")
            session.pin("spec", name)

        at_once(work)
        assert len(session.memories()) == len(session.tasks()) == THREADS * 5
        assert len([one for one in session.history() if one.kind == "checkpoint"]) == THREADS * 5
        assert len([one for one in session.history() if one.kind == "pin"]) == THREADS


def test_a_session_of_many_agents_keeps_the_newest_conversations_and_frees_the_others(tmp_path):
    def count() -> int:
        gc.collect()
        return sum(isinstance(one, Conversation) for one in gc.get_objects())

    before = count()
    with opened(tmp_path, budget_tokens=2_000) as session:
        for agent in range(20):
            session.prepare(body(user(f"I am agent {agent}."), *told(agent, 11)[1:]))
        assert count() - before <= _CONVERSATIONS


@pytest.mark.parametrize("name", sorted({one for one in dir(Session) if not one.startswith("_")} - OPENS))
def test_every_use_after_the_end_says_that_the_session_is_closed(tmp_path, name):
    session = opened(tmp_path, "run-42")
    session.close()
    session.close()
    use: Any = getattr(session, name)
    with pytest.raises(StoreError, match="session 'run-42' is closed; open it again"):
        use()


def test_the_end_waits_for_a_call_that_is_under_way_and_cuts_off_none(tmp_path):
    session = opened(tmp_path, budget_tokens=2_000)

    def work(thread: int) -> list[str]:
        if thread == 0:
            session.close()
        try:
            return [one for n in range(ROUNDS) for one in session.prepare(body(*told(thread, n + 1))).warnings]
        except StoreError as error:
            return [str(error)]

    assert {one for said in at_once(work) for one in said} == {"session 's' is closed; open it again"}
