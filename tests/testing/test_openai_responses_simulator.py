"""The simulator of OpenAI Responses: what it accepts, refuses and charges; and what all simulators share."""

import copy
from typing import Any

import pytest

from tests.testing.openai_talk import DONE, STEPS, refusal, user, without
from undrift.testing.simulators.base import Answered, Refused, Simulator
from undrift.testing.simulators.gemini import GeminiSimulator
from undrift.testing.simulators.openai_chat import OpenAIChatSimulator
from undrift.testing.simulators.openai_responses import OpenAIResponsesSimulator


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


@pytest.mark.parametrize(
    ("model", "writes"), [("gpt-5.5", False), ("gpt-5.6", True), ("gpt-6-astra", True), ("x", False)]
)
def test_writing_the_cache_is_charged_from_gpt_5_6_on(model: str, writes: bool):
    answer = respond([user("a" * 400)], OpenAIResponsesSimulator(minimum_tokens=10), model=model)
    details = answer.body["usage"]["input_tokens_details"]
    assert bool(details["cache_write_tokens"]) is writes
    assert answer.body["usage"]["input_tokens"] == answer.bill.fresh_tokens + answer.bill.written_tokens


@pytest.mark.parametrize("provider", [OpenAIChatSimulator(), OpenAIResponsesSimulator(), GeminiSimulator()])
def test_each_says_which_form_it_takes(provider: Simulator):
    bodies: dict[str, dict[str, Any]] = {
        "openai-chat": {"messages": [user()]},
        "openai-responses": {"input": "Go."},
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "Go."}]}]},
    }
    assert provider.send(bodies[provider.name], {"x": "y"}, turn=DONE, model="m", now_ms=5000).bill.output_tokens > 0


def test_the_same_requests_get_the_same_answers():
    assert history(OpenAIResponsesSimulator()) == history(OpenAIResponsesSimulator())
