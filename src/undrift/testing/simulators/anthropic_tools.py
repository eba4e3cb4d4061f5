"""The tools of a Messages request: which are deferred, and which a ``tool_reference`` shows to the model. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.testing.simulators.anthropic_shape import CheckedRequest, invalid
from undrift.testing.simulators.loaded import LoadedTools, VisibleTools

__all__ = ["checked_tools"]


def checked_tools(request: CheckedRequest, loaded: LoadedTools) -> VisibleTools:
    """Return the tools that the model sees.

    Raises Refused: a deferred tool is called that nothing refers to, or a reference has no tool.
    """
    references = list(_references(request))
    named: set[str] = set()
    is_open = False
    for tool in request.tools:
        configs = tool.get("configs")
        named.update(configs if isinstance(configs, Mapping) else ())
        is_open = is_open or tool.get("type") == "mcp_toolset"
    listed = frozenset(str(tool.get("name")) for tool in request.tools if not _defers(tool))
    deferred = frozenset(str(tool.get("name")) for tool in request.tools if _defers(tool))
    for path, name in references:
        if name not in listed | deferred | named and not is_open:
            raise invalid(f"{path}: Tool reference '{name}' has no corresponding tool definition", "deferred tools")
    defers_server = any(_defers_server(tool) for tool in request.tools)
    shown = frozenset(name for _, name in references)
    tools = VisibleTools(listed, (deferred | shown if defers_server else deferred) - listed, shown)
    calls = [
        (block.path, block.value["id"], block.value["name"])
        for message in request.messages
        for block in message.blocks
        if block.kind == "tool_use"
    ]

    def refuse(text: str) -> None:
        raise invalid(text, "deferred tools")

    loaded.check(calls, tools, refuse)
    return tools


def _defers(tool: Mapping[str, Any]) -> bool:
    return tool.get("defer_loading") is True


def _defers_server(tool: Mapping[str, Any]) -> bool:
    """A server's tools are deferred by its defaults or one by one."""
    by_name = tool.get("configs")
    given = [tool.get("default_config"), *(by_name.values() if isinstance(by_name, Mapping) else ())]
    return any(isinstance(one, Mapping) and _defers(one) for one in given)


def _references(request: CheckedRequest) -> Iterator[tuple[str, str]]:
    """Yield place and name of each tool that a result refers to: a client's search, or the provider's own."""
    for message in request.messages:
        for block in message.blocks:
            content = block.value.get("content")
            if block.kind == "tool_search_tool_result" and isinstance(content, Mapping):
                content = content.get("tool_references")
            elif block.kind != "tool_result":
                continue
            for part in content if isinstance(content, list | tuple) else ():
                if isinstance(part, Mapping) and part.get("type") == "tool_reference":
                    yield block.path, str(part.get("tool_name"))
