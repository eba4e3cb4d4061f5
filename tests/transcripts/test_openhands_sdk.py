"""OpenHands SDK: events with a kind, one a line, as the files of a conversation are handed over."""

import json
from typing import Any

import pytest

from tests.transcripts.builders import lines, meta, shape
from undrift import transcripts
from undrift.transcripts import Recording
from undrift.transcripts.openhands_sdk import is_event

Record = dict[str, Any]
STATE: Record = {
    "id": "c-1",
    "agent": {"kind": "Agent", "llm": {"model": "anthropic/claude-x"}},
    "workspace": {"kind": "LocalWorkspace", "working_dir": "/repo"},
    "persistence_dir": ".conversations",
}


def text(words: str) -> Record:
    return {"cache_prompt": False, "type": "text", "text": words}


def event(kind: str, source: str = "agent", **fields: Any) -> Record:
    return {"id": f"e-{kind}", "timestamp": "2026-01-02T03:04:05.678", "source": source, "kind": kind, **fields}


def said(source: str, words: str, **fields: Any) -> Record:
    message = {"role": "assistant" if source == "agent" else "user", "content": [text(words)]}
    return event("MessageEvent", source, llm_message=message, **fields)


def act(call_id: str, command: str = "ls", thought: str = "", answer: str = "r-1", **fields: Any) -> Record:
    arguments = json.dumps({"command": command, "security_risk": "LOW"})
    return event(
        "ActionEvent",
        thought=[text(thought)] if thought else [],
        action={"kind": "TerminalAction", "command": command},
        tool_name="terminal",
        tool_call_id=call_id,
        tool_call={"id": call_id, "name": "terminal", "arguments": arguments, "origin": "completion"},
        llm_response_id=answer,
        **fields,
    )


def seen(call_id: str, words: str = "a.py", extended: list[Record] | None = None, **observation: Any) -> Record:
    shown = {"kind": "TerminalObservation", "content": [text(words)], "is_error": False, **observation}
    more = {"extended_content": extended} if extended else {}
    return event(
        "ObservationEvent", "environment", tool_name="terminal", tool_call_id=call_id, observation=shown, **more
    )


def read(*events: Record) -> Recording:
    return transcripts.read(lines(said("user", "Go"), *events))


CONVERSATION = [
    STATE,
    event("SystemPromptEvent", system_prompt=text("You are an agent."), tools=[{}], dynamic_context=text("On /repo.")),
    said("user", "Fix the login", extended_content=[text("Use git.")]),
    event("ConversationStateUpdateEvent", "environment", key="execution_status", value="running"),
    act("t1", thought="I look."),
    seen("t1", "no", metadata={"exit_code": 1, "prefix": "[before]\n", "suffix": "\n[exit code 1]"}),
    said("agent", "Done", llm_response_id="r-2"),
]


@pytest.mark.parametrize("file", [lines(*CONVERSATION), lines({"instance_id": "c-1", "history": CONVERSATION})])
def test_a_conversation_is_recognised_and_read(file: list[str]):
    got = transcripts.read(file)
    assert (got.format, got.model, got.session_id, got.cwd) == ("openhands", "anthropic/claude-x", "c-1", "/repo")
    assert shape(got.entries) == [
        ("system", "text", "You are an agent."),
        ("system", "text", "On /repo."),
        ("user", "text", "Fix the login"),
        ("user", "text", "Use git."),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"command": "ls", "security_risk": "LOW"}'),
        ("user", "result", "[before]\nno\n[exit code 1]"),
        ("assistant", "text", "Done"),
    ]
    call, result = got.entries[5:7]
    assert (meta(call)["tool_name"], call.pair_id, result.pair_id) == ("terminal", "t1", "t1")
    assert meta(result)["is_error"] is True
    assert got.entries[0].timestamp == 1767323045678
    assert got.skipped == {
        "client event: ConversationStateUpdateEvent": 1,
        "state of the conversation": 1,
        "tool definitions": 1,
    }


def test_calls_of_one_answer_stand_together_before_their_results():
    got = read(act("t1"), seen("t1"), act("t2", "pwd"), seen("t2", "/repo"), act("t3", answer="r-2"), seen("t3"))
    assert [kind for _, kind, _ in shape(got.entries)] == ["text", *("call",) * 2, *("result",) * 2, "call", "result"]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 1, 2, 2, 3, 4]


def test_thinking_stands_before_what_was_said_and_once():
    sealed = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "x"}]
    got = read(act("t1", thought="I look.", reasoning_content="Hm.", thinking_blocks=sealed), seen("t1"))
    assert [content for _, _, content in shape(got.entries)][1:3] == ["Hm.", "I look."]
    assert meta(got.entries[1])["signature"] == "c2ln"
    assert got.skipped == {"encrypted thinking": 1}


@pytest.mark.parametrize(
    ("item", "told", "skipped"),
    [
        ({"summary": ["Hm."], "encrypted_content": "gAAA"}, ["Hm."], {}),
        ({"summary": [], "encrypted_content": "gAAA"}, [], {"encrypted thinking": 1}),
        ({}, [], {}),
    ],
)
def test_the_reasoning_of_the_responses_interface_is_thinking(item: Record, told: list[str], skipped: Record):
    got = read(act("t1", responses_reasoning_item=item), seen("t1"))
    assert [content for _, kind, content in shape(got.entries) if kind == "thinking"] == told
    assert got.skipped == skipped


@pytest.mark.parametrize(
    ("observation", "is_error"),
    [
        ({}, False),
        ({"is_error": True}, True),
        ({"exit_code": 2}, True),
        ({"metadata": {"exit_code": 0}}, False),
        ({"metadata": {"exit_code": -1}}, False),  # it still runs
        ({"metadata": {"exit_code": None}}, False),
    ],
)
def test_a_failure_is_known(observation: Record, is_error: bool):
    assert meta(read(act("t1"), seen("t1", **observation)).entries[2])["is_error"] is is_error


def test_what_answers_a_call_otherwise_is_its_result_and_an_error():
    answers = {"tool_name": "terminal", "tool_call_id": "t1"}
    for answer, told in (
        (event("UserRejectObservation", "environment", rejection_reason="Not now", **answers), "Not now"),
        (event("AgentErrorEvent", error="no such tool", **answers), "no such tool"),
    ):
        result = read(act("t1"), answer).entries[2]
        assert told in result.content
        assert (result.pair_id, meta(result)["is_error"]) == ("t1", True)


def test_the_older_and_the_other_forms_of_an_observation_are_read():
    older = {"kind": "ExecuteBashObservation", "output": "a.py", "exit_code": 0}
    screen = {"kind": "BrowserObservation", "content": [text("Page")], "screenshot_data": "AAAA"}
    other = {"kind": "FinishObservation", "message": "Done"}
    for observation, told, skipped in (
        (older, "a.py", {}),
        (screen, "Page", {"image data": 1}),
        (other, '{"message": "Done"}', {}),
    ):
        answer = event("ObservationEvent", "environment", tool_call_id="t1", observation=observation)
        got = read(act("t1"), answer)
        assert got.entries[2].content == told
        assert got.skipped == skipped
    got = read(act("t1"), seen("t1", extended=[text("Rule of this folder.")]))
    assert got.entries[2].content == "a.py\nRule of this folder."


def test_a_call_whose_answer_was_not_kept_has_the_arguments_of_its_action():
    asked = act("t1")
    del asked["tool_call"]
    assert meta(read(asked, seen("t1")).entries[1])["input"] == {"command": "ls"}


def test_a_condensation_is_a_compaction():
    condensed = event("Condensation", "environment", forgotten_event_ids=["e"], summary="We went.")
    got = read(said("agent", "I go"), condensed, event("Condensation", "environment"), said("agent", "On"))
    assert got.compactions == (2, 3)
    assert shape(got.entries)[2] == ("user", "summary", "We went.")
    assert got.skipped == {"compaction boundary": 2}


def test_pictures_stand_as_a_word_and_what_is_unknown_is_counted():
    shown = {"role": "user", "content": [text("Look"), {"type": "image", "image_urls": ["data:"]}]}
    got = read(event("MessageEvent", "user", llm_message=shown), event("NewEvent"), event("PauseEvent", "user"))
    assert [kind for _, kind, _ in shape(got.entries)] == ["text", "text", "image"]
    assert got.skipped == {"client event: PauseEvent": 1, "image data": 1, "unknown event: NewEvent": 1}


@pytest.mark.parametrize("broken", [None, 5, "x", [], {"kind": 5}])
def test_values_of_a_wrong_kind_are_borne(broken: Any):
    for kind in ("ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "Condensation"):
        fields = ("thought", "tool_call", "action", "observation", "llm_message", "system_prompt", "summary")
        got = read(event(kind, **dict.fromkeys(fields, broken)))
        assert got.entries[0].content == "Go"


def test_an_event_whose_source_is_no_text_is_none():
    sources: tuple[Any, ...] = ([], {}, 5, None)
    for source in sources:
        assert not is_event({"source": source, "kind": "MessageEvent"})
