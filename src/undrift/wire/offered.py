"""The tools that a request offers, in any wire form, and which of them the model must load first. Pure.

Law: a part of another shape is passed over; the provider says what is wrong with it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

__all__ = ["Offered", "announced_tools", "offered_tools"]

_FIELDS = ("tools", "functions")
_INSIDE = ("function", "functionDeclarations", "function_declarations", "tools")
"""The fields with a tool's name one level further in: Chat, Gemini, and the namespaces of Responses."""
_DEEPEST = 3

_LOADER = "tool_search"
"""The type of a tool of Responses by which the model loads others; a client may run it with tools of its own."""

_INNER = re.compile(r"^### `(\w{1,128})`", re.MULTILINE)
"""The headings by which a tool that runs code describes the tools inside it."""
_LONGEST_DESCRIPTION = 200_000

_ANNOUNCEMENTS = ("deferred tools are now available", "Deferred tool namespaces:")
"""The words before a client's list of tools that a request does not hold yet: one name a line."""
_ANNOUNCED = re.compile(r"(?:- )?([\w.-]{1,128})(?::.*)?")
_MOST_ANNOUNCED = 2_000


@dataclass(frozen=True, slots=True)
class Offered:
    """The tools of a request.

    Args:
        names: Name of each tool -> whether the model must load it first. The name of a group stands before those of
            its tools.
        loads_others: Whether the model may load tools that have no name here.
    """

    names: Mapping[str, bool]
    loads_others: bool = False

    @property
    def defers(self) -> bool:
        """Tell whether there are tools that the model must load before it can see them."""
        return self.loads_others or any(self.names.values())

    def is_deferred(self, name: str) -> bool:
        """Tell whether the model sees this tool only by what loads it."""
        return self.names.get(name, self.loads_others)


def offered_tools(fields: Mapping[str, Any]) -> Offered:
    """Return the tools that a body, or an item that adds tools to it, lists."""
    names: dict[str, bool] = {}
    config = fields.get("config")  # how Google's SDK takes them
    if isinstance(config, Mapping) and "tools" not in fields:
        fields = config
    for field in _FIELDS:
        for name, is_deferred in _named(fields.get(field), "", _DEEPEST):
            names[name] = names.get(name, True) and is_deferred
    tools = fields.get("tools")
    return Offered(names, isinstance(tools, list) and any(_loads_others(tool) for tool in tools))


def announced_tools(text: str) -> frozenset[str]:
    """Return the tools or groups that a client's text announces: the model may load them, no list holds them yet."""
    found: set[str] = set()
    for words in _ANNOUNCEMENTS:
        _, heading, rest = text.partition(words)
        if heading:
            for line in islice(rest.splitlines()[1:], _MOST_ANNOUNCED):
                named = _ANNOUNCED.fullmatch(line[:200])
                if named is None:
                    break
                found.add(named[1])
    return frozenset(found)


def _loads_others(tool: Any) -> bool:
    """Tell whether a tool means deferred ones without their names: a server's tools, or a search that the client runs."""
    if not isinstance(tool, Mapping):
        return False
    return tool.get("type") == _LOADER or _defers(tool.get("default_config"))


def _defers(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("defer_loading") is True


def _named(value: Any, before: str, depth: int) -> Iterator[tuple[str, bool]]:
    if isinstance(value, list):
        for one in value:
            yield from _named(one, before, depth)
    elif isinstance(value, Mapping):
        inside = [value[field] for field in _INSIDE if field in value] if depth else []
        name, configs = value.get("name"), value.get("configs")
        if name is None and not inside:
            name = value.get("type")  # a tool that the provider knows
        own = f"{before}{name}" if isinstance(name, str) else ""
        if own and not inside:
            yield own, _defers(value)
        for one in inside:
            yield from _named(one, f"{own}__" if own else before, depth - 1)
        for name, config in configs.items() if isinstance(configs, Mapping) else ():
            yield str(name), _defers(config)
        description = value.get("description")
        if value.get("type") == "custom" and isinstance(description, str):
            yield from ((inner[1], False) for inner in _INNER.finditer(description[:_LONGEST_DESCRIPTION]))
