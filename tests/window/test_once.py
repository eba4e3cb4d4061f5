"""`undrift.trim`: messages in, messages out, with no session and no disk; the provider takes each of them."""

import copy
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import undrift
from tests.builders import Json, assistant, call, opened, result, rounds, sent, text, thinking, user
from undrift import LeftBlock, Trimmed, token_count, trim
from undrift.errors import InputError, WireError
from undrift.settings.model_table import MODELS as MODEL_TABLE
from undrift.testing import Call, ModelTurn, Result, history_for, simulator_for
from undrift.testing.histories import ClientHistory
from undrift.wire.forms import WIRES, form_of

TURNS = 60
BUDGET = 4_000
MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-3-pro"}
DROPS = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BINDING = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


class Loop:
    """An agent loop as a user writes it: each request is trimmed and sent to a strict provider."""

    def __init__(self, wire: str, budget_tokens: int, model: str = "", thinks: str = "", **fields: Any) -> None:
        self.wire, self.budget_tokens, self.thinks = wire, budget_tokens, thinks
        self.model = model or MODELS.get(wire, "gpt-5.5")
        self.history: ClientHistory = history_for(wire, model=self.model, **fields)
        self.provider = simulator_for(wire, model=self.model)
        self.history.say("Read the files, one after the other.")
        self.turns: list[Trimmed[Any]] = []

    def messages(self) -> list[Any]:
        found: list[Any] = self.history.body()[form_of(self.wire).HISTORY]
        return found

    def send(self, turn: ModelTurn) -> None:
        """Trim and send; a request that the provider refuses raises."""
        body = self.history.body()
        given = json.dumps(body)
        trimmed = trim(body[form_of(self.wire).HISTORY], self.budget_tokens, wire=self.wire)
        assert json.dumps(body) == given
        self.turns.append(trimmed)
        body = {**body, form_of(self.wire).HISTORY: trimmed.messages}
        headers = BINDING if self.wire == "anthropic" else {}
        self.history.take(self.provider.send(body, headers, turn=turn, model=self.model).body)

    def run(self, turns: int = TURNS) -> "Loop":
        for number in range(turns):
            thought = (
                f"Which is file {number}? " * 9 if self.thinks == "always" or (self.thinks and number % 3) else None
            )
            self.send(ModelTurn("Next." * (number % 2), (Call("Read", {"path": f"{number}.py"}),), thinking=thought))
            lines = (f"def function_{number}_{line}(a, b): return {number} * {line}" for line in range(20))
            self.history.answer([Result("\n".join(lines))])
            if number % 7 == 6:
                self.send(ModelTurn("That part is read."))
                self.history.say(f"Continue with part {number}.")
        return self


LOOPS: list[Any] = [(wire, "", "", {}) for wire in WIRES]
LOOPS += [(wire, "", "always", {}) for wire in WIRES if wire != "anthropic"]
LOOPS += [
    ("anthropic", "", "always", {"thinking": {"type": "enabled", "budget_tokens": 1_024}}),
    ("anthropic", "", "sometimes", {"thinking": {"type": "adaptive"}}),
    ("anthropic", "claude-opus-5-5", "always", {"thinking": DROPS}),
]


@pytest.mark.parametrize(("wire", "model", "thinks", "fields"), LOOPS)
def test_a_provider_takes_each_trimmed_request_of_a_long_loop(wire: str, model: str, thinks: str, fields: Any):
    turns = TURNS // 2 if thinks else TURNS
    loop = Loop(wire, BUDGET, model, thinks, **fields).run(turns)
    assert all(turn.tokens_after <= BUDGET for turn in loop.turns)
    assert len([turn for turn in loop.turns if turn.left]) > turns / 2


@pytest.mark.parametrize("wire", WIRES)
def test_a_budget_that_cannot_be_kept_gives_what_must_stay_and_says_so(wire: str):
    loop = Loop(wire, 300).run(20)
    last = loop.turns[-1]
    assert 300 < last.tokens_after < last.tokens_before / 2
    assert "Continue with part 13." in json.dumps(last.messages)
    assert all(trim(loop.messages(), budget, wire=wire).left for budget in (1, 10, 100))


@pytest.fixture(scope="module", params=WIRES)
def loop(request: pytest.FixtureRequest) -> Loop:
    return Loop(request.param, 10**9).run(30)


def test_what_fits_comes_back_as_the_very_list(loop: Loop):
    messages = loop.messages()
    whole = trim(messages, 10**9, wire=loop.wire)
    assert whole.messages is messages
    assert (whole.left, whole.tokens_before) == ((), whole.tokens_after)
    exact = trim(messages, whole.tokens_before, wire=loop.wire)
    assert exact.messages is messages
    assert trim(messages, whole.tokens_before - 1, wire=loop.wire).left != ()


@pytest.mark.parametrize("budget_tokens", [3_500, 5_000, 8_000])
def test_the_figures_are_those_of_the_messages(loop: Loop, budget_tokens: int):
    messages = loop.messages()
    trimmed = trim(messages, budget_tokens, wire=loop.wire)
    assert trimmed.tokens_after <= budget_tokens < trimmed.tokens_before
    assert trimmed.tokens_before - trimmed.tokens_after == sum(one.tokens_saved for one in trimmed.left)
    again = trim(trimmed.messages, budget_tokens, wire=loop.wire)
    assert again.messages is trimmed.messages
    assert again.tokens_before == trimmed.tokens_after


@pytest.mark.parametrize("wire", WIRES)
def test_tokens_are_counted_as_the_newest_models_of_the_wire_count_them(wire: str):
    factor = {"anthropic": 1.6, "gemini": 1.1}.get(wire, 1.0)
    family = {"anthropic": "claude", "gemini": "gemini"}.get(wire, "gpt")
    assert factor == max(model.token_factor for model in MODEL_TABLE if model.name.startswith(family))
    history = history_for(wire, model="any")
    history.say("the port is 8080 " * 500)
    body = history.body()
    messages = [one for one in body[form_of(wire).HISTORY] if one.get("role") == "user"]
    words = "the port is 8080 " * 500
    assert trim(messages, 10**6, wire=wire).tokens_before == math.ceil(token_count(words) * factor)


def test_the_same_messages_give_the_same_result(loop: Loop):
    messages = loop.messages()
    first = trim(messages, BUDGET, wire=loop.wire)
    second = trim(copy.deepcopy(messages), BUDGET, wire=loop.wire)
    assert second == first
    assert all(any(one is given for given in messages) or one not in messages for one in first.messages)


def test_what_left_has_its_kind_its_place_and_its_whole_text(loop: Loop):
    messages = loop.messages()
    trimmed = trim(messages, BUDGET, wire=loop.wire)
    assert {one.kind for one in trimmed.left} == {"pruned"}
    assert [one.number for one in trimmed.left] == sorted(one.number for one in trimmed.left)
    kept = json.dumps(trimmed.messages)
    for one in trimmed.left:
        assert one.reason
        if one.text.startswith("def function_"):
            assert json.dumps(one.text)[1:-1] in json.dumps(messages[one.number])
            assert json.dumps(one.text)[1:-1] not in kept


@pytest.mark.parametrize(
    ("output", "kind", "mark"),
    [
        ("\n".join(["same line"] * 3_000), "folded", "[no repeated lines]"),
        (
            "\n".join(f"{n} {'ab' * (n % 90)}" for n in range(3_000)) + "\nsetting_port 8080",
            "trimmed",
            " lines stay here]",
        ),
    ],
)
def test_a_shortened_result_says_so_and_names_no_command(output: str, kind: str, mark: str):
    messages = [user("do it"), assistant(call("long")), user(result("long", output)), *rounds(9), user("setting_port?")]
    trimmed = trim(messages, 5_000)
    (one,) = [one for one in trimmed.left if one.number == 2]
    assert (one.kind, one.text) == (kind, output)
    assert mark in trimmed.messages[2]["content"][0]["content"].splitlines()[0]


def test_no_text_promises_a_way_back_that_there_is_not(loop: Loop):
    pasted = {**loop.messages()[0]}
    for budget_tokens in (1, 3_000, 9_000):
        trimmed = trim(loop.messages(), budget_tokens, wire=loop.wire)
        assert "recall" not in json.dumps(trimmed.messages)
        assert "undrift" not in json.dumps(trimmed.messages)
        assert not any("recall" in one.reason for one in trimmed.left)
    assert loop.messages()[0] == pasted


def test_a_long_paste_loses_its_middle_and_names_no_command():
    paste = "\n".join(f"line {number} of the log" for number in range(5_000))
    messages = [user("look"), assistant("at what?"), user(text(paste)), *rounds(3), assistant("done"), user("thanks")]
    trimmed = trim(messages, 4_000)
    (cut,) = [one for one in trimmed.left if one.kind == "cut"]
    assert (cut.number, cut.text) == (2, paste)
    assert "characters of this message left the window]" in json.dumps(trimmed.messages[2])


def test_a_result_that_loads_a_tool_stays():
    """The tools are not among the messages, so any of them may be one that the model had to load."""
    loaded = [{"type": "tool_reference", "tool_name": "deploy"}]
    messages = [
        user("Deploy it."),
        assistant(call("s", name="ToolSearch", input={"query": "deploy"})),
        user(result("s", loaded)),
        *rounds(30),
        assistant("done"),
        user("and now?"),
    ]
    trimmed = trim(messages, 1_500)
    assert trimmed.tokens_after <= 1_500
    assert trimmed.messages[:3] == messages[:3]


def test_thinking_of_the_open_row_of_calls_stays_at_its_beginning():
    messages: list[Json] = [user("do it")]
    for number in range(30):
        think = [thinking("x")] if number == 0 else []
        messages.append(assistant(*think, call(f"c{number}", input={"path": f"{number}.py"})))
        messages.append(user(result(f"c{number}", "word " * 200)))
    trimmed = trim(messages, 3_000)
    assert trimmed.tokens_after <= 3_000
    assert trimmed.messages[1]["content"][0] == thinking("x")


def test_it_keeps_at_least_what_a_session_keeps_at_the_same_budget(tmp_path: Path):
    """A session prunes further down, so that it need not rewrite the prompt again on the next turn."""
    messages = [user("do it"), *rounds(60), assistant("done"), user("and now?")]
    body = {"model": "claude-opus-4-7", "max_tokens": 9, "messages": messages}
    with opened(tmp_path, budget_tokens=3_000, token_counter="estimate") as session:
        prepared = session.prepare(body)
    trimmed = trim(messages, 3_000)
    assert prepared.tokens_after <= trimmed.tokens_after <= 3_000
    assert len(sent(prepared)) <= len(trimmed.messages)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ({"messages": []}, "messages must be a list, not dict: give the list in its field messages"),
        (b"[]", "messages must be a list, not bytes: give the list in its field messages"),
        ("hello", "messages must be a list, not str"),
        (None, "messages must be a list, not NoneType"),
        ((user("hello"),), "messages must be a list, not tuple"),
    ],
)
def test_what_is_no_list_is_refused(messages: Any, words: str):
    with pytest.raises(InputError) as caught:
        trim(messages, 10)
    assert str(caught.value) == words


@pytest.mark.parametrize("budget_tokens", [0, -1, True, 1.5, "60k", None, float("nan")])
def test_a_budget_that_is_no_positive_integer_is_refused(budget_tokens: Any):
    with pytest.raises(InputError, match="budget_tokens must be an integer of at least 1, not"):
        trim([user("hello")], budget_tokens)


def test_an_unknown_wire_and_a_message_of_another_one_are_refused():
    with pytest.raises(
        InputError, match="wire must be one of anthropic, openai-chat, openai-responses, gemini, not 'x'"
    ):
        trim([user("hello")], 10, wire="x")
    with pytest.raises(WireError) as caught:
        trim([user("hello"), {"role": "assistant", "content": 7}], 10)
    assert caught.value.path == "messages[1].content"
    with pytest.raises(WireError):
        trim([user("hello"), 7], 10)


def test_no_messages_fit_every_budget():
    empty: list[Json] = []
    trimmed = trim(empty, 1)
    assert trimmed.messages is empty
    assert trimmed == Trimmed([], 0, 0)


def test_an_sdk_s_objects_are_taken_as_messages():
    types = pytest.importorskip("anthropic.types", reason="needs the package anthropic (make setup)")
    messages: list[Any] = [user("do it")]
    for number in range(20):
        block = types.ToolUseBlock(type="tool_use", id=f"c{number}", name="Read", input={"path": f"{number}.py"})
        messages += [{"role": "assistant", "content": [block]}, user(result(f"c{number}", f"line {number}\n" * 200))]
    whole = trim(messages, 10**6)
    assert whole.messages is messages
    trimmed = trim(messages, 7_000)
    assert json.loads(json.dumps(trimmed.messages)) == trimmed.messages
    assert trimmed.tokens_after <= 7_000
    assert isinstance(messages[1]["content"][0], types.ToolUseBlock)


def test_it_reads_no_setting_loads_no_store_and_writes_no_file(tmp_path: Path):
    program = f"""
import json, sys
import undrift
messages = json.loads({json.dumps(json.dumps([user("do it"), *rounds(30)]))})
trimmed = undrift.trim(messages, 1_500)
loaded = [n for n in sys.modules if n.startswith(("apsw", "sqlite3", "undrift.stores", "undrift.session", "asyncio"))]
print(json.dumps([len(trimmed.left) > 5, loaded]))
"""
    environment = {**os.environ, "HOME": str(tmp_path), "UNDRIFT_BUDGET_TOKENS": "nonsense", "UNDRIFT_HOME": "h"}
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout) == [True, []]
    assert [*tmp_path.iterdir()] == []


def test_its_values_tell_a_person_what_they_are():
    left = LeftBlock("pruned", 4, "no room", 1_200, "\x1b[31mGET /\n" * 99)
    assert (
        repr(left)
        == "LeftBlock('pruned', message 4, 1,200 tokens saved, '\\x1b[31mGET /\\n\\x1b[31mGET /\\n\\x1b[31mGET /\\n…')"
    )
    assert repr(Trimmed([{}], 83_211, 59_840, (left,))) == "Trimmed(83,211 -> 59,840 tokens, 1 message, 1 left)"


def test_it_stands_on_the_front_door():
    assert undrift.trim is trim
    assert "trim" in undrift.__all__
