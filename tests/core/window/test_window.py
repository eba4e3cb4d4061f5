"""A window never changes: `with_` gives another one, in which two rules decide what counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.window.builders import (
    agent,
    call,
    content,
    evicted,
    noted,
    pin,
    pruned,
    result,
    rounds,
    thought,
    user,
    window_of,
)
from undrift.core.window.window import Window
from undrift.values.window import Decision

HISTORY = [user("do it"), *rounds(3, thinks=True, words="I look at"), agent("done"), user("and now?")]
NEWEST = "m8"


def kinds(window: Window) -> dict[str, str]:
    return {d.entry_id: d.kind for d in window.new}


def test_nothing_decided_is_the_same_window():
    window = window_of(*HISTORY)
    assert window.with_([]) is window
    assert (window.tokens_after, window.tokens_before) == (len("".join(content(window))),) * 2
    assert dict(window.sent) == {}


def test_what_is_decided_is_sent_otherwise_from_then_on_and_the_window_before_stays_as_it_was():
    window = window_of(*HISTORY)
    after = window.with_([pruned("m1.0"), evicted("m2.0", "gone")])
    assert content(after)[1:4] == ["I look at 0", "{}", "gone"]
    assert content(window)[1:4] == ["thought 0", "I look at 0", "{}"]
    assert after.tokens_after == len("".join(content(after)))
    assert after.tokens_before == window.tokens_before
    assert (window.new, dict(window.sent)) == ((), {})
    assert after.before is window


def test_each_decision_is_taken_at_the_newest_item_of_its_history():
    after = window_of(*HISTORY).with_([pruned("m1.0", at="m3")])
    assert [d.detail["at"] for d in after.new] == [NEWEST]
    assert after.decided_here == {"m1.0"}


def test_of_two_decisions_about_one_block_the_first_counts():
    after = window_of(*HISTORY).with_([evicted("m1.1", "first"), evicted("m1.1", "second")])
    assert [d.detail["text"] for d in after.new] == ["first"]
    assert after.with_([evicted("m1.1", "third")]) is after
    assert after.with_([pruned("m1.0")]).with_([evicted("m1.0", "late")]).new[-1].kind == "pruned"


def test_about_what_was_decided_at_this_very_item_on_disk_nothing_more_is_decided():
    window = window_of(*HISTORY, decisions=[evicted("m2.0", "gone", at=NEWEST)])
    assert window.with_([pruned("m2.0")]) is window
    older = window_of(*HISTORY, decisions=[evicted("m2.0", "gone", at="m6")])
    assert kinds(older.with_([pruned("m2.0")])) == {"m2.0": "pruned"}


def test_a_prune_replaces_the_eviction_of_the_same_turn():
    after = window_of(*HISTORY).with_([evicted("m2.0", "gone"), evicted("m4.0", "gone")]).with_([pruned("m2.0")])
    assert kinds(after) == {"m4.0": "evicted", "m2.0": "pruned"}
    assert "gone" in content(after)
    assert len(content(after)) == len(content(window_of(*HISTORY))) - 1
    assert after.with_([evicted("m2.0", "again")]) is after


def test_a_prune_of_the_same_turn_replaces_what_was_trimmed_so_that_no_call_loses_its_result_alone():
    trimmed = Decision("m2.0", "trimmed", "lines left", 1, "ref", {"rows": [[0, 1]]})
    after = window_of(*HISTORY).with_([trimmed]).with_([pruned("m1.2"), pruned("m2.0")])
    assert kinds(after) == {"m1.2": "pruned", "m2.0": "pruned"}
    assert after.with_([trimmed]) is after


def test_a_note_of_this_turn_that_is_pruned_was_never_there():
    window = window_of(*HISTORY)
    noted_now = window.with_([noted("memory", "know this", anchor=NEWEST)])
    assert content(noted_now)[-1] == "know this"
    after = noted_now.with_([pruned(f"{NEWEST}:note:memory")])
    assert (after.new, content(after), after.tokens_after) == ((), content(window), window.tokens_after)


def test_where_a_note_of_this_turn_is_pruned_the_older_one_in_its_place_counts_again():
    older = noted("memory", "know this", anchor="m6", at="m6")
    window = window_of(*HISTORY, decisions=[older])
    newer = window.with_([noted("memory", "know that", anchor="m6")])
    assert [d.detail["text"] for d in newer.notes] == ["know that"]
    after = newer.with_([pruned("m6:note:memory")])
    assert [d.detail["text"] for d in after.notes] == ["know this"]
    assert (after.new, content(after), after.tokens_after) == ((), content(window), window.tokens_after)


def test_an_older_note_is_pruned_as_any_block_is():
    window = window_of(*HISTORY, decisions=[noted("memory", "know this", anchor="m6", at="m6")])
    after = window.with_([pruned("m6:note:memory")])
    assert (kinds(after), after.notes) == ({"m6:note:memory": "pruned"}, ())
    assert "know this" not in content(after)


def test_a_decision_counts_in_histories_that_contain_the_item_at_which_it_was_taken():
    elsewhere = [pruned("m1.0", at="another history"), noted("memory", "x", anchor="m6", at="another history")]
    window = window_of(*HISTORY, decisions=elsewhere)
    assert content(window) == content(window_of(*HISTORY))
    assert (
        content(window_of(*HISTORY, decisions=[pruned("m1.0", at="m3")])) == content(window)[:1] + content(window)[2:]
    )


def test_pins_and_notes_stand_behind_the_blocks_of_their_item_in_the_order_in_which_they_came():
    placed = Decision("m8:p", "pinned", "pinned", -1, "p", {"anchor": "m8", "pin": "p", "at": "m8"})
    window = window_of(*HISTORY, pins=[pin("p", "spare tabs")], decisions=[placed])
    after = window.with_([noted("memory", "know this", anchor=NEWEST)])
    assert content(after)[-3:] == ["and now?", "spare tabs", "know this"]
    standing = "[Pinned requirements: it holds for the whole session]\nspare tabs"
    assert after.sent[8].appended == (standing, "know this")
    assert after.entries[-2].token_count == len(standing)


def test_words_that_a_tombstone_beside_them_stands_for_are_absorbed_and_a_pruned_block_is_gone():
    after = window_of(*HISTORY).with_([evicted("m1.0", "gone"), evicted("m1.1", None), pruned("m3.0")])
    entries = {e.id: e for e in after.given}
    assert [after.is_absorbed(entries[id_]) for id_ in ("m1.0", "m1.1", "m3.0")] == [False, True, False]
    assert [after.is_gone(entries[id_]) for id_ in ("m1.0", "m1.1", "m3.0")] == [False, False, True]


def test_taking_out_thinking_is_no_rewriting_and_pruning_is():
    window = window_of(*HISTORY)
    assert window.with_([pruned("m1.0", thinking=True)]).rewritten_at == -1
    assert window.with_([pruned("m1.1")]).rewritten_at == 8
    assert window_of(*HISTORY, decisions=[pruned("m1.1", at="m6")]).rewritten_at == 6


def test_a_result_that_an_earlier_version_folded_before_its_first_send_stays_so_and_makes_no_thinking_stale():
    detail = {"fold": "noise", "first_send": True, "at": "m2"}
    noisy = [user("do it"), agent(call("x")), user(result("x", "same line\n" * 300)), agent(thought("hm"), "so")]
    window = window_of(*noisy, decisions=[Decision("m2.0", "folded", "", 700, "f" * 16, detail)])
    assert "[299 more lines like it]" in str(window.sent[2].edits[0].text)
    assert window.rewritten_at == -1


@pytest.mark.parametrize(
    ("messages", "anchor"),
    [
        ([user("a")], "m0"),
        ([user("a"), user("b")], "m0"),  # while nothing was answered, behind the first words
        ([user("a"), agent("b"), user("c"), user("d")], "m3"),
        ([user("a"), agent(call("x")), user(result("x", "y"))], "m2"),
        ([user("a"), agent(call("x")), ("tool", (result("x", "y"),))], "m2"),
        ([user("a"), agent("b"), agent("c")], None),  # no answer is still to come to what the user said
    ],
)
def test_what_is_new_is_put_behind_what_was_sent(messages, anchor):
    assert window_of(*messages).anchor == anchor


def test_the_newest_answer_is_open_while_its_calls_are_being_answered():
    asked = [user("a"), agent(thought("t")), agent(call("x"))]
    answered = window_of(*asked, user(result("x", "y")))
    assert (answered.newest_answer, answered.first_unseen, answered.round_is_open) == (1, 3, True)
    assert answered.open_answer == {"m1", "m2"}
    closed = window_of(*asked, user(result("x", "y")), agent("b"), user("c"))
    assert (closed.round_is_open, closed.open_answer) == (False, frozenset())


BLOCKS = [e.id for e in window_of(*HISTORY).given]
taken = st.lists(
    st.builds(
        lambda id_, kind: pruned(id_) if kind == "pruned" else evicted(id_, None if kind == "absorbed" else kind),
        st.sampled_from(BLOCKS),
        st.sampled_from(["pruned", "absorbed", "short", "a much longer text than the one that stood there"]),
    ),
    max_size=6,
)


@given(steps=st.lists(taken, max_size=4))
def test_what_is_made_step_by_step_is_what_the_decisions_make_at_once(steps):
    window = window_of(*HISTORY)
    for decisions in steps:
        before = content(window)
        after = window.with_(decisions)
        assert content(window) == before
        window = after
    whole = window_of(*HISTORY, decisions=window.new)
    assert content(whole) == content(window)
    assert (whole.tokens_after, whole.rewritten_at) == (window.tokens_after, window.rewritten_at)
    assert (whole.actions, dict(whole.sent)) == (window.actions, dict(window.sent))
    assert len({d.entry_id for d in window.new}) == len(window.new)
