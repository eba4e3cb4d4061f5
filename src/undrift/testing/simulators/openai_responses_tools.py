"""The tools of a Responses request: which are deferred, and which a ``tool_search_output`` shows to the model. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from undrift.testing.simulators.loaded import LoadedTools, VisibleTools
from undrift.testing.simulators.openai_chat import refuse
from undrift.testing.simulators.openai_responses_rules import Items, type_of

__all__ = ["checked_tools"]

_CALLS = ("function_call", "custom_tool_call")


def checked_tools(request: Mapping[str, Any], items: Items, loaded: LoadedTools) -> VisibleTools:
    """Return the tools that the model sees. Raises Refused: a deferred tool is called that no output loads."""
    given = [tool for tool in request.get("tools") or () if isinstance(tool, Mapping)]
    shown: set[str] = set()
    for item in items:
        tools = [tool for tool in item.get("tools") or () if isinstance(tool, Mapping)]
        if type_of(item) == "additional_tools":
            given += tools
        elif type_of(item) == "tool_search_output":
            shown.update(name for name, _ in _named(tools))
    named = list(_named(given))
    is_open = any(tool.get("type") == "tool_search" for tool in given)
    visible = VisibleTools(
        frozenset(name for name, is_deferred in named if not is_deferred),
        frozenset(name for name, is_deferred in named if is_deferred),
        frozenset(shown),
        is_open and any(_is_run_by_client(tool) for tool in given),
    )
    calls = [
        (f"input[{position}]", str(item["call_id"]), _full_name(item))
        for position, item in enumerate(items)
        if type_of(item) in _CALLS
    ]
    loaded.check(calls, visible, lambda text: refuse(text, "input", rule="deferred tools"))
    return visible


def _full_name(call: Mapping[str, Any]) -> str:
    group = call.get("namespace")
    return f"{group}.{call['name']}" if group else str(call["name"])


def _is_run_by_client(tool: Mapping[str, Any]) -> bool:
    return tool.get("type") == "tool_search" and tool.get("execution") == "client"


def _named(tools: list[Mapping[str, Any]], group: str = "") -> Iterator[tuple[str, bool]]:
    """Yield each tool's name and whether it is deferred; a tool of a group has the group's name before its own."""
    for tool in tools:
        if isinstance(tool.get("tools"), list):
            yield from _named([one for one in tool["tools"] if isinstance(one, Mapping)], str(tool.get("name")))
        elif isinstance(tool.get("name"), str):
            yield f"{group}.{tool['name']}" if group else tool["name"], tool.get("defer_loading") is True
