"""LangChain ClearToolUsesEdit: old results become a mark above a trigger."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version

from undrift.bench.managers import Fit, Message, WindowManager, of_package
from undrift.bench.managers._langchain import in_langchain
from undrift.bench.sessions import Case
from undrift.settings import Settings

__all__ = ["find"]

_NAME = "LangChain ClearToolUsesEdit"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    core = of_package(_NAME, "langchain_core.messages")
    clear = of_package(_NAME, "langchain.agents.middleware.context_editing").ClearToolUsesEdit
    keep = Settings().keep_tool_results

    def start(case: Case) -> AbstractContextManager[Fit]:
        turn, count = in_langchain(case, core)

        def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
            turn.take(messages)
            edited = list(turn.all)  # its middleware edits a copy for each call
            clear(trigger=budget_tokens, keep=keep).apply(edited, count_tokens=count)
            return turn.back(edited)

        return nullcontext(fit)

    return WindowManager(_NAME, "langchain", version("langchain"), f"trigger = budget, keep = {keep}", start)
