"""The services that a gateway sends requests to. Pure."""

from typing import Literal

__all__ = ["PROVIDERS", "Provider"]

Provider = Literal["anthropic", "openai", "gemini", "bedrock", "vertex", "chatgpt"]
"""The service that gets a request. `bedrock` and `vertex` have models of Claude; `chatgpt` serves Codex with such a login."""

PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai", "gemini", "bedrock", "vertex", "chatgpt")
