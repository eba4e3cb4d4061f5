"""tool_names: what a request offers, in every form; another shape is passed over."""

from typing import Any

import pytest

from undrift.wire.offered import tool_names


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
