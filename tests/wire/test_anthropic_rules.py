"""What Anthropic refuses in a history: each rule with what it lets through and what it refuses, and in which words."""

import random
from typing import Any

import pytest

from tests.builders import Json, assistant, call, image, result, text, thinking, user
from undrift.testing.simulators.anthropic_rules import RULES
from undrift.testing.simulators.anthropic_shape import read_request
from undrift.testing.simulators.base import Refused
from undrift.wire import anthropic

MARKER: Json = {"type": "ephemeral"}
HOUR: Json = {"type": "ephemeral", "ttl": "1h"}
SYSTEM: Json = {"role": "system", "content": "s"}


def problems(messages: list[Any], /, **beside: Any) -> tuple[str, ...]:
    return anthropic.problems([anthropic.read(m, "messages") for m in messages], beside)


def marked(*markers: Json) -> Json:
    """A user's message with so many marked texts."""
    return user(*(text("a", cache_control=marker) for marker in markers))


LEGAL: list[list[Any]] = [
    [],
    [user("hi")],
    [user("hi"), assistant("a")],
    [user("hi"), user("there"), assistant("a"), assistant("b")],
    [user("hi"), assistant(call("a"), call("b")), user(result("b", ""), result("a", []), "also")],
    [user("hi"), assistant(call("a")), assistant("and", call("b")), user(result("a", "")), user(result("b", ""), "x")],
    [user("hi"), assistant(""), user("go")],
    [user("hi"), assistant(), user("go")],
    [user("hi"), SYSTEM, assistant("a"), user("go"), SYSTEM, SYSTEM],
    [user("hi"), assistant(call("a")), user(result("a", "")), SYSTEM, assistant("a")],
    [user("hi"), assistant(thinking(""), "a")],
    [user("hi", " "), assistant(" ", image())],
    [user("hi"), assistant({"type": "server_tool_use", "id": "s", "name": "n", "input": {}})],
    [marked(MARKER, MARKER, MARKER, MARKER)],
    [marked(HOUR, HOUR, MARKER)],
    [user("hi"), assistant(call("a")), user(result("a", " ", cache_control=MARKER))],
]
REFUSED: list[tuple[list[Any], str]] = [
    ([assistant("a")], "messages.0: the first message must have the role user, not assistant"),
    ([SYSTEM, user("a")], "messages.0: the first message must have the role user, not system"),
    ([user("hi"), assistant(call("a"))], "messages.1: `tool_use` ids were found without `tool_result` blocks"),
    ([user("hi"), assistant(call("a")), user("no")], "without `tool_result` blocks immediately after: a."),
    ([user("hi"), assistant(call("a")), user("no", result("a", ""))], "`tool_result` blocks immediately after: a."),
    ([user("hi"), assistant(call("a"), call("b")), user(result("a", ""))], "immediately after: b. Each `tool_use`"),
    ([user("hi"), assistant(call("a"), call("b")), user("no")], "immediately after: a, b."),
    ([user("hi"), assistant(call("a")), user("no"), user("hm"), assistant("b")], "immediately after: a."),
    ([user("hi"), user(result("a", ""))], "messages.0: unexpected `tool_use_id` found in `tool_result` blocks: a"),
    ([user("hi"), assistant(call("a")), user(result("a", "")), user(result("b", ""))], "unexpected `tool_use_id`"),
    ([user(result("a", "")), assistant(call("a")), user(result("a", ""))], "unexpected `tool_use_id`"),
    ([user("a"), assistant(call("a"), result("a", ""))], "unexpected `tool_use_id`"),
    ([user("a"), assistant(call("a")), user(result("a", ""), result("a", ""))], "multiple `tool_result` blocks with id: a"),
    ([user("a"), *[assistant(call("a")), user(result("a", ""))] * 2], "messages.3: `tool_use` ids must be unique: a"),
    ([user("a"), assistant(call("a"), call("a")), user(result("a", ""))], "messages.1: `tool_use` ids must be unique: a"),
    ([user("a"), assistant(call("a")), SYSTEM, user(result("a", ""))], "messages.2: a system message stands between"),
    ([user("")], "messages.0: user messages must have non-empty content"),
    ([{"role": "user", "content": []}], "messages.0: user messages must have non-empty content"),
    ([user("a"), user("")], "messages.1: user messages must have non-empty content"),
    ([user("a"), {"role": "system", "content": ""}], "messages.1: system messages must have non-empty content"),
    ([user("hi", "")], "messages.0: text content blocks must be non-empty"),
    ([user("hi"), assistant(text(""))], "messages.1: text content blocks must be non-empty"),
    ([user("hi"), assistant(text(" \n"))], "messages.1: text content blocks must contain non-whitespace text"),
    ([user(" ")], "messages.0: text content blocks must contain non-whitespace text"),
    ([marked(*[MARKER] * 5)], "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    ([marked(MARKER, HOUR)], "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."),
    ([marked(MARKER), assistant("a"), marked(HOUR)], "processed in the following order: tools, system, messages."),
    ([user("a"), assistant({**thinking("t"), "cache_control": MARKER})], "messages.1: cache_control cannot be set"),
    ([user(text("", cache_control=MARKER))], "messages.0: cache_control cannot be set on text blocks without text"),
]  # fmt: skip


@pytest.mark.parametrize("messages", LEGAL)
def test_what_the_provider_takes_has_no_problems(messages):
    assert problems(messages) == ()


@pytest.mark.parametrize(("messages", "words"), REFUSED)
def test_what_the_provider_refuses_is_said_in_its_words(messages, words):
    assert any(words in problem for problem in problems(messages)), problems(messages)


def test_each_thing_that_is_wrong_is_said():
    assert len(problems([assistant(""), user(""), assistant(call("a"), " ")])) == 3


def test_no_history_is_longer_than_the_provider_takes():
    view = anthropic.read(user("hi"), "messages")
    assert anthropic.problems([view] * 100_000, {}) == ()
    assert anthropic.problems([view] * 100_001, {}) == ("messages: at most 100000 messages, not 100001",)


def test_markers_beside_the_messages_count_as_well():
    tools, system = [{"name": "n", "cache_control": MARKER}], [text("s", cache_control=MARKER), text("t")]
    assert problems([marked(MARKER, MARKER)], tools=tools, system=system) == ()
    (found,) = problems([marked(MARKER, MARKER, MARKER)], tools=tools, system=system)
    assert found == "A maximum of 4 blocks with cache_control may be provided. Found 5."
    assert problems([marked(HOUR)], tools=tools) != ()
    assert problems([marked(MARKER)], tools=[{"name": "n", "cache_control": HOUR}]) == ()


def test_the_marker_of_the_whole_request_takes_a_place_unless_the_last_block_has_one():
    free = user("a")
    assert problems([marked(*[MARKER] * 3), free], cache_control=MARKER) == ()
    assert problems([marked(*[MARKER] * 4), free], cache_control=MARKER) != ()
    assert problems([free, marked(*[MARKER] * 4)], cache_control=MARKER) == ()
    assert problems([marked(MARKER), free], cache_control=HOUR) != ()


def test_a_thread_has_one_marker_less():
    (found,) = problems([marked(*[MARKER] * 4)], thread={"type": "create"})
    assert found == "thread: a maximum of 3 blocks with cache_control may be provided when thread is set"
    assert problems([marked(*[MARKER] * 3)], thread={"type": "create"}) == ()
    assert problems([marked(*[MARKER] * 4)], thread=None) == ()


@pytest.mark.parametrize(
    "odd", [None, 5, "x", {}, [None], [5], [{"cache_control": 5}], [{"cache_control": {"ttl": []}}]]
)
def test_odd_fields_beside_the_history_do_no_harm(odd):
    for name in ("system", "tools", "cache_control", "thread"):
        assert isinstance(problems([user("hi")], **{name: odd}), tuple)


def some_block(draw: random.Random, role: str) -> Json:
    kinds = ["text", "text", "blank", "empty", *{"assistant": ["call", "thinking"], "user": ["result"]}.get(role, [])]
    made = {
        "text": text("t"), "blank": text(" "), "empty": text(""), "call": call(draw.choice("abc")),
        "result": result(draw.choice("abc"), "x"), "thinking": thinking(""),
    }[draw.choice(kinds)]  # fmt: skip
    return {**made, "cache_control": draw.choice([MARKER, HOUR])} if draw.random() < 0.1 else made


def some_message(draw: random.Random, is_first: bool) -> Json:
    role = (
        "user"
        if is_first and draw.random() < 0.8
        else draw.choice(["user", "user", "assistant", "assistant", "system"])
    )
    if draw.random() < 0.3:
        return {"role": role, "content": draw.choice(["s", "s", "s", "", " "])}
    return {"role": role, "content": [some_block(draw, role) for _ in range(draw.choice([0, 1, 1, 1, 2, 3]))]}


def refusal(body: Json) -> str:
    """What the simulated provider says, which was written from the same sources by itself; empty when it takes it."""
    by_model = ("last_message_is_no_prefill", "system_role_is_known_to_the_model")  # no matter of the history alone
    try:
        request = read_request(body, None, frozenset())
        for rule in RULES:
            if rule.__name__ not in by_model:
                rule(request)
    except Refused as error:
        return str(error)
    return ""


def test_the_rules_and_the_simulated_provider_agree_on_any_history():
    draw = random.Random(5)
    agreed = {True: 0, False: 0}
    for _ in range(4_000):
        messages = [some_message(draw, number == 0) for number in range(draw.randint(1, 5))]
        body: Json = {"model": "claude-opus-4-8", "messages": messages}
        if draw.random() < 0.1:
            body["cache_control"] = MARKER
        found, said = problems(messages, **body), refusal(body)
        assert bool(found) == bool(said), (messages, found, said)
        agreed[bool(found)] += 1
    assert min(agreed.values()) > 400
