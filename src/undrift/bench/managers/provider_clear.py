"""Anthropic's clear_tool_uses, simulated by its documented rule; the provider itself is not asked.

The rule: above the trigger, all results but the newest `keep` become a short text; calls stay. The server applies it to
each request, and the client's history stays whole. `clear_at_least` is not set.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from undrift.bench.managers import Fit, Message, WindowManager
from undrift.bench.sessions import Case

__all__ = ["PROVIDER_CLEAR"]

_KEEP = 3
_CLEARED = "[cleared to save context]"


def _start(case: Case) -> AbstractContextManager[Fit]:
    def fit(messages: Sequence[Message], budget_tokens: int) -> list[Message]:
        if case.size_of(messages) <= budget_tokens:
            return list(messages)
        results = [b["tool_use_id"] for m in messages for b in m["content"] if b["type"] == "tool_result"]
        old = set(results[:-_KEEP])
        return [_without(message, old) for message in messages]

    return nullcontext(fit)


def _without(message: Message, old: set[str]) -> Message:
    if not any(block.get("tool_use_id") in old for block in message["content"]):
        return message
    blocks = [
        {**block, "content": _CLEARED} if block.get("tool_use_id") in old else block for block in message["content"]
    ]
    return {**message, "content": blocks}


PROVIDER_CLEAR = WindowManager(
    "Anthropic clear_tool_uses, simulated",
    "",
    "clear_tool_uses_20250919",
    f"by its documented rule: trigger = budget, keep = {_KEEP}",
    _start,
)
