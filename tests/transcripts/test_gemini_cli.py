"""Chats of Gemini CLI become the entries that the reader's table promises, in both forms of the file."""

import pytest

from tests.transcripts.builders import lines, meta, shape
from tests.transcripts.samples import (
    GEMINI,
    GEMINI_LINES,
    STAMP_MS,
    answered,
    chat,
    document,
    gemini,
    gemini_call,
)
from undrift import transcripts
from undrift.transcripts import gemini_cli
from undrift.transcripts.base import Recording


def read(*messages: object, **more: object) -> Recording:
    return gemini_cli.read(document(chat(*messages, **more)), count=len)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_becomes_one_entry_for_each_block(indent):
    got = transcripts.read(document(GEMINI, indent), count=len)
    assert shape(got.entries) == [
        ("user", "text", "Fix the login"),
        ("assistant", "thinking", "Looking\nThe login first."),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"path": "a.py"}'),
        ("assistant", "call", "{}"),
        ("user", "result", "done"),
        ("user", "result", "no"),
        ("assistant", "text", "Done"),
        ("assistant", "image", "[image]"),
    ]
    assert [entry.id for entry in got.entries][:3] == ["u1:0", "a1:0", "a1:1"]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 1, 1, 1, 2, 2, 3, 3]
    assert [entry.pair_id for entry in got.entries[3:7]] == ["c1", "c2", "c1", "c2"]
    assert [meta(entry)["tool_name"] for entry in got.entries[3:7]] == ["read_file"] * 4
    assert [meta(entry)["is_error"] for entry in got.entries[5:7]] == [False, True]
    assert {entry.timestamp for entry in got.entries} == {STAMP_MS}
    assert (got.format, got.model, got.session_id, got.cwd) == ("gemini-cli", "gemini-x", "g-1", None)
    assert got.skipped == {"client message: info": 1, "client record: summary": 1, "image data": 1}
    assert (got.compactions, got.unfinished) == ((), False)


def test_a_message_stands_on_its_line_of_the_document():
    got = gemini_cli.read(document(GEMINI), count=len)
    text = "".join(document(GEMINI)).splitlines()
    assert all('"id"' in "".join(text[meta(entry)["line"] - 1 :][:3]) for entry in got.entries)
    assert len({meta(entry)["line"] for entry in got.entries}) == 3


def test_a_file_that_grows_line_by_line_gives_each_message_as_it_was_written_last():
    got = transcripts.read(lines(*GEMINI_LINES), count=len)
    assert got.format == "gemini-cli"
    assert shape(got.entries) == [
        ("user", "text", "Fix the login"),
        ("assistant", "thinking", "Looking\nThe login first."),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"path": "a.py"}'),
        ("assistant", "call", "{}"),
        ("user", "result", "done"),
        ("user", "result", "no"),
        ("user", "summary", "<state_snapshot>much</state_snapshot>"),
        ("assistant", "text", "On we go"),
    ]
    assert got.compactions == (7,)
    assert got.entries[7].type == "summary"
    assert got.skipped == {
        "client record: summary": 1,
        "compaction boundary": 1,
        "repeated record": 2,
        "rewind": 1,
    }


def test_a_history_brought_up_to_date_is_no_compaction():
    first, update = gemini("user", "one", id="u1"), {"$set": {"messages": [gemini("user", "one", id="u1"), 7]}}
    got = gemini_cli.read(lines(GEMINI_LINES[0], first, update, {"$set": {"summary": "t"}}, {"odd": 1}), count=len)
    assert shape(got.entries) == [("user", "text", "one")]
    assert got.compactions == ()
    assert got.skipped == {
        "client record: summary": 2,
        "repeated record": 1,
        "unknown record: (none)": 1,
        "unknown record: odd": 1,
    }


def test_a_call_that_was_never_answered_has_no_result():
    got = read(gemini("gemini", "", toolCalls=[gemini_call("c1", result=None, status="cancelled"), 3]))
    assert shape(got.entries) == [("assistant", "call", "{}")]
    assert got.skipped == {"call without result": 1}


@pytest.mark.parametrize(
    ("result", "text", "is_error", "skipped"),
    [
        ("plain", "plain", False, {}),
        (["a", {"text": "b"}], "a\nb", False, {}),
        ([answered("c1", output={"n": 1})], '{"n": 1}', False, {}),
        ([answered("c1", output="x", more=1)], '{"output": "x", "more": 1}', False, {}),
        ([answered("c1", error="gone")], "gone", True, {}),
        ([answered("c1", rows=[1])], '{"rows": [1]}', False, {}),
        ([{"functionResponse": {"id": "c1"}}], "", False, {}),
        (
            [{"functionResponse": {**answered("c1", output="x")["functionResponse"], "parts": [{"text": "y"}]}}],
            "x\ny",
            False,
            {},
        ),
        ([{"inlineData": {"mimeType": "image/png", "data": "AA"}}], "[image]", False, {"image data": 1}),
        (
            [{"inlineData": {"mimeType": "audio/wav", "data": "AA"}}],
            '{"inlineData": {"mimeType": "audio/wav"}}',
            False,
            {"binary data": 1},
        ),
        ([answered("c2", output="other"), answered("c1", output="own")], "own", False, {"repeated result": 1}),
    ],
)
def test_a_result_reads_as_text_whatever_the_tool_gave(result, text, is_error, skipped):
    calls = [gemini_call("c1", result=result), gemini_call("c2", result=[])]
    entry = next(e for e in read(gemini("gemini", "", toolCalls=calls)).entries if meta(e)["kind"] == "result")
    assert entry.content == text
    assert meta(entry)["is_error"] is is_error
    assert read(gemini("gemini", "", toolCalls=calls)).skipped == skipped


def test_calls_and_results_inside_a_content_count_once():
    got = read(
        gemini("gemini", [{"functionCall": {"id": "c1", "name": "f"}}], id="a1", toolCalls=[gemini_call("c1")]),
        gemini("user", [answered("c1", output="again")], id="u2"),
        gemini("gemini", {"functionCall": {"id": "c2", "name": "g", "args": {"n": 1}}}, id="a2"),
        gemini("user", answered("c2", error="no"), id="u3"),
    )
    assert shape(got.entries) == [
        ("assistant", "call", "{}"),
        ("user", "result", "done"),
        ("assistant", "call", '{"n": 1}'),
        ("user", "result", "no"),
    ]
    assert meta(got.entries[3])["is_error"] is True
    assert got.entries[2].pair_id == got.entries[3].pair_id == "c2"
    assert got.skipped == {"repeated call": 1, "repeated result": 1}


def test_what_holds_no_words_is_counted():
    got = read(
        gemini("user", None),
        gemini("gemini", ""),
        gemini("gemini", [{"text": "Inner", "thought": True}, 4, " "], thoughts=[{}, 3]),
        gemini("user", [{"fileData": {"fileUri": "u"}}]),
        gemini("hologram", "x"),
        "bare",
        directories=[3, "/repo"],
        oddity=1,
    )
    assert shape(got.entries) == [
        ("assistant", "thinking", "Inner"),
        ("user", "other", '{"fileData": {"fileUri": "u"}}'),
    ]
    assert got.cwd == "/repo"
    assert got.skipped == {
        "empty text": 1,
        "empty thinking": 1,
        "message without content": 2,
        "unknown part: (none)": 1,
        "unknown record: (none)": 1,
        "unknown record: hologram": 1,
        "unknown record: oddity": 1,
    }


def test_it_is_recognised_without_its_head():
    assert gemini_cli.recognises(lines(GEMINI_LINES[4]))
    assert gemini_cli.recognises(document({"messages": [gemini("gemini", "", toolCalls=[])]}))
    assert not gemini_cli.recognises(document([{"role": "user", "parts": [{"text": "x"}]}]))
    assert not gemini_cli.recognises(lines({"type": "user", "sessionId": "s", "id": "x"}))
