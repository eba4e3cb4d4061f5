"""The way of a body through the wires: taken apart, half of the tool results rewritten, put together again."""

import itertools
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.figures import Figure, Report, cpu_ms, interleaved, ratio_claim
from bench.overhead import conversation
from undrift.testing import Call, ModelTurn, Result, history_for, simulator_for
from undrift.values.window import Decision
from undrift.window.conversation import Conversation
from undrift.window.decisions import Decisions
from undrift.window.request import Request
from undrift.wire import raw
from undrift.wire.form import Edit, Form
from undrift.wire.forms import WIRES, form_of

__all__ = ["measure"]

SIZES = {"1 MB": 1_000_000, "10 MB": 10_000_000}
LEAST = 3.5


def measure(rounds: int = 9) -> Report:
    """Measure the body path of each form beside json's own round trip on the very same bytes.

    Args:
        rounds: Of each figure.

    Source: PERFORMANCE section 1.
    """
    report = Report()
    for wire, (size, wanted) in itertools.product(WIRES, SIZES.items()):
        form, body = form_of(wire), _body(wire, wanted)
        conversation, edits = _half_left(form, body)
        _check(form, body, conversation, edits)
        names = {
            f"body path, {wire}, {size}": partial(_edited, form, body, conversation),
            f"json.loads + json.dumps, {wire}, {size}": partial(_round_trip, body),
            f"json.loads, the same edits, json.dumps, {wire}, {size}": partial(_edited_by_json, form, body, edits),
        }
        measures = {name: partial(cpu_ms, act) for name, act in names.items()}
        for act in names.values():  # the first round pays for what is new to the interpreter
            act()
        ours, plain, same = interleaved(rounds, measures, "ms")
        report.figures += (ours, plain, same)
        report.claims += _claims(wire, size, ours, plain, same)
    return report


def _claims(wire: str, size: str, ours: Figure, plain: Figure, same: Figure) -> Iterator[Any]:
    text = f"body path, {wire}, {size}"
    yield ratio_claim(f"json.loads + json.dumps against {text}", plain, ours, least=LEAST)
    yield ratio_claim(f"json.loads, the same edits, json.dumps against {text}", same, ours)


# ------------------------------------------------------------------------------------------------------------- the measures
Edits = dict[int, dict[int, Edit]]  # number of an item -> number of a block -> what becomes of it


def _edited(form: Form, body: bytes, conversation: Conversation) -> bytes:
    """What a session does to a body whose decisions were taken earlier: only what it reads, edits and writes."""
    request = Request(body, form)
    request.open()
    sent: bytes = request.with_items(conversation.render(request.given, request.load, raw.encode), {})
    return sent


def _edited_by_json(form: Form, body: bytes, edits: Edits) -> bytes:
    value = json.loads(body)
    items = value[form.HISTORY]
    for number, edit in edits.items():
        items[number] = form.edit(items[number], edit, ())
    value[form.HISTORY] = [item for item in items if item is not None]
    return json.dumps(value).encode()


def _round_trip(body: bytes) -> bytes:
    return json.dumps(json.loads(body)).encode()


def _check(form: Form, body: bytes, conversation: Conversation, edits: Edits) -> None:
    """Raises AssertionError where the two ways do not mean the same, or less than a quarter of the body left."""
    sent = _edited(form, body, conversation)
    if json.loads(sent) != json.loads(_edited_by_json(form, body, edits)):
        raise AssertionError(f"{form.NAME}: the body path gives another body than json does")
    if len(sent) > 0.75 * len(body):
        raise AssertionError(f"{form.NAME}: half of the results were to leave, {len(sent) / len(body):.0%} stayed")


def _half_left(form: Form, body: bytes) -> tuple[Conversation, Edits]:
    """A conversation of which every second result has left, as a session lets it leave: with its call."""
    request = Request(body, form)
    request.open()
    decisions = Decisions("bench", (), ())
    conversation = Conversation(form, decisions, len)
    conversation.follow(request.raws, request.load, 0)
    pairs = dict.fromkeys(e.pair_id for e in conversation.entries if e.type == "tool_result")
    gone = set(list(pairs)[::2])
    places = [(number, place) for number, view in enumerate(conversation.views) for place in range(len(view.blocks))]
    edits: Edits = {}
    for entry, (number, place) in zip(conversation.entries, places, strict=True):
        if entry.pair_id in gone:
            decisions.add([Decision(entry.id, "pruned", "measured", entry.token_count, entry.id)])
            edits.setdefault(number, {})[place] = Edit()
    conversation.sync()
    return conversation, edits


# --------------------------------------------------------------------------------------------------------------- the bodies
def _body(wire: str, wanted: int) -> bytes:
    """The request of a long session in a form, about so many bytes: text of the standard library's sources.

    A message has 2.5 kB on average, as those of the recorded sessions have.
    """
    history, provider = history_for(wire, model="any"), simulator_for(wire)
    question = history_for(wire, model="any")
    question.say("?")
    more = (part["content"] for m in conversation(2) for part in m["content"] if part["type"] == "tool_result")
    size = 0
    for message in conversation():
        texts = [part["text"] for part in message["content"] if part["type"] == "text"]
        if message["role"] == "assistant":
            calls = tuple(Call("Read", part["input"]) for part in message["content"] if part["type"] == "tool_use")
            turn = ModelTurn("\n".join(texts), calls, thinking="So.")
            history.take(provider.send(question.body(), turn=turn, model="claude-opus-5").body)
        elif texts:
            history.say("\n".join(texts))
        else:
            history.answer([Result("\n".join([p["content"], *itertools.islice(more, 2)])) for p in message["content"]])
        size += len(json.dumps(history.items[-1]))
        if size > wanted and not history.open:
            return json.dumps(history.body()).encode()
    raise AssertionError("the conversation has an end")
