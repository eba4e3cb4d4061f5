"""Trajectories of SWE-agent become the entries that the reader's table promises."""

import json

from tests.transcripts.builders import meta, shape
from tests.transcripts.samples import SWE_AGENT, document, entry, function, step, trajectory
from undrift import transcripts
from undrift.transcripts import swe_agent
from undrift.transcripts.base import Recording


def read(*history: object, **more: object) -> Recording:
    return swe_agent.read(document(trajectory(*history, **more)), count=len)


def test_a_trajectory_becomes_one_entry_for_each_block():
    got = transcripts.read(document(SWE_AGENT), count=len)
    assert shape(got.entries) == [
        ("system", "text", "You are an engineer."),
        ("user", "text", "Shown before"),
        ("user", "text", "Fix the login"),
        ("assistant", "text", "Look.\n\n```\n\n```"),
        ("assistant", "call", '{"command": "ls -a"}'),
        ("user", "result", "a.py"),
        ("assistant", "thinking", "Hm"),
        ("assistant", "text", "Now edit."),
        ("assistant", "call", '{"command": "ls"}'),
        ("user", "result", "edited"),
        ("assistant", "text", "Done"),
    ]
    assert [meta(e)["message"] for e in got.entries] == [0, 1, 1, 2, 2, 3, 4, 4, 4, 5, 6]
    assert [got.entries[index].pair_id for index in (4, 5, 8, 9)] == ["action-1", "action-1", "c1", "c1"]
    assert [meta(got.entries[index])["tool_name"] for index in (4, 5, 8, 9)] == ["shell", "shell", "bash", "bash"]
    assert [meta(e).get("meta", False) for e in got.entries[:3]] == [False, True, False]
    assert (got.format, got.model, got.session_id) == ("swe-agent", "model-x", None)
    assert got.skipped == {
        "client record: info": 1,
        "client record: replay_config": 1,
        "repeated in the trajectory": 1,
    }


def test_an_action_that_is_not_in_the_text_is_a_call_beside_it():
    got = read(
        entry("assistant", "I shall look.", action="ls"),
        entry("user", "a.py"),
        entry("assistant", "pwd", action="pwd"),
        entry("assistant", ["pwd"], action="pwd"),
    )
    assert shape(got.entries)[:3] == [
        ("assistant", "text", "I shall look."),
        ("assistant", "call", '{"command": "ls"}'),
        ("user", "result", "a.py"),
    ]
    # nothing is left of a text that is all action; one in parts stays whole beside its call
    assert [e.content for e in got.entries[3:]] == ['{"command": "pwd"}', "pwd", '{"command": "pwd"}']
    assert got.skipped["call without result"] == 2


def test_a_file_without_a_history_is_read_from_its_steps():
    steps = [step("Look.\n```\nls\n```", "ls\n", "a.py"), 3, step("Done", "", "")]
    got = swe_agent.read(document({"trajectory": steps}), count=len)
    assert shape(got.entries) == [
        ("assistant", "text", "Look.\n```\n\n```"),
        ("assistant", "call", '{"command": "ls"}'),
        ("user", "result", "a.py"),
        ("assistant", "text", "Done"),
    ]
    assert got.skipped == {"message without content": 1, "repeated in the trajectory": 1}


def test_another_agent_is_a_side_chain():
    got = read(entry("user", "Fix"), entry("assistant", "inner", agent="helper"), entry("assistant", "outer"))
    assert shape(got.entries) == [("user", "text", "Fix"), ("assistant", "text", "outer")]
    assert got.skipped["side chain"] == 1


def test_thoughts_and_pictures_are_read_and_what_holds_no_words_is_counted():
    got = read(
        entry("assistant", "", tool_calls=[function("c1", arguments="not json"), 3], reasoning_content="Thought"),
        entry("tool", "x", tool_call_ids=[]),
        entry("assistant", "a", thinking_blocks=[{"thinking": "Hm", "signature": "c2ln"}, {"data": "QQ"}, 3]),
        entry("user", [{"type": "image_url", "image_url": {"url": "data:"}}]),
        entry("hologram", "x"),
        entry("user", None),
        "bare",
        replay_config={"agent": {"model": {"name": "model-y"}}},
    )
    assert shape(got.entries) == [
        ("assistant", "thinking", "Thought"),
        ("assistant", "call", '{"input": "not json"}'),
        ("user", "result", "x"),
        ("assistant", "thinking", "Hm"),
        ("assistant", "text", "a"),
        ("user", "image", "[image]"),
    ]
    assert meta(got.entries[3])["signature"] == "c2ln"
    assert got.model == "model-y"
    assert got.skipped == {
        "call without result": 1,
        "client record: info": 1,
        "client record: replay_config": 1,
        "encrypted thinking": 2,
        "image data": 1,
        "message without content": 1,
        "repeated in the trajectory": 1,
        "result without call": 1,
        "unknown record: (none)": 1,
        "unknown record: hologram": 1,
    }
    assert read(entry("user", "x"), replay_config=7).model is None


def test_it_is_recognised_by_its_beginning_alone():
    assert swe_agent.recognises(document(SWE_AGENT)[:8])
    assert swe_agent.recognises(document({"history": [entry("user", "x")]}))
    assert swe_agent.recognises([json.dumps(SWE_AGENT)])
    assert not swe_agent.recognises(document([{"role": "user", "content": "x", "agent": "main"}]))
    assert not swe_agent.recognises(document({"history": [{"role": "user", "content": "x"}]}))
