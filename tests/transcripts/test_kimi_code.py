"""Records of Kimi Code become what the reader's table promises; `test_recorded` reads what the program wrote."""

from typing import Any

from tests.transcripts.builders import lines, meta, shape
from undrift.transcripts import Recording, kimi_code

Record = dict[str, Any]


def record(kind: str, **fields: Any) -> Record:
    return {"type": kind, "agentId": "main", **fields, "time": 1767323045678}


def event(kind: str, **fields: Any) -> Record:
    return record("context.append_loop_event", event={"type": kind, **fields})


def read(*records: Record) -> Recording:
    return kimi_code.read(lines(*records), count=len)


def test_thoughts_texts_and_messages_of_the_client_are_told_apart():
    got = read(
        record("context.append_message", message={"role": "user", "content": "Go", "origin": {"kind": "user"}}),
        record("context.append_message", message={"role": "user", "content": "Noted", "origin": {"kind": "injection"}}),
        event("content.part", part={"type": "think", "think": "I think."}),
        event("content.part", part={"type": "think", "think": ""}),
        event("content.part", part={"type": "text", "text": "Done"}),
    )
    assert shape(got.entries) == [
        ("user", "text", "Go"),
        ("user", "text", "Noted"),
        ("assistant", "thinking", "I think."),
        ("assistant", "text", "Done"),
    ]
    assert ["meta" in meta(entry) for entry in got.entries] == [False, True, False, False]
    assert {entry.timestamp for entry in got.entries} == {1767323045678}
    assert got.skipped == {"empty thinking": 1}


def test_a_message_with_calls_and_its_results_are_pairs():
    call = {"id": "c1", "type": "function", "name": "Read", "arguments": '{"path": "a.py"}'}
    got = read(
        record("context.append_message", message={"role": "assistant", "content": [], "toolCalls": [call]}),
        record("context.append_message", message={"role": "tool", "content": "text", "toolCallId": "c1"}),
    )
    assert shape(got.entries) == [("assistant", "call", '{"path": "a.py"}'), ("user", "result", "text")]
    assert [entry.pair_id for entry in got.entries] == ["c1", "c1"]


def test_the_summary_may_be_empty_and_what_is_unknown_is_counted():
    got = read(
        record("profile.bind", modelAlias="m", systemPrompt="Be brief.", environmentDisclosure={"cwd": "/repo"}),
        record("context.apply_compaction", summary=" "),
        record("context.undo", count=1),
        record("dream"),
        event("dream"),
    )
    assert (got.compactions, got.cwd) == ((1,), "/repo")
    assert got.skipped == {
        "compaction boundary": 1,
        "empty text": 1,
        "unknown record: context.undo": 1,
        "unknown record: dream": 2,
    }


def test_records_of_other_clients_are_not_its_own():
    assert kimi_code.recognises(lines(event("step.begin")))
    assert not kimi_code.recognises(lines({"type": "profile.bind"}, {"type": "context.append_message"}, record("turn")))
