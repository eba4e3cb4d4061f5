"""The doors beside bodies and replies that take what an SDK gives: a call of a tool, a memory's metadata, a history."""

from typing import Any

import pytest

import undrift
from tests.builders import opened
from tests.wire.sdks import HISTORY, sdk
from undrift.errors import InputError, TaskError
from undrift.integrations.framework_window import FrameworkWindow
from undrift.testing import Result, history_for

WIRES = sorted(HISTORY)
UPDATE = {"id": "mend", "content": "Mend the login", "status": "in_progress"}


def _calls(reply: Any, wire: str) -> list[Any]:
    if wire == "anthropic":
        return [reply.content[2]]
    if wire == "openai-chat":
        return list(reply.choices[0].message.tool_calls)
    if wire == "openai-responses":
        return [reply.output[2]]
    return [reply.candidates[0].content.parts[1], reply.candidates[0].content.parts[1].function_call]


def _asking(one: Any, wire: str) -> Any:
    """The SDK's reply, whose call is one of the task tool."""
    import json

    answer = one.answer
    if wire == "anthropic":
        answer["content"][2]["input"] = UPDATE
    elif wire == "openai-chat":
        answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = json.dumps(UPDATE)
    elif wire == "openai-responses":
        answer["output"][2]["arguments"] = json.dumps(UPDATE)
    else:
        answer["candidates"][0]["content"]["parts"][1]["functionCall"]["args"] = UPDATE
    return one.create(**one.fields([one.asked]))


@pytest.mark.parametrize("wire", WIRES)
def test_tasks_change_by_a_call_as_the_sdk_gives_it(tmp_path, wire):
    one = sdk(wire)
    reply = _asking(one, wire)
    with opened(tmp_path) as session:
        calls = [*_calls(reply, wire), *session.record(reply, wire=wire).calls]
        calls += [call.model_dump() for call in _calls(reply, wire)]
        for number, call in enumerate(calls):
            if number:
                session.update_task("mend", status="cancelled")
            session.change_tasks(iter([call]))
            assert [(task.id, task.status) for task in session.tasks()] == [("mend", "in_progress")]


@pytest.mark.parametrize(
    "wrong", [None, "abc", b"abc", 5, {"id": "a"}, object(), [None], ["a"], [5], [object()], [[1]]]
)
def test_what_is_no_list_of_updates_is_named(tmp_path, wrong):
    with opened(tmp_path) as session, pytest.raises(TaskError, match="object"):
        session.change_tasks(wrong)


def test_criteria_may_come_from_a_generator(tmp_path):
    with opened(tmp_path) as session:
        task = session.update_task(
            "a", content="A", acceptance_criteria=(word for word in ("tests pass", "docs say so"))
        )
        assert task.acceptance_criteria == ("tests pass", "docs say so")


def test_metadata_of_a_memory_may_be_an_object_of_an_sdk(tmp_path):
    reply = sdk("anthropic").reply(1)
    with opened(tmp_path) as session:
        entry = session.remember("The port is 8080.", metadata={"usage": reply.usage, "of": (1, 2)})
        expected = {"input_tokens": 91, "output_tokens": 3, "cache_read_input_tokens": 0}
        assert dict(entry.metadata or {}) == {"usage": expected, "of": [1, 2]}
        with pytest.raises(InputError, match="metadata"):
            session.remember("The port is 9090.", metadata={"of": object()})


def test_what_is_neither_a_file_nor_entries_is_refused_by_restore_with_what_to_give():
    reply = sdk("anthropic").reply(1)
    wrongs: list[Any] = [reply, [reply], None, {"messages": []}, [{"role": "user", "content": "a"}], 5, b"x"]
    for wrong in wrongs:
        with pytest.raises(InputError, match=r"a list of ContextEntry"):
            undrift.restore(wrong)


def test_a_block_in_the_place_of_a_text_or_a_reference_is_named(tmp_path):
    block: Any = sdk("anthropic").reply(1).content[1]
    with opened(tmp_path) as session:
        for call in (session.recall, session.original, session.search, session.remember):
            with pytest.raises(InputError, match="text"):
                call(block)
        with pytest.raises(InputError, match="text"):
            session.pin("requirements", block)
    with pytest.raises(InputError, match=r"\.text"):
        undrift.token_count(block)


@pytest.mark.parametrize("wire", WIRES)
def test_a_history_for_tests_takes_the_sdks_reply(wire):
    one = sdk(wire)
    objects, plain = history_for(wire, model="m"), history_for(wire, model="m")
    for history in (objects, plain):
        history.say("Go.")
    objects.take(one.reply(1))
    plain.take(one.answer)
    assert objects.open == plain.open
    assert [name for _, name in objects.open] == ["read"]
    objects.answer([Result("done")])


def test_a_framework_gives_objects_as_they_are_and_an_empty_usage_is_no_fault(tmp_path, caplog):
    one = sdk("openai-responses")
    reply = one.reply(1)
    with opened(tmp_path) as session:
        window = FrameworkWindow(session, "openai-responses")
        prepared = window.prepare(one.fields([one.asked, *one.said(reply), one.result(1)]))
        window.record(reply)
        window.record({})
    assert prepared is not None
    assert not caplog.records


@pytest.mark.parametrize(
    "hostile",
    [
        {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {"id": "inner", "content": "b"}},
        {"type": "function_call", "name": "x", "arguments": '{"id": "inner"}'},
        {"function": {"name": "x", "arguments": '{"id": "inner"}'}},
        {"name": "x", "args": {"id": "inner"}},
    ],
)
def test_arguments_of_the_model_that_look_like_another_call_are_refused(tmp_path, hostile):
    """They are the arguments already. Only a program's own value is looked into for a call."""
    content = [{"type": "tool_use", "id": "toolu_9", "name": "task_update", "input": hostile}]
    with opened(tmp_path) as session:
        (told,) = session.record({"content": content}).task_results
        assert (told.call_id, told.is_error) == ("toolu_9", True)
        assert session.tasks() == ()
