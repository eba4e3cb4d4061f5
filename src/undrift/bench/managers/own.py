"""Our own engine, driven as any client drives it: the whole history on every turn."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from undrift import __version__
from undrift.bench.managers import Fit, Message, WindowManager
from undrift.bench.sessions import COUNTER, Case
from undrift.session.session import Session
from undrift.settings import Settings

__all__ = ["RECENCY", "UNDRIFT", "UNDRIFT_MEMORY"]


@contextmanager
def _start(case: Case, *, policy: str, remembers: bool = False) -> Iterator[Fit]:
    history = case.history
    now_ms = 0
    beside: dict[str, Any] = {"model": case.model} if case.model else {}
    if history.system:
        beside["system"] = [{"type": "text", "text": entry.content} for entry in history.system]
    with tempfile.TemporaryDirectory(prefix="undrift-drift-") as home, ExitStack() as stack:
        opened: list[Session] = []

        def fit(messages: Sequence[Message], budget_tokens: int) -> Sequence[Message]:
            nonlocal now_ms
            now_ms = history.entries[min(len(messages), len(history.entries) - 1)][0].timestamp
            if not opened:
                memories = budget_tokens - case.size_of(messages[-1:]) if remembers else 0
                settings = _settings(budget_tokens + case.system_tokens, policy, memories)
                session = Session.open("drift", home=home, settings=settings, clock=lambda: now_ms, keeps_notes=False)
                opened.append(stack.enter_context(session))
                if remembers:
                    _remember(session, messages)
            body = {**beside, "messages": messages[-1:] if remembers else messages}
            sent: Sequence[Message] = opened[0].prepare(body, wire="anthropic").body["messages"]
            return sent

        yield fit


def _settings(budget_tokens: int, policy: str, memory_tokens: int) -> Settings:
    return Settings(
        budget_tokens=budget_tokens,
        token_counter=COUNTER,
        policy=policy,
        debug_archive=False,
        memory_tokens=memory_tokens,
    )


def _remember(session: Session, messages: Sequence[Message]) -> None:
    """Write what was said before the newest message into the session's memory."""
    for message in messages[:-1]:
        for block in message["content"]:
            if block["type"] == "text":
                session.remember(block["text"], source="talk")


RECENCY = WindowManager(
    "recency", "undrift", __version__, "undrift's engine with policy = recency", partial(_start, policy="recency")
)
UNDRIFT = WindowManager("undrift", "undrift", __version__, "budget_tokens = budget", partial(_start, policy="worth"))
UNDRIFT_MEMORY = WindowManager(
    "undrift, a new session with memory",
    "undrift",
    __version__,
    "each turn remembered, memory_tokens = budget",
    partial(_start, policy="worth", remembers=True),
)
"""For talks: nothing but the newest message and the memories that it finds."""
