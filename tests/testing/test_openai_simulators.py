"""The simulators of OpenAI Chat Completions and Responses: what they accept, refuse and charge."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from undrift.testing.simulators.base import Answered, Call, ModelTurn, Refused, Simulator
from undrift.testing.simulators.gemini import GeminiSimulator
from undrift.testing.simulators.openai_chat import OpenAIChatSimulator
from undrift.testing.simulators.openai_responses import OpenAIResponsesSimulator

STEPS = (
    ModelTurn("Looking.", (Call("read", {"path": "a"}), Call("read", {"path": "b"})), thinking="Two files."),
    ModelTurn("", (Call("run", {"command": "make"}), Call("run", {"command": "ls"})), thinking=""),
    ModelTurn("Half done.", (Call("write", {"path": "c", "text": "x" * 40}),)),
)
DONE = ModelTurn("Done.")
MISSING = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
    "following tool_call_ids did not have response messages: "
)
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."


def refusal(send: Callable[[], Answered]) -> Refused:
    with pytest.raises(Refused) as caught:
        send()
    error = caught.value.body["error"]
    assert caught.value.text == error["message"]
    return caught.value


def user(text: str = "Go.") -> dict[str, Any]:
    return {"role": "user", "content": text}


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


def without(listed: list[dict[str, Any]], *positions: int) -> list[dict[str, Any]]:
    return [copy.deepcopy(one) for at, one in enumerate(listed) if at not in positions]


def call(identity: str = "call_1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "read", "arguments": "{}"}}


def asked(*identities: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call(identity) for identity in identities]}


def told(identity: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": "ok"}


# -------------------------------------------------------------------------------------------------------------- Chat
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
    longer = respond([user("a" * 400)], OpenAIResponsesSimulator(minimum_tokens=10), model=model)
    details = longer.body["usage"]["input_tokens_details"]
    assert bool(details["cache_write_tokens"]) is writes
    assert longer.body["usage"]["input_tokens"] == longer.bill.fresh_tokens + longer.bill.written_tokens


def test_tokens_are_counted_by_the_given_rule():
    assert chat([user("a")], OpenAIChatSimulator(count=lambda _: 7)).bill.fresh_tokens == 14


# --------------------------------------------------------------------------------------------------------- Responses
def respond(items: Any, provider: OpenAIResponsesSimulator | None = None, **more: Any) -> Answered:
    turn = more.pop("turn", DONE)
    body = {"model": "gpt-x", "input": items, "store": False, **more}
    return (provider or OpenAIResponsesSimulator()).send(body, turn=turn)


def output_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}


def history(provider: OpenAIResponsesSimulator, **more: Any) -> list[dict[str, Any]]:
    """0 user; 1 reasoning, 2 message, 3 and 4 calls, 5 and 6 outputs; 7 reasoning, 8 and 9 calls, 10, 11; 12, 13, 14."""
    items: list[dict[str, Any]] = [user()]
    for step in STEPS:
        output = respond(items, provider, turn=step, **more).body["output"]
        items += output
        items += [output_of(item) for item in output if item["type"] == "function_call"]
    return items


def function_call(call_id: str = "call_x", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": "{}", **more}


def test_responses_accepts_the_replay_of_three_steps_with_parallel_calls():
    provider = OpenAIResponsesSimulator()
    items = history(provider)
    answer = respond(items, provider)
    assert [item.get("type", "user") for item in items] == [
        *("user", "reasoning", "message", *["function_call"] * 2, *["function_call_output"] * 2, "reasoning"),
        *(*["function_call"] * 2, *["function_call_output"] * 2, "message", "function_call", "function_call_output"),
    ]
    assert answer.body["object"] == "response"
    assert answer.body["output"][0]["content"][0]["text"] == "Done."


@pytest.mark.parametrize("field", ["id", "status"])
def test_responses_accepts_a_client_that_leaves_a_field_out(field: str):
    provider = OpenAIResponsesSimulator()
    items = history(provider)
    for item in items:
        item.pop(field, None)
    respond(items, provider)


def test_responses_accepts_reasoning_with_content_null():
    provider = OpenAIResponsesSimulator()
    items = history(provider)
    items[1]["content"] = items[7]["content"] = None
    respond(items, provider)


@pytest.mark.parametrize(
    "gone", [range(1, 7), range(7, 12), range(1, 12), range(12, 15), (4, 6), (9, 11)], ids=lambda gone: str(list(gone))
)
def test_responses_accepts_a_history_without_whole_steps(gone: Any):
    provider = OpenAIResponsesSimulator()
    respond(without(history(provider), *gone), provider)


@pytest.mark.parametrize(
    ("gone", "text"),
    [
        ((5,), "No tool output found for function call call_000003."),
        ((14,), "No tool output found for function call call_000009."),
        ((9,), "No tool call found for function call output with call_id call_000007."),
        ((1,), "Item 'msg_000002' of type 'message' was provided without its required 'reasoning' item: 'rs_000001'."),
        (
            (7,),
            "Item 'fc_000006' of type 'function_call' was provided without its required 'reasoning' item: 'rs_000005'.",
        ),
        ((2,), "Item 'rs_000001' of type 'reasoning' was provided without its required following item."),
        ((8, 9, 10, 11), "Item 'rs_000005' of type 'reasoning' was provided without its required following item."),
        ((8, 10), "Item 'rs_000005' of type 'reasoning' was provided without its required following item."),
    ],
)
def test_responses_refuses_half_of_a_step(gone: tuple[int, ...], text: str):
    provider = OpenAIResponsesSimulator()
    items = without(history(provider), *gone)
    refused = refusal(lambda: respond(items, provider))
    assert refused.text == text
    assert refused.body["error"]["param"] == "input"


@pytest.mark.parametrize("pair_by_call_id", [True, False])
def test_a_call_without_its_item_id_still_needs_its_reasoning_unless_told_otherwise(pair_by_call_id: bool):
    provider = OpenAIResponsesSimulator(pair_by_call_id=pair_by_call_id)
    items = without(history(provider), 7)
    for item in items[1:]:
        item.pop("id", None)
    if not pair_by_call_id:
        respond(items, provider)
        return
    assert "without its required 'reasoning' item: 'rs_000005'" in refusal(lambda: respond(items, provider)).text


def test_responses_pairs_by_id_wherever_the_output_is_and_a_clone_only_behind_the_call():
    apart = [function_call("call_x"), user("Wait."), output_of(function_call("call_x"))]
    together = [
        function_call("call_x"),
        function_call("call_y"),
        *map(output_of, apart[:1]),
        output_of(function_call("call_y")),
    ]
    respond(apart)
    respond(together, OpenAIResponsesSimulator(adjacent=True))
    text = "No tool output found for tool call call_x"
    assert refusal(lambda: respond(apart, OpenAIResponsesSimulator(adjacent=True))).text == text
    split = [
        together[0],
        together[1],
        together[3],
        function_call("call_z"),
        together[2],
        output_of(function_call("call_z")),
    ]
    assert refusal(lambda: respond(split, OpenAIResponsesSimulator(adjacent=True))).text == text
    assert refusal(lambda: respond([apart[2], apart[0]])).text.startswith("No tool call found for function call output")


def test_custom_calls_pair_with_their_own_outputs():
    made = {"type": "custom_tool_call", "call_id": "call_c", "name": "patch", "input": "x"}
    answered = {"type": "custom_tool_call_output", "call_id": "call_c", "output": "ok"}
    respond([made, answered])
    assert refusal(lambda: respond([made])).text == "No tool output found for custom tool call call_c."
    assert refusal(lambda: respond([made, output_of(function_call("call_c"))])).rule == "R2"


def test_responses_refuses_altered_and_foreign_reasoning():
    provider = OpenAIResponsesSimulator()
    items = history(provider)
    altered = copy.deepcopy(items)
    altered[1]["encrypted_content"] = "gAAA" + "x" * 20
    refused = refusal(lambda: respond(altered, provider))
    assert refused.text == "The encrypted content gAAA...xxxx could not be verified."
    assert refused.body["error"]["code"] == "invalid_encrypted_content"
    swapped = copy.deepcopy(items)
    swapped[1]["encrypted_content"] = items[7]["encrypted_content"]
    assert refusal(lambda: respond(swapped, provider)).rule == "R4"
    assert refusal(lambda: respond(items, OpenAIResponsesSimulator())).rule == "R4"
    respond(items, OpenAIResponsesSimulator(strict=False))


@pytest.mark.parametrize("store", [True, False])
def test_reasoning_without_its_content_and_references_need_a_stored_item(store: bool):
    provider = OpenAIResponsesSimulator()
    bare = history(provider, store=store)
    referring = copy.deepcopy(bare)
    del bare[1]["encrypted_content"]
    referring[8] = {"type": "item_reference", "id": referring[8]["id"]}
    if store:
        respond(bare, provider)
        respond(referring, provider)
        return
    for items, identity in ((bare, "rs_000001"), (referring, "fc_000006")):
        with pytest.raises(Refused) as caught:
            respond(items, provider)
        assert caught.value.status == 404
        assert caught.value.text.startswith(
            f"Item with id '{identity}' not found. Items are not persisted when `store`"
        )


def test_a_previous_response_brings_its_history_along():
    provider = OpenAIResponsesSimulator()
    first = respond([user()], provider, store=True, turn=STEPS[1])
    calls = [item for item in first.body["output"] if item["type"] == "function_call"]
    first.body["output"][0]["encrypted_content"] = "mine to change"
    given: dict[str, Any] = {"previous_response_id": first.body["id"], "store": True}
    second = respond([output_of(item) for item in calls], provider, **given)
    respond("And now?", provider, previous_response_id=second.body["id"])
    refused = refusal(lambda: respond([output_of(calls[0])], provider, **given))
    assert refused.text == f"No tool output found for function call {calls[1]['call_id']}."
    assert second.body["previous_response_id"] == first.body["id"]


@pytest.mark.parametrize("store", [True, False])
def test_only_a_stored_response_can_be_continued(store: bool):
    provider = OpenAIResponsesSimulator()
    identity = respond([user()], provider, store=store).body["id"]
    if store:
        respond("More.", provider, previous_response_id=identity)
        identity = "resp_other"
    refused = refusal(lambda: respond("More.", provider, previous_response_id=identity))
    assert refused.text == f"Previous response with id '{identity}' not found."
    assert refused.body["error"]["code"] == "previous_response_not_found"
    assert refusal(lambda: respond("More.", provider, conversation="conv_1")).status == 404


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"type": "nonsense"}, "Invalid value: 'nonsense'."),
        ({"type": 3, "id": "x"}, "Invalid value: ''."),
        ({"role": "tool", "content": "x"}, "Invalid value: 'tool'. Supported values are: "),
        (
            {"role": "user", "content": None},
            "Invalid type for 'input[1].content': expected one of an array of objects or",
        ),
        (
            {"role": "assistant", "content": [{"type": "input_text", "text": "x"}]},
            "Invalid value: 'input_text'. Supported",
        ),
        (
            {"role": "user", "content": [{"type": "output_text", "text": "x"}]},
            "Invalid value: 'output_text'. Supported",
        ),
        ({"type": "function_call", "name": "a", "arguments": ""}, "Missing required parameter: 'input[1].call_id'."),
        (function_call(arguments={}), "Invalid type for 'input[1].arguments'."),
        (function_call(id="call_1"), "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'."),
        (function_call("c" * 65), "Invalid 'input[1].call_id': string too long. "),
        ({"type": "function_call_output", "call_id": "a"}, "Missing required parameter: 'input[1].output'."),
    ],
)
def test_responses_refuses_an_item_of_a_wrong_form(item: dict[str, Any], text: str):
    assert refusal(lambda: respond([user(), item])).text.startswith(text)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "compaction", "encrypted_content": "x"},
        {"type": "additional_tools", "tools": []},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"role": "developer", "content": [{"type": "input_text", "text": "x"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
    ],
)
def test_responses_accepts_items_of_these_forms(item: dict[str, Any]):
    respond([user(), item])


def test_responses_refuses_an_item_twice_and_an_empty_input():
    provider = OpenAIResponsesSimulator()
    items = history(provider)
    text = "Duplicate item found with id fc_000003. Remove duplicate items from your input and try again."
    assert refusal(lambda: respond([*items, items[3], items[5]], provider)).text == text
    assert refusal(lambda: respond([], provider)).text == "Missing required parameter: 'input'."
    assert refusal(lambda: respond(["x"], provider)).text == "Invalid type for 'input[0]': expected an object."
    assert refusal(lambda: respond([user("\ud800")], provider)).text.startswith("We could not parse the JSON body")


def test_responses_reads_the_whole_replay_and_charges_only_what_is_new():
    provider = OpenAIResponsesSimulator(minimum_tokens=1)
    items = history(provider)
    first = respond(items, provider).bill
    again = respond(items, provider).bill
    assert (again.fresh_tokens, again.read_tokens) == (0, first.fresh_tokens + first.read_tokens)
    cut = respond(without(items, *range(1, 7)), provider)
    assert 0 < cut.bill.read_tokens < 20 < cut.bill.fresh_tokens
    assert cut.body["usage"]["input_tokens_details"]["cached_tokens"] == cut.bill.read_tokens


@pytest.mark.parametrize("provider", [OpenAIChatSimulator(), OpenAIResponsesSimulator(), GeminiSimulator()])
def test_each_says_which_form_it_takes(provider: Simulator):
    bodies: dict[str, dict[str, Any]] = {
        "openai-chat": {"messages": [user()]},
        "openai-responses": {"input": "Go."},
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "Go."}]}]},
    }
    assert provider.send(bodies[provider.name], {"x": "y"}, turn=DONE, model="m", now_ms=5000).bill.output_tokens > 0


def test_the_same_requests_get_the_same_answers():
    one, other = OpenAIResponsesSimulator(), OpenAIResponsesSimulator()
    assert history(one) == history(other)
    assert chat_history(OpenAIChatSimulator(thought_signatures=True)) == chat_history(
        OpenAIChatSimulator(thought_signatures=True)
    )
