"""What a call does: its kind, its file, its command, whatever client made it and whatever it was given."""

import json

import pytest

from undrift.profiles import acts_of, bare_name, kind_of


@pytest.mark.parametrize(
    ("tool", "given", "kind", "path"),
    [
        ("Read", {"file_path": "/p/a.py", "limit": 3}, "read", "/p/a.py"),
        ("read", {"filePath": "/p/a.py"}, "read", "/p/a.py"),
        ("read", {"path": "a.py"}, "read", "a.py"),
        ("read_file", {"file_path": "a.py"}, "read", "a.py"),
        ("Grep", {"pattern": "x", "path": "src"}, "search", "src"),
        ("WebFetch", {"url": "https://a.b"}, "fetch", "https://a.b"),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "edit", "a.py"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: b.py\n@@\n-x\n+y\n"}, "edit", "b.py"),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "read", "a.py"),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, "edit", "a.py"),
        ("ToolSearch", {"query": "select:x"}, "load", ""),
        ("update_plan", {"plan": []}, "plan", ""),
        ("Agent", {"prompt": "look"}, "agent", ""),
        ("mcp__files__read", {"path": "a.py"}, "read", "a.py"),
        ("mcp__tracker__edit", {"id": 3}, "other", ""),
        ("nobody_knows_it", {"file_path": "a.py"}, "other", "a.py"),
        ("nobody_knows_it", {"command": "make"}, "shell", ""),
    ],
)
def test_an_act_has_the_kind_and_the_file_of_its_tool(tool: str, given: dict[str, object], kind: str, path: str):
    (act,) = acts_of(tool, given)
    assert (act.kind, act.path, act.tool) == (kind, path, tool)


def test_a_command_may_be_a_list_of_words():
    (act,) = acts_of("shell", {"command": ["bash", "-lc", "ls src"]})
    assert (act.kind, act.command) == ("shell", "bash -lc ls src")


def test_arguments_may_be_text():
    assert acts_of("Bash", json.dumps({"command": "ls"}))[0].command == "ls"
    assert acts_of("apply_patch", "*** Begin Patch\n*** Add File: c.py\n+x\n*** End Patch")[0].path == "c.py"


def test_an_edit_shows_what_it_replaces():
    (one,) = acts_of("Edit", {"file_path": "a", "old_string": "x = 1", "new_string": "x = 2"})
    assert (one.old, one.new) == (("x = 1",), ("x = 2",))
    (many,) = acts_of("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b"}, 3, {"old_string": "c"}]})
    assert (many.old, many.new) == (("a", "c"), ("b",))


@pytest.mark.parametrize(
    "given",
    [
        "",
        "[]",
        "3",
        "[" * 100_000,
        '{"command": 3}',
        '{"edits": [[]]}',
        "\0" * 1_000,
        "{" + '"a":' * 50_000,
        "x" * 2_000_000,
    ],
)
@pytest.mark.parametrize("tool", ["Bash", "Edit", "apply_patch", "exec", "x" * 100_000, ""])
def test_arguments_that_cannot_be_read_are_an_act_without_a_path(tool: str, given: str):
    (act,) = acts_of(tool, given)
    assert (act.path, act.command) == ("", "")


def test_a_prefix_of_a_server_does_not_hide_a_name():
    assert (bare_name("mcp__tracker__TodoWrite"), kind_of("mcp__tracker__TodoWrite")) == ("todowrite", "plan")
    assert kind_of("nobody_knows_it") is None
