"""Exported sessions of opencode become the entries that the reader's table promises."""

import pytest

from tests.transcripts.builders import meta, shape
from tests.transcripts.samples import OPENCODE, STAMP_MS, document, export, part, tool, turn
from undrift import transcripts
from undrift.transcripts import opencode
from undrift.transcripts.base import Recording


def read(*messages: object, **more: object) -> Recording:
    return opencode.read(document(export(*messages, **more)), count=len)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_becomes_one_entry_for_each_part(indent):
    got = transcripts.read(document(OPENCODE, indent), count=len)
    assert shape(got.entries) == [
        ("user", "text", "Fix the login"),
        ("assistant", "thinking", "Hm"),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"path": "a.py"}'),
        ("assistant", "call", "{}"),
        ("user", "result", "done"),
        ("user", "result", "no"),
        ("assistant", "text", "Two more."),
        ("assistant", "call", "{}"),
        ("assistant", "summary", "We did much."),
        ("user", "text", "Go on"),
        ("assistant", "text", "Done"),
    ]
    assert [entry.id for entry in got.entries][:6] == [
        "prt_1:0",
        "prt_3:0",
        "prt_4:0",
        "prt_c1:0",
        "prt_c2:0",
        "prt_c1:result:0",
    ]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6]
    assert [entry.pair_id for entry in got.entries[3:9]] == ["c1", "c2", "c1", "c2", None, None]
    assert [meta(entry)["is_error"] for entry in got.entries[5:7]] == [False, True]
    assert meta(got.entries[1])["signature"] == "c2ln"
    assert meta(got.entries[10])["meta"] is True
    assert [got.entries[index].timestamp - STAMP_MS for index in (0, 4, 5, 6)] == [0, 0, 9, 9]
    assert (got.compactions, got.entries[9].type) == ((9,), "summary")
    assert (got.format, got.model, got.session_id, got.cwd) == ("opencode", "model-x", "ses_1", "/repo")
    assert got.skipped == {
        "call without result": 1,
        "client part: step-finish": 1,
        "client part: step-start": 1,
        "compaction boundary": 1,
    }


def test_a_summary_without_a_boundary_is_a_compaction_as_well():
    got = read(turn("user", part("text", text="a")), turn("assistant", part("text", text="s"), summary=True))
    assert got.compactions == (1,)
    assert read(turn("user", part("text", text="a"), summary={"diffs": []})).compactions == ()


def test_files_and_attachments_are_pictures_documents_or_references():
    state = {"status": "completed", "output": "x", "attachments": [{"mime": "image/png"}, {"mime": "a/b"}, 3]}
    got = read(
        turn(
            "user",
            part("file", mime="image/png", url="data:"),
            part("file", mime="text/plain", filename="a.py"),
            part("file", mime="application/x-directory"),
            part("file"),
            part("file", mime="application/pdf", filename="paper.pdf"),
        ),
        turn("assistant", part("tool", tool="shot", callID="c1", state=state), part("file", mime="image/png")),
    )
    assert shape(got.entries) == [
        ("user", "image", "[image]"),
        ("user", "other", "[document paper.pdf]"),
        ("assistant", "call", "{}"),
        ("assistant", "image", "[image]"),
        ("user", "result", "x\n[image]\n[document (none)]\n[document (none)]"),
    ]
    assert got.skipped == {"document data": 3, "file reference": 3, "image data": 3}


def test_what_is_not_said_is_counted():
    got = read(
        turn("user", part("text", text="secret", ignored=True), part("hologram"), 3, system="Be brief."),
        turn("assistant", part("reasoning", text=" "), system=["Be brief.", "Be kind."], error={"name": "E"}),
        turn("assistant", tool("c1", status="pending")),
        turn("assistant"),
        "bare",
        share={},
    )
    assert shape(got.entries) == [
        ("system", "text", "Be brief."),
        ("system", "text", "Be kind."),
        ("assistant", "call", "{}"),
    ]
    assert got.skipped == {
        "api error": 1,
        "call without result": 1,
        "client record: share": 1,
        "empty thinking": 1,
        "ignored text": 1,
        "message without content": 1,
        "unknown part: (none)": 1,
        "unknown part: hologram": 1,
        "unknown record: messages": 1,
    }


def test_a_damaged_message_is_counted_and_the_others_stay():
    text = "".join(document(OPENCODE))
    got = opencode.read(text.replace('"text": "Go on"', '"text" "Go on"').splitlines(), count=len)
    assert got.skipped["malformed part of the document"] == 1
    assert len(got.entries) == 11
    cut = opencode.read(text[: text.index("Go on")].splitlines(), count=len)
    assert cut.unfinished
    assert cut.skipped["cut end of the document"] == 1
    assert len(cut.entries) == 10


def test_it_is_recognised_by_its_beginning_alone():
    assert opencode.recognises(document(OPENCODE)[:12])
    assert opencode.recognises(document({"messages": [turn("user")]}))
    assert not opencode.recognises(document({"info": {"id": 1}, "messages": [{"role": "user"}]}))
