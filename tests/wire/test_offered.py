"""What a request offers, in every form, and whether it defers any of it; another shape is passed over."""

from typing import Any

import pytest

from undrift.wire.offered import announced_tools, offered_tools


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tools": [{"name": "a", "input_schema": {"name": "no"}}, {"type": "web_search_x", "name": "b"}]}, {"a", "b"}),
        ({"tools": [{"type": "function", "function": {"name": "a"}}], "functions": [{"name": "b"}]}, {"a", "b"}),
        ({"tools": [{"type": "namespace", "name": "mcp__undrift", "tools": [{"name": "recall"}]}]}, {"mcp__undrift__recall"}),
        ({"tools": [{"functionDeclarations": [{"name": "a"}]}, {"function_declarations": [{"name": "b"}]}]}, {"a", "b"}),
        ({"tools": [1, None, "x", {"name": 5}, {"name": ""}, [[{"name": "in"}]]]}, {"in"}),
        ({"tools": [{"type": "custom", "name": "exec", "description": "Runs.\n### `mcp__undrift__recall`\nGives ### `no`"}]}, {"exec", "mcp__undrift__recall"}),
        ({"type": "additional_tools", "tools": [{"type": "namespace", "name": "functions", "tools": [{"name": "exec"}]}]}, {"functions__exec"}),
        ({"tools": [{"type": "local_shell"}]}, {"local_shell"}),
        ({"tools": "recall"}, set()),
        ({}, set()),
    ],
)  # fmt: skip
def test_the_names_of_the_tools(fields: Any, expected: set[str]):
    assert set(offered_tools(fields).names) == expected


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
    assert offered_tools({"tools": tools}).defers is expected
    assert not offered_tools({}).defers


def test_a_tool_is_deferred_by_its_own_flag_and_an_unknown_one_where_others_can_be_loaded():
    tools = [
        {"name": "a"},
        {"name": "b", "defer_loading": True},
        {"name": "g", "tools": [{"name": "c", "defer_loading": True}]},
    ]
    found = offered_tools({"tools": tools})
    assert {name: found.is_deferred(name) for name in ("a", "b", "g__c", "x")} == {
        "a": False,
        "b": True,
        "g__c": True,
        "x": False,
    }
    assert offered_tools({"tools": [*tools, {"type": "tool_search"}]}).is_deferred("x")
    assert not offered_tools({"tools": [*tools, {"name": "b"}]}).is_deferred("b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<r>\nThe following deferred tools are now available via X. Call:\nA\nmcp__undrift__recall\n</r>\nB", {"A", "mcp__undrift__recall"}),
        ("<tools>\nDeferred tool namespaces:\n- mcp__undrift: Task first. Then.\n- other\n</tools>", {"mcp__undrift", "other"}),
        ("deferred tools are now available", set()),
        ("no list\nmcp__undrift__recall", set()),
        ("Deferred tool namespaces:\n" + "x" * 5_000, set()),
        ("Deferred tool namespaces:\n" + "- a\n" * 100_000, {"a"}),
    ],
)  # fmt: skip
def test_what_a_client_announces_is_a_name_a_line(text: str, expected: set[str]):
    assert announced_tools(text) == expected
