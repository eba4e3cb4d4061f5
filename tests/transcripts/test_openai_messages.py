"""Message lists of chat completions: every form of the list, every kind of message and part."""

import pytest

from tests.transcripts.builders import lines, meta, shape
from tests.transcripts.chat_samples import answered, asked, read_as, said
from tests.transcripts.samples import document
from undrift import transcripts
from undrift.transcripts import Recording, openai_messages

LIST = [
    said("system", "Be brief."),
    said("user", "Fix the login"),
    said("assistant", "I look.", tool_calls=[asked("c1")]),
    answered("c1"),
    said("assistant", "Done"),
]
SHAPE = [
    ("system", "text", "Be brief."),
    ("user", "text", "Fix the login"),
    ("assistant", "text", "I look."),
    ("assistant", "call", '{"command": "ls"}'),
    ("user", "result", "a.py"),
    ("assistant", "text", "Done"),
]


def read(*messages: object) -> Recording:
    return read_as("openai-messages", list(messages))


@pytest.mark.parametrize(
    "file",
    [
        document(LIST),
        document(LIST, indent=None),
        lines(*LIST),
        document({"model": "model-x", "messages": LIST, "temperature": 0}),
        lines({"messages": LIST}),
        lines({"messages": []}, {"messages": LIST, "model": "model-x"}),
        document([{"traj": LIST, "reward": 1.0}]),
        ["\ufeff", *document(LIST)],
    ],
)
def test_every_form_of_the_list_is_recognised_and_read(file):
    got = transcripts.read(file)
    assert got.format == "openai-messages"
    assert shape(got.entries) == SHAPE
    assert got.skipped == {}
    call, result = got.entries[3:5]
    assert (meta(call)["tool_name"], meta(call)["input"], call.pair_id) == ("bash", {"command": "ls"}, "c1")
    assert (meta(result)["tool_name"], result.pair_id, meta(result)["is_error"]) == ("bash", "c1", False)
    assert got.entries[0].type == "spec"


def test_what_stands_beside_the_list_names_model_session_and_folder():
    about = {"model": "model-x", "session_id": "s-1", "cwd": "/repo", "system": "Be brief.", "top_p": 1}
    got = read_as("openai-messages", {**about, "messages": LIST[1:]})
    assert (got.model, got.session_id, got.cwd) == ("model-x", "s-1", "/repo")
    assert shape(got.entries) == SHAPE


@pytest.mark.parametrize(
    "file",
    [
        lines({"messages": LIST}, {"messages": LIST, "model": "y"}, {"messages": LIST[:2]}),
        document([{"messages": LIST}, {"traj": LIST}, {"messages": LIST[:2]}]),
    ],
)
def test_of_many_conversations_the_first_is_read_and_the_others_are_counted(file):
    got = transcripts.read(file)
    assert shape(got.entries) == SHAPE
    assert got.skipped == {"message of another conversation": len(LIST) + 2}
    assert got.model is None


def test_results_of_a_benchmark_are_recognised_before_their_first_message():
    task = {"instruction": "x", "actions": [{"name": f"n{n}"} for n in range(transcripts.HEAD_LINES)]}
    records = [{"task_id": n, "reward": 0.0, "info": {"task": task}, "traj": LIST, "trial": 0} for n in range(2)]
    got = transcripts.read(document(records))
    assert (got.format, shape(got.entries)) == ("openai-messages", SHAPE)


def test_a_conversation_that_is_longer_than_the_head_is_recognised():
    long = [said("user", "x", parts=list(range(transcripts.HEAD_LINES)))]
    assert transcripts.detect(document([{"messages": long}])[: transcripts.HEAD_LINES]) == "openai-messages"


def test_times_are_read_as_text_or_as_seconds():
    stamps = [1767323045.5, "2026-01-02T03:04:06Z", None, True, 1e300, -5, float("nan")]
    got = read(*[said("user", "x", timestamp=stamp) for stamp in stamps])
    assert [entry.timestamp for entry in got.entries] == [1767323045500, *[1767323046000] * 6]


def test_thinking_comes_before_the_text_and_once():
    blocks = [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, {"type": "redacted_thinking"}, 5]
    got = read(said("assistant", "Yes", thinking_blocks=blocks, reasoning_content="Hm", reasoning="Well"))
    assert shape(got.entries) == [("assistant", "thinking", t) for t in ("Hm", "Well")] + [("assistant", "text", "Yes")]
    assert meta(got.entries[0])["signature"] == "c2ln"
    assert got.skipped == {"encrypted thinking": 1}


def test_a_function_of_old_is_paired_by_its_name():
    calls = [{"name": "f", "arguments": '{"a": 1}'}, {"name": "f", "arguments": "no json"}]
    got = read(
        *[m for call in calls for m in (said("assistant", None, function_call=call), said("function", "r", name="f"))]
    )
    assert [meta(entry).get("input") for entry in got.entries] == [{"a": 1}, None, {"input": "no json"}, None]
    assert [entry.pair_id for entry in got.entries] == ["function f", "function f", "function f#2", "function f#2"]


def test_calls_of_other_shapes_are_calls():
    custom = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    bare = {"id": "c2", "name": "g", "arguments": {"b": 2}}
    got = read(said("assistant", tool_calls=[custom, bare, {"id": "c3"}, "broken"]))
    assert [(meta(e)["tool_name"], meta(e)["input"]) for e in got.entries] == [
        ("patch", {"input": "*** Begin"}),
        ("g", {"b": 2}),
        ("unknown", {}),
    ]
    assert got.skipped == {"call without result": 3, "unknown block: (none)": 1}


def test_every_part_of_a_content_is_read_or_counted():
    got = read(
        said(
            "user",
            [
                "bare",
                {"type": "text", "text": "said"},
                {"type": "image_url", "image_url": {"url": "data:"}},
                {"type": "input_audio", "input_audio": {"data": "AA"}},
                {"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True},
                {"type": "video"},
                {"type": "thinking", "thinking": " "},
                5,
            ],
        ),
        said(
            "assistant",
            [{"type": "refusal", "refusal": "No."}, {"type": "tool_use", "id": "t2", "name": "f", "input": {}}],
        ),
        said("assistant", None, refusal="Never."),
    )
    assert shape(got.entries) == [
        ("user", "text", "bare"),
        ("user", "text", "said"),
        ("user", "image", "[image]"),
        ("user", "result", "x"),
        ("assistant", "text", "No."),
        ("assistant", "call", "{}"),
        ("assistant", "text", "Never."),
    ]
    assert got.skipped == {
        "call without result": 1,
        "empty thinking": 1,
        "image data": 1,
        "input_audio data": 1,
        "result without call": 1,
        "unknown block: (none)": 1,
        "unknown block: video": 1,
    }


def test_items_of_responses_are_read():
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    got = read_as(
        "openai-messages",
        {
            "messages": [
                {"object": "response", "output": [thought, {"type": "reasoning"}, call]},
                {"type": "function_call_output", "call_id": "c1", "output": "x"},
            ]
        },
    )
    assert shape(got.entries) == [
        ("assistant", "thinking", "Hm"),
        ("assistant", "call", '{"a": 1}'),
        ("user", "result", "x"),
    ]
    assert got.entries[1].pair_id == got.entries[2].pair_id == "c1"
    assert got.skipped == {"empty thinking": 1}


def test_what_is_no_message_is_counted():
    got = read(
        said("user", "hi"), said("critic", "x"), said("user", []), said("assistant", ""), said("user", " "), 5, {"a": 1}
    )
    assert shape(got.entries) == [("user", "text", "hi")]
    assert got.skipped == {"empty text": 1, "message without content": 2, "record without messages": 3}
    held = read_as("openai-messages", {"messages": [said("user", "hi"), said("critic", "x"), 5]})
    assert held.skipped == {"unknown message: (none)": 1, "unknown role: critic": 1}


@pytest.mark.parametrize(
    "file",
    [
        document([said("user", parts=[])]),
        lines({"type": "user", "content": "hi"}),
        lines({"role": "user", "message": {"content": "hi"}}),
        document({"history": LIST}),
        ["[1, 2]"],
        ['{"role": "critic", "content": ""}'],
    ],
)
def test_other_lists_are_not_recognised(file):
    assert not openai_messages.recognises(file)


def test_a_file_that_breaks_off_gives_what_came_before():
    file = document(LIST)
    got = transcripts.read(file[: len(file) // 2])
    assert got.unfinished
    assert shape(got.entries) == SHAPE[: len(got.entries)]
    assert got.entries


def test_damage_costs_the_message_that_it_is_in():
    file = "".join(document(LIST)).replace('"Be brief."', "Be brief")
    got = transcripts.read(file.splitlines(keepends=True), format="openai-messages")
    assert shape(got.entries) == SHAPE[1:]
    assert got.skipped == {"malformed part of the document": 1}


def test_a_longer_file_keeps_the_ids_of_the_shorter():
    for file in (lines(*LIST), document(LIST, indent=None)):
        whole = [entry.id for entry in transcripts.read(file).entries]
        part = transcripts.read(lines(*LIST[:3]) if len(file) > 1 else document(LIST[:3], indent=None))
        assert [entry.id for entry in part.entries] == whole[: len(part.entries)]
