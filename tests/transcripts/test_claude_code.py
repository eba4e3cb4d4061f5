"""Claude Code's records become the entries that its table promises, and nothing is lost uncounted."""

import json

import pytest

from tests.transcripts.builders import answered, assistant, attached, called, claude, lines, meta, said, shape, user
from undrift.transcripts import claude_code
from undrift.transcripts.base import Recording


def read(*records: object) -> Recording:
    return claude_code.read(lines(*records), count=len)


def test_a_turn_becomes_one_entry_for_each_block():
    got = read(
        user("Fix the login", uuid="u1"),
        assistant(
            {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"},
            said("I look."),
            called("t1", "Read", path="a.py"),
            uuid="a1",
        ),
        user([answered("t1", "def login(): ...", is_error=False)]),
    )
    assert shape(got.entries) == [
        ("user", "text", "Fix the login"),
        ("assistant", "thinking", "Look first."),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"path": "a.py"}'),
        ("user", "result", "def login(): ..."),
    ]
    assert [entry.type for entry in got.entries] == ["reasoning"] * 4 + ["tool_result"]
    assert [entry.id for entry in got.entries][:4] == ["u1:0", "a1:0", "a1:1", "a1:2"]
    assert [entry.seq for entry in got.entries] == [0, 1, 2, 3, 4]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 1, 1, 2]
    assert [meta(entry)["line"] for entry in got.entries] == [1, 2, 2, 2, 3]
    assert {entry.timestamp for entry in got.entries} == {1767323045678}
    assert got.entries[2].token_count == len("I look.")
    assert meta(got.entries[1])["signature"] == "c2ln"
    call, result = got.entries[3:]
    assert meta(call)["input"] == {"path": "a.py"}
    assert call.pair_id == result.pair_id == meta(call)["call_id"] == meta(result)["call_id"] == "t1"
    assert meta(call)["tool_name"] == meta(result)["tool_name"] == "Read"
    assert meta(result)["is_error"] is False
    assert got.skipped == {}
    assert (got.format, got.model, got.session_id, got.cwd) == ("claude-code", "claude-x", "s-1", "/repo")
    assert (got.compactions, got.unfinished) == ((), False)


def test_a_message_written_in_parts_between_its_results_stands_as_the_provider_saw_it():
    got = read(
        user("Go"),
        assistant(called("t1"), id="msg_1", timestamp="2026-01-02T03:04:01Z"),
        user([answered("t1", "one")], timestamp="2026-01-02T03:04:02Z"),
        assistant(called("t2"), id="msg_1", timestamp="2026-01-02T03:04:03Z"),
        user([answered("t2", "two")], timestamp="2026-01-02T03:04:04Z"),
        assistant(said("Done"), id="msg_2", timestamp="2026-01-02T03:04:05Z"),
        assistant(said("Really"), id="msg_3", timestamp="2026-01-02T03:04:05Z"),
    )
    assert [(meta(e)["message"], meta(e)["kind"], meta(e)["line"]) for e in got.entries] == [
        (0, "text", 1),
        (1, "call", 2),
        (1, "call", 4),
        (2, "result", 3),
        (2, "result", 5),
        (3, "text", 6),
        (3, "text", 7),
    ]
    times = [entry.timestamp for entry in got.entries]
    assert times == sorted(times)


def test_a_message_id_that_comes_back_after_its_answer_starts_no_journey_into_the_past():
    got = read(
        user("Go"),
        assistant(said("first"), id="msg_1"),
        user("Again"),
        assistant(said("second"), id="msg_2"),
        user("And again"),
        assistant(said("third"), id="msg_1"),
    )
    assert [entry.content for entry in got.entries] == ["Go", "first", "Again", "second", "And again", "third"]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 2, 3, 4, 5]


def test_a_call_id_used_again_makes_a_pair_of_its_own():
    got = read(
        assistant(called("t1", n=1)),
        user([answered("t1", "first")]),
        assistant(called("t1", n=2), called("t1#2")),
        user([answered("t1#2", "other"), answered("t1", "second")]),
    )
    pairs = [entry.pair_id for entry in got.entries]
    first, second, other = "t1", "t1#3", "t1#2"
    assert pairs == [first, first, second, other, other, second]
    assert [meta(entry)["call_id"] for entry in got.entries] == ["t1", "t1", "t1", "t1#2", "t1#2", "t1"]


def test_of_two_open_calls_with_one_id_the_older_is_answered_first():
    got = read(assistant(called("t1", n=1), called("t1", n=2)), user([answered("t1", "a"), answered("t1", "b")]))
    assert [entry.pair_id for entry in got.entries] == ["t1", "t1#2", "t1", "t1#2"]


def test_what_has_no_partner_says_so_and_is_counted():
    got = read(
        user([answered("early")]),
        assistant(called("early"), called("lost"), {"type": "tool_use", "name": 7, "input": None}),
        user([answered("t9"), {"type": "tool_result", "content": "nameless"}]),
    )
    assert [entry.pair_id for entry in got.entries] == [None] * 6
    assert all(meta(entry)["unpaired"] for entry in got.entries)
    assert got.skipped == {"call without result": 3, "result without call": 3}
    assert meta(got.entries[3])["tool_name"] == "unknown"
    assert "call_id" not in meta(got.entries[3])
    assert got.entries[3].content == "{}"


def test_input_that_is_no_object_is_kept_under_a_name():
    got = read(assistant({"type": "tool_use", "id": "t1", "name": "Bash", "input": "ls"}))
    assert meta(got.entries[0])["input"] == {"input": "ls"}


@pytest.mark.parametrize(
    ("content", "text", "skipped"),
    [
        ("plain", "plain", {}),
        (None, "", {}),
        ("", "", {}),
        (["bare", {"type": "text", "text": "two"}, None], "bare\ntwo", {}),
        ([{"type": "image", "source": {"type": "base64", "data": "AAAA"}}], "[image]", {"image data": 1}),
        ([{"type": "tool_reference", "tool_name": "WebFetch"}], "WebFetch", {}),
        (
            [{"type": "document", "title": "A paper", "source": {"type": "base64", "data": "JVBERi0="}}],
            "[document A paper]",
            {"document data": 1},
        ),
        ([{"type": "document", "source": {"type": "text", "data": "words"}}], "words", {}),
        ([{"type": "document", "source": {"type": "content", "content": ["inner"]}}], "inner", {}),
        (
            [{"type": "web_search_result", "url": "u", "encrypted_content": "RRR", "rows": [{"data": "kept"}]}],
            '{"type": "web_search_result", "url": "u", "rows": [{"data": "kept"}]}',
            {"encrypted content": 1},
        ),
        ({"type": "audio", "mimeType": "audio/wav", "data": "AA"}, '{"type": "audio", "mimeType": "audio/wav"}', None),
        (17, "17", {}),
    ],
)
def test_a_result_reads_as_text_whatever_the_tool_gave(content, text, skipped):
    got = read(assistant(called("t1")), user([answered("t1", content, is_error=True)]))
    assert got.entries[1].content == text
    assert meta(got.entries[1])["is_error"] is True
    assert got.skipped == ({"binary data": 1} if skipped is None else skipped)


def test_a_servers_own_tool_answers_inside_the_assistants_message():
    got = read(
        assistant(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]},
        )
    )
    assert [entry.pair_id for entry in got.entries] == ["s1", "s1"]
    assert [meta(entry)["role"] for entry in got.entries] == ["assistant", "assistant"]


def test_blocks_without_readable_text_are_counted():
    got = read(
        assistant(
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "redacted_thinking", "data": "AAAA"},
            {"type": "text", "text": " \n"},
            {"type": "hologram"},
            {"type": ["text"]},
            3,
        ),
        user([{"type": "image", "source": {"data": "AAAA"}}, {"type": "document", "source": {}}, "bare"]),
        user([]),
        user({"a": 1}),
        claude("user"),
    )
    assert shape(got.entries) == [
        ("assistant", "thinking", "unsigned"),
        ("user", "image", "[image]"),
        ("user", "other", "[document (none)]"),
        ("user", "text", "bare"),
    ]
    assert "signature" not in meta(got.entries[0])
    assert got.skipped == {
        "document data": 1,
        "empty text": 1,
        "empty thinking": 1,
        "encrypted thinking": 1,
        "image data": 1,
        "message without content": 3,
        "unknown block: (none)": 2,
        "unknown block: hologram": 1,
    }


def test_what_the_client_wrote_in_the_users_name_is_marked():
    got = read(
        user("typed", origin={"kind": "human"}),
        user("skill text", isMeta=True),
        user("a task ended", origin={"kind": "task-notification"}),
        {**claude("system", subtype="local_command"), "content": "ran /cost"},
    )
    assert [(entry.content, meta(entry).get("meta", False)) for entry in got.entries] == [
        ("typed", False),
        ("skill text", True),
        ("a task ended", True),
        ("ran /cost", True),
    ]


def test_a_compaction_is_a_boundary_and_its_summary_an_entry():
    got = read(
        user("long ago"),
        assistant(said("yes"), id="msg_1"),
        claude("system", subtype="compact_boundary"),
        attached("hook_success", hookEvent="SessionStart", content="be brief"),
        user("We did much.", isCompactSummary=True),
        assistant(said("on we go"), id="msg_1"),
        user([said("We did more.")], isCompactSummary=True),
        claude("system", subtype="compact_boundary"),
    )
    assert got.compactions == (2, 5, 6)
    assert [(e.type, meta(e)["kind"], e.content) for e in got.entries[2:]] == [
        ("reasoning", "text", "be brief"),
        ("summary", "summary", "We did much."),
        ("reasoning", "text", "on we go"),
        ("summary", "summary", "We did more."),
    ]
    assert [meta(e)["message"] for e in got.entries] == [0, 1, 2, 2, 3, 4]
    assert got.skipped == {"compaction boundary": 2}


def test_a_boundary_without_summary_does_not_hide_the_next_compaction():
    got = read(
        claude("system", subtype="compact_boundary"),
        assistant(said("one")),
        user("a summary", isCompactSummary=True),
    )
    assert got.compactions == (0, 1)


def test_two_boundaries_with_nothing_between_are_one_place():
    boundaries = [claude("system", subtype="compact_boundary") for _ in range(2)]
    assert read(user("a"), *boundaries, user("b")).compactions == (1,)


def test_a_microcompaction_is_no_compaction():
    got = read(user("a"), claude("system", subtype="microcompact_boundary"), user("b"))
    assert got.compactions == ()
    assert got.skipped == {"microcompaction boundary": 1}


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"type": "hook_additional_context", "content": ["one", "two"]}, "one\ntwo"),
        ({"type": "hook_success", "hookEvent": "UserPromptSubmit", "content": "told"}, "told"),
        ({"type": "nested_memory", "path": "/r/CLAUDE.md", "content": {"content": "rules"}}, "/r/CLAUDE.md\nrules"),
        ({"type": "edited_text_file", "filename": "/r/a.py", "snippet": "1\tx"}, "/r/a.py\n1\tx"),
        ({"type": "file", "filename": "/r/a.py", "content": {"type": "text", "file": {"content": "x"}}}, "/r/a.py\nx"),
        ({"type": "compact_file_reference", "filename": "/r/a.py"}, "/r/a.py"),
        ({"type": "task_reminder", "content": [{"id": "1", "subject": "test"}]}, '{"id": "1", "subject": "test"}'),
        ({"type": "skill_listing", "content": "- a skill"}, "- a skill"),
        ({"type": "agent_listing_delta", "addedLines": ["- an agent"]}, "- an agent"),
        ({"type": "deferred_tools_delta", "addedLines": ["WebFetch"]}, "WebFetch"),
        ({"type": "mcp_instructions_delta", "addedBlocks": ["## docs"]}, "## docs"),
        ({"type": "queued_command", "commandMode": "task-notification", "prompt": "a task ended"}, "a task ended"),
    ],
)
def test_attachments_that_reached_the_model_are_texts_of_the_client(fields, content):
    (entry,) = read(claude("attachment", attachment=fields)).entries
    assert (entry.type, entry.content) == ("reasoning", content)
    assert meta(entry)["attachment"] == fields["type"]
    assert (meta(entry)["role"], meta(entry)["kind"], meta(entry)["meta"]) == ("user", "text", True)


def test_a_queued_command_is_what_the_user_typed():
    (entry,) = read(attached("queued_command", prompt="and the tests", commandMode="prompt")).entries
    assert entry.content == "and the tests"
    assert "meta" not in meta(entry)


def test_an_attached_picture_is_an_image():
    got = read(attached("file", filename="a.png", content={"type": "image", "file": {"base64": "AAAA"}}))
    assert shape(got.entries) == [("user", "image", "[image]")]
    assert got.skipped == {"image data": 1}


def test_attachments_that_did_not_reach_the_model_are_counted():
    got = read(
        attached("hook_system_message", content="for the user"),
        attached("hook_success", hookEvent="PreToolUse", content="fine"),
        attached("task_reminder", content=[]),
        attached("brand_new", content="?"),
        claude("attachment", attachment="broken"),
    )
    assert got.entries == ()
    assert got.skipped == {
        "attachment: (none)": 1,
        "attachment: brand_new": 1,
        "attachment: hook_success": 1,
        "attachment: hook_system_message": 1,
        "empty attachment": 1,
    }


def test_records_that_are_no_part_of_the_conversation_are_counted_by_reason():
    got = read(
        user("hello", uuid="u1"),
        user("hello", uuid="u1"),
        user("other agent", isSidechain=True),
        claude("progress", data={"type": "agent_progress", "message": {}}),
        claude("progress", data={"type": "bash_progress"}),
        assistant(said("API Error"), model="<synthetic>", isApiErrorMessage=True),
        claude("system", subtype="turn_duration"),
        claude("system"),
        {"type": "summary", "summary": "A title", "leafUuid": "x"},
        {"type": "hyper\nspace" + "!" * 60},
        {"type": {}},
        {},
    )
    assert [entry.content for entry in got.entries] == ["hello"]
    assert got.model is None
    assert got.skipped == {
        "api error": 1,
        "client record: summary": 1,
        "progress": 1,
        "repeated record": 1,
        "side chain": 2,
        "system record: (none)": 1,
        "system record: turn_duration": 1,
        "unknown record: (none)": 2,
        "unknown record: hyper?space" + "!" * 26 + "...": 1,
    }


def test_a_sub_agents_own_file_is_a_conversation():
    got = read(user("Search", isSidechain=True), assistant(said("Found"), isSidechain=True))
    assert [entry.content for entry in got.entries] == ["Search", "Found"]


def test_the_model_is_the_most_frequent_and_of_equals_the_later():
    turns = [assistant(said(name), model=name) for name in ("a", "b", "b", "a", "<synthetic>", "c")]
    assert read(*turns).model == "a"
    assert read(*turns, assistant(said("b"), model="b")).model == "b"


@pytest.mark.parametrize(
    "record",
    [
        user("hi"),
        attached("file"),
        {"type": "summary", "summary": "A title", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    ],
)
def test_its_own_records_are_recognised(record):
    assert claude_code.recognises(lines("{broken", record))


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user", "content": "hi"},
        {"type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "parts": [{"text": "hi"}]}},
        {"type": "summary", "summary": "text"},
        {"role": "user", "content": "hi"},
        [],
    ],
)
def test_other_clients_records_are_not(record):
    assert not claude_code.recognises(lines(record))


def test_a_uuid_that_looks_like_a_place_does_not_clash_with_it():
    unnamed = user("no uuid")
    del unnamed["uuid"]
    got = read(user("named", uuid="line-2"), unnamed)
    assert [entry.id for entry in got.entries] == ["line-2:0", "line-2:0+"]


def test_call_input_is_written_as_characters_not_escapes():
    (entry,) = read(assistant(called("t1", text="Grüße 🙂"))).entries
    assert entry.content == '{"text": "Grüße 🙂"}'
    assert json.loads(entry.content) == meta(entry)["input"]
