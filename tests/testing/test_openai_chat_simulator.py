"""The simulator of OpenAI Chat Completions: what it accepts, refuses and charges."""

import copy
import json
from typing import Any

import pytest

from tests.testing.openai_talk import DONE, STEPS, refusal, user, without
from undrift.testing.simulators.base import Answered
from undrift.testing.simulators.openai_chat import OpenAIChatSimulator

MISSING = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
    "following tool_call_ids did not have response messages: "
)
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."


def chat(messages: list[dict[str, Any]], provider: OpenAIChatSimulator | None = None, **more: Any) -> Answered:
    turn = more.pop("turn", DONE)
    return (provider or OpenAIChatSimulator()).send({"model": "gpt-x", "messages": messages, **more}, turn=turn)


def chat_history(provider: OpenAIChatSimulator) -> list[dict[str, Any]]:
    """Three steps as a client plays them: 1, 4, 7 are the answers, the rest of each step its results."""
    messages = [user()]
    for step in STEPS:
        message = chat(messages, provider, turn=step).body["choices"][0]["message"]
        messages.append(message)
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in message["tool_calls"]]
    return messages


def call(identity: str = "call_1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "read", "arguments": "{}"}}


def asked(*identities: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call(identity) for identity in identities]}


def told(identity: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": "ok"}


def test_chat_accepts_the_replay_of_three_steps_with_parallel_calls():
    provider = OpenAIChatSimulator()
    messages = chat_history(provider)
    answer = chat(messages, provider)
    assert [message["role"] for message in messages] == [
        *("user", "assistant", "tool", "tool", "assistant", "tool", "tool", "assistant", "tool")
    ]
    assert answer.body["object"] == "chat.completion"
    assert answer.body["choices"][0]["message"]["content"] == "Done."
    assert answer.body["choices"][0]["finish_reason"] == "stop"
    assert messages[4]["content"] is None


@pytest.mark.parametrize("gone", [(1, 2, 3), (1, 2, 3, 4, 5, 6), (4, 5, 6), (7, 8)])
def test_chat_accepts_a_history_without_whole_steps(gone: tuple[int, ...]):
    provider = OpenAIChatSimulator()
    chat(without(chat_history(provider), *gone), provider)


@pytest.mark.parametrize(("gone", "text"), [((2,), MISSING), ((2, 3), MISSING), ((8,), MISSING), ((1,), ORPHAN)])
def test_chat_refuses_half_of_a_step(gone: tuple[int, ...], text: str):
    provider = OpenAIChatSimulator()
    messages = without(chat_history(provider), *gone)
    assert refusal(lambda: chat(messages, provider)).text.startswith(text)


def test_chat_names_the_calls_that_have_no_message():
    refused = refusal(lambda: chat([user(), asked("call_1", "call_2", "call_3"), told("call_2"), user()]))
    assert refused.text == f"{MISSING}call_1, call_3"
    assert (refused.status, refused.rule) == (400, "C1")
    assert refused.body["error"]["param"] == "messages.[1].role"
    chat([user(), asked("call_1", "call_2"), told("call_2"), told("call_1"), user()])


def test_chat_wants_the_answers_before_anything_else():
    assert refusal(lambda: chat([user(), asked("call_1"), user(), told()])).rule == "C1"


def test_chat_refuses_a_tool_message_without_its_call():
    assert refusal(lambda: chat([user(), told()])).text == ORPHAN
    refused = refusal(lambda: chat([user(), asked("call_1"), told(), told("call_2")]))
    assert (refused.text, refused.rule) == (ORPHAN, "C2")


@pytest.mark.parametrize(
    "messages",
    [
        [user(), asked("call_1", "call_1"), told()],
        [user(), asked("call_1"), told(), told()],
        [user(), asked("call_1"), told(), asked("call_1"), told()],
    ],
)
def test_chat_refuses_an_id_twice(messages: list[dict[str, Any]]):
    assert refusal(lambda: chat(messages)).text.startswith("Duplicate value for 'tool_call_id' of call_1 in message[")


def test_chat_lets_two_messages_use_one_id_where_it_is_not_strict():
    messages = [user(), asked("call_1"), told(), asked("call_1"), told()]
    chat(messages, OpenAIChatSimulator(strict=False))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "model", "content": "x"}, "Invalid value: 'model'. Supported values are: 'system', 'assistant', "),
        ({"role": "user", "content": None}, "Invalid value for 'content': expected a string, got null."),
        ({"role": "assistant", "content": None}, "Invalid value for 'content': expected a string, got null."),
        ({"role": "user", "content": []}, "Invalid 'messages[1].content': empty array. "),
        ({"role": "user", "content": 7}, "Invalid type for 'messages[1].content': "),
        (
            {"role": "user", "content": [{"type": "tool_result"}]},
            "Invalid value: 'tool_result'. Supported values are: ",
        ),
        ({"role": "user", "content": [{"type": "text"}]}, "Missing required parameter: 'messages[1].content[0].text'."),
        ({"role": "assistant", "content": "x", "tool_calls": []}, "Invalid 'messages[1].tool_calls': empty array. "),
        ({"role": "tool", "content": "x"}, "Missing required parameter: 'messages[1].tool_call_id'."),
        (asked("c" * 41), "Invalid 'messages[1].tool_calls[0].id': string too long. "),
        (
            {"role": "assistant", "content": None, "tool_calls": [{**call(), "function": {"name": "read"}}]},
            "Missing required parameter: 'messages[1].tool_calls[0].function.arguments'.",
        ),
    ],
)
def test_chat_refuses_a_message_of_a_wrong_form(message: dict[str, Any], text: str):
    assert refusal(lambda: chat([user(), message])).text.startswith(text)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "developer", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": ""},
    ],
)
def test_chat_accepts_messages_of_these_forms(message: dict[str, Any]):
    chat([user(), message])
    chat([{"role": "system", "content": "s"}, user(), {"role": "assistant", "tool_calls": [call()]}, told()])


def test_chat_refuses_a_request_without_messages_model_or_json():
    provider = OpenAIChatSimulator()
    assert refusal(lambda: chat([])).text.startswith("Invalid 'messages': empty array. ")
    assert refusal(lambda: provider.send({"model": "m"}, turn=DONE)).text == "Missing required parameter: 'messages'."
    assert (
        refusal(lambda: provider.send({"messages": [user()]}, turn=DONE)).text == "you must provide a model parameter"
    )
    assert refusal(lambda: provider.send(b"{", turn=DONE)).text.startswith("We could not parse the JSON body")
    provider.send(json.dumps({"messages": [user()]}).encode(), turn=DONE, model="gpt-x")


def test_gemini_behind_chat_wants_the_signatures_of_the_current_turn():
    provider = OpenAIChatSimulator(thought_signatures=True)
    messages = chat_history(provider)
    chat(messages, provider)
    bare = copy.deepcopy(messages)
    del bare[4]["tool_calls"][0]["extra_content"]
    refused = refusal(lambda: chat(bare, provider))
    assert refused.text == "Function call `run` in the `4.` content block is missing a `thought_signature`."
    assert refused.body["error"]["status"] == "INVALID_ARGUMENT"
    chat([*bare, {"role": "assistant", "content": "x"}, user("Next.")], provider)


def test_gemini_behind_chat_wants_a_signature_that_it_issued_for_the_call():
    provider = OpenAIChatSimulator(thought_signatures=True)
    messages = chat_history(provider)
    signed = messages[1]["tool_calls"][0]["extra_content"]["google"]
    signature, signed["thought_signature"] = signed["thought_signature"], "bm90IG1pbmU="
    assert refusal(lambda: chat(messages, provider)).text == "Corrupted thought signature"
    signed["thought_signature"] = "skip_thought_signature_validator"
    chat(messages, provider)
    signed["thought_signature"] = messages[4]["tool_calls"][0]["extra_content"]["google"]["thought_signature"]
    assert refusal(lambda: chat(messages, provider)).text == "Invalid thought signature"
    signed["thought_signature"] = signature
    function = messages[1]["tool_calls"][0]["function"]
    function["arguments"] = json.dumps(json.loads(function["arguments"]), indent=1)
    chat(messages, provider)


# --------------------------------------------------------------------------------------------------------- the cache
def test_chat_reads_what_was_sent_before_and_counts_it_in_the_prompt():
    provider = OpenAIChatSimulator(minimum_tokens=10)
    messages = [user("a" * 400), {"role": "assistant", "content": "b" * 400}]
    first = chat(messages, provider)
    again = chat([*messages, user("c" * 400)], provider)
    assert (first.bill.read_tokens, first.bill.written_tokens) == (0, 0)
    assert again.bill.read_tokens == first.bill.fresh_tokens
    usage = again.body["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == again.bill.read_tokens
    assert usage["prompt_tokens"] == again.bill.read_tokens + again.bill.fresh_tokens


def test_chat_reads_only_up_to_the_first_edit():
    provider = OpenAIChatSimulator(minimum_tokens=10)
    messages = [user("a" * 400), user("b" * 400), user("c" * 400)]
    chat(messages, provider)
    edited = chat([messages[0], user("B"), messages[2]], provider)
    assert 100 < edited.bill.read_tokens < 120
    assert chat([messages[0], messages[2]], provider, tools=[{"type": "function"}]).bill.read_tokens == 0


def test_a_short_prefix_is_not_read_nor_an_old_one():
    messages = [user("a" * 400)]
    provider = OpenAIChatSimulator()
    assert [chat(messages, provider).bill.read_tokens for _ in range(2)] == [0, 0]
    provider = OpenAIChatSimulator(minimum_tokens=10, ttl_ms=1000)
    body = {"model": "gpt-x", "messages": messages}
    reads = [provider.send(body, turn=DONE, now_ms=now).bill.read_tokens > 0 for now in (0, 1000, 2000, 3001, 3002)]
    assert reads == [False, True, True, False, True]


@pytest.mark.parametrize(
    ("model", "writes"), [("gpt-5.5", False), ("gpt-5.6", True), ("gpt-6-astra", True), ("x", False)]
)
def test_writing_the_cache_is_charged_from_gpt_5_6_on(model: str, writes: bool):
    provider = OpenAIChatSimulator(minimum_tokens=10)
    bill = chat([user("a" * 400)], provider, model=model).bill
    assert bool(bill.written_tokens) is writes
    assert bool(bill.fresh_tokens) is not writes


def test_tokens_are_counted_by_the_given_rule():
    assert chat([user("a")], OpenAIChatSimulator(count=lambda _: 7)).bill.fresh_tokens == 14


def test_the_same_requests_get_the_same_answers():
    one, other = (chat_history(OpenAIChatSimulator(thought_signatures=True)) for _ in range(2))
    assert one == other
