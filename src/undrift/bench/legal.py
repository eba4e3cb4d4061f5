"""The faults for which a provider refuses messages. Pure.

It is written apart from the engine's own rules, so that the engine is judged as every other manager is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

__all__ = ["Fault", "fault_of"]

Fault = Literal["", "opening", "broken"]
"""`broken`: empty, or a call and its result are apart; every provider refuses it. `opening`: the agent speaks first, which
Anthropic and Gemini refuse and others accept."""


def fault_of(messages: Sequence[Mapping[str, Any]]) -> Fault:
    """Return what is wrong with messages; empty if nothing is.

    Each call must be answered in the very next message. Neighbours of one role count as one message, as at the provider.
    """
    if not messages or messages[-1]["role"] != "user":
        return "broken"
    open_calls: set[str] = set()
    role = messages[0]["role"]
    for message in messages:
        if not message["content"]:
            return "broken"
        if message["role"] != role:
            if role == "user" and open_calls:
                return "broken"
            role = message["role"]
        for block in message["content"]:
            if block["type"] == "tool_use":
                open_calls.add(block["id"])
            elif block["type"] == "tool_result":
                if block["tool_use_id"] not in open_calls:
                    return "broken"
                open_calls.remove(block["tool_use_id"])
            elif not block["text"].strip():
                return "broken"
    if open_calls:
        return "broken"
    return "" if messages[0]["role"] == "user" else "opening"
