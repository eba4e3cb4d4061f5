"""The Anthropic simulator refuses what the provider refuses, in its words, and takes what the provider takes."""

import copy
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from undrift.testing.simulators import Answered, AnthropicSimulator, Call, ModelTurn, Refused
from undrift.testing.simulators.anthropic_models import (
    accepts_prefill,
    accepts_system_role,
    binds_thinking,
    minimum_tokens_of,
)

OPUS = "claude-opus-5-5"  # binds thinking
OLDER = "claude-opus-4-5"  # does not
BINDING = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BOUND = (
    "messages.{}.content.{}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
NEEDS_HEADER = " That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."


def user(*content: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return {"role": "user", "content": blocks}


def assistant(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def use(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {}}


def result(name: str, content: Any = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def marked(block: Mapping[str, Any] | str, ttl: str | None = None) -> dict[str, Any]:
    value = {"type": "text", "text": block} if isinstance(block, str) else dict(block)
    return {**value, "cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


def body(*messages: dict[str, Any], model: str = OPUS, **more: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 100, "messages": list(messages), **more}


def accept(request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answered:
    return AnthropicSimulator().send(request, headers, turn=ModelTurn("ok"))


def refusal(
    request: Mapping[str, Any] | bytes,
    headers: Mapping[str, str] | None = None,
    *,
    by: AnthropicSimulator | None = None,
    model: str | None = None,
) -> Refused:
    with pytest.raises(Refused) as caught:
        (by or AnthropicSimulator()).send(request, headers, turn=ModelTurn("ok"), model=model)
    error = caught.value
    assert error.status == 400
    assert (error.body["type"], error.body["error"]["message"]) == ("error", error.text)
    return error


class Talk:
    """A client that plays a conversation and can edit its history."""

    def __init__(self, model: str = OPUS, provider: AnthropicSimulator | None = None, **more: Any) -> None:
        self.provider = provider or AnthropicSimulator()
        self.body = body(user("Go."), model=model, system="Be brief.", tools=[{"name": "Read"}], **more)
        self.headers: dict[str, str] = {}

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    def step(self, thinking: str | None = "Hm.", content: str = "done") -> Answered:
        """One answer with a call, and the result of the call."""
        answer = self.send(ModelTurn("Reading.", (Call("Read", {"path": "a.py"}),), thinking=thinking))
        self.messages.append({"role": "assistant", "content": answer.body["content"]})
        self.messages.append(user(result(answer.body["content"][-1]["id"], content)))
        return answer

    def steps(self, count: int) -> "Talk":
        for _ in range(count):
            self.step()
        return self

    def send(self, turn: ModelTurn | None = None) -> Answered:
        sent = json.dumps(self.body).encode()  # as on the wire; what is kept cannot be shared with the simulator
        return self.provider.send(sent, self.headers, turn=turn or ModelTurn("ok"))

    def refusal(self) -> Refused:
        return refusal(self.body, self.headers, by=self.provider)

    def strip(self, *thoughts: int) -> None:
        """Take thinking blocks out, by their number."""
        places = [message for message in self.messages if message["role"] == "assistant"]
        for number in thoughts:
            places[number]["content"] = [block for block in places[number]["content"] if block["type"] != "thinking"]


# ------------------------------------------------------------------------------------------------- calls and results


def test_a_call_is_answered_in_the_next_message() -> None:
    accept(body(user("Go."), assistant(use("a"), use("b")), user(result("b"), result("a"), "And?")))
    error = refusal(body(user("Go."), assistant(use("a"), use("b")), user(result("a"))))
    assert error.rule == "A1"
    assert error.text == (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` "
        "block must have a corresponding `tool_result` block in the next message."
    )


def test_neighbours_of_one_role_are_one_message() -> None:
    accept(body(user("Go."), assistant(use("a")), assistant(use("b")), user(result("a")), user(result("b"))))
    assert refusal(body(user("Go."), assistant(use("a")), user("Wait."), user(result("a")))).rule == "A1"


def test_a_call_at_the_end_of_the_history_is_not_answered() -> None:
    assert refusal(body(user("Go."), assistant(use("a")), model="claude-haiku-4-5")).rule == "A1"


def test_a_result_has_its_call_in_the_message_before() -> None:
    error = refusal(body(user("Go."), assistant("Well."), user(result("gone"))))
    assert error.rule == "A2"
    assert "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: gone." in error.text
    late = refusal(body(user("Go."), assistant(use("a")), user(result("a")), assistant("Well."), user(result("a"))))
    assert late.rule == "A2"


def test_a_call_has_one_result() -> None:
    error = refusal(body(user("Go."), assistant(use("a")), user(result("a"), result("a"))))
    assert "each tool_use must have a single result" in error.text


def test_ids_of_calls_differ() -> None:
    accept(body(user("Go."), assistant(use("a")), user(result("a")), assistant(use("b")), user(result("b"))))
    error = refusal(body(user("Go."), assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))))
    assert (error.rule, error.text) == ("A3", "messages.3.content.0: `tool_use` ids must be unique")


# ----------------------------------------------------------------------------------------------- messages and contents


def test_the_first_message_is_the_users() -> None:
    assert refusal(body(assistant("Hello."), user("Go."))).text == 'messages: first message must use the "user" role'


def test_newer_models_take_no_prefill() -> None:
    accept(body(user("Go."), assistant("The answer is"), model="claude-haiku-4-5"))
    error = refusal(body(user("Go."), assistant("The answer is"), model="claude-opus-4-6"))
    assert error.rule == "A5"
    assert error.text.startswith("This model does not support assistant message prefill.")


@pytest.mark.parametrize(
    "messages",
    [
        [user("Go."), {"role": "assistant", "content": ""}, user("On.")],
        [user("Go."), {"role": "assistant", "content": []}, user("On.")],
        [user("Go."), assistant(use("a")), user(result("a", ""))],
        [user("Go."), assistant(use("a")), user(result("a", []))],
        [user("Go."), assistant(use("a")), user(result("a", " "))],
        [user("Go.", " ")],
    ],
)
def test_empty_contents_that_the_provider_takes(messages: list[dict[str, Any]]) -> None:
    assert accept(body(*messages)).body["type"] == "message"


@pytest.mark.parametrize(
    ("request_body", "text"),
    [
        (body({"role": "user", "content": ""}), "messages.0: user messages must have non-empty content"),
        (body(user("Go."), user()), "messages.1: user messages must have non-empty content"),
        (body(user("Go.", "")), "messages: text content blocks must be non-empty"),
        (body({"role": "user", "content": " \n"}), "messages: text content blocks must contain non-whitespace text"),
        (body(user(" ")), "messages: text content blocks must contain non-whitespace text"),
        (body(user("Go."), system=[{"type": "text", "text": ""}]), "system: text content blocks must be non-empty"),
    ],
)
def test_empty_contents_that_the_provider_refuses(request_body: dict[str, Any], text: str) -> None:
    assert refusal(request_body).text == text


def test_role_system_is_for_models_that_know_it() -> None:
    told = {"role": "system", "content": "Stay calm."}
    accept(body(user("Go."), told))
    error = refusal(body(user("Go."), told, model="claude-sonnet-5"))
    assert (error.rule, error.text) == ("A7", "role 'system' is not supported on this model")


def test_role_system_never_stands_between_a_call_and_its_result() -> None:
    told = {"role": "system", "content": "Stay calm."}
    accept(body(user("Go."), assistant(use("a")), user(result("a")), told))
    error = refusal(body(user("Go."), assistant(use("a")), told, user(result("a"))))
    assert error.rule == "A7"
    assert "`tool_use` ids were found without `tool_result` blocks immediately after: a." in error.text


@pytest.mark.parametrize(
    ("request_body", "text"),
    [
        (b"{", "The request body is not valid JSON"),
        (b"[]", "Input should be a valid dictionary"),
        ({"messages": []}, "model: Field required"),
        ({"model": OPUS}, "messages: Field required"),
        (body(), "messages: at least one message is required"),
        (body({"role": "tool", "content": "x"}), "messages.0.role: Input should be"),
        (body({"role": "user"}), "messages.0.content: Field required"),
        (body({"role": "user", "content": None}), "messages.0.content: Input should be a valid list"),
        (body({"role": "user", "content": [{"text": "x"}]}), "messages.0.content.0.type: Field required"),
        (body(user({"type": "text"})), "messages.0.content.0.text.text: Field required"),
        (body(user(use("a"))), "messages.0: `tool_use` blocks can only be in `assistant` messages"),
        (body(user("Go."), assistant(result("a"))), "messages.1: `tool_result` blocks can only be in `user` messages"),
        (body(user("Go."), assistant(use("a b"))), "messages.1.content.0.tool_use.id: String should match pattern"),
        (body(user({"type": "tool_result"})), "messages.0.content.0.tool_result.tool_use_id: Field required"),
        (body(user("half \ud800 a pair")), "The request body is not valid JSON: no low surrogate in string"),
    ],
)
def test_what_has_not_the_shape_of_a_request(request_body: Any, text: str) -> None:
    assert refusal(request_body).text.startswith(text)


def test_no_more_than_a_hundred_thousand_messages() -> None:
    message = user("Go.")
    accept(body(*[message] * 1000))
    assert refusal(body(*[message] * 100_001)).rule == "A4"


def test_fields_that_are_not_known_pass() -> None:
    accept(body({**user({"type": "text", "text": "Go.", "new": 1}), "newer": 2}, newest={"a": 1}))


def test_an_input_longer_than_the_window_is_refused() -> None:
    provider = AnthropicSimulator(window_tokens=100)
    provider.send(body(user("x" * 375)), turn=ModelTurn("ok"))
    assert refusal(body(user("x" * 376)), by=provider).text == "prompt is too long: 101 tokens > 100 maximum"


# ------------------------------------------------------------------------------------------- fields that need a header


def test_a_thread_is_refused_so_that_clients_go_stateless() -> None:
    accept(body(user("Go."), thread=None))
    error = refusal(body(user("Go."), thread={"type": "continue", "previous_message_id": "msg_1"}))
    assert error.body["error"]["details"] == {"error_code": "thread_unsupported_request"}


def test_context_management_needs_its_header() -> None:
    managed = body(user("Go."), context_management={"edits": [{"type": "clear_tool_uses_20250919"}]})
    answer = accept(managed, {"Anthropic-Beta": "other, context-management-2025-06-27"})
    assert answer.body["context_management"] == {"applied_edits": []}
    assert refusal(managed).text == "context_management: Extra inputs are not permitted"


def test_block_binding_needs_its_header() -> None:
    asked = body(user("Go."), thinking=DROP)
    accept(asked, BINDING)
    assert refusal(asked).text == "thinking.block_binding: Extra inputs are not permitted"


# ------------------------------------------------------------------------------------------------------------- markers


def test_four_markers_and_no_more() -> None:
    tools = [marked({"name": "Read"})]
    system = [marked("Be brief.")]
    accept(body(user(marked("a"), marked("b")), tools=tools, system=system))
    error = refusal(body(user(marked("a"), marked("b")), user(marked("c")), tools=tools, system=system))
    assert error.text == "A maximum of 4 blocks with cache_control may be provided. Found 5."


def test_the_marker_of_the_whole_request_takes_one_of_the_four() -> None:
    whole = {"type": "ephemeral"}
    accept(body(user(*[marked("a")] * 4), cache_control=whole))
    assert refusal(body(user(*[marked("a")] * 4, "end"), cache_control=whole).copy()).text.endswith("Found 5.")


def test_a_marker_inside_a_tool_result_counts() -> None:
    within = result("a", [marked("x") for _ in range(5)])
    assert refusal(body(user("Go."), assistant(use("a")), user(within))).text.endswith("Found 5.")


def test_an_hour_stands_before_five_minutes() -> None:
    accept(body(user(marked("a", "5m")), system=[marked("Be brief.", "1h")]))
    error = refusal(body(user("a", marked("b", "1h")), system=[marked("Be brief.")]))
    assert error.text == (
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
        "cache_control block. Note that blocks are processed in the following order: tools, system, messages."
    )


def test_no_marker_on_thinking_or_on_an_empty_text() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    error = refusal(body(user("Go."), assistant(marked(thought), "Well."), user("On.")))
    assert error.text == "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"
    error = refusal(body(user("Go.", marked(""))))
    assert error.text == "messages.0.content.1.text: cache_control cannot be set for empty text blocks"


def test_a_marker_is_ephemeral_and_of_a_known_time() -> None:
    assert "ttl" in refusal(body(user(marked("a", "2h")))).text
    assert "type" in refusal(body(user({"type": "text", "text": "a", "cache_control": {}}))).text


# ------------------------------------------------------------------------------------- thinking, whether bound or not


def test_a_signature_of_another_maker_is_refused() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "made elsewhere"}
    error = refusal(body(user("Go."), assistant(thought, "Well."), user("On."), model=OLDER))
    assert (error.rule, error.text) == ("A8", "messages.1.content.0: Invalid `signature` in `thinking` block")
    hidden = {"type": "redacted_thinking", "data": "made elsewhere"}
    assert refusal(body(user("Go."), assistant(hidden, "Well."), user("On."))).rule == "A8"


@pytest.mark.parametrize("model", [OPUS, OLDER])
def test_thinking_comes_back_as_it_was_issued(model: str) -> None:
    talk = Talk(model).steps(2)
    talk.send()
    older, latest = talk.messages[1]["content"][0], talk.messages[3]["content"][0]
    latest["thinking"] = "Hm, altered."
    assert talk.refusal().text == (
        "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response."
    )
    latest["thinking"], older["thinking"] = "Hm.", "Hm, altered."
    assert talk.refusal().text == "messages.1.content.0: Invalid `signature` in `thinking` block"


def test_thinking_of_the_latest_answer_keeps_its_place() -> None:
    talk = Talk(OLDER).steps(1)
    talk.send()
    talk.messages[1]["content"].reverse()
    assert "cannot be modified" in talk.refusal().text


def test_thinking_whose_text_is_withheld_comes_back_too() -> None:
    talk = Talk()
    talk.step(thinking="")
    assert talk.messages[1]["content"][0]["thinking"] == ""
    talk.step(thinking="")
    assert not talk.send().notes


def test_an_older_model_takes_edits_before_its_thinking() -> None:
    talk = Talk(OLDER).steps(3)
    talk.messages[2]["content"][0]["content"] = "[cut]"
    talk.strip(1)
    assert not talk.send().notes


def test_manual_thinking_opens_the_open_tool_loop() -> None:
    talk = Talk(OLDER, thinking={"type": "enabled", "budget_tokens": 1024}).steps(1)
    talk.step(thinking=None)
    talk.send()
    talk.strip(0)
    error = talk.refusal()
    assert error.rule == "A9"
    assert error.text.startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is "
        "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of "
        "`tool_use` and `tool_result` blocks)."
    )
    talk.messages.append(user("Something else."))  # a new user turn after the loop asks for nothing of the old one
    talk.messages[-2:] = [talk.messages[-2], assistant("Done."), talk.messages[-1]]
    talk.send()


def test_manual_thinking_comes_first_in_its_message() -> None:
    talk = Talk(OLDER, thinking={"type": "enabled", "budget_tokens": 1024}).steps(1)
    talk.messages[1]["content"].insert(0, {"type": "text", "text": "First."})
    assert talk.refusal().text == (
        "messages.1.content.0.type: If an assistant message contains any thinking blocks, the first block must be "
        "thinking or redacted_thinking. Found text."
    )


# -------------------------------------------------------------------------------------------- thinking that is bound


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


# ---------------------------------------------------------------------------------------------------- what it answers


def test_the_reply_has_the_providers_form() -> None:
    turn = ModelTurn("Reading.", (Call("Read", {"path": "a.py"}), Call("Read", {})), thinking="Hm.")
    reply = AnthropicSimulator().send(body(user("Go.")), turn=turn, model="claude-opus-4-8").body
    assert [block["type"] for block in reply["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert (reply["role"], reply["model"], reply["stop_reason"]) == ("assistant", "claude-opus-4-8", "tool_use")
    assert accept(body(user("Go."))).body["stop_reason"] == "end_turn"


def test_two_simulators_that_are_told_the_same_say_the_same() -> None:
    one, other = Talk().steps(3), Talk().steps(3)
    assert one.body == other.body
    signatures = [message["content"][0]["signature"] for message in one.messages if message["role"] == "assistant"]
    assert len(set(signatures)) == 3


def test_a_refused_request_is_forgotten() -> None:
    talk, other = Talk().steps(1), Talk().steps(1)
    refusal(body(assistant("Hello.")), by=talk.provider)
    assert talk.send(ModelTurn("x", thinking="y")).body == other.send(ModelTurn("x", thinking="y")).body


# ---------------------------------------------------------------------------------------------------------- the cache


def tokens(text: str) -> int:
    """One token for each ``#`` of a block: sums that can be checked by eye."""
    return text.count("#")


def meter(request: Mapping[str, Any], by: AnthropicSimulator, now_ms: int | None = None) -> tuple[int, int, int]:
    """Return fresh, read and written tokens."""
    answer = by.send(request, turn=ModelTurn("ok"), now_ms=now_ms)
    usage = answer.body["usage"]
    counted = (
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        usage["cache_creation_input_tokens"],
    )
    assert counted == (answer.bill.fresh_tokens, answer.bill.read_tokens, answer.bill.written_tokens)
    return counted


def counting(minimum_tokens: int = 0) -> AnthropicSimulator:
    return AnthropicSimulator(minimum_tokens=minimum_tokens, count=tokens)


def test_without_a_marker_all_is_fresh() -> None:
    provider = counting()
    for _ in range(2):
        assert meter(body(user("#" * 10), system="#" * 5), provider) == (15, 0, 0)


def test_what_is_written_at_a_marker_is_read_by_the_next_request() -> None:
    provider = counting()
    assert meter(body(user(marked("#" * 10), "##"), system="#" * 5), provider) == (2, 0, 15)
    assert meter(body(user("#" * 10, marked("##"), "###"), system="#" * 5), provider) == (3, 15, 2)
    assert meter(body(user("#" * 10, "##", marked("###")), system="#" * 5), provider) == (0, 17, 3)


def test_an_edit_spoils_what_comes_after_it() -> None:
    provider = counting()
    system = [marked("#" * 5)]
    meter(body(user(marked("#" * 10)), system=system), provider)
    assert meter(body(user(marked("#" * 11)), system=system), provider) == (0, 5, 11)
    assert meter(body(user(marked("#" * 10)), system=[marked("#" * 6)]), provider) == (0, 0, 16)
    changed = body(user(marked("#" * 10)), system=system, tools=[{"name": "###"}])
    assert meter(changed, provider) == (0, 0, 18)


def test_a_setting_spoils_the_messages_alone() -> None:
    provider = counting()
    request = body(user(marked("#" * 10)), system=[marked("#" * 5)])
    meter(request, provider)
    assert meter({**request, "tool_choice": {"type": "none"}}, provider) == (0, 5, 10)
    assert meter({**request, "output_config": {"effort": "low"}}, provider) == (0, 5, 10)
    assert meter({**request, "thinking": {"type": "adaptive"}}, provider) == (0, 5, 10)
    assert meter({**request, "thinking": {"type": "adaptive", "display": "omitted"}}, provider) == (0, 15, 0)
    assert meter({**request, "metadata": {"user_id": "a"}}, provider) == (0, 15, 0)
    assert meter({**request, "model": "claude-opus-4-8"}, provider) == (0, 0, 15)


def test_only_what_ends_at_a_marker_is_written() -> None:
    provider = counting()
    meter(body(user("#" * 10, marked("#" * 5))), provider)
    assert meter(body(user(marked("#" * 10), "###")), provider) == (3, 0, 10)


@pytest.mark.parametrize(("between", "read"), [(18, 10), (19, 0)])
def test_a_marker_looks_back_over_twenty_positions(between: int, read: int) -> None:
    provider = counting()
    meter(body(user(marked("#" * 10))), provider)
    request = body(user("#" * 10, *["#"] * between, marked("#")))
    assert meter(request, provider) == (0, read, 11 + between - read)


def test_a_second_marker_bridges_a_long_way() -> None:
    provider = counting()
    meter(body(user(marked("#" * 10))), provider)
    assert meter(body(user("#" * 10, *["#"] * 10, marked("#"), *["#"] * 15, marked("#"))), provider) == (0, 10, 27)


def test_calls_made_at_once_and_their_results_count_one_position_each() -> None:
    provider = counting()
    meter(body(user(marked("#" * 10))), provider)
    names = [f"c{number}" for number in range(30)]
    request = body(user("#" * 10), assistant(*map(use, names)), user(*[result(name, "#") for name in names]))
    request["messages"][-1]["content"].append(marked("#"))
    assert meter(request, provider) == (0, 10, 31)


def test_the_marker_of_the_whole_request_stands_on_the_last_block() -> None:
    provider = counting()
    whole = {"type": "ephemeral"}
    assert meter(body(user("#" * 10), cache_control=whole), provider) == (0, 0, 10)
    assert meter(body(user("#" * 10), user("##"), cache_control=whole), provider) == (0, 10, 2)


def test_a_short_prefix_is_silently_not_cached() -> None:
    provider = counting(minimum_tokens=10)
    for _ in range(2):
        assert meter(body(user(marked("#" * 9))), provider) == (9, 0, 0)
    assert meter(body(user(marked("#" * 10))), provider) == (0, 0, 10)


def test_an_entry_ends_after_five_minutes_unless_it_is_read() -> None:
    provider = counting()
    request = body(user(marked("#" * 10)))
    minute = 60_000
    assert meter(request, provider, 0) == (0, 0, 10)
    assert meter(request, provider, 4 * minute) == (0, 10, 0)
    assert meter(request, provider, 8 * minute) == (0, 10, 0)
    assert meter(request, provider, 13 * minute) == (0, 0, 10)


def test_an_entry_of_an_hour_lasts_an_hour_and_is_counted_apart() -> None:
    provider = counting()
    request = body(user(marked("#" * 3)), system=[marked("#" * 10, "1h")])
    answer = provider.send(request, turn=ModelTurn("ok"), now_ms=0)
    written = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 10}
    assert answer.body["usage"]["cache_creation"] == written
    assert meter(request, provider, 59 * 60_000) == (0, 10, 3)
    assert meter(request, provider, 119 * 60_000) == (0, 0, 13)


def test_an_entry_keeps_its_own_time_when_a_later_marker_asks_for_less() -> None:
    provider = counting()
    meter(body(user("on"), system=[marked("#" * 10, "1h")]), provider, 0)
    shorter = body(user("on"), system=[marked("#" * 10)])
    assert meter(shorter, provider, 30 * 60_000) == (0, 10, 0)
    assert meter(shorter, provider, 80 * 60_000) == (0, 10, 0)


def test_a_conversation_with_a_moving_marker_pays_for_each_part_once() -> None:
    talk = Talk(OPUS, counting())
    bills = []
    for _ in range(10):
        last = talk.messages[-1]["content"][-1]
        last["cache_control"] = {"type": "ephemeral"}
        bills.append(talk.step(content="#" * 50).bill)
        del last["cache_control"]
    assert [bill.fresh_tokens for bill in bills] == [0] * 10
    assert [bill.read_tokens for bill in bills[1:]] == [50 * number for number in range(9)]
    assert all(bill.written_tokens == 50 for bill in bills[1:])


# ------------------------------------------------------------------------------------------------- what a name says


@pytest.mark.parametrize(
    ("model", "binds", "prefill", "system", "minimum"),
    [
        ("claude-fable-5-1", True, False, True, 512),
        ("claude-mythos-5-2", True, False, True, 512),
        ("anthropic/claude-opus-5-5-20261101", True, False, True, 512),
        ("claude-sonnet-5-5", True, False, False, 1024),
        ("claude-haiku-5-5", True, False, False, 4096),
        ("claude-opus-5", False, False, True, 512),
        ("claude-opus-4-8", False, False, True, 1024),
        ("claude-opus-4-7", False, False, False, 2048),
        ("claude-opus-4-6", False, False, False, 4096),
        ("claude-opus-4-20250514", False, True, False, 1024),
        ("claude-haiku-4-5-20251001", False, True, False, 4096),
        ("claude-3-5-haiku-latest", False, True, False, 2048),
        ("claude-mythos-preview", False, False, False, 2048),
        ("some-model", False, False, False, 1024),
    ],
)
def test_what_a_models_name_says(model: str, binds: bool, prefill: bool, system: bool, minimum: int) -> None:
    said = (binds_thinking(model), accepts_prefill(model), accepts_system_role(model), minimum_tokens_of(model))
    assert said == (binds, prefill, system, minimum)
