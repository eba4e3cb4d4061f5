"""The passes that mend what a rewriting leaves behind: the other half of a pair, and thinking bound to words before it."""

import pytest

from tests.core.window.builders import (
    agent,
    call,
    content,
    noted,
    pruned,
    result,
    rounds,
    thought,
    turn_of,
    user,
    window_of,
)
from undrift.core.window.rewriting import loose_halves, rewritten, stale_thinking, without_thinking
from undrift.core.window.turn import Binding, Texts

HISTORY = [user("do it"), *rounds(3, thinks=True), agent("done"), user("and now?")]
DROPS = Binding("drop_block", thinks=True)


@pytest.mark.parametrize(("gone", "other"), [("m1.0", "m2.0"), ("m2.0", "m1.0")])
def test_the_half_of_a_pair_that_was_written_again_leaves_as_the_other_has_left(gone, other):
    window = window_of(user("do it"), *rounds(2), user("and now?"), decisions=[pruned(gone)])
    after = loose_halves(window, turn_of())
    assert [(d.entry_id, d.kind) for d in after.new] == [(other, "pruned")]
    assert content(after) == ["do it", "{}", content(window)[3], "and now?"]


def test_whole_pairs_stay_and_so_does_a_window_that_was_checked():
    window = window_of(user("do it"), *rounds(2), user("and now?"), decisions=[pruned("m1.0"), pruned("m2.0")])
    assert loose_halves(window, turn_of()) is window
    checked = window_of(user("do it"), *rounds(2), user("x"), decisions=[pruned("m1.0")]).settled()
    assert loose_halves(checked, turn_of()) is checked


OPEN = [*HISTORY, agent(thought("now"), call("c9")), user(result("c9", "it"))]


@pytest.mark.parametrize(
    ("binding", "messages", "rewritten_at", "gone"),
    [
        (Binding(), HISTORY, 4, []),  # the model binds nothing
        (Binding("keep", thinks=True), HISTORY, 4, []),
        (Binding("server", thinks=True), HISTORY, 4, []),
        (Binding("strip", thinks=True), HISTORY, None, []),  # nothing was rewritten
        (Binding("strip", thinks=True), HISTORY, 4, ["thought 0", "thought 1"]),
        (Binding("strip", thinks=True), OPEN, 10, ["thought 0", "thought 1", "thought 2", "now"]),
        (DROPS, HISTORY, None, []),
        (DROPS, HISTORY, 4, ["thought 0"]),  # the provider drops the other one
        (DROPS, OPEN, 4, ["thought 0"]),
        (DROPS, OPEN, 10, ["thought 0", "thought 1", "thought 2"]),
        (Binding("drop_block", thinks=False), OPEN, 10, ["thought 0", "thought 1", "thought 2", "now"]),
    ],
)
def test_thinking_leaves_from_the_start_up_to_the_newest_rewriting(binding, messages, rewritten_at, gone):
    decisions = [] if rewritten_at is None else [pruned("m2.0", at=f"m{rewritten_at}")]
    window = window_of(*messages, decisions=decisions)
    after = stale_thinking(window, turn_of(binding=binding))
    assert [text for text in content(window) if text not in content(after)] == gone
    assert all(d.detail["thinking"] and d.detail["at"] == window.newest_id for d in after.new)
    assert stale_thinking(after, turn_of(binding=binding)) is after


def test_all_bound_thinking_leaves_ahead_of_a_rewriting_and_none_that_is_not_bound():
    window = window_of(*HISTORY)
    assert [d.entry_id for d in without_thinking(window, turn_of(binding=DROPS)).new] == ["m1.0", "m3.0", "m5.0"]
    assert without_thinking(window, turn_of()) is window


def test_what_leaves_is_chosen_behind_the_thinking_that_leaves_with_it():
    seen = []

    def leaving(window, _):
        seen.append(window.has_thinking)
        first = next(e for e in window.entries if e.meta("role") == "assistant")
        return [pruned(first.id)]

    after = rewritten(window_of(*HISTORY), turn_of(binding=DROPS), leaving)
    assert [d.entry_id for d in after.new] == ["m1.0", "m3.0", "m5.0", "m1.1"]
    assert seen == [True, False]
    rewritten(window_of(*HISTORY), turn_of(), leaving)
    assert seen[2:] == [True]


def test_notes_that_say_something_else_by_now_leave_with_a_rewriting_and_not_without():
    old = noted("scratchpad", "old notes", anchor="m0", at="m4")
    window = window_of(*HISTORY, decisions=[old])
    turn = turn_of(texts=Texts(scratchpad="new notes"))
    after = rewritten(window, turn, lambda *_: [pruned("m1.0")])
    assert {d.entry_id for d in after.new} == {"m1.0", "m0:note:scratchpad"}
    same = rewritten(window, turn_of(texts=Texts(scratchpad="old notes")), lambda *_: [pruned("m1.0")])
    assert {d.entry_id for d in same.new} == {"m1.0"}
    assert rewritten(window, turn, lambda *_: []) is window
