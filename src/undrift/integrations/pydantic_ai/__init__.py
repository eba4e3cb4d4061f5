"""undrift in Pydantic AI: a capability that processes the history before each request of the model."""

from undrift.integrations.pydantic_ai.capability import UndriftHistory

__all__ = ["UndriftHistory"]
