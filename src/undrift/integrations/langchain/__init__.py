"""undrift in LangChain: a middleware that manages an agent's window, and a store of keys and values."""

from undrift.integrations.langchain.keys import UndriftByteStore
from undrift.integrations.langchain.middleware import UndriftMiddleware

__all__ = ["UndriftByteStore", "UndriftMiddleware"]
