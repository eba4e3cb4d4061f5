"""What leaves before its time is up: old outputs of an open task, and tombstones that add up."""

from dataclasses import replace

import pytest

import tests.core.window.builders as plain
from undrift.core.window.tombstones import roll_old_outputs, roll_old_tombstones, rolled_tombstones
from undrift.core.window.turn import Binding
from undrift.values.window import ContextEntry, Decision, EntryType


def entry(number: int, kind: str, *, pair_id: str = "", task: str = "", tokens: int = 10, **more: str) -> ContextEntry:
    role = "user" if kind == "result" else "assistant"
    metadata: dict[str, str] = {"role": role, "kind": kind, "message": f"m{number}", **more}
    metadata |= {"pair_id": pair_id} if pair_id else {}
    metadata |= {"task": task} if task else {}
    type_: EntryType = "summary" if task else "tool_result" if kind == "result" else "reasoning"
    return ContextEntry(f"m{number}.{kind}", type_, "words", tokens, 0, metadata, seq=number)


def rounds(count: int, *, task: str = "", first: int = 1) -> list[ContextEntry]:
    """Calls with their results; with a task, tombstones stand for the results."""
    found = []
    for number in range(first, first + 2 * count, 2):
        pair_id = f"p{number}"
        found += [entry(number, "call", pair_id=pair_id), entry(number + 1, "result", pair_id=pair_id, task=task)]
    return found


# ------------------------------------------------------------------------------------------------- an open task's outputs


def rolled(entries: list[ContextEntry], *, keep: int) -> list[Decision]:
    return roll_old_outputs(
        [e for e in entries if e.type == "tool_result"],
        "t",
        keep=keep,
        text=lambda ref: f"<{ref}>",
        count=len,
        ref_of=lambda id_: f"ref:{id_}",
    )


@pytest.mark.parametrize(
    ("keep", "count", "gone"), [(4, 6, 0), (4, 7, 3), (4, 20, 16), (1, 1, 0), (1, 2, 1), (3, 4, 0)]
)
def test_the_oldest_outputs_leave_in_one_batch_once_there_are_half_as_many_again(keep, count, gone):
    entries = rounds(count)
    outputs = [e.id for e in entries if e.type == "tool_result"]
    assert [d.entry_id for d in rolled(entries, keep=keep)] == outputs[:gone]


def test_what_rolls_out_is_evicted_with_a_text_in_its_place():
    first, *_ = rolled(rounds(3), keep=1)
    assert (first.kind, first.ref, dict(first.detail)) == (
        "evicted",
        "ref:m2.result",
        {"task": "t", "text": "<ref:m2.result>"},
    )
    assert first.tokens_saved == 10 - len("<ref:m2.result>")
    assert first.reason == "task t goes on; the newest 1 of its outputs stay"


# ------------------------------------------------------------------------------------------------ tombstones that add up


def left(entries: list[ContextEntry], limit: int, *, unseen: int = 0, keep: int = 1) -> list[str]:
    """What leaves of a history that the user begins."""
    entries = [entry(0, "text", role="user"), *entries]
    found = roll_old_tombstones(
        entries, len(entries) - unseen, limit, keep_tool_results=keep, ref_of=lambda id_: f"ref:{id_}"
    )
    assert {d.kind for d in found} <= {"pruned"}
    assert all(d.ref == f"ref:{d.entry_id}" for d in found)
    return [d.entry_id for d in found]


def test_up_to_the_limit_nothing_leaves():
    assert left(rounds(5, task="t"), 50) == []


def test_above_it_the_oldest_leave_with_their_calls_down_to_half():
    entries = rounds(6, task="t")
    assert left(entries, 59) == [e.id for e in entries[:8]]  # 60 tokens; 20 are the first that are at most 29
    assert left(entries, 40) == [e.id for e in entries[:8]]


def test_words_leave_alone_and_raw_results_are_no_tombstones():
    words = [entry(n, "text", task="t") for n in (1, 2, 3)]
    assert left([*words, *rounds(3, first=10)], 20) == ["m1.text", "m2.text"]


def test_a_tombstone_stays_whose_call_has_another_result_that_is_raw():
    """A call leaves only together with all of its results."""
    shared = [
        entry(1, "call", pair_id="both"),
        entry(2, "result", pair_id="both", task="t"),
        entry(3, "result", pair_id="both"),
    ]
    others = rounds(4, task="t", first=10)
    assert left([*shared, *others], 30) == [e.id for e in others]


def test_what_the_model_has_not_seen_stays():
    entries = [entry(1, "text", task="t"), *rounds(3, task="t", first=2)]
    assert left(entries, 20, unseen=2) == ["m1.text", "m2.call", "m3.result"]
    assert left(entries, 20, unseen=6) == []


def test_beside_what_must_stay_the_limit_is_missed_rather_than_a_protected_thing_taken():
    assert left([*rounds(2, task="t"), *rounds(2, first=20)], 1, keep=2) == [e.id for e in rounds(2, task="t")]
    pinned = [ContextEntry("pin", "spec", "pinned", 10, 0, {"role": "user", "kind": "text", "message": "m1"})]
    assert left([*pinned, *rounds(1, task="t", first=3)], 1) == ["m3.call", "m4.result"]


def test_the_newest_answer_stays_whole_while_its_thinking_may_not_change():
    entries = [*rounds(2, task="t"), entry(10, "thinking"), entry(10, "text", task="t"), entry(11, "text", role="user")]
    assert left(entries, 1, unseen=1) == [e.id for e in entries[:4]]


# ------------------------------------------------------------------------------------------------ the pass on plain values
ROUNDS = [plain.user("do it"), *plain.rounds(4, thinks=True), plain.agent("done"), plain.user("and now?")]
OLDER = [plain.evicted(f"m{n}.0", "t" * 90, at="m6") for n in (2, 4)]


def test_the_oldest_tombstones_leave_with_their_calls_once_one_of_this_turn_makes_them_too_many():
    turn = plain.turn_of(1_000, rules={"tombstone_share": 0.2, "keep_tool_results": 1})
    turn = replace(turn, past=replace(turn.past, has_evicted=True))
    older = plain.window_of(*ROUNDS, decisions=OLDER)
    assert rolled_tombstones(older, turn) is older
    evicted = older.with_([plain.evicted("m6.0", "t" * 90)])
    after = rolled_tombstones(evicted, turn)
    assert {"m1.1", "m2.0", "m3.1", "m4.0"} <= {d.entry_id for d in after.new if d.kind == "pruned"}
    assert [d.entry_id for d in after.new if d.kind == "evicted"] == ["m6.0"], "what was decided at this item waits"
    bound = replace(turn, binding=Binding("drop_block", thinks=True))
    assert not rolled_tombstones(evicted, bound).has_thinking


def test_tombstones_stay_where_nothing_may_be_rewritten_or_no_task_has_let_anything_go():
    window = plain.window_of(*ROUNDS, decisions=OLDER)
    turn = plain.turn_of(100, rules={"keep_tool_results": 1})
    known = replace(turn, past=replace(turn.past, has_evicted=True))
    assert rolled_tombstones(window, turn) is window
    assert rolled_tombstones(window, known) is not window
    thinks = plain.window_of(*ROUNDS, plain.agent(plain.thought("t")), plain.user("go on"), decisions=OLDER)
    assert rolled_tombstones(thinks, known) is not thinks
    assert rolled_tombstones(thinks, replace(known, binding=Binding("keep"))) is thinks
