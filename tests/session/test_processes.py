"""A session and other processes: one that was forked is refused and does no harm, and none can be sent to another."""

import asyncio
import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, body, opened, sent, user
from tests.session.test_sharing import told
from undrift.errors import StoreError
from undrift.session.async_session import AsyncSession
from undrift.session.session import Session
from undrift.stores.sqlite import SqliteStore

CAN_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
REFUSED = "session 's' was opened before a fork; open it again in this process"


def in_child(work: Callable[[], Any]) -> Any:
    """Return the result of a function in a forked process; an error of it is raised here."""

    def carried_out(answer: Any) -> None:
        try:
            answer.send((work(), None))
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            answer.send((None, error))

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=carried_out, args=(theirs,))
    process.start()
    assert ours.poll(60), "the child hangs"
    found, error = ours.recv()
    process.join()
    assert process.exitcode == 0
    if error is not None:
        raise error
    return found


@CAN_FORK
@pytest.mark.parametrize(
    "name", sorted({one for one in dir(Session) if not one.startswith("_")} - {"open", "recognise"})
)
def test_in_a_forked_process_each_call_says_so_and_close_does_nothing(tmp_path, name):
    with opened(tmp_path) as session:

        def use() -> str:
            try:
                getattr(session, name)()
            except StoreError as error:
                return str(error)
            return "nothing"

        assert in_child(use) == ("nothing" if name == "close" else REFUSED)
        assert session.prepare(body(user("hello"))).warnings == ()


@CAN_FORK
def test_a_fork_in_the_middle_of_a_call_of_another_thread_is_refused_as_fast(tmp_path):
    """The child never gets the locks that a thread of its parent holds."""
    with opened(tmp_path) as session:
        store = session._store
        assert isinstance(store, SqliteStore)

        def use() -> list[str]:
            said = []
            for refused in (lambda: session.prepare(body(user("hello"))), lambda: store.operations("s")):
                try:
                    refused()
                except StoreError as error:
                    said.append(str(error))
            session.close()
            store.close()
            return said

        with session._sharing, store._database.using():
            found = []
            thread = threading.Thread(target=lambda: found.extend(in_child(use)))
            thread.start()
            thread.join(90)
        path = store._database.path
        assert found == [REFUSED, f"{path}: the store was opened before a fork; open it again in this process"]


@CAN_FORK
def test_a_child_that_ends_in_the_middle_of_the_parents_work_takes_nothing_from_it(tmp_path):
    with opened(tmp_path, budget_tokens=2_000) as session:

        def closes_and_opens() -> None:
            session.close()
            Session.open("s", home=tmp_path).close()

        for rounds in range(1, 11):
            session.prepare(body(*told(0, rounds)))
            if rounds % 4 == 0:
                in_child(closes_and_opens)
        prepared = session.prepare(body(*told(0, 11)))
        refs = [one.ref for one in prepared.actions]
        assert all("thread0" in session.recall(ref) for ref in refs)
    with opened(tmp_path, budget_tokens=2_000) as again:
        assert sent(again.prepare(body(*told(0, 11)))) == sent(prepared)
        assert refs


@CAN_FORK
def test_a_child_opens_the_same_session_again_and_both_hold(tmp_path):
    with opened(tmp_path, budget_tokens=2_000) as session:
        before = session.prepare(body(*told(0, 11)))

        def use() -> list[Json]:
            with opened(tmp_path, budget_tokens=2_000) as own:
                own.remember("We use SQLite.")
                return sent(own.prepare(body(*told(0, 11))))

        assert in_child(use) == sent(before)
        assert [one.content for one in session.memories()] == ["We use SQLite."]


@CAN_FORK
def test_an_awaited_session_says_the_same(tmp_path):
    session = asyncio.run(opened_for_asyncio(tmp_path))

    def use() -> str:
        async def program() -> str:
            await session.close()
            try:
                await session.prepare(body(user("hello")))
            except StoreError as error:
                return str(error)
            return "nothing"

        return asyncio.run(program())

    assert in_child(use) == REFUSED
    assert asyncio.run(session.tasks()) == ()
    asyncio.run(session.close())


async def opened_for_asyncio(home: Path) -> AsyncSession:
    return await AsyncSession.open("s", home=home)


@pytest.mark.parametrize("acts", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_session_is_neither_pickled_nor_copied_and_the_error_says_what_to_pass(tmp_path, acts):
    with (
        opened(tmp_path) as session,
        pytest.raises(TypeError, match="Session cannot be pickled or copied: pass its id"),
    ):
        acts(session)
    awaited = asyncio.run(opened_for_asyncio(tmp_path))
    with pytest.raises(TypeError, match="AsyncSession cannot be pickled or copied: pass its id and its home"):
        acts(awaited)
    asyncio.run(awaited.close())
