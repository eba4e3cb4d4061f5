"""The Anthropic simulator refuses thinking that is bound to what was rewritten, as the provider does."""

import copy
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.testing.anthropic_talk import (
    BINDING,
    BOUND,
    DROP,
    NEEDS_HEADER,
    OLDER,
    OPUS,
    Talk,
    assistant,
    marked,
    user,
)
from undrift.testing.simulators import AnthropicSimulator, ModelTurn


def edit_result(talk: Talk) -> None:
    talk.messages[2]["content"][0]["content"] = "[cut]"


def edit_call(talk: Talk) -> None:
    talk.messages[1]["content"][-1]["input"] = {"path": "b.py"}


def edit_system(talk: Talk) -> None:
    talk.body["system"] = "Be long."


def edit_tools(talk: Talk) -> None:
    talk.body["tools"] = [{"name": "Read"}, {"name": "Write"}]


def add_text(talk: Talk) -> None:
    talk.messages[2]["content"].append({"type": "text", "text": "A reminder."})


def remove_a_round(talk: Talk) -> None:
    del talk.messages[1:3]


def move_a_reminder(talk: Talk) -> None:
    talk.messages.insert(3, {"role": "system", "content": "Stay calm."})


@pytest.mark.parametrize(
    "edit", [edit_result, edit_call, edit_system, edit_tools, add_text, remove_a_round, move_a_reminder]
)
def test_an_edit_before_bound_thinking_is_refused(edit: Callable[[Talk], None]) -> None:
    talk = Talk().steps(3)
    talk.send()
    edit(talk)
    places = [
        (number, 0)
        for number, message in enumerate(talk.messages)
        if message["role"] == "assistant" and message["content"][0]["type"] == "thinking"
    ]
    error = talk.refusal()
    assert error.rule == "A10"
    assert error.text in {BOUND.format(*place) + NEEDS_HEADER for place in places}


def test_the_path_is_that_of_the_first_block_that_fails() -> None:
    talk = Talk().steps(3)
    edit_result(talk)
    assert talk.refusal().text == BOUND.format(3, 0) + NEEDS_HEADER
    talk.headers = BINDING
    assert talk.refusal().text == BOUND.format(3, 0)


def test_what_is_appended_harms_no_thinking() -> None:
    talk = Talk().steps(3)
    talk.messages[-1]["content"].append({"type": "text", "text": "A reminder."})
    talk.messages.append({"role": "system", "content": "Stay calm."})
    assert not talk.send().notes
    talk.steps(2)
    assert not talk.send().notes


@pytest.mark.parametrize("gone", [(0,), (0, 1), (0, 1, 2), (2,), (1, 2), (0, 2)])
def test_thinking_may_leave_from_the_start_and_from_the_end(gone: tuple[int, ...]) -> None:
    talk = Talk().steps(3)
    talk.strip(*gone)
    talk.steps(2)
    assert not talk.send().notes


def test_thinking_may_not_leave_from_the_middle() -> None:
    talk = Talk().steps(3)
    talk.strip(1)
    assert talk.refusal().text == BOUND.format(5, 0) + NEEDS_HEADER


def test_thinking_that_left_may_not_be_put_back() -> None:
    talk = Talk().steps(3)
    whole = copy.deepcopy(talk.messages)
    talk.strip(0)
    talk.steps(1)
    talk.send()
    talk.messages[:7] = whole
    assert talk.refusal().text == BOUND.format(7, 0) + NEEDS_HEADER


def test_an_edit_is_legal_once_all_thinking_after_it_is_gone() -> None:
    talk = Talk().steps(4)
    edit_result(talk)
    talk.strip(0, 1, 2, 3)
    talk.steps(2)
    assert not talk.send().notes
    edit_system(talk)
    assert talk.refusal().rule == "A10"


def test_form_is_no_edit() -> None:
    talk = Talk().steps(3)
    talk.send()
    talk.body["system"] = [marked("Be brief.")]
    talk.body["tools"] = [marked({"name": "Read"}), {"name": "Write", "defer_loading": True}]
    talk.body["tool_choice"] = {"type": "none"}
    talk.body["output_config"] = {"effort": "low"}
    talk.body["thinking"] = {"type": "adaptive", "display": "omitted"}
    talk.messages[0]["content"] = "Go."
    first = talk.messages[2]["content"][0]
    talk.messages[2]["content"][0] = dict(reversed({**first, "content": [marked("done")]}.items()))
    talk.messages[3]["content"][1]["citations"] = None
    assert not talk.send().notes


def test_where_neighbours_of_one_role_divide_is_no_edit() -> None:
    talk = Talk()
    talk.messages.append(user("And quickly."))
    talk.steps(2)
    talk.messages[:2] = [user("Go.", "And quickly.")]
    called = talk.messages[1]["content"]
    talk.messages[1:2] = [assistant(*called[:2]), assistant(*called[2:])]
    assert not talk.send().notes


def test_what_an_answer_said_before_its_thinking_belongs_to_the_prefix() -> None:
    talk = Talk().steps(1)
    answer = talk.send(ModelTurn("First."))
    talk.messages.append({"role": "assistant", "content": answer.body["content"]})
    talk.messages.append(user("On."))
    talk.steps(1)
    talk.send()
    talk.messages[3]["content"] = [{"type": "text", "text": "Second."}]
    assert talk.refusal().text == BOUND.format(5, 0) + NEEDS_HEADER


def test_drop_block_drops_what_fails_and_goes_on() -> None:
    talk = Talk().steps(3)
    edit_result(talk)
    talk.headers, talk.body["thinking"] = BINDING, DROP
    dropped = [
        {"type": "thinking_dropped", "path": f"messages.{number}.content.0", "reason": "prefix_binding_mismatch"}
        for number in (3, 5)
    ]
    answer = talk.step()
    assert list(answer.notes) == answer.body["input_transformations"] == dropped
    assert list(talk.step().notes) == dropped  # what was thought after the edit stays valid
    assert list(talk.send().notes) == dropped
    talk.body["thinking"] = {"type": "adaptive"}
    assert talk.refusal().rule == "A10"


def test_drop_block_drops_all_that_came_after_thinking_left_the_middle() -> None:
    talk = Talk().steps(4)
    talk.strip(1)
    talk.headers, talk.body["thinking"] = BINDING, DROP
    assert [note["path"] for note in talk.send().notes] == ["messages.5.content.0", "messages.7.content.0"]


def test_what_drop_block_dropped_is_not_billed() -> None:
    talk = Talk()
    for _ in range(3):
        talk.step(thinking="x" * 4000)
    edit_result(talk)
    bare = copy.deepcopy(talk)
    bare.strip(1, 2)
    talk.headers, talk.body["thinking"] = BINDING, DROP
    assert talk.send().bill.fresh_tokens == bare.send().bill.fresh_tokens


def test_thinking_of_another_model_is_dropped_silently() -> None:
    talk = Talk().steps(2)
    talk.body["model"] = "claude-fable-5-1"
    answer = talk.step()
    assert [note["reason"] for note in answer.notes] == ["model_binding_mismatch"] * 2
    assert "input_transformations" not in answer.body
    talk.body["model"] = OPUS
    assert [note["path"] for note in talk.send().notes] == ["messages.5.content.0"]


def test_thinking_of_haiku_is_read_by_any_model() -> None:
    talk = Talk().steps(1)
    talk.body["model"] = "claude-haiku-5-5"
    talk.steps(2)
    talk.body["model"] = OPUS
    talk.step()
    assert not talk.send().notes
    edit_result(talk)
    assert talk.refusal().text == BOUND.format(3, 0) + NEEDS_HEADER


def test_who_binds_can_be_told() -> None:
    talk = Talk(OPUS, AnthropicSimulator(binds=False)).steps(2)
    edit_result(talk)
    assert not talk.send().notes
    talk = Talk(OLDER, AnthropicSimulator(binds=lambda model: model == OLDER)).steps(2)
    edit_result(talk)
    assert talk.refusal().rule == "A10"


def faults(messages: list[dict[str, Any]], made: Mapping[str, tuple[str, list[str]]]) -> tuple[list[str], list[str]]:
    """Judge thinking by whole prefixes and whole lists: what fails, and what is read."""
    before: list[Any] = []
    read: list[str] = []
    failing: list[str] = []
    for number, message in enumerate(messages):
        for place, block in enumerate(message["content"]):
            if block["type"] != "thinking":
                before.append([message["role"], block])
                continue
            prefix, listed = made[block["signature"]]
            if prefix == json.dumps(before) and listed[len(listed) - len(read) :] == read:
                read.append(block["signature"])
            else:
                failing.append(f"messages.{number}.content.{place}")
    return failing, read


def edit_somewhere(talk: Talk, originals: Mapping[str, Any], chance: random.Random) -> None:
    """Take thinking out, put an answer back as it was, cut a result, or leave all as it is."""
    rounds = [number for number, message in enumerate(talk.messages) if message["role"] == "assistant"]
    act = chance.choice(["strip", "strip", "put back", "cut", "nothing", "nothing", "nothing"])
    if not rounds or act == "nothing":
        return
    number = chance.choice(rounds)
    answer, answered = talk.messages[number], talk.messages[number + 1]
    if act == "strip":
        answer["content"] = [block for block in answer["content"] if block["type"] != "thinking"]
    elif act == "put back":
        answer["content"] = originals[answer["content"][-1]["id"]]
    else:
        answered["content"][0]["content"] = chance.choice(["done", "[cut]"])


@pytest.mark.parametrize("seed", range(20))
def test_every_verdict_is_that_of_whole_prefixes_and_whole_lists(seed: int) -> None:
    chance = random.Random(seed)
    talk = Talk()
    made: dict[str, tuple[str, list[str]]] = {}
    originals: dict[str, Any] = {}
    for _ in range(25):
        edit_somewhere(talk, originals, chance)
        failing, read = faults(talk.messages, made)
        drops = chance.random() < 0.5
        talk.headers, talk.body["thinking"] = (BINDING, DROP) if drops else ({}, {"type": "adaptive"})
        if failing and not drops:
            assert talk.refusal().text.startswith(failing[0] + ": Invalid")
            continue
        plain = [[message["role"], block] for message in talk.messages for block in message["content"]]
        prefix = json.dumps([pair for pair in plain if pair[1]["type"] != "thinking"])
        answer = talk.step(thinking=chance.choice(["Hm.", None]))
        assert [note["path"] for note in answer.notes] == failing
        content = answer.body["content"]
        originals[content[-1]["id"]] = content
        if content[0]["type"] == "thinking":
            made[content[0]["signature"]] = (prefix, read)
