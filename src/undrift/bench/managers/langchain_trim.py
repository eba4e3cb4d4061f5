"""LangChain trim_messages: the newest messages that fit, from one of the user's on, as its documents show it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version

from undrift.bench.managers import Fit, Message, WindowManager, of_package
from undrift.bench.managers._langchain import in_langchain
from undrift.bench.sessions import Case

__all__ = ["find", "trimming"]

_NAME = "LangChain trim_messages"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    return trimming(_NAME, start_on="human")


def trimming(name: str, *, start_on: str | tuple[str, ...]) -> WindowManager:
    """Return the manager. `start_on`: the kinds of message that the window may begin with."""
    core = of_package(name, "langchain_core.messages")
    trim = core.trim_messages

    def start(case: Case) -> AbstractContextManager[Fit]:
        turn, count = in_langchain(case, core)

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
            turn.take(messages)
            kept = trim(
                turn.all,
                max_tokens=budget_tokens,
                token_counter=count,
                strategy="last",
                start_on=start_on,
            )
            return turn.back(kept)

        return nullcontext(fit)

    how = f"max_tokens = budget, strategy = last, start_on = {start_on}"
    return WindowManager(name, "langchain-core", version("langchain-core"), how, start)
