"""The names of the tools that a request offers, in any wire form, and whether it defers any. Pure.

Law: what has another shape is passed over; the provider says what is wrong with it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["defers_tools", "tool_names"]

_FIELDS = ("tools", "functions")
_INSIDE = ("function", "functionDeclarations", "function_declarations", "tools")
"""The fields with a tool's name one level further in: Chat, Gemini, and the namespaces of Responses."""
_DEEPEST = 3


def tool_names(fields: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of a request's tools; a namespace's name stands before the names of its tools."""
    return frozenset(name for field in _FIELDS for name in _names(fields.get(field), "", _DEEPEST))


def defers_tools(fields: Mapping[str, Any]) -> bool:
    """Tell whether a request has tools that the model must search for before it can see them."""
    tools = fields.get("tools")
    return isinstance(tools, list) and any(_defers(tool) for tool in tools)


def _defers(tool: Any) -> bool:
    if not isinstance(tool, Mapping):
        return False
    configs = tool.get("configs")
    by_name = list(configs.values()) if isinstance(configs, Mapping) else []
    given = [tool, tool.get("default_config"), *by_name]
    return any(isinstance(one, Mapping) and one.get("defer_loading") is True for one in given)


def _names(value: Any, before: str, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _names(one, before, depth)
    elif isinstance(value, Mapping):
        name = value.get("name")
        own = f"{before}{name}" if isinstance(name, str) else ""
        inside = [value[field] for field in _INSIDE if field in value] if depth else []
        if own and not inside:
            yield own
        for one in inside:
            yield from _names(one, f"{own}__" if own else before, depth - 1)
