"""A session of Cline becomes what the reader's table promises; `test_recorded` reads what the program wrote."""

from typing import Any

import pytest

from tests.transcripts.builders import meta, shape
from tests.transcripts.samples import document
from undrift.transcripts import Recording, cline


def read(*messages: Any, **more: Any) -> Recording:
    about = {"version": 1, "agent": "lead", "sessionId": "c-1", "origin": {"source": "cli"}}
    return cline.read(document({**about, "messages": list(messages), **more}), count=len)


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {"id": f"m-{role}", "role": role, "content": list(parts), "ts": 1767323045678}


def test_the_instructions_come_first_and_the_tags_are_taken_off():
    typed = {"type": "text", "text": '<user_input mode="act">Look\nhere</user_input>'}
    got = read(said("user", typed, {"type": "image", "data": "c2ln"}), system_prompt="Be brief.")
    assert shape(got.entries) == [
        ("system", "text", "Be brief."),
        ("user", "text", "Look\nhere"),
        ("user", "image", "[image]"),
    ]
    assert got.session_id == "c-1"


@pytest.mark.parametrize(
    ("result", "text", "failed"),
    [
        ({"content": [{"query": "ls", "result": "a.py", "success": True}]}, "a.py", False),
        ({"content": [{"query": "ls", "result": "", "success": False}, {"result": "b", "success": True}]}, "\nb", True),
        ({"content": "plain"}, "plain", False),
        ({"content": [{"type": "text", "text": "part"}], "is_error": True}, "part", True),
    ],
)
def test_the_outcome_of_each_command_is_in_the_result(result: Any, text: str, failed: bool):
    call = {"type": "tool_use", "id": "t1", "name": "do", "input": {"a": 1}}
    got = read(said("assistant", call), said("user", {"type": "tool_result", "tool_use_id": "t1", **result}))
    assert shape(got.entries) == [("assistant", "call", '{"a": 1}'), ("user", "result", text)]
    assert meta(got.entries[1])["is_error"] is failed


def test_thinking_is_read_and_what_is_unknown_is_counted():
    got = read(
        said("assistant", {"type": "thinking", "thinking": "I think.", "signature": "s"}, {"type": "dream"}),
        {"role": "oracle", "content": "words"},
        {"role": "user", "content": "plain"},
        "no message",
        tomorrow=1,
    )
    assert shape(got.entries) == [("assistant", "thinking", "I think."), ("user", "text", "plain")]
    unknown = {reason: number for reason, number in got.skipped.items() if reason.startswith("unknown")}
    assert unknown == {
        "unknown block: dream": 1,
        "unknown record: tomorrow": 1,
        "unknown role: (none)": 1,
        "unknown role: oracle": 1,
    }
