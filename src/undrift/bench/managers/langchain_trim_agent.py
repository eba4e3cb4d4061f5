"""LangChain trim_messages with an agent's message allowed first: long work on one order of the user leaves no other start."""

from undrift.bench.managers import WindowManager
from undrift.bench.managers.langchain_trim import trimming

__all__ = ["find"]


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    return trimming("LangChain trim_messages, agent first", start_on=("human", "ai"))
