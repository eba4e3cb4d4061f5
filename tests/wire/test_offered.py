"""What a request offers, in every form, and whether it defers any of it; another shape is passed over."""

from typing import Any

import pytest

from undrift.wire.offered import defers_tools, tool_names


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tools": [{"name": "a", "input_schema": {"name": "no"}}, {"type": "web_search_x", "name": "b"}]}, {"a", "b"}),
        ({"tools": [{"type": "function", "function": {"name": "a"}}], "functions": [{"name": "b"}]}, {"a", "b"}),
        ({"tools": [{"type": "namespace", "name": "mcp__undrift", "tools": [{"name": "recall"}]}]}, {"mcp__undrift__recall"}),
        ({"tools": [{"functionDeclarations": [{"name": "a"}]}, {"function_declarations": [{"name": "b"}]}]}, {"a", "b"}),
        ({"tools": [1, None, "x", {"name": 5}, {"name": ""}, [[{"name": "in"}]]]}, {"in"}),
        ({"tools": "recall"}, set()),
        ({}, set()),
    ],
)  # fmt: skip
def test_the_names_of_the_tools(fields: Any, expected: set[str]):
    assert tool_names(fields) == expected


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([{"name": "a"}, {"name": "b", "defer_loading": True}], True),
        ([{"type": "mcp_toolset", "default_config": {"defer_loading": True}}], True),
        ([{"type": "mcp_toolset", "configs": {"a": {"defer_loading": True}, "b": None}}], True),
        ([{"name": "a", "defer_loading": False}, {"name": "defer_loading", "input_schema": {"defer_loading": {}}}], False),
        ([None, 1, "defer_loading", {"defer_loading": "yes", "configs": [True], "default_config": 1}], False),
        ({"defer_loading": True}, False),
        ([], False),
    ],
)  # fmt: skip
def test_whether_tools_are_deferred(tools: Any, expected: bool):
    assert defers_tools({"tools": tools}) is expected
    assert not defers_tools({})
