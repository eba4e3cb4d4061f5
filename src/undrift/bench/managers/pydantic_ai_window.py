"""pydantic-ai SlidingWindowCompaction: the newest third of the budget above a trigger, and the first user message."""

from importlib.metadata import version

from undrift.bench.managers import WindowManager, of_package
from undrift.bench.managers._pydantic_ai import managing

__all__ = ["find"]

_NAME = "pydantic-ai SlidingWindowCompaction"


def find() -> WindowManager:
    """Return the manager. Raises ImportError: it is not installed."""
    window = of_package(_NAME, "pydantic_ai_harness.compaction").SlidingWindowCompaction
    start = managing(
        _NAME,
        lambda case, budget: window(max_tokens=budget, keep_tokens=max(1, budget // 3), tokenizer=case.count),
    )
    how = "max_tokens = budget, keep_tokens = budget / 3"
    return WindowManager(_NAME, "pydantic-ai-harness", version("pydantic-ai-harness"), how, start)
