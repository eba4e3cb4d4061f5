"""What a finished task lets go: its results by tag, the agent's words by range."""

from dataclasses import replace
from typing import Any

import pytest

import tests.core.window.builders as plain
from undrift.core.window.ended_tasks import Ended, ended_tasks, prune_task_logs
from undrift.core.window.turn import Binding, Turn
from undrift.core.window.window import Window
from undrift.values.window import ContextEntry, EntryType, Moment, Segment, Tag, Task, Tasks


def entry(number: int, kind: str, *, role: str = "assistant", call_id: str = "") -> ContextEntry:
    metadata = {"role": role, "kind": kind, "message": f"m{number}", "pair_id": call_id}
    type_: EntryType = "tool_result" if kind == "result" else "reasoning"
    return ContextEntry(f"m{number}.{kind}", type_, "words", 10, 0, metadata, seq=number)


def planned(
    entries: list[ContextEntry],
    ended: Ended,
    *,
    keep_tool_results: int = 1,
    spared: frozenset[str] = frozenset(),
    covered: tuple[range, ...] = (),
) -> dict[str, str | None]:
    found = prune_task_logs(
        entries,
        len(entries),
        [ended],
        number_of={f"m{n}": n for n in range(100)},
        keep_tool_results=keep_tool_results,
        spared=spared,
        covered=covered,
        count=len,
        ref_of=lambda id_: f"ref:{id_}",
    )
    return {decision.entry_id: decision.detail["text"] for decision in found}


def finished(*calls: str, span: range = range(1, 9), is_valid: bool = True) -> Ended:
    def tool(ref: str, is_last: bool) -> str:
        return f"tool {ref} {is_last}"

    def said(ref: str, is_last: bool) -> str:
        return f"said {ref} {is_last}"

    return Ended("t", (span,), frozenset(calls), is_valid, tool, said)


def test_results_leave_by_tag_and_words_by_range():
    entries = [
        entry(0, "text"),
        entry(1, "text"),
        entry(1, "call", call_id="a"),
        entry(2, "result", role="user", call_id="a"),
        entry(3, "result", role="user", call_id="other"),
        entry(4, "text", role="user"),
        entry(9, "text"),
    ]
    assert planned(entries, finished("a")) == {
        "m2.result": "tool ref:m2.result True",
        "m1.text": "said ref:m1.text True",
    }


def test_of_one_message_one_tombstone_stays_and_only_the_last_has_the_summary():
    entries = [entry(1, "thinking"), entry(1, "text"), entry(3, "text")]
    assert planned(entries, finished()) == {
        "m1.thinking": "said ref:m1.thinking False",
        "m1.text": None,
        "m3.text": "said ref:m3.text True",
    }


def test_what_is_spared_or_covered_by_another_task_stays():
    entries = [entry(1, "text"), entry(3, "text"), entry(5, "text")]
    assert list(planned(entries, finished(), spared=frozenset({"m1"}), covered=(range(5, 7),))) == ["m3.text"]


def test_with_a_doubtful_summary_the_newest_results_stay():
    entries = [entry(n, "result", role="user", call_id=f"c{n}") for n in (2, 4, 6)]
    doubtful = finished("c2", "c4", "c6", is_valid=False)
    assert list(planned(entries, doubtful, keep_tool_results=2)) == ["m2.result"]
    assert list(planned(entries, finished("c2", "c4", "c6"), keep_tool_results=2)) == [e.id for e in entries]


# ------------------------------------------------------------------------------------------------ the pass on plain values
ROUNDS = [
    plain.user("do it"),
    *plain.rounds(6, thinks=True, words="I look at"),
    plain.agent("done"),
    plain.user("next"),
]
DROPS = Binding("drop_block", thinks=True)


def turn_with(*tags: str, is_valid: bool = True, **given: Any) -> Turn:
    """A turn whose task `t` was worked on in rounds 0 to 5 and completed; these calls are tagged with it."""
    segment = Segment(Moment("m0"), Moment("m13"), "completed", "all is well")
    verdict = {"is_valid": is_valid, "is_faithful": is_valid}
    task = Task("t", "do it", status="completed", ordinal=1, segments=(segment,), validation=verdict)
    tasks = Tasks({"t": task}, {tag: Tag(tag, "t", 0) for tag in tags})
    return plain.turn_of(tasks=tasks, **given)


def tombstones(after: Window) -> dict[str, str | None]:
    return {d.entry_id: d.detail["text"] for d in after.new if d.kind == "evicted"}


def test_a_finished_task_lets_its_outputs_go_by_tag_and_its_words_by_range_and_its_calls_stay():
    after = ended_tasks(plain.window_of(*ROUNDS), turn_with("c0", "c1"))
    texts = tombstones(after)
    assert {id_ for id_ in texts if id_.endswith(".0")} >= {"m2.0", "m4.0", "m1.0"}
    assert "m6.0" not in texts, "the call is not tagged with the task"
    assert sum("all is well" in (text or "") for text in texts.values()) == 2, "one of each kind has the summary"
    calls = [e for e in after.entries if e.meta("kind") == "call"]
    assert len(calls) == 6
    assert {"do it", "done", "next"} <= set(plain.content(after))


@pytest.mark.parametrize("binding", [Binding(), DROPS, Binding("strip", thinks=True)])
def test_each_answer_has_its_tombstone_whether_or_not_it_begins_with_thinking_that_is_bound(binding):
    after = ended_tasks(plain.window_of(*ROUNDS), turn_with(binding=binding))
    answers = [[e.content for e in after.entries if e.meta("message") == f"m{n}"] for n in range(1, 13, 2)]
    assert [texts[0].startswith("[Assistant thinking/text for task t") for texts in answers] == [True] * 6
    assert "all is well" in answers[-1][0]
    assert not after.has_thinking


def test_the_newest_outputs_stay_where_the_summary_was_not_found_valid():
    tags = [f"c{n}" for n in range(6)]
    doubtful = turn_with(*tags, is_valid=False, rules={"keep_tool_results": 2})
    texts = tombstones(ended_tasks(plain.window_of(*ROUNDS), doubtful))
    assert {"m2.0", "m8.0"} <= set(texts)
    assert not {"m10.0", "m12.0"} & set(texts)
    never = turn_with(*tags, is_valid=False, rules={"keep_tool_results": 2, "eviction_respects_anchor": "never"})
    assert {"m10.0", "m12.0"} <= set(tombstones(ended_tasks(plain.window_of(*ROUNDS), never)))


def test_what_the_model_has_not_seen_stays():
    unseen = plain.window_of(*ROUNDS[:3])
    assert "m2.0" not in tombstones(ended_tasks(unseen, turn_with("c0")))


def test_nothing_leaves_where_nothing_may_be_rewritten_or_a_second_time():
    window = plain.window_of(*ROUNDS)
    thinks = plain.window_of(*ROUNDS, plain.agent(plain.thought("t")), plain.user("go on"))
    assert ended_tasks(thinks, turn_with("c0")) is not thinks
    assert ended_tasks(thinks, turn_with("c0", binding=Binding("keep"))) is thinks
    after = ended_tasks(window, turn_with("c0"))
    assert ended_tasks(after, turn_with("c0")) is after
    other = replace(turn_with("c0"), tasks=Tasks())
    assert ended_tasks(window, other) is window


def test_an_open_task_rolls_its_own_outputs_and_neither_those_of_others_nor_tombstones():
    task = Task("t", "do it", status="in_progress", ordinal=1, segments=(Segment(Moment("m0")),))
    tasks = Tasks({"t": task}, {tag: Tag(tag, "t", 0) for tag in ("c0", "c2", "c3", "c4")})
    turn = plain.turn_of(tasks=tasks, rules={"rolling_tool_results": 1, "keep_tool_results": 1})
    window = plain.window_of(*ROUNDS, decisions=[plain.evicted("m2.0", task="old")])
    assert list(tombstones(ended_tasks(window, turn))) == ["m6.0", "m8.0"]
