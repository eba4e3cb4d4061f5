"""LangChain trim_messages: the newest messages that fit."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version

from undrift.bench.managers import Fit, Manager, Message, of_package
from undrift.bench.managers._langchain import in_langchain
from undrift.bench.sessions import Case

__all__ = ["find"]

_NAME = "LangChain trim_messages"


def find() -> Manager:
    """Return the manager. Raises ImportError: it is not installed."""
    core = of_package(_NAME, "langchain_core.messages")
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
                start_on=("human", "ai"),
            )
            return turn.back(kept)

        return nullcontext(fit)

    return Manager(_NAME, "langchain-core", version("langchain-core"), 'max_tokens = budget, strategy="last"', start)
