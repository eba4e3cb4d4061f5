"""The names of the tools that a request offers, whichever form it has. Pure.

Law: what has another shape is passed over; the provider says what is wrong with it.

Source: WIRE sections 1 to 4.
"""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["tool_names"]

_FIELDS = ("tools", "functions")
_INSIDE = ("function", "functionDeclarations", "function_declarations", "tools")
"""Where a form puts a tool's name one level further in: Chat, Gemini, and the namespaces of Responses."""
_DEEPEST = 3


def tool_names(fields: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the tools of a request; those in a namespace with its name in front.

    Args:
        fields: Of the body, each a JSON value.
    """
    return frozenset(name for field in _FIELDS for name in _names(fields.get(field), "", _DEEPEST))


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
