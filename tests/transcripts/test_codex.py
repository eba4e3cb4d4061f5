"""Codex rollouts become the entries that the reader's table promises, and nothing is lost uncounted."""

import json

import pytest

from tests.transcripts.builders import codex, item, lines, meta, shape, spoken
from undrift.transcripts import codex as reader
from undrift.transcripts.base import Recording


def read(*records: object) -> Recording:
    return reader.read(lines(*records), count=len)


def called(call_id: str, **arguments: object) -> dict[str, object]:
    return item("function_call", call_id=call_id, name="exec_command", arguments=json.dumps(arguments))


def test_a_turn_becomes_one_entry_for_each_item():
    got = read(
        codex("session_meta", id="s-1", cwd="/repo", base_instructions={"text": "You are an agent."}),
        spoken("developer", "Rules.", "More rules."),
        codex("turn_context", model="gpt-x", cwd="/elsewhere"),
        spoken("user", "Fix the login"),
        item("reasoning", summary=[{"type": "summary_text", "text": "Look first."}], encrypted_content="gAAA"),
        spoken("assistant", "I look."),
        called("c1", cmd="cat a.py"),
        item("function_call_output", call_id="c1", output="def login(): ..."),
    )
    assert shape(got.entries) == [
        ("system", "text", "You are an agent."),
        ("system", "text", "Rules."),
        ("system", "text", "More rules."),
        ("user", "text", "Fix the login"),
        ("assistant", "thinking", "Look first."),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"cmd": "cat a.py"}'),
        ("user", "result", "def login(): ..."),
    ]
    assert [entry.type for entry in got.entries] == ["spec"] * 3 + ["reasoning"] * 4 + ["tool_result"]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 0, 0, 1, 2, 2, 2, 3]
    assert [entry.id for entry in got.entries][:3] == ["line-1:0", "line-2:0", "line-2:1"]
    assert got.entries[6].pair_id == got.entries[7].pair_id == "c1"
    assert meta(got.entries[6])["input"] == {"cmd": "cat a.py"}
    assert meta(got.entries[7])["tool_name"] == "exec_command"
    assert got.skipped == {"client record: turn_context": 1, "encrypted content": 1}
    assert (got.format, got.model, got.session_id, got.cwd) == ("codex", "gpt-x", "s-1", "/repo")


def test_the_flat_form_of_older_versions_reads_the_same():
    got = read(
        {"id": "s-1", "timestamp": "2025-06-01T00:00:00Z", "instructions": "Be an agent.", "git": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c1", "output": "a.py"},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": "Done"},
    )
    assert shape(got.entries) == [
        ("system", "text", "Be an agent."),
        ("user", "text", "Go"),
        ("assistant", "call", '{"type": "exec", "command": ["ls"]}'),
        ("user", "result", "a.py"),
        ("assistant", "thinking", "Hm."),
        ("assistant", "text", "Done"),
    ]
    assert got.entries[2].pair_id == "c1"
    assert len({entry.timestamp for entry in got.entries}) == 1
    assert got.skipped == {"client record: state": 1}


@pytest.mark.parametrize(
    ("call", "name", "given"),
    [
        (
            {"kind": "custom_tool_call", "name": "apply_patch", "input": "*** Begin"},
            "apply_patch",
            {"input": "*** Begin"},
        ),
        ({"kind": "function_call", "name": "f", "arguments": "not json"}, "f", {"input": "not json"}),
        ({"kind": "function_call", "name": "f", "arguments": "[1]"}, "f", {"input": "[1]"}),
        ({"kind": "function_call", "name": "f", "arguments": '{"a":1}{"b":2}'}, "f", {"input": '{"a":1}{"b":2}'}),
        ({"kind": "function_call", "name": "f", "arguments": None}, "f", {}),
        ({"kind": "function_call", "name": "f", "namespace": "mcp__git", "arguments": "{}"}, "mcp__git__f", {}),
        ({"kind": "function_call", "name": "_f", "namespace": "mcp__git_", "arguments": "{}"}, "mcp__git__f", {}),
        ({"kind": "function_call", "namespace": "mcp__git", "arguments": "{}"}, "unknown", {}),
        ({"kind": "tool_search_call", "arguments": {"query": "q"}}, "tool_search", {"query": "q"}),
        ({"kind": "web_search_call", "action": {"query": "q"}}, "web_search", {"query": "q"}),
    ],
)
def test_every_kind_of_call_has_a_name_and_an_object_as_input(call, name, given):
    (entry,) = read(codex("response_item", **call)).entries
    assert (meta(entry)["kind"], meta(entry)["tool_name"], meta(entry)["input"]) == ("call", name, given)
    assert json.loads(entry.content) == given


def test_a_drawn_picture_is_a_call_without_its_data():
    got = read(item("image_generation_call", id="i", revised_prompt="a cat", result="iVBORw0KGgo"))
    assert meta(got.entries[0])["input"] == {"input": "a cat"}
    assert got.skipped == {"call without result": 1, "image data": 1}


@pytest.mark.parametrize(
    ("output", "text", "is_error"),
    [
        ("plain", "plain", False),
        (
            "Exit code: 1\nWall time: 1 s\nOutput:\nno such file",
            "Exit code: 1\nWall time: 1 s\nOutput:\nno such file",
            True,
        ),
        (
            "Chunk ID: a\nProcess exited with code 0\nOutput:\nfine",
            "Chunk ID: a\nProcess exited with code 0\nOutput:\nfine",
            False,
        ),
        ("Process exited with code 7", "Process exited with code 7", False),  # no header: the tool said it, not Codex
        ('{"output":"x","metadata":{"exit_code":2}}', '{"output":"x","metadata":{"exit_code":2}}', True),
        ('{"output":"x","metadata":{"exit_code":0}}', '{"output":"x","metadata":{"exit_code":0}}', False),
        ({"content": "refused", "success": False}, "refused", True),
        ({"type": "input_text", "text": "a.txt"}, "a.txt", False),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", False),
        (None, "", False),
    ],
)
def test_every_shape_of_output_reads_as_text_and_knows_failure(output, text, is_error):
    got = read(called("c1"), item("function_call_output", call_id="c1", output=output))
    assert (got.entries[1].content, meta(got.entries[1])["is_error"]) == (text, is_error)
    assert got.skipped == {}


def test_found_tools_are_the_result_of_their_search():
    got = read(
        item("tool_search_call", call_id="c1", arguments={"query": "issues"}),
        item("tool_search_output", call_id="c1", tools=[{"name": "list_issues", "description": "Lists."}]),
    )
    assert got.entries[1].content == '{"name": "list_issues", "description": "Lists."}'
    assert got.entries[1].pair_id == "c1"


def test_what_has_no_text_is_counted():
    got = read(
        spoken("user"),
        item("message", role="user", content=[{"type": "input_image", "image_url": "data:"}, {"type": "input_text"}]),
        item("reasoning", summary=[]),
        item("agent_message", content=[{"type": "input_text", "text": "hi"}, {"type": "encrypted_content"}]),
        item("compaction", encrypted_content="gAAA"),
        item("ghost_snapshot", ghost_commit={}),
        item("additional_tools", role="developer", tools=[]),
        item("new\tthing"),
        codex("event_msg", kind="agent_message", message="repeats"),
        codex("world_state", state={}),
        codex("session_meta", id="s"),
        codex("from_the_future"),
        {"type": "response_item", "payload": "broken"},
        {"type": 5},
    )
    assert shape(got.entries) == [("user", "image", "[image]"), ("user", "text", "hi")]
    assert got.skipped == {
        "client record: ghost_snapshot": 1,
        "client record: additional_tools": 1,
        "client record: session_meta": 1,
        "client record: world_state": 1,
        "empty text": 1,
        "empty thinking": 1,
        "encrypted content": 2,
        "event": 1,
        "image data": 1,
        "message without content": 1,
        "unknown item: (none)": 1,
        "unknown item: new?thing": 1,
        "unknown record: (none)": 1,
        "unknown record: from_the_future": 1,
    }


def test_instructions_repeated_by_a_resume_are_counted_once():
    start = codex("session_meta", id="s-1", base_instructions="You are an agent.")
    got = read(start, spoken("user", "Go"), codex("session_meta", id="s-2", instructions="You are an agent."))
    assert [entry.content for entry in got.entries] == ["You are an agent.", "Go"]
    assert (got.session_id, got.skipped) == ("s-1", {"repeated instructions": 1})


def test_a_compaction_keeps_only_what_is_new_of_its_replacement():
    kept = spoken("user", "Fix the login")["payload"]
    fresh = spoken("user", "Summary: the login is half fixed.")["payload"]
    rules = spoken("developer", "New rules.")["payload"]
    answer = item("function_call_output", call_id="c1", output="x")["payload"]
    picture = {"type": "message", "role": "user", "content": [{"type": "input_image"}]}
    sealed = {"type": "compaction", "encrypted_content": "gAAA"}
    got = read(
        spoken("user", "Fix the login"),
        codex(
            "compacted",
            message="Half done.",
            replacement_history=[kept, fresh, fresh, rules, answer, picture, sealed, "broken"],
        ),
        spoken("user", "Go on"),
        codex("compacted", message="Half done.", replacement_history=[fresh]),
    )
    assert [(entry.type, entry.content) for entry in got.entries] == [
        ("reasoning", "Fix the login"),
        ("summary", "Half done."),
        ("summary", "Summary: the login is half fixed."),
        ("spec", "New rules."),
        ("reasoning", "Go on"),
    ]
    assert shape(got.entries)[1:4] == [
        ("user", "summary", "Half done."),
        ("user", "summary", "Summary: the login is half fixed."),
        ("system", "text", "New rules."),
    ]
    assert got.compactions == (1, 5)
    assert meta(got.entries[1])["message"] == 1
    assert got.skipped == {
        "compaction boundary": 2,
        "encrypted content": 1,
        "image data": 1,
        "image kept by a compaction": 1,
        "result kept by a compaction": 1,
        "text kept by a compaction": 3,
        "unknown item: (none)": 1,
    }


@pytest.mark.parametrize(
    "record",
    [
        codex("session_meta", id="s"),
        codex("event_msg", kind="task_started"),
        spoken("user", "hi"),
        {"id": "s", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    ],
)
def test_its_own_records_are_recognised(record):
    assert reader.recognises(lines("", "{broken", record))


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "role": "user", "text": "hi", "id": "m1"},
        {"type": "message", "id": "m1", "message": {"role": "user", "content": "hi"}},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {"type": "session_meta", "payload": "text"},
        {"id": "s", "timestamp": 1, "cwd": "/"},
        {"type": "user", "isSidechain": False, "message": {"content": "hi"}},
    ],
)
def test_other_clients_records_are_not(record):
    assert not reader.recognises(lines(record))
