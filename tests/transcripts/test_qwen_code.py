"""Records of Qwen Code become what the reader's table promises; `test_recorded` reads what the program wrote."""

from typing import Any

from tests.transcripts.builders import lines, meta, shape
from undrift.transcripts import Recording, qwen_code

Record = dict[str, Any]


def record(kind: str, *parts: Record, **more: Any) -> Record:
    about = {"uuid": f"u-{kind}", "parentUuid": None, "sessionId": "q-1", "cwd": "/repo"}
    return {**about, "timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "message": {"parts": list(parts)}, **more}


def system(subtype: str, **payload: Any) -> Record:
    return record("system", subtype=subtype, systemPayload=payload)


def read(*records: Record) -> Recording:
    return qwen_code.read(lines(*records), count=len)


def test_thoughts_pictures_and_errors_are_told_apart():
    picture = {"inlineData": {"mimeType": "image/png", "data": "c2ln"}}
    failed = {"functionResponse": {"id": "c1", "name": "edit", "response": {"error": "no such file"}}}
    got = read(
        record("user", {"text": "Look"}, picture, provenance="real_user"),
        record("assistant", {"text": "I think.", "thought": True}, {"functionCall": {"id": "c1", "name": "edit", "args": {}}}),
        record("tool_result", failed),
    )  # fmt: skip
    assert shape(got.entries) == [
        ("user", "text", "Look"),
        ("user", "image", "[image]"),
        ("assistant", "thinking", "I think."),
        ("assistant", "call", "{}"),
        ("user", "result", "no such file"),
    ]
    assert meta(got.entries[4])["is_error"] is True
    assert (got.session_id, got.cwd, got.skipped) == ("q-1", "/repo", {"image data": 1})


def test_what_no_person_typed_is_marked():
    got = read(record("user", {"text": "A job ended."}, provenance="system", subtype="notification"))
    assert meta(got.entries[0])["meta"] is True


def test_a_compaction_without_a_history_is_none_and_what_is_unknown_is_counted():
    got = read(
        record("user", {"text": "Go"}),
        system("chat_compression", info={}),
        system("chat_compression", compressedHistory=[]),
        system("slash_command"),
        system("of_tomorrow"),
        record("assistant", {"text": "spoken"}, subtype="realtime_message"),
        record("dream"),
    )
    assert got.compactions == (1,)
    assert shape(got.entries) == [("user", "text", "Go")]
    assert got.skipped == {
        "client record: chat_compression": 1,
        "client record: realtime_message": 1,
        "client record: slash_command": 1,
        "compaction boundary": 1,
        "empty text": 1,
        "unknown record: dream": 1,
        "unknown record: of_tomorrow": 1,
    }


def test_records_of_other_clients_are_not_its_own():
    assert qwen_code.recognises(lines(system("ui_telemetry")))
    assert not qwen_code.recognises(lines(record("user") | {"message": {"content": "Go"}}, {"type": "user"}))
