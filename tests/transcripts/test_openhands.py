"""OpenHands: actions and observations of its events, and the logs of single requests."""

import pytest

from tests.transcripts.builders import lines, meta, shape
from tests.transcripts.chat_samples import act, answered, asked, event, observed, read_as, requested, said
from tests.transcripts.samples import document
from undrift import transcripts
from undrift.transcripts import Recording, openhands

AROUND = {"metadata": {"exit_code": 1, "working_dir": "/repo", "prefix": "[before]\n", "suffix": "\n[exit code 1]"}}
EVENTS = [
    act(0, "system", content="You are an agent.", tools=[{"type": "function"}]),
    act(1, "message", "user", content="Fix the login", image_urls=["data:"]),
    event(2, "environment", observation="agent_state_changed", content="", extras={}),
    act(
        3,
        "run",
        asked=requested("t1", "r1", asked("t1", "execute_bash")),
        command="ls",
        thought="I look.",
        hidden=False,
    ),
    observed(4, 3, content="no", extras=AROUND, tool_call_metadata=requested("t1", "r1")),
    act(5, "message", content="Done"),
]


def read(*events: object) -> Recording:
    return read_as("openhands", list(events))


@pytest.mark.parametrize(
    "file",
    [
        document(EVENTS),
        document(EVENTS, indent=None),
        lines(*EVENTS),
        lines({"instance_id": "i-1", "instruction": "x", "history": EVENTS}),
        document({"history": [EVENTS[0], [EVENTS[1], EVENTS[2]], EVENTS[3:5], EVENTS[5]]}),
    ],
)
def test_events_are_recognised_and_read(file):
    got = transcripts.read(file)
    assert (got.format, got.model, got.cwd) == ("openhands", "model-x", "/repo")
    assert shape(got.entries) == [
        ("system", "text", "You are an agent."),
        ("user", "text", "Fix the login"),
        ("user", "image", "[image]"),
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"command": "ls"}'),
        ("user", "result", "[before]\nno\n[exit code 1]"),
        ("assistant", "text", "Done"),
    ]
    call, result = got.entries[4:6]
    assert (meta(call)["tool_name"], call.pair_id, result.pair_id) == ("execute_bash", "t1", "t1")
    assert meta(result)["is_error"] is True
    assert got.entries[0].timestamp == 1767323040000
    assert got.skipped == {"client event: agent_state_changed": 1, "image data": 1, "tool definitions": 1}


def test_calls_of_one_answer_stand_together_before_their_results():
    calls = [asked("t1"), asked("t2", arguments='{"command": "pwd"}')]
    got = read(
        act(1, "message", "user", content="Go"),
        act(2, "run", asked=requested("t1", "r1", *calls), command="ls", thought=""),
        observed(3, 2, tool_call_metadata=requested("t1", "r1")),
        act(4, "run", asked=requested("t2", "r1", *calls), command="pwd", thought=""),
        observed(5, 4, content="/repo", tool_call_metadata=requested("t2", "r1")),
    )
    assert [kind for _, kind, _ in shape(got.entries)] == ["text", "call", "call", "result", "result"]
    assert [meta(entry)["message"] for entry in got.entries] == [0, 1, 1, 2, 2]


def test_without_ids_the_observation_names_its_cause():
    got = read(
        act(7, "read", path="a.py", thought=" ", impl_source="x"),
        observed(8, 7, "read", "x = 1"),
        act(9, "browse", url="u"),
        observed(10, 9, "browse", extras={"screenshot": "AAAA"}),
        observed(11, 4, "error", "no such tool"),
    )
    assert [entry.pair_id for entry in got.entries] == ["event-7", "event-7", "event-9", "event-9", None]
    assert meta(got.entries[0])["input"] == {"path": "a.py"}
    assert meta(got.entries[-1])["is_error"] is True
    assert got.skipped == {"image data": 1, "result without call": 1}


@pytest.mark.parametrize(
    ("more", "is_error"),
    [
        ({"success": False}, True),
        ({"success": True, "extras": {"metadata": {"exit_code": 1}}}, False),
        ({"extras": {"metadata": {"exit_code": 0}}}, False),
        ({"extras": {"metadata": {"exit_code": -1}}}, True),
        ({}, False),
    ],
)
def test_a_failure_is_known(more, is_error):
    got = read(act(1, "run", command="ls"), observed(2, 1, **more))
    assert meta(got.entries[1])["is_error"] is is_error


def test_a_thought_that_is_the_input_is_not_said_twice():
    thinking = requested("t1", "r1", asked("t1", "think", '{"thought": "Hm, so."}'), name="think")
    got = read(act(1, "think", asked=thinking, thought="Hm, so."), observed(2, 1, "think", "Logged."))
    assert [kind for _, kind, _ in shape(got.entries)] == ["call", "result"]
    assert meta(got.entries[0])["input"] == {"thought": "Hm, so."}


def test_an_answer_that_was_not_recorded_leaves_the_arguments_of_the_action():
    for response in ({}, {"choices": ["broken", {"message": {"tool_calls": ["broken", asked("other")]}}]}):
        given = {"function_name": "f", "tool_call_id": "t1", "model_response": response}
        got = read(act(1, "run", asked=given, command="ls", confirmation_state="confirmed"))
        assert (meta(got.entries[0])["tool_name"], meta(got.entries[0])["input"]) == ("f", {"command": "ls"})


def test_a_condensation_is_a_compaction():
    got = read(
        act(1, "message", "user", content="Go"),
        act(2, "message", content="I go"),
        act(3, "condensation", forgotten_event_ids=[1], summary="We went."),
        act(4, "condensation", forgotten_event_ids=[2]),
        act(5, "message", content="On"),
    )
    assert got.compactions == (2, 3)
    assert shape(got.entries)[2] == ("user", "summary", "We went.")
    assert got.skipped == {"compaction boundary": 2}


def test_recalled_knowledge_is_text_of_the_client():
    known = {"microagent_knowledge": [{"content": "Use git."}, "broken"], "repo_instructions": "Be kind."}
    got = read(
        act(1, "message", "user", content="Go"),
        event(2, "environment", observation="recall", content="Added", extras=known),
        event(3, "environment", observation="recall", content="Added", extras={}),
    )
    assert shape(got.entries)[1] == ("user", "text", "Be kind.\n\nUse git.")
    assert meta(got.entries[1])["meta"] is True
    assert got.skipped == {"client event: recall": 1}


def test_what_the_user_runs_is_text_and_the_rest_is_counted():
    got = read(
        act(1, "run", "user", command="make"),
        act(2, "upload", "user", name="f"),
        act(3, "recall", "user", query="x"),
        observed(4, 3, "null", ""),
        {"id": 5, "source": "agent", "kind": "NewEvent"},
        act(6, "message", content=""),
        17,
    )
    assert shape(got.entries) == [("user", "text", "make"), ("user", "text", '{"name": "f"}')]
    assert got.skipped == {
        "client event: null": 1,
        "client event: recall": 1,
        "message without content": 1,
        "unknown event: (none)": 1,
        "unknown event: NewEvent": 1,
    }


def test_of_many_histories_the_first_is_read():
    got = transcripts.read(lines({"instance_id": "a", "history": EVENTS}, {"instance_id": "b", "history": EVENTS[:2]}))
    assert got.session_id == "a"
    assert got.skipped["message of another conversation"] == 2


SENT = [
    said("system", "Be brief."),
    said("user", "Go"),
    said("assistant", "I go", tool_calls=[asked("t1")]),
    answered("t1"),
]
ANSWER = {"model": "model-x", "choices": [{"message": said("assistant", "Done")}]}
LOG = {"messages": SENT, "tools": [{}], "response": ANSWER, "cost": 0.1, "timestamp": 1767323045.5, "latency_sec": 3.1}


@pytest.mark.parametrize("indent", [None, 1])
def test_the_log_of_a_request_is_what_was_sent_and_the_answer(indent):
    got = transcripts.read(document(LOG, indent=indent))
    assert (got.format, got.model) == ("openhands", "model-x")
    assert [content for _, _, content in shape(got.entries)] == [
        "Be brief.",
        "Go",
        "I go",
        '{"command": "ls"}',
        "a.py",
        "Done",
    ]
    assert got.entries[-1].timestamp == 1767323045500
    assert got.entries[-1].id == "response:0"
    assert got.skipped == {"tool definitions": 1}


@pytest.mark.parametrize(
    ("rendered", "more"),
    [
        ("raw_messages", {"raw_response": {"choices": []}}),
        (
            "fncall_messages",
            {"fncall_response": ANSWER, "response": {"choices": [{"message": said("assistant", "<x>")}]}},
        ),
    ],
)
def test_messages_that_were_rendered_as_text_are_counted(rendered, more):
    text = [said("system", "Be brief, and write <function=x>."), said("user", "Go")]
    got = transcripts.read(document({**LOG, "messages": text, rendered: SENT, **more}, indent=None))
    assert [content for _, _, content in shape(got.entries)][-3:] == ['{"command": "ls"}', "a.py", "Done"]
    assert got.skipped == {"answer rendered as text": 1, "message rendered as text": 2, "tool definitions": 1}


@pytest.mark.parametrize("response", [None, {}, {"choices": ["broken"]}, {"choices": [{"message": 5}]}])
def test_a_log_without_an_answer_is_what_was_sent(response):
    got = read_as("openhands", {**LOG, "response": response})
    assert len(got.entries) == 5


@pytest.mark.parametrize(
    "file",
    [
        document({"messages": SENT}),
        document({"messages": SENT, "response": ANSWER}),
        document([{"source": "agent", "action": "run"}]),
        document([{"source": "critic", "action": "run", "args": {}}]),
        lines({"type": "source", "source": "agent", "observation": 5, "content": ""}),
        ["no json", "[1, 2]"],
    ],
)
def test_other_files_are_not_recognised(file):
    assert not openhands.recognises(file)
