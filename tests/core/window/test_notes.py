"""What stands in a history besides what the client sent: notes come at the tail and leave only when something is rewritten."""

from collections.abc import Mapping
from itertools import pairwise

import pytest

import tests.core.window.builders as plain
from tests.builders import assistant, body, opened, parts, problems, rounds, sent, user
from tests.task_sessions import SUMMARY, TaskSession
from undrift.core.window.additions import note_decision, note_entry, pin_decision
from undrift.core.window.notes import notes as notes_pass
from undrift.core.window.notes import stale_notes
from undrift.core.window.turn import Texts, Turn
from undrift.core.window.window import Window
from undrift.values.prepared import Prepared
from undrift.values.window import ContextEntry, Decision

TITLE = "[active_context.md: the notes of this session, as they are now]\n"
WORK = [plain.user("do it"), *plain.rounds(3), plain.agent("done"), plain.user("and now?")]


def note(name: str, text: str, anchor: str = "m1") -> Decision:
    return note_decision(name, text, anchor=anchor, count=len, ref_of_entry=lambda id_: f"ref:{id_}")


def gone(standing: list[Decision], notes: Mapping[str, str]) -> list[str]:
    turn = plain.turn_of(texts=Texts(scratchpad=notes.get("scratchpad", ""), remembered=notes.get("memory", "")))
    return [d.entry_id for d in stale_notes(plain.window_of(*WORK, decisions=standing), turn)]


# ------------------------------------------------------------------------------------------------------- the decisions


def test_a_note_is_an_entry_of_the_users_message_and_not_the_users_words():
    decision = note("scratchpad", "the port is 8080")
    entry = note_entry(decision, timestamp_ms=7, count=len)
    assert (entry.id, entry.type, entry.content) == (decision.entry_id, "summary", "the port is 8080")
    assert entry.metadata == {"role": "user", "kind": "note", "message": "m1"}
    assert (decision.kind, decision.tokens_saved) == ("noted", -16)
    assert decision.detail == {"anchor": "m1", "name": "scratchpad", "text": "the port is 8080"}


def test_the_same_note_at_the_same_place_is_the_same_decision_and_another_text_is_another():
    assert note("a", "x") == note("a", "x")
    assert (
        len({note("a", "x").entry_id, note("a", "y").entry_id, note("b", "x").entry_id, note("a", "x", "m2").entry_id})
        == 4
    )


def test_a_pin_is_told_from_what_the_user_said():
    pin = ContextEntry("pin:1", "requirements", "use tabs", 3, 0)
    decision = pin_decision("r", pin, anchor="m1", count=len)
    assert (decision.entry_id, decision.kind) == ("m1:r", "pinned")
    assert decision.tokens_saved == -len("[Pinned requirements: it holds for the whole session]\nuse tabs")


def test_stale_is_what_says_something_else_than_now_or_says_it_twice():
    kinds = (("scratchpad", "old", "m0"), ("scratchpad", "new", "m2"), ("memory", "beside", "m2"))
    old, new, other = (plain.noted(name, text, anchor=anchor) for name, text, anchor in kinds)
    assert gone([old, new, other], {"scratchpad": "new", "memory": "beside"}) == [old.entry_id]
    assert gone([old, other], {"scratchpad": "new"}) == [old.entry_id, other.entry_id]
    again = plain.noted("scratchpad", "old", anchor="m4")
    assert gone([old, new, again], {"scratchpad": "old"}) == [old.entry_id, new.entry_id]
    assert gone([], {"scratchpad": "x"}) == []
    (decision,) = stale_notes(plain.window_of(*WORK, decisions=[old]), plain.turn_of())
    assert (decision.kind, decision.tokens_saved, decision.ref) == ("pruned", -old.tokens_saved, old.ref)


# ------------------------------------------------------------------------------------------------------- in a session


def notes(found: Prepared) -> list[str]:
    blocks = [part.get("text", "") for m in sent(found) for part in parts(m)]
    return [one.removeprefix(TITLE) for one in blocks if one.startswith(TITLE)]


def test_superseded_notes_leave_only_when_something_is_rewritten_anyway(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    windows = []
    for number in range(3):
        session.session.scratchpad.write(f"state {number}")
        session.works(number, 1)
        windows.append(session.session.prepare(body(*session.history)))
    assert [notes(window) for window in windows] == [
        ["state 0"],
        ["state 0", "state 1"],
        ["state 0", "state 1", "state 2"],
    ]
    for before, after in pairwise(windows):
        assert sent(after)[: len(sent(before))] == sent(before)
    session.completes("a")
    found = session.session.prepare(body(*session.history))
    assert notes(found) == ["state 2"]
    assert problems(sent(found)) == ()
    noted = [action.ref for action in windows[-1].actions if action.kind == "noted"]
    assert [session.session.recall(ref).removeprefix(TITLE) for ref in noted] == ["state 0", "state 1", "state 2"]
    why = [session.session.why(ref) for ref in noted]
    assert ["a newer note stands in for it" in one.reason for one in why if one] == [True, True, False]


def test_notes_that_were_emptied_leave_the_same_way(tmp_path):
    session = TaskSession(tmp_path)
    session.session.scratchpad.write("state")
    session.starts("a", "all tests pass")
    session.works(0, 2)
    session.session.scratchpad.write("")
    assert notes(session.session.prepare(body(*session.history))) == ["state"]
    session.completes("a")
    assert notes(session.session.prepare(body(*session.history))) == []


def test_the_window_with_notes_is_the_same_again_and_after_a_restart(tmp_path):
    session = opened(tmp_path, budget_tokens=1_500)
    history = [user("Go.")]
    found = session.prepare(body(*history))
    for number in range(12):
        if number % 3 == 0:
            session.scratchpad.append(f"finding {number}")
        history += rounds(1, first=number, characters=900)
        found = session.prepare(body(*history))
        assert session.prepare(body(*history)).body == found.body
        session.close()
        session = opened(tmp_path, budget_tokens=1_500)
        assert session.prepare(body(*history)).body == found.body
        assert problems(sent(found)) == ()
        assert found.tokens_after <= 1_500
    assert notes(found)[-1].endswith("finding 9")


def test_a_note_that_the_budget_took_does_not_come_back_with_the_same_request(tmp_path):
    """What must stay fills the budget but for the note: the request that is sent again is the very same."""
    session = opened(tmp_path, budget_tokens=575, keep_tool_results=1)
    session.scratchpad.write("the port is 8080")
    session.prepare(body(user("Go.")))
    history = [user("Go."), *rounds(1, characters=2_240)]
    first = session.prepare(body(*history))
    again = session.prepare(body(*history))
    assert first.tokens_after <= 575
    assert (again.body, again.warnings) == (first.body, ())
    longer = session.prepare(body(user("Go."), *rounds(1, characters=2_240), assistant("So."), user("And?")))
    assert longer.tokens_after <= 575 or any("over budget" in one for one in longer.warnings)


def test_a_fork_has_the_notes_of_its_own_past(tmp_path):
    with opened(tmp_path) as session:
        session.scratchpad.write("one")
        common = [user("Go."), *rounds(1)]
        session.prepare(body(*common))
        session.scratchpad.write("two")
        left = session.prepare(body(*common, assistant("left"), user("on the left")))
        right = session.prepare(body(*common, assistant("right"), user("on the right")))
        assert notes(left) == notes(right) == ["one", "two"]
        assert sent(left)[:3] == sent(right)[:3]
        assert session.prepare(body(*common, assistant("left"), user("on the left"))).body == left.body


def test_a_summary_of_a_task_and_a_note_stand_beside_each_other(tmp_path):
    session = TaskSession(tmp_path)
    session.does("a")
    session.session.scratchpad.write("more on that")
    found = session.session.prepare(body(*session.history))
    assert notes(found) == ["more on that"]
    assert SUMMARY in str(sent(found))


# ------------------------------------------------------------------------------------------------ the pass on plain values
TOLD = Texts(scratchpad="the port is 8080")


def said(after: Window) -> list[str]:
    return [d.detail["text"] for d in after.new if d.kind == "noted"]


def test_what_is_new_is_said_once():
    window = plain.window_of(*WORK)
    after = notes_pass(window, plain.turn_of(texts=TOLD))
    assert said(after) == ["the port is 8080"]
    assert notes_pass(after, plain.turn_of(texts=TOLD)) is after
    assert notes_pass(window, plain.turn_of()) is window
    known = plain.window_of(*WORK, decisions=[plain.noted("scratchpad", "the port is 8080", anchor="m0", at="m6")])
    assert notes_pass(known, plain.turn_of(texts=TOLD)) is known


def test_a_request_that_stands_aside_is_told_nothing():
    window = plain.window_of(*WORK)
    assert notes_pass(window, plain.turn_of(texts=TOLD, is_aside=True)) is window


def pruned_now(budget_tokens: int) -> tuple[Window, Turn]:
    """A window that has just lost a call with its result, and its turn."""
    window = plain.window_of(*WORK).with_([plain.pruned("m1.0"), plain.pruned("m2.0")])
    return window, plain.turn_of(window.tokens_after + budget_tokens, texts=TOLD)


@pytest.mark.parametrize(("room", "names"), [(1_000, ["scratchpad"]), (16, ["scratchpad"]), (15, [])])
def test_what_does_not_fit_is_not_said(room, names):
    window, turn = pruned_now(room)
    after = notes_pass(window, turn)
    assert [d.detail["name"] for d in after.new if d.kind == "noted"] == names
    assert after.tokens_after <= turn.room.budget_tokens
    assert {d.entry_id for d in after.new if d.kind == "pruned"} == {"m1.0", "m2.0"}


def test_a_note_that_only_earlier_versions_wrote_leaves_when_more_has_left_and_stays_when_only_thinking_has():
    standing = [plain.noted("left", "older news", anchor="m0", at="m6")]
    turn = plain.turn_of()
    window = plain.window_of(*WORK, decisions=standing)
    more = window.with_([plain.pruned("m1.0"), plain.pruned("m2.0")])
    assert "older news" not in plain.content(notes_pass(more, turn))
    thinking = window.with_([plain.pruned("m1.0", thinking=True)])
    assert "older news" in plain.content(notes_pass(thinking, turn))


def test_a_note_that_the_budget_took_at_this_item_is_not_said_again():
    window = plain.window_of(*WORK)
    note_id = notes_pass(window, plain.turn_of(texts=TOLD)).new[0].entry_id
    taken = plain.window_of(*WORK, decisions=[plain.pruned(note_id, at=window.newest_id)])
    assert notes_pass(taken, plain.turn_of(texts=TOLD)) is taken
