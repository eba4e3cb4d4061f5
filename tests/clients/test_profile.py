"""The recording of a client, compared with its profile and with the recording before it; no client is started here."""

import json
from typing import Any

import pytest

from tests.clients.profile import RECORDED, differences, named_tools, unknown

KNOWN: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_each_profile_says_what_the_last_recording_has_shown(name: str):
    assert unknown(name, KNOWN[name]) == []
    assert list(differences(KNOWN[name], KNOWN[name])) == []


def test_a_tool_and_an_argument_that_the_profile_does_not_know_are_named():
    seen = {**KNOWN["claude"], "version": "9.9.9", "agent": ["someone"]}
    seen["tools"] = {"New": {"arguments": ["a"], "how": "listed"}, "Read": {"arguments": ["file"], "how": "listed"}}
    assert unknown("claude", seen) == [
        "unknown to the profile: New (a)",
        "Read has no argument file_path; it has file",
        "user agents ['someone'] do not begin with ('claude-cli',)",
        f"the profile is of {KNOWN['claude']['version']}, the program is 9.9.9",
    ]


def test_each_change_since_the_last_recording_is_named():
    before = KNOWN["opencode-openai"]
    tools = {**before["tools"], "new": {"arguments": ["a", "b"], "how": "listed"}}
    tools["bash"] = {**tools["bash"], "how": "deferred"}
    del tools["glob"]
    assert [line.partition(": {")[0] for line in differences(before, {**before, "version": "2", "tools": tools})] == [
        f"version: {before['version']} -> 2",
        "tool changed: bash",
        "tool gone: glob",
        "new tool: new (a, b), listed",
    ]


def test_the_tools_of_a_request_are_found_in_lists_groups_items_and_code():
    code = "Runs.\n### `inner`\nText\n```ts\ndeclare const tools: { inner(args: {\n  // The x.\n  x?: string;\n}): Promise; };\n```\n"
    group = {"type": "namespace", "name": "g", "tools": [{"type": "custom", "name": "exec", "description": code}]}
    body = {
        "tools": [
            {"name": "late", "input_schema": {"properties": {"p": {}}}, "defer_loading": True},
            {"type": "web_search"},
        ],
        "input": [{"type": "additional_tools", "tools": [group]}],
    }
    assert [*named_tools(body)] == [
        ("late", ["p"], "deferred"),
        ("web_search", [], "listed"),
        ("g__exec", ["input"], "added by an item"),
        ("inner", ["x"], "inside code"),
    ]
