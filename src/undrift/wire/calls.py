"""Reads the arguments of a tool's call, in any form in which a program has it. Pure."""

from collections.abc import Mapping
from typing import Any

from undrift.wire import objects, raw

__all__ = ["arguments_of"]


def arguments_of(call: Any) -> Any:
    """Return the arguments of a call; a value that is no call is returned as plain JSON if it can be.

    Args:
        call: A `ToolCall`, or a call as an SDK's object or in the JSON of any provider.

    Raises:
        WireError: The arguments are malformed JSON.
    """
    given = call if isinstance(call, Mapping) else objects.dumped(call)
    if not isinstance(given, Mapping):
        return call
    inner = _inner(given)
    if isinstance(inner, str):
        inner = raw.decode(inner.encode("utf-8", "replace"), "arguments")
    return inner


def _inner(given: Mapping[str, Any]) -> Any:
    if given.get("type") == "tool_use":
        return given.get("input")
    if given.get("type") == "function_call" or {"tool_name", "arguments"} <= given.keys():
        return given.get("arguments")
    if isinstance(function := given.get("function"), Mapping):
        return function.get("arguments")
    if {"name", "args"} <= given.keys():
        return given["args"]
    for name in ("functionCall", "function_call"):
        if isinstance(part := given.get(name), Mapping):
            return part.get("args")
    return given
