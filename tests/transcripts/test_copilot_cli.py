"""Events of Copilot CLI become the entries that the reader's table promises."""

import json

from tests.transcripts.builders import lines, meta, shape
from tests.transcripts.samples import COPILOT, STAMP_MS, event, request
from undrift import transcripts
from undrift.transcripts import copilot_cli
from undrift.transcripts.base import Recording


def read(*events: object) -> Recording:
    return copilot_cli.read(lines(*events), count=len)


def test_a_session_becomes_one_entry_for_each_block():
    got = transcripts.read(lines(*COPILOT), count=len)
    assert shape(got.entries) == [
        ("system", "text", "Be brief."),
        ("user", "text", "<now/>\n\nFix it"),
        ("assistant", "thinking", "Hm"),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"command": "ls"}'),
        ("assistant", "call", '{"path": "a.py"}'),
        ("user", "result", "a.py"),
        ("user", "result", "no"),
        ("user", "summary", "We did much."),
        ("assistant", "text", "Done"),
    ]
    assert [entry.id for entry in got.entries][:4] == ["e2:0", "e3:0", "e4:0", "e4:1"]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 2, 2, 2, 2, 3, 3, 4, 5]
    assert [entry.pair_id for entry in got.entries[4:8]] == ["c1", "c2", "c1", "c2"]
    assert [meta(entry)["tool_name"] for entry in got.entries[4:8]] == ["bash", "view", "bash", "view"]
    assert [meta(entry)["is_error"] for entry in got.entries[6:8]] == [False, True]
    assert got.entries[0].type == "spec"
    assert {entry.timestamp for entry in got.entries} == {STAMP_MS}
    assert (got.format, got.model, got.session_id, got.cwd) == ("copilot-cli", "model-x", "p-1", "/repo")
    assert got.compactions == (8,)
    assert got.skipped == {
        "attachment: file": 1,
        "client record: session.start": 1,
        "compaction boundary": 1,
        "encrypted content": 1,
        "repeated call": 1,
    }


def test_a_call_that_no_message_asked_for_is_a_call_all_the_same():
    got = read(
        event("tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "ls"}),
        event("tool.execution_complete", toolCallId="c1", success=True, result="plain"),
        event("assistant.message", toolRequests=[{"toolCallId": "c2", "name": "f", "arguments": '{"n": 1}'}, 3]),
        event("tool.execution_complete", toolCallId="c2", error="gone"),
    )
    assert shape(got.entries) == [
        ("assistant", "call", '{"command": "ls"}'),
        ("user", "result", "plain"),
        ("assistant", "call", '{"n": 1}'),
        ("user", "result", "gone"),
    ]
    assert [entry.pair_id for entry in got.entries] == ["c1", "c1", "c2", "c2"]
    assert meta(got.entries[3])["is_error"] is True


def test_another_agents_context_is_counted():
    got = read(
        event("assistant.message", content="inner", parentToolCallId="c1", toolRequests=[request("c9")]),
        event("tool.execution_complete", toolCallId="c9", parentToolCallId="c1", result={"content": "x"}),
        event("assistant.message", content="outer"),
    )
    assert shape(got.entries) == [("assistant", "text", "outer")]
    assert got.skipped == {"side chain": 2}


def test_what_the_client_wrote_in_the_users_name_is_marked():
    got = read(
        event("user.message", content="typed", source="user"),
        event("user.message", content="skill", source="skill-pdf", attachments=[3]),
        event("system.notification", content="a shell ended"),
    )
    assert [(entry.content, meta(entry).get("meta", False)) for entry in got.entries] == [
        ("typed", False),
        ("skill", True),
        ("a shell ended", True),
    ]
    assert got.skipped == {"attachment: (none)": 1}


def test_what_holds_no_words_is_counted():
    got = read(
        event("session.model_change", newModel="model-y"),
        event("system.message", content="Be brief."),
        event("system.message", content="Be brief."),
        event("assistant.reasoning", content="Thought"),
        event("assistant.reasoning"),
        event("assistant.message", content=""),
        event("assistant.message", content="", reasoningText="Only thought", encryptedContent="QQ"),
        event("session.compaction_complete", success=False),
        event("session.compaction_complete", success=True),
        event("hook.start"),
        event("hologram.start"),
        {"type": 3},
    )
    assert shape(got.entries) == [
        ("system", "text", "Be brief."),
        ("assistant", "thinking", "Thought"),
        ("assistant", "thinking", "Only thought"),
    ]
    assert (got.model, got.compactions) == ("model-y", (3,))
    assert got.skipped == {
        "client record: hook.start": 1,
        "client record: session.compaction_complete": 1,
        "client record: session.model_change": 1,
        "compaction boundary": 1,
        "empty thinking": 1,
        "encrypted content": 1,
        "message without content": 1,
        "repeated instructions": 1,
        "unknown record: (none)": 1,
        "unknown record: hologram.start": 1,
    }


def test_a_mask_that_cut_an_escape_in_two_loses_nothing():
    line = json.dumps(event("user.message", content="from:\nsomeone")).replace("\\nsomeone", "\\person@example.com")
    assert shape(copilot_cli.read([line], count=len).entries) == [("user", "text", "from:\\person@example.com")]


def test_only_its_own_events_are_recognised():
    assert copilot_cli.recognises(lines(event("assistant.turn_end")))
    for other in ({"type": "session.start", "data": 3, "parentId": 1}, {"type": "user", "data": {}, "parentId": 1}):
        assert not copilot_cli.recognises(lines(other))
