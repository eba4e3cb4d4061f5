"""`Prepared.new`: what was decided on this turn, and nothing that was decided before, elsewhere or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Json, assistant, body, opened, refusing, rounds, sent, text, user
from tests.twin.other import another_deciding
from undrift.core.window import plan
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.session.session import Session
from undrift.testing import Call, ModelTurn, Result, history_for, simulator_for
from undrift.values.prepared import Prepared
from undrift.values.window import Action, Decision
from undrift.wire.forms import WIRES

BUDGET: Any = {"budget_tokens": 1_400, "keep_tool_results": 2}
TASK = user("Read the files, one after the other.")
HISTORY = [TASK, *rounds(14)]
MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-3-pro"}


def checked(prepared: Prepared) -> Prepared:
    """A result whose `new` is a part of its actions, each once and in their order."""
    new = set(prepared.new)
    assert prepared.new == tuple(one for one in prepared.actions if one in new)
    assert len(new) == len(prepared.new)
    assert f" {len(new):,} new" in repr(prepared)
    return prepared


def walk(session: Session, count: int, first: int = 0) -> list[Prepared]:
    return [checked(session.prepare(body(TASK, *rounds(number)))) for number in range(first, count)]


def test_all_that_leaves_on_the_first_turn_is_new(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session:
        prepared = checked(session.prepare(body(*HISTORY)))
    assert prepared.new == prepared.actions != ()


def test_a_turn_without_news_has_none_while_its_decisions_stand(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session:
        assert checked(session.prepare(body(TASK))).new == ()
        first = checked(session.prepare(body(*HISTORY)))
        retry = checked(session.prepare(body(*HISTORY)))
        longer = checked(session.prepare(body(*HISTORY, assistant("done"), user("and now?"))))
    assert retry == first
    assert retry.actions == longer.actions == first.actions
    assert retry.new == longer.new == ()


def test_each_thing_that_leaves_is_new_exactly_once(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session:
        turns = walk(session, 40)
    news = [action for prepared in turns for action in prepared.new]
    assert len([prepared for prepared in turns if prepared.new]) > 3
    assert len([(one.entry_id, one.kind, one.reason) for one in news]) == len(set(news))
    seen: set[Action] = set()
    for prepared in turns:
        assert set(prepared.actions) - seen <= set(prepared.new)
        seen |= set(prepared.actions)


def test_a_session_that_was_opened_again_goes_on_with_its_news(tmp_path: Path):
    with opened(tmp_path / "one", **BUDGET) as session:
        expected = [prepared.new for prepared in walk(session, 24)]
    with opened(tmp_path / "two", **BUDGET) as session:
        found = [prepared.new for prepared in walk(session, 12)]
    with opened(tmp_path / "two", **BUDGET) as session:
        assert checked(session.prepare(body(TASK, *rounds(11)))).new == ()
        found += [prepared.new for prepared in walk(session, 24, 12)]
    assert found == expected


def test_what_could_not_be_stored_is_not_new_until_it_is(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session:
        known = checked(session.prepare(body(TASK, *rounds(10)))).actions
        with refusing(tmp_path, "decisions"):
            failed = checked(session.prepare(body(TASK, *rounds(24))))
        after = checked(session.prepare(body(TASK, *rounds(24))))
    assert (failed.new, failed.actions) == ((), known)
    assert failed.warnings
    assert set(after.new) == set(after.actions) - set(known) != set()


def test_an_edit_that_would_be_refused_is_not_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def bad(window: Window, turn: Turn) -> Window:
        entry = next(e for e in reversed(window.entries) if e.type == "tool_result")
        return window.with_([Decision(entry.id, "pruned", "planted", 1, turn.tools.ref_of(entry.id))])

    with opened(tmp_path / "good", **BUDGET) as session:
        good = checked(session.prepare(body(*HISTORY)))
    monkeypatch.setattr(plan, "PASSES", (*plan.PASSES[:-1], bad, plan.PASSES[-1]))
    with opened(tmp_path / "bad", **BUDGET) as session:
        prepared = checked(session.prepare(body(*HISTORY)))
    assert prepared.warnings
    assert [one.reason for one in prepared.new] == [one.reason for one in good.new]


def test_what_another_process_decided_first_is_not_new_here(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session, opened(tmp_path, **{**BUDGET, "budget_tokens": 1_000}) as another:
        found: list[Prepared] = []
        with another_deciding(lambda: found.append(checked(another.prepare(body(*HISTORY))))):
            prepared = checked(session.prepare(body(*HISTORY)))
    assert prepared.new == ()
    assert prepared.actions == found[0].actions == found[0].new


def test_a_pin_and_a_note_are_actions_but_nothing_that_left(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session:
        session.pin("requirements", "Names carry units.")
        assert checked(session.prepare(body(TASK))).new == ()
        session.scratchpad.write("the port is 8080")
        longer = [TASK, *rounds(2), assistant(text("done")), user("and now?")]
        noted = checked(session.prepare(body(*longer)))
        assert {one.kind for one in noted.actions} == {"pinned", "noted"}
        assert noted.new == ()
        pruned = checked(session.prepare(body(*longer, *rounds(14))))
        assert {one.kind for one in pruned.new} == {"pruned"}


def test_what_left_is_named_and_a_call_leaves_with_its_result(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session:
        named = [one.what for one in session.prepare(body(*HISTORY)).new]
    assert named[:4] == ["call of Read 0.py", "result of Read 0.py", "call of Read 1.py", "result of Read 1.py"]


def test_figures_for_a_person_are_in_the_tokens_of_the_provider(tmp_path: Path):
    """The provider counts half of what undrift estimates: the reason names the budget that the user set."""
    with opened(tmp_path, **BUDGET, token_counter="estimate") as session:
        first = session.prepare(body(TASK, *rounds(3, characters=100)))
        usage = {"input_tokens": first.tokens_after // 2, "output_tokens": 1}
        session.record({"type": "message", "role": "assistant", "content": [], "usage": usage})
        prepared = session.prepare(body(TASK, *rounds(3, characters=100), *rounds(40, first=3)))
        action = prepared.new[0]
        decision = session.why(action.ref)
    assert decision is not None
    assert decision.detail["scale"] == [pytest.approx(0.5, abs=0.01), 0.0]
    assert decision.detail["budget_tokens"] == pytest.approx(2 * 1_400, rel=0.02)
    assert action.reason.endswith("of 1,400 tokens)")


def test_a_fork_has_no_news_of_what_its_parent_decided(tmp_path: Path):
    with opened(tmp_path, "parent", **BUDGET) as parent:
        before = walk(parent, 20)[-1]
    with opened(tmp_path, "fork", **BUDGET) as fork:
        after = checked(fork.prepare(body(TASK, *rounds(19), assistant(text("All are read.")), user("Another way."))))
        assert sent(after)[: len(sent(before))] == sent(before)
        assert after.actions
        assert {one.entry_id for one in after.new}.isdisjoint(one.entry_id for one in before.actions)
        assert checked(fork.prepare(body(*HISTORY))).new == ()


def test_a_purged_original_is_neither_an_action_nor_news(tmp_path: Path):
    with opened(tmp_path, **BUDGET) as session:
        first = checked(session.prepare(body(*HISTORY)))
        session.purge(first.new[0].ref)
        after = checked(session.prepare(body(TASK, *rounds(30))))
    assert first.new[0] not in after.actions
    assert after.new
    assert first.new[0].ref not in {one.ref for one in after.new}


def test_a_finished_task_makes_news_on_the_turn_after_its_end(tmp_path: Path):
    with opened(tmp_path, budget_tokens=60_000, keep_tool_results=2) as session:
        session.start_task("read", content="Read the files")
        walk(session, 9)
        session.complete_task("read", "All files were read; the port is 8080.")
        longer = body(TASK, *rounds(8), assistant(text("done")), user("and now?"))
        assert "evicted" in {one.kind for one in checked(session.prepare(longer)).new}
        assert checked(session.prepare(longer)).new == ()


@pytest.mark.parametrize("wire", WIRES)
def test_it_is_the_same_on_every_wire_and_as_bytes(tmp_path: Path, wire: str):
    model = MODELS.get(wire, "gpt-5.5")
    history, provider = history_for(wire, model=model), simulator_for(wire, model=model)
    history.say("Read the files.")
    seen: set[str] = set()
    with opened(tmp_path, budget_tokens=3_000, keep_tool_results=2) as session:
        for number in range(20):
            given: Json = history.body()
            prepared = checked(session.prepare(json.dumps(given).encode(), wire=wire, model=model))
            assert seen.isdisjoint(one.entry_id for one in prepared.new if one.kind == "pruned")
            seen |= {one.entry_id for one in prepared.new}
            assert {one.entry_id for one in prepared.actions} <= seen
            turn = ModelTurn(calls=(Call("Read", {"path": f"{number}.py"}),))
            history.take(provider.send(json.loads(prepared.body), prepared.headers, turn=turn, model=model).body)
            history.answer([Result(f"line of file {number} " * 60)])
    assert seen
