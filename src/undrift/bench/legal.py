"""Whether a provider takes messages as they are: the rules of the Anthropic form that a manager can break. Pure.

It is written apart from the engine's own rules, so that the engine is judged as every other manager is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["is_legal"]


def is_legal(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the user speaks first and last, nothing is empty, and each call is answered in the very next message.

    Neighbours of one role count as one message, as at the provider.
    """
    if not messages or messages[0]["role"] != "user" or messages[-1]["role"] != "user":
        return False
    open_calls: set[str] = set()
    role = "user"
    for message in messages:
        if not message["content"]:
            return False
        if message["role"] != role:
            if role == "user" and open_calls:
                return False
            role = message["role"]
        for block in message["content"]:
            if block["type"] == "tool_use":
                open_calls.add(block["id"])
            elif block["type"] == "tool_result":
                if block["tool_use_id"] not in open_calls:
                    return False
                open_calls.remove(block["tool_use_id"])
            elif not block["text"].strip():
                return False
    return not open_calls
