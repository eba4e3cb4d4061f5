"""The pass that puts pins into a history: behind what was sent, once in each history."""

import pytest

from tests.core.window.builders import agent, call, pin, pruned, result, rounds, turn_of, user, window_of
from undrift.core.window.notes import pins
from undrift.values.window import Decision

SPEC = pin("p", "spare tabs")


def placed(*messages, decisions=()):
    window = window_of(*messages, decisions=decisions, pins=[SPEC])
    after = pins(window, turn_of(10, pins=window.pins))
    assert after.new or after is window
    return [(d.kind, d.detail["anchor"], d.ref) for d in after.new]


@pytest.mark.parametrize(
    ("messages", "anchor"),
    [
        ([user("a")], "m0"),  # fresh: behind the first words
        ([user("a"), agent("b"), user("c")], "m2"),  # answered: behind the newest words
        ([user("a"), agent(call("x")), ("tool", (result("x", "y"),))], "m2"),  # a tool stands last
    ],
)
def test_a_pin_is_put_where_nothing_was_sent_yet_whatever_the_budget_says(messages, anchor):
    assert placed(*messages) == [("pinned", anchor, "p")]


def test_where_an_answer_stands_last_there_is_no_place_for_it():
    assert placed(user("a"), agent("b"), agent("c")) == []


def test_a_pin_that_stands_in_this_history_is_not_put_in_again_and_one_of_another_is():
    known = Decision("m0:p", "pinned", "pinned", -1, "p", {"anchor": "m0", "pin": "p", "at": "m0"})
    assert placed(user("a"), agent("b"), user("c"), decisions=[known]) == []
    elsewhere = Decision("x:p", "pinned", "pinned", -1, "p", {"anchor": "x", "pin": "p", "at": "x"})
    assert placed(user("a"), agent("b"), user("c"), decisions=[elsewhere]) == [("pinned", "m2", "p")]


def test_nothing_else_leaves_for_a_pin():
    window = window_of(user("a"), *rounds(3), user("b"), pins=[SPEC], decisions=[pruned("m1.0"), pruned("m2.0")])
    after = pins(window, turn_of(10, pins=window.pins))
    assert {d.kind for d in after.new} == {"pinned"}
    assert after.tokens_after == window.tokens_after - after.new[0].tokens_saved
