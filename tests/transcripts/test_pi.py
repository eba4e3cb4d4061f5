"""Records of pi become the entries that the reader's table promises."""

from tests.transcripts.builders import lines, meta, shape
from tests.transcripts.samples import PI, STAMP_MS, pi_message
from tests.transcripts.samples import pi as record
from undrift import transcripts
from undrift.transcripts import pi
from undrift.transcripts.base import Recording


def read(*records: object) -> Recording:
    return pi.read(lines(*records), count=len)


def test_a_session_becomes_one_entry_for_each_block():
    got = transcripts.read(lines(*PI), count=len)
    assert shape(got.entries) == [
        ("user", "text", "Fix the login"),
        ("assistant", "thinking", "Hm"),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"path": "a.py"}'),
        ("user", "result", "x\n[image]"),
        ("user", "summary", "We did much."),
        ("user", "text", "Ran `ls`\na.py"),
        ("assistant", "text", "Done"),
    ]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 1, 1, 2, 3, 3, 4]
    assert [meta(entry)["line"] for entry in got.entries] == [2, 3, 3, 3, 4, 5, 6, 7]
    assert got.entries[3].pair_id == got.entries[4].pair_id == "c1"
    assert meta(got.entries[4])["tool_name"] == "read"
    assert meta(got.entries[1])["signature"] == "c2ln"
    assert meta(got.entries[6])["meta"] is True
    assert {entry.timestamp for entry in got.entries} == {STAMP_MS}
    assert (got.format, got.model, got.session_id, got.cwd) == ("pi", "model-x", "q-1", "/repo")
    assert (got.compactions, got.entries[5].type) == ((5,), "summary")
    assert got.skipped == {"client record: session": 1, "compaction boundary": 1, "image data": 1}


def test_a_record_is_named_by_its_id_and_dated_by_its_message_where_it_has_no_time():
    bare = {**pi_message("user", "Hello"), "id": "r1"}
    del bare["timestamp"]
    got = read(bare)
    assert (got.entries[0].id, got.entries[0].timestamp) == ("r1:0", STAMP_MS)


def test_what_extensions_and_branches_bring_in_is_read():
    got = read(
        record("custom_message", content="from an extension", customType="x", display=True),
        pi_message("custom", [{"type": "text", "text": "another"}]),
        pi_message("hookMessage", "a third"),
        record("branch_summary", summary="What the branch found", fromId="r1"),
        pi_message("branchSummary", summary="And another"),
    )
    assert shape(got.entries) == [
        ("user", "text", "from an extension"),
        ("user", "text", "another"),
        ("user", "text", "a third"),
        ("user", "summary", "What the branch found"),
        ("user", "summary", "And another"),
    ]
    assert all(meta(entry)["meta"] for entry in got.entries[:3])
    assert got.compactions == ()


def test_what_holds_no_words_is_counted():
    got = read(
        pi_message("assistant", [], errorMessage="overloaded", stopReason="error"),
        pi_message("assistant", [{"type": "thinking", "thinking": " "}, {"type": "thinking", "redacted": True}, 3]),
        pi_message("assistant", [{"type": "hologram"}, {"type": "text", "text": ""}]),
        pi_message("assistant", [{"type": "thinking", "thinking": "unsigned"}]),
        pi_message("bashExecution", command="ls", excludeFromContext=True),
        pi_message("hologram"),
        record("compaction"),
        record("model_change", modelId="model-y"),
        record("hologram"),
    )
    assert shape(got.entries) == [("assistant", "thinking", "unsigned")]
    assert "signature" not in meta(got.entries[0])
    assert got.model == "model-y"
    assert got.skipped == {
        "api error": 1,
        "client record: model_change": 1,
        "compaction boundary": 1,
        "empty text": 2,
        "empty thinking": 1,
        "encrypted thinking": 1,
        "message without content": 1,
        "shell command kept from the agent": 1,
        "unknown block: (none)": 1,
        "unknown block: hologram": 1,
        "unknown record: hologram": 2,
    }


def test_it_is_recognised_by_its_head_or_any_message():
    assert pi.recognises(lines(PI[0]))
    assert pi.recognises(lines(PI[1]))
    assert not pi.recognises(lines({"type": "session", "id": "x"}, {"type": "message", "role": "user"}))
