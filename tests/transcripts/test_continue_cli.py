"""A session of Continue becomes what the reader's table promises; `test_recorded` reads what the program wrote."""

from typing import Any

import pytest

from tests.transcripts.builders import meta, shape
from tests.transcripts.samples import document
from undrift.transcripts import Recording, continue_cli


def read(*history: Any, **more: Any) -> Recording:
    about = {"sessionId": "s-1", "title": "t", "workspaceDirectory": "/repo"}
    return continue_cli.read(document({**about, "history": list(history), **more}), count=len)


def item(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"role": role, "content": content}, "contextItems": [], **more}


@pytest.mark.parametrize(("status", "failed"), [("done", False), ("errored", True), ("canceled", True)])
def test_a_call_stands_before_its_result(status: str, failed: bool):
    call = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"path": "a.py"}'}}
    state = {"toolCallId": "c1", "status": status, "output": [{"content": "one"}, {"content": "two"}]}
    asked = item("assistant", "I look.", toolCallStates=[state, {"toolCallId": "c2", "status": "calling"}])
    asked["message"]["toolCalls"] = [call]
    got = read(item("user", "Go"), asked)
    assert shape(got.entries) == [
        ("user", "text", "Go"),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"path": "a.py"}'),
        ("user", "result", "one\ntwo"),
    ]
    assert meta(got.entries[3])["is_error"] is failed
    assert (got.session_id, got.cwd) == ("s-1", "/repo")


def test_a_summary_of_the_conversation_is_a_compaction():
    got = read(
        item("user", "Go"), item("assistant", "All so far.", conversationSummary="All so far."), item("user", "On")
    )
    assert got.compactions == (1,)
    assert shape(got.entries)[1] == ("user", "summary", "All so far.")


def test_context_items_and_what_is_unknown_are_counted():
    got = read(item("user", "Go", contextItems=[{"name": "a.py"}]), "no item", tomorrow=1)
    assert got.skipped["context item"] == 1
    assert got.skipped["unknown record: tomorrow"] == 1
    assert got.skipped["client record: title"] == 1
