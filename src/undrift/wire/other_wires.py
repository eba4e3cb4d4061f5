"""Recognises a request that is of another wire than its caller says. Pure.

Law: only signs that no request of the named wire can have; a request that could be both is what its caller says.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["of_item", "of_request"]

_HISTORIES = {"messages": "openai-chat", "input": "openai-responses", "contents": "gemini"}
_CHAT_ROLES = ("tool", "developer", "function")
_ANTHROPIC_PARTS = ("tool_use", "tool_result")  # not thinking: Mistral has parts of this type


def of_request(wire: str, history: str, fields: Mapping[str, Any]) -> str:
    """Return the words for a request without the field of its wire's history; empty if it shows no other wire."""
    if history in fields:
        return ""
    for name, other in _HISTORIES.items():
        if name in fields and name != history:
            items = fields[name]
            found = "anthropic" if name == "messages" and _is_anthropic(fields, items) else other
            return _words(wire, found, f"it has `{name}`")
    return ""


def of_item(wire: str, item: Mapping[str, Any]) -> str:
    """Return the words for a message that only the other of the two wires with ``messages`` can have; empty for any other."""
    if wire == "anthropic":
        if item.get("role") in _CHAT_ROLES:
            return _words(wire, "openai-chat", f"a message has the role {item['role']}")
        if item.get("tool_calls"):
            return _words(wire, "openai-chat", "a message has `tool_calls`")
    elif wire == "openai-chat" and (kind := _anthropic_part(item)):
        return _words(wire, "anthropic", f"a message has a block of the type {kind}")
    return ""


def _is_anthropic(fields: Mapping[str, Any], items: Any) -> bool:
    if fields.get("system") is not None:
        return True
    listed = items if isinstance(items, list) else []
    return any(isinstance(item, Mapping) and _anthropic_part(item) for item in listed)


def _anthropic_part(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    kinds = (part.get("type") for part in content if isinstance(part, Mapping)) if isinstance(content, list) else ()
    return next((kind for kind in kinds if kind in _ANTHROPIC_PARTS), "")


def _words(wire: str, other: str, sign: str) -> str:
    return f"this is no request of the wire {wire!r}: {sign}; say wire={other!r}"
