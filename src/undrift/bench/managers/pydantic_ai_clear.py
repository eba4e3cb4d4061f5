"""pydantic-ai ClearToolResults: old results become a mark above a trigger, and stay so."""

from importlib.metadata import version

from undrift.bench.managers import WindowManager, of_package
from undrift.bench.managers._pydantic_ai import managing
from undrift.settings import Settings

__all__ = ["find"]

_NAME = "pydantic-ai ClearToolResults"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    clear = of_package(_NAME, "pydantic_ai_harness.compaction").ClearToolResults
    keep = Settings().keep_tool_results
    start = managing(_NAME, lambda case, budget: clear(max_tokens=budget, keep_pairs=keep, tokenizer=case.count))
    how = f"max_tokens = budget, keep_pairs = {keep}"
    return WindowManager(_NAME, "pydantic-ai-harness", version("pydantic-ai-harness"), how, start)
