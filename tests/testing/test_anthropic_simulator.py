"""The Anthropic simulator refuses what the provider refuses, in its words, and takes what the provider takes."""

from typing import Any

import pytest

from tests.testing.anthropic_talk import (
    BINDING,
    DROP,
    OLDER,
    OPUS,
    Talk,
    accept,
    assistant,
    body,
    marked,
    refusal,
    result,
    use,
    user,
)
from undrift.testing.simulators import AnthropicSimulator, Call, ModelTurn
from undrift.testing.simulators.anthropic_models import (
    accepts_prefill,
    accepts_system_role,
    binds_thinking,
    minimum_tokens_of,
)

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
        [user("Go."), {"role": "system", "content": [], "output_config": {"effort": "medium"}}],
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
