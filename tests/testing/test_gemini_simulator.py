"""The simulator of Gemini `generateContent`: what it accepts, refuses and charges."""

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from undrift.testing.simulators.base import Answered, Call, ModelTurn, Refused
from undrift.testing.simulators.gemini import DUMMY_SIGNATURES, GeminiSimulator

STEPS = (
    ModelTurn("Looking.", (Call("read", {"path": "a"}), Call("find", {"path": "b"})), thinking="Two files."),
    ModelTurn("", (Call("run", {"command": "make"}), Call("find", {"path": "c"}))),
    ModelTurn("", (Call("write", {"path": "c"}),)),
)
DONE = ModelTurn("Done.", thinking="Enough.")
NUMBER = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
CALL_TURN = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
RESPONSE_TURN = "Please ensure that function response turn comes immediately after a function call turn."
MIXED = (
    "Please ensure that function call turn contains at least one function_call part which can not be mixed with "
    "function_response parts."
)

PART = "* GenerateContentRequest.contents[0].parts[0]"
STRUCT = "type.googleapis.com/google.protobuf.Struct"


def refusal(send: Callable[[], Answered]) -> Refused:
    with pytest.raises(Refused) as caught:
        send()
    error = caught.value.body["error"]
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert caught.value.text == error["message"]
    return caught.value


def send(contents: Any, provider: GeminiSimulator | None = None, **more: Any) -> Answered:
    turn, model = more.pop("turn", DONE), more.pop("model", None)
    return (provider or GeminiSimulator()).send({"contents": contents, **more}, turn=turn, model=model)


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def user(text: str = "Go.") -> dict[str, Any]:
    return content("user", {"text": text})


def model(text: str = "Well.") -> dict[str, Any]:
    return content("model", {"text": text})


def call(name: str = "read", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, "thoughtSignature": DUMMY_SIGNATURES[0], **more}


def response(name: str = "read", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "ok"}, **more}}


def answers_to(said: dict[str, Any], *, ids: bool = True) -> dict[str, Any]:
    calls = [part["functionCall"] for part in said["parts"] if "functionCall" in part]
    return content("user", *(response(one["name"], **({"id": one["id"]} if ids else {})) for one in calls))


def history(provider: GeminiSimulator, *, ids: bool = True) -> list[dict[str, Any]]:
    """Three steps: 0 user; 1, 3, 5 the model's calls; 2, 4, 6 their responses."""
    contents = [user()]
    for step in STEPS:
        said = send(contents, provider, turn=step).body["candidates"][0]["content"]
        contents += [said, answers_to(said, ids=ids)]
    return contents


def calls_of(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in said["parts"] if "functionCall" in part]


def snake_case(value: Any) -> Any:
    names = {"functionCall": "function_call", "functionResponse": "function_response"}
    names["thoughtSignature"] = "thought_signature"
    if isinstance(value, dict):
        return {names.get(name, name): snake_case(one) for name, one in value.items()}
    return [snake_case(one) for one in value] if isinstance(value, list) else value


# ------------------------------------------------------------------------------------------------------------ replays
@pytest.mark.parametrize("ids", [True, False])
def test_it_accepts_the_replay_of_three_steps_with_parallel_calls(ids: bool):
    provider = GeminiSimulator()
    contents = history(provider, ids=ids)
    said = send(contents, provider).body["candidates"][0]["content"]
    assert said["parts"][-1]["text"] == "Done."
    assert said["parts"][-1]["thoughtSignature"]
    assert ["thoughtSignature" in part for part in contents[1]["parts"]] == [False, True, False]
    send([*contents, said, user("Next.")], provider)


def test_it_takes_snake_case_bytes_and_the_other_alphabet_of_base64():
    provider = GeminiSimulator()
    contents = history(provider)
    send(snake_case(contents), provider)
    provider.send(json.dumps({"contents": contents}).encode(), turn=DONE)
    for _ in range(30):  # so that some signature holds a sign in which the alphabets differ
        contents.append(send(contents, provider, turn=ModelTurn("", (Call("run"),))).body["candidates"][0]["content"])
        contents.append(answers_to(contents[-1]))
    text = json.dumps(contents)
    assert "+" in text
    send(json.loads(text.replace("+", "-").replace("/", "_")), provider)


def test_it_gives_no_ids_where_it_is_told_so():
    said = send([user()], GeminiSimulator(ids=False), turn=STEPS[0]).body["candidates"][0]["content"]
    assert all("id" not in part["functionCall"] for part in calls_of(said))


def test_it_shows_the_thinking_only_where_the_request_asks():
    parts = send([user()]).body["candidates"][0]["content"]["parts"]
    assert not any(part.get("thought") for part in parts)
    config = {"thinkingConfig": {"includeThoughts": True}}
    answer = send([user()], generationConfig=config)
    parts = answer.body["candidates"][0]["content"]["parts"]
    assert parts[0] == {"text": "Enough.", "thought": True}
    assert answer.body["usageMetadata"]["thoughtsTokenCount"] == 2
    send([user(), content("model", *parts), user()], GeminiSimulator(strict=False))


# ----------------------------------------------------------------------------------------------------- cutting a history
@pytest.mark.parametrize("gone", [(1, 2), (3, 4), (5, 6), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)])
def test_it_accepts_a_history_without_whole_steps(gone: tuple[int, ...]):
    provider = GeminiSimulator()
    send([one for at, one in enumerate(history(provider)) if at not in gone], provider)


@pytest.mark.parametrize(
    ("gone", "text"),
    [
        ((2,), CALL_TURN),
        ((6,), NUMBER),
        ((1,), RESPONSE_TURN),
        ((3,), RESPONSE_TURN),
        ((0,), CALL_TURN),
        ((0, 1), RESPONSE_TURN),
    ],
)
def test_it_refuses_half_of_a_step(gone: tuple[int, ...], text: str):
    provider = GeminiSimulator()
    contents = [one for at, one in enumerate(history(provider)) if at not in gone]
    assert refusal(lambda: send(contents, provider)).text == text


def test_a_parallel_group_leaves_as_a_whole_or_by_its_unsigned_calls():
    provider = GeminiSimulator()
    contents = history(provider)
    del contents[1]["parts"][2], contents[2]["parts"][1]
    send(contents, provider)
    del contents[3]["parts"][0], contents[4]["parts"][0]
    text = "Function call `find` in the `3.` content block is missing a `thought_signature`."
    assert refusal(lambda: send(contents, provider)).text == text


# ---------------------------------------------------------------------------------------------------------- signatures
def test_the_current_turn_needs_its_signatures_and_earlier_turns_do_not():
    provider = GeminiSimulator()
    contents = history(provider)
    del contents[3]["parts"][0]["thoughtSignature"]
    refused = refusal(lambda: send(contents, provider))
    assert refused.text == "Function call `run` in the `3.` content block is missing a `thought_signature`."
    assert refused.rule == "G1"
    send([*contents, model(), user("Next.")], provider)


def test_a_user_text_beside_responses_opens_a_new_turn():
    provider = GeminiSimulator()
    contents = history(provider)
    for said in contents[1::2]:
        for part in calls_of(said):
            part.pop("thoughtSignature", None)
    contents[-1]["parts"].append({"text": "And hurry."})
    send(contents, provider)
    contents[-1]["parts"].pop()
    assert refusal(lambda: send(contents, provider)).rule == "G1"


@pytest.mark.parametrize("dummy", [*DUMMY_SIGNATURES, base64.b64encode(DUMMY_SIGNATURES[0].encode()).decode()])
def test_a_dummy_signature_stands_for_a_call_that_the_model_did_not_make(dummy: str):
    send([user(), content("model", call(thoughtSignature=dummy)), content("user", response())])


def test_an_altered_signature_is_refused_in_every_turn():
    provider = GeminiSimulator()
    contents = history(provider)
    contents[1]["parts"][1]["thoughtSignature"] = "bm90IG1pbmU="
    refused = refusal(lambda: send([*contents, model(), user()], provider))
    assert (refused.text, refused.rule) == ("Corrupted thought signature", "G8")
    contents[1]["parts"][1]["thoughtSignature"] = 7
    assert refusal(lambda: send(contents, provider)).text == "Corrupted thought signature"


def test_a_signature_of_another_account_passes_only_where_it_is_not_strict():
    contents = history(GeminiSimulator())
    assert refusal(lambda: send(contents)).text == "Corrupted thought signature"
    send(contents, GeminiSimulator(strict=False))


@pytest.mark.parametrize("change", ["another call's", "a text's", "other arguments"])
def test_a_signature_belongs_to_its_call(change: str):
    provider = GeminiSimulator()
    contents = history(provider)
    if change == "another call's":
        contents[1]["parts"][1]["thoughtSignature"] = contents[3]["parts"][0]["thoughtSignature"]
    elif change == "a text's":
        said = send([user()], provider).body["candidates"][0]["content"]
        contents[1]["parts"][1]["thoughtSignature"] = said["parts"][0]["thoughtSignature"]
    else:
        contents[1]["parts"][1]["functionCall"]["args"] = {"path": "elsewhere"}
    assert refusal(lambda: send(contents, provider)).text == "Invalid thought signature"
    send([*contents, model(), user()], provider)


def test_gemini_2_5_can_do_without_signatures_but_not_with_altered_ones():
    provider = GeminiSimulator(signatures="optional")
    contents = history(provider)
    assert ["thoughtSignature" in part for part in calls_of(contents[3])] == [False, False]
    bare = copy.deepcopy(contents)
    del bare[1]["parts"][1]["thoughtSignature"]
    send(bare, provider)
    contents[1]["parts"][1]["thoughtSignature"] = "bm90IG1pbmU="
    assert refusal(lambda: send(contents, provider)).text == "Corrupted thought signature"


# --------------------------------------------------------------------------------------------------------------- order
@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ([user(), content("model", call(), call()), content("user", response())], NUMBER),
        ([user(), content("model", call()), content("user", response(), response())], NUMBER),
        ([user(), content("model", call()), user()], NUMBER),
        ([user(), content("model", call()), user(), content("user", response())], NUMBER),
        ([user(), content("model", call())], NUMBER),
        ([user(), content("user", response())], RESPONSE_TURN),
        ([user(), content("model", call("read")), content("user", response("write"))], RESPONSE_TURN),
        (
            [user(), content("model", call("a"), call("b")), content("user", response("b"), response("a"))],
            RESPONSE_TURN,
        ),
        ([user(), model(), content("model", call()), content("user", response())], CALL_TURN),
        ([user(), content("model", call(), response())], MIXED),
        ([user(), content("model", call()), content("model", response())], MIXED),
        ([content("user", call()), content("user", response())], MIXED),
        ([model(), user()], "Please ensure that multiturn requests alternate between user and model."),
        ([user(), model()], "Requests ending with a model turn are not supported."),
    ],
)
def test_it_refuses_contents_in_a_wrong_order(contents: list[dict[str, Any]], text: str):
    assert refusal(lambda: send(contents)).text == text


@pytest.mark.parametrize(
    "contents",
    [
        [user(), user()],
        [user(), model(), model(), user()],
        [user(), content("model", call(), call()), content("user", response(), response())],
        [user(), content("model", {"text": "Hm."}, call()), content("user", response(), {"text": "Go on."})],
        [
            user(),
            content("model", call()),
            content("user", response()),
            content("model", call()),
            content("user", response()),
        ],
    ],
)
def test_it_accepts_contents_in_these_orders(contents: list[dict[str, Any]]):
    send(contents)


def test_calls_and_responses_that_take_turns_lack_a_signature():
    provider = GeminiSimulator()
    first, second, *_ = history(provider)[1:]
    _, signed, unsigned = first["parts"]
    contents = [user()]
    for part, answered in zip((signed, unsigned), second["parts"], strict=True):
        contents += [content("model", part), content("user", answered)]
    assert refusal(lambda: send(contents, provider)).rule == "G1"


def test_an_id_pairs_a_response_whatever_its_position():
    provider = GeminiSimulator()
    contents = history(provider)
    contents[2]["parts"].reverse()
    send(contents, provider)
    contents[2]["parts"][0]["functionResponse"]["id"] = contents[2]["parts"][1]["functionResponse"]["id"]
    assert refusal(lambda: send(contents, provider)).text == RESPONSE_TURN
    contents[2]["parts"][0]["functionResponse"]["id"] = "fc_other"
    assert refusal(lambda: send(contents, provider)).rule == "G10"


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.1-pro-preview"])
def test_older_models_go_on_from_a_turn_of_their_own(name: str):
    send([user(), model()], model=name)


# ---------------------------------------------------------------------------------------------------------------- form
@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ([], "* GenerateContentRequest.contents: contents is not specified\n"),
        (None, "* GenerateContentRequest.contents: contents is not specified\n"),
        ([user(), content("user")], "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n"),
        ([{"role": "user"}], "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n"),
        ([content("tool", response())], "Please use a valid role: user, model."),
        (
            [content("user", {"thoughtSignature": "x"})],
            f"{PART}.data: required oneof field 'data' must have one initialized field\n",
        ),
        (
            [user(), content("model", call("")), content("user", response(""))],
            "* GenerateContentRequest.contents[1].parts[0].function_call.name: Name cannot be empty.\n",
        ),
        (
            [
                user(),
                content("model", call()),
                content("user", {"functionResponse": {"name": "read", "response": "x"}}),
            ],
            f"Invalid value at 'contents[2].parts[0].function_response.response' ({STRUCT})",
        ),
        ([content("user", {"text": 7})], "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING)"),
    ],
)
def test_it_refuses_contents_of_a_wrong_form(contents: Any, text: str):
    assert refusal(lambda: send(contents)).text == text


def test_it_refuses_a_body_that_is_no_json():
    assert refusal(lambda: GeminiSimulator().send(b"{", turn=DONE)).text.startswith("Invalid JSON payload received. ")
    assert refusal(lambda: send([user("\ud800")])).text.startswith("Invalid JSON payload received. ")


# --------------------------------------------------------------------------------------------------------------- cache
def test_it_reads_what_was_sent_before_and_counts_it_in_the_prompt():
    provider = GeminiSimulator(minimum_tokens=10)
    first = send([user("a" * 400)], provider, systemInstruction={"parts": [{"text": "s"}]})
    again = send([user("a" * 400), user("b" * 400)], provider, systemInstruction={"parts": [{"text": "s"}]})
    assert first.bill.read_tokens == 0
    assert "cachedContentTokenCount" not in first.body["usageMetadata"]
    assert again.bill.read_tokens == first.bill.fresh_tokens
    usage = again.body["usageMetadata"]
    assert usage["cachedContentTokenCount"] == again.bill.read_tokens
    assert usage["promptTokenCount"] == again.bill.read_tokens + again.bill.fresh_tokens
    assert usage["totalTokenCount"] == usage["promptTokenCount"] + again.bill.output_tokens
    assert again.bill.written_tokens == 0
    assert send([user("a" * 400)], provider, systemInstruction={"parts": [{"text": "t"}]}).bill.read_tokens == 0


@pytest.mark.parametrize(("name", "read"), [("gemini-3.8-flash", False), ("gemini-2.5-pro", True)])
def test_the_shortest_cached_prompt_depends_on_the_model(name: str, read: bool):
    provider = GeminiSimulator()
    bills = [send([user("a" * 4 * 3000)], provider, model=name).bill for _ in range(2)]
    assert [bill.read_tokens > 0 for bill in bills] == [False, read]


def test_a_refused_request_is_not_remembered():
    provider = GeminiSimulator(minimum_tokens=1)
    refusal(lambda: send([user("a" * 400), model()], provider))
    assert send([user("a" * 400)], provider).bill.read_tokens == 0


def test_the_same_requests_get_the_same_answers():
    assert history(GeminiSimulator()) == history(GeminiSimulator())
