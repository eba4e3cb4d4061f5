"""The session of an asyncio program: each name of `Session`, awaited, and an event loop that none of them stops."""

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.builders import body, user
from undrift.errors import InputError, StoreError, WireError
from undrift.session.async_session import AsyncMemory, AsyncScratchpad, AsyncSession, AsyncTimeline, Opening
from undrift.session.memory import SessionMemory
from undrift.session.rewind import Timeline
from undrift.session.session import Session
from undrift.window.scratchpad import ScratchpadFile

PAIRS = [
    (Session, AsyncSession),
    (SessionMemory, AsyncMemory),
    (Timeline, AsyncTimeline),
    (ScratchpadFile, AsyncScratchpad),
]
NOT_THEIRS = {"is_on", "is_there", "note", "snapshot", "start"}
"""Parts of the notes that the library itself uses."""


def names(thing: type) -> set[str]:
    return {one for one in dir(thing) if not one.startswith("_")} - NOT_THEIRS


@pytest.mark.parametrize(("ours", "awaited"), PAIRS, ids=lambda one: one.__name__)
def test_each_public_name_of_a_session_and_its_facets_is_there(ours, awaited):
    assert names(awaited) == names(ours)


@pytest.mark.parametrize(
    ("ours", "awaited", "name"),
    [(ours, awaited, name) for ours, awaited in PAIRS for name in sorted(names(ours) - {"path"})],
)
def test_each_has_the_signature_and_the_docstring_of_the_one_that_is_not_awaited(ours, awaited, name):
    one, other = getattr(ours, name), getattr(awaited, name)
    assert inspect.signature(one) == inspect.signature(other) or name == "close"
    assert inspect.getdoc(one) == inspect.getdoc(other) or name == "close"
    assert inspect.iscoroutinefunction(other) == (name not in ("open", "recognise"))


def test_the_attributes_are_those_of_the_session(tmp_path):
    async def program() -> None:
        async with AsyncSession.open("run-1", home=tmp_path) as session:
            attributes = {one for one in vars(session) if not one.startswith("_")}
            with Session.open("run-1", home=tmp_path) as plain:
                assert attributes - {"session"} == {one for one in vars(plain) if not one.startswith("_")}
                assert (session.id, session.settings) == (plain.id, plain.settings)
                assert session.scratchpad.path == plain.scratchpad.path

    asyncio.run(program())


def test_it_opens_with_await_and_with_async_with_and_is_closed_after_the_block(tmp_path):
    async def program() -> None:
        request = body(user("hello"))
        session = await AsyncSession.open("run-1", home=tmp_path)
        assert (await session.prepare(request)).body is request
        await session.close()
        await session.close()
        async with AsyncSession.recognise(request, home=tmp_path) as found:
            await found.prepare(request)
        async with await AsyncSession.open("run-2", home=tmp_path) as other:
            await other.memory.remember("We use SQLite.")
            assert [one.content for one in await other.memories()] == ["We use SQLite."]
            seq = await other.checkpoint("here")
            assert await other.timeline.seq_of("here") == seq
            await other.scratchpad.write("## Plan\nfirst")
            assert await other.scratchpad.read() == "## Plan\nfirst"
        for closed in (session, found, other):
            with pytest.raises(StoreError, match=f"session '{closed.id}' is closed; open it again"):
                await closed.prepare(request)

    asyncio.run(program())


def test_errors_come_to_the_caller(tmp_path):
    async def program() -> None:
        with pytest.raises(InputError, match="non-empty"):
            await AsyncSession.open("", home=tmp_path)
        async with AsyncSession.open("run-1", home=tmp_path) as session:
            with pytest.raises(WireError):
                await session.prepare({"messages": 3})
            with pytest.raises(TypeError):
                await session.prepare()  # type: ignore[call-arg]

    asyncio.run(program())


class HeldClock:
    """A clock that waits until the event loop opens its gate; on the loop itself it would wait without end."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.gate = threading.Event()
        self.holds = False

    def __call__(self) -> int:
        if self.holds:
            self.is_asked.set()
            assert self.gate.wait(30)
        return 1_000


def test_the_event_loop_runs_while_a_call_is_under_way_and_calls_are_in_order(tmp_path):
    clock = HeldClock()

    async def program() -> list[str]:
        async with AsyncSession.open("run-1", home=tmp_path, clock=clock) as session:
            clock.holds = True
            first = asyncio.create_task(session.prepare(body(user("hello"))))
            second = asyncio.create_task(session.remember("We use SQLite."))
            third = asyncio.create_task(session.memories())
            await asyncio.to_thread(clock.is_asked.wait, 30)
            assert not any(one.done() for one in (first, second, third))
            clock.gate.set()
            await asyncio.gather(first, second)
            return [one.content for one in await third]

    assert asyncio.run(program()) == ["We use SQLite."]


def test_a_cancelled_task_leaves_and_its_call_is_carried_out(tmp_path):
    clock = HeldClock()

    async def program() -> list[str]:
        async with AsyncSession.open("run-1", home=tmp_path, clock=clock) as session:
            clock.holds = True
            task = asyncio.create_task(session.remember("We use SQLite."))
            await asyncio.to_thread(clock.is_asked.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            clock.gate.set()
            return [one.content for one in await session.memories()]

    assert asyncio.run(program()) == ["We use SQLite."]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see which files are open")
def test_a_session_whose_caller_left_while_it_was_opened_is_closed(tmp_path):
    started, gate = threading.Event(), threading.Event()

    def late(*given: Any, **named: Any) -> Session:
        session = Session.open(*given, **named)
        started.set()
        assert gate.wait(30)
        return session

    async def program() -> None:
        task = asyncio.ensure_future(Opening(lambda: late("run-1", home=tmp_path)))
        await asyncio.to_thread(started.wait, 30)
        assert open_files(tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        while open_files(tmp_path):
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(program(), 60))


def open_files(folder: Path) -> list[str]:
    found = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(one.readlink()))
        except OSError:  # closed meanwhile
            continue
    return [one for one in found if one.startswith(str(folder))]
