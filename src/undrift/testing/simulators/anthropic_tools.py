"""Deferred tools: which of them the model could see at each call that it made, and whether it still can.

Pure. A tool with ``defer_loading`` is not shown to the model until a ``tool_reference`` in the messages names it. The
provider itself says nothing when the reference is gone: its model just knows the tool no more. An agent whose tools
vanish in the middle of its work is what no edit may lead to, so it is refused here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from undrift.testing.simulators.anthropic_shape import CheckedRequest, invalid

__all__ = ["LoadedTools"]


class LoadedTools:
    """The deferred tools that an account's model could see at each of its calls.

    A call that still stands in a request was made by a model that saw certain tools. As long as the request defers
    them, it must still refer to each one. A client that begins a new history, or lists a tool in full, is free to.
    """

    def __init__(self) -> None:
        self._seen: dict[str, frozenset[str]] = {}

    def read(self, request: CheckedRequest) -> frozenset[str]:
        """Return the deferred tools that the model sees.

        Raises Refused: one is gone that it saw when it made a call which still stands.
        """
        if not any(_defers(tool) for tool in request.tools):
            return frozenset()
        shown = frozenset(_named(block.value for message in request.messages for block in message.blocks))
        listed = frozenset(str(tool.get("name")) for tool in request.tools if not _defers(tool))
        for message in request.messages:
            for block in message.blocks:
                known = self._seen.get(block.value["id"], frozenset()) if block.kind == "tool_use" else frozenset()
                if gone := sorted(known - shown - listed):
                    raise invalid(
                        f"{block.path}: this call was made with deferred tools that nothing refers to any more: "
                        f"{', '.join(gone)}",
                        "deferred tools",
                    )
        return shown

    def note(self, calls: Iterable[str], seen: frozenset[str]) -> None:
        """Remember which tools the model saw when it made these calls."""
        if seen:
            self._seen.update((call, seen) for call in calls)


def _defers(tool: Mapping[str, Any]) -> bool:
    """A tool defers itself; a server's tools are deferred by its defaults or one by one."""
    by_name = tool.get("configs")
    given = [tool, tool.get("default_config"), *(by_name.values() if isinstance(by_name, Mapping) else ())]
    return any(isinstance(one, Mapping) and one.get("defer_loading") is True for one in given)


def _named(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the tools that results refer to: those of the client's search, and of the provider's own."""
    for block in blocks:
        content = block.get("content")
        if block.get("type") == "tool_search_tool_result" and isinstance(content, Mapping):
            content = content.get("tool_references")
        elif block.get("type") != "tool_result":
            continue
        for part in content if isinstance(content, list | tuple) else ():
            if isinstance(part, Mapping) and part.get("type") == "tool_reference":
                yield str(part.get("tool_name"))
