"""AsyncSession: a `Session` for asyncio, under the same names.

Law: no decision stands here. A method hands the call of the same name to the worker of the session, and awaits it.
"""

from collections.abc import Callable, Coroutine, Generator
from contextlib import ExitStack
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from undrift.session.memory import SessionMemory
from undrift.session.rewind import Timeline
from undrift.session.session import Session
from undrift.session.worker import Worker
from undrift.values.closing import OfOneProcess
from undrift.window.scratchpad import ScratchpadFile

__all__ = ["AsyncMemory", "AsyncScratchpad", "AsyncSession", "AsyncTimeline", "Opening"]

P = ParamSpec("P")
R = TypeVar("R")


def awaited(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Make a method that has the signature and the docstring of another one, and is awaited."""

    @wraps(method)
    async def hands_over(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = await self._worker.run(method, self._part, *args, **kwargs)
        return found

    return hands_over


def opening(make: Callable[P, Session]) -> Callable[P, "Opening"]:
    """Make a function that opens an `AsyncSession` as another one opens a `Session`."""

    @wraps(make)
    def opens(*args: P.args, **kwargs: P.kwargs) -> Opening:
        return Opening(partial(make, *args, **kwargs))

    return opens


class Opening:
    """A session that is about to be opened: ``await`` it, or open and close it with ``async with``."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._session: AsyncSession | None = None

    def __await__(self) -> Generator[Any, None, "AsyncSession"]:
        return self._opened().__await__()

    async def __aenter__(self) -> "AsyncSession":
        self._session = await self._opened()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def _opened(self) -> "AsyncSession":
        worker = Worker("the session")
        found = ExitStack()
        try:
            session = await worker.run(lambda: found.enter_context(self._make()))
        except BaseException:
            worker.hand_over(found.close)  # the caller may have left while it was opened
            worker.close()
            raise
        return AsyncSession(session, worker)


class _Awaited:
    """An object whose methods run in the worker of a session."""

    def __init__(self, part: Any, worker: Worker) -> None:
        self._part = part
        self._worker = worker


class AsyncMemory(_Awaited):
    """The memory of a session: the methods of `Session.memory`, awaited."""

    admit = awaited(SessionMemory.admit)
    brief = awaited(SessionMemory.brief)
    conflicts = awaited(SessionMemory.conflicts)
    edit = awaited(SessionMemory.edit)
    forget = awaited(SessionMemory.forget)
    learn = awaited(SessionMemory.learn)
    memories = awaited(SessionMemory.memories)
    prune_memories = awaited(SessionMemory.prune_memories)
    rate_search = awaited(SessionMemory.rate_search)
    remember = awaited(SessionMemory.remember)
    search = awaited(SessionMemory.search)
    search_precision = awaited(SessionMemory.search_precision)
    take_in = awaited(SessionMemory.take_in)
    warnings = awaited(SessionMemory.warnings)


class AsyncTimeline(_Awaited):
    """Moments to go back to: the methods of `Session.timeline`, awaited."""

    checkpoint = awaited(Timeline.checkpoint)
    diff = awaited(Timeline.diff)
    facts = awaited(Timeline.facts)
    history = awaited(Timeline.history)
    rewind = awaited(Timeline.rewind)
    seq_of = awaited(Timeline.seq_of)
    undo_rewind = awaited(Timeline.undo_rewind)


class AsyncScratchpad(_Awaited):
    """The agent's notes, active_context.md: the methods of `Session.scratchpad`, awaited."""

    append = awaited(ScratchpadFile.append)
    drop = awaited(ScratchpadFile.drop)
    read = awaited(ScratchpadFile.read)
    write = awaited(ScratchpadFile.write)

    @property
    def path(self) -> Path:
        """The path of the notes; see `Session.scratchpad`."""
        found: Path = self._part.path
        return found


class AsyncSession(_Awaited, OfOneProcess):
    """A `Session` for asyncio: the same names and the same promises, and each method is awaited.

    Many tasks may share one. Their calls run one after the other in a thread of the session, so that the event loop
    stays free. A cancelled task leaves at once, and its call continues to its end.

    >>> import asyncio
    >>> async def turn(body):
    ...     async with AsyncSession.open("run-1", home=home) as session:
    ...         prepared = await session.prepare(body, wire="anthropic")  # send prepared.body to the provider
    ...         return prepared.body
    >>> body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    >>> asyncio.run(turn(body)) is body  # it fits, so nothing was changed
    True
    """

    def __init__(self, session: Session, worker: Worker) -> None:
        super().__init__(session, worker)
        self.id = session.id
        self.session = session
        """The session itself, for threads, which may wait."""
        self.settings = session.settings
        self.costs = session.costs
        """The prompt cache, as usage tells it; read it between two calls."""
        self.memory = AsyncMemory(session.memory, worker)
        self.scratchpad = AsyncScratchpad(session.scratchpad, worker)
        self.timeline = AsyncTimeline(session.timeline, worker)
        worker.name = f"session {session.id[:64]!r}"

    def __repr__(self) -> str:
        return f"Async{self.session!r}"

    open = staticmethod(opening(Session.open))
    recognise = staticmethod(opening(Session.recognise))

    admit = awaited(Session.admit)
    brief = awaited(Session.brief)
    budget_price = awaited(Session.budget_price)
    change_tasks = awaited(Session.change_tasks)
    checkpoint = awaited(Session.checkpoint)
    complete_task = awaited(Session.complete_task)
    conflicts = awaited(Session.conflicts)
    diff = awaited(Session.diff)
    facts = awaited(Session.facts)
    find = awaited(Session.find)
    history = awaited(Session.history)
    mark = awaited(Session.mark)
    memories = awaited(Session.memories)
    original = awaited(Session.original)
    pin = awaited(Session.pin)
    unpin = awaited(Session.unpin)
    bring_back = awaited(Session.bring_back)
    prepare = awaited(Session.prepare)
    prune_memories = awaited(Session.prune_memories)
    purge = awaited(Session.purge)
    rate_search = awaited(Session.rate_search)
    recall = awaited(Session.recall)
    record = awaited(Session.record)
    remember = awaited(Session.remember)
    rewind = awaited(Session.rewind)
    search = awaited(Session.search)
    search_precision = awaited(Session.search_precision)
    start_task = awaited(Session.start_task)
    tasks = awaited(Session.tasks)
    undo_rewind = awaited(Session.undo_rewind)
    update_task = awaited(Session.update_task)
    why = awaited(Session.why)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the store after the calls that were made before; a second call does nothing.

        In a process that was forked it does nothing either: the session is the other process's.
        """
        if self._worker.is_over:
            return
        try:
            await self._worker.run(self._part.close)
        finally:
            self._worker.close()
