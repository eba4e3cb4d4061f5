"""A program over the library itself: a session, the same for asyncio, and the one call without either."""

from typing import Any, assert_type

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import MessageParam

import undrift
from undrift import Action, AsyncSession, Prepared, Session, Settings, Task

Messages = list[dict[str, Any]]


def trimmed(messages: list[MessageParam]) -> list[MessageParam]:
    """`trim` gives the messages back with the type that they had."""
    made = undrift.trim(messages, 60_000)
    assert_type(made.messages, list[MessageParam])
    assert_type(made.tokens_before, int)
    assert_type(made.tokens_after, int)
    Anthropic().messages.create(model="claude-opus-5-5", max_tokens=9, messages=made.messages)
    return made.messages


def by_hand(messages: Messages) -> None:
    """The loop that a session is for, with the objects of the SDK."""
    client = Anthropic()
    with Session.open("run-42", settings=Settings(budget_tokens=60_000)) as session:
        assert_type(session, Session)
        body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages}
        prepared = session.prepare(body)
        assert_type(prepared, Prepared)
        assert_type(prepared.actions, tuple[Action, ...])
        assert_type(prepared.new, tuple[Action, ...])
        session.record(client.messages.create(**prepared.body))
        assert_type(session.tasks(), tuple[Task, ...])


async def by_hand_async(messages: Messages) -> None:
    """The same names, awaited."""
    client = AsyncAnthropic()
    async with AsyncSession.open("run-42", settings=Settings(budget_tokens=60_000)) as session:
        assert_type(session, AsyncSession)
        prepared = await session.prepare({"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages})
        assert_type(prepared, Prepared)
        await session.record(await client.messages.create(**prepared.body))
        assert_type(await session.tasks(), tuple[Task, ...])
        assert_type(await session.recall("r-1"), str)
        assert_type(await session.start_task("read", content="Read it."), Task)
    opened = await AsyncSession.open("run-43")
    assert_type(opened, AsyncSession)
    await opened.close()


async def mistakes(session: AsyncSession) -> None:
    """A checker that took any name for ours, or knew nothing of a session, would find none of these."""
    await session.prepare({}, wires="anthropic")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await session.recall(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    undrift.trim(["a"], "60k")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    undrift.warp  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018
