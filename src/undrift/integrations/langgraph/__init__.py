"""undrift as LangGraph's memory: a store of items with search, and a saver of checkpoints."""

from undrift.integrations.langgraph.checkpoints import UndriftSaver
from undrift.integrations.langgraph.items import UndriftStore

__all__ = ["UndriftSaver", "UndriftStore"]
