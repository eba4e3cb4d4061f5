"""Claude's memory tool over undrift's store, for the tool runner of the package anthropic."""

from undrift.integrations.anthropic_memory.tools import UndriftAsyncMemoryTool, UndriftMemoryTool

__all__ = ["UndriftAsyncMemoryTool", "UndriftMemoryTool"]
