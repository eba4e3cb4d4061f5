"""One turn carried out through a real session: a bad pass falls back to an older window, a conflict is planned again, a fault lets nothing leave."""

import pytest

from tests.builders import Json, assistant, body, opened, problems, refusing, rounds, sent, user
from tests.twin.other import another_deciding, records
from undrift.core.window import plan
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.session.session import Session
from undrift.values.prepared import Prepared
from undrift.values.window import ContextEntry, Decision

HISTORY = [user("do it"), *rounds(14), assistant("done"), user("and now?")]
BEFORE_NOTES, FIRST = len(plan.PASSES) - 1, 0


def session_in(home, budget_tokens: int = 1_400) -> Session:
    session = opened(home, budget_tokens=budget_tokens, keep_tool_results=2)
    session.scratchpad.write("the port is 8080")
    return session


def dropping(chosen):
    """A pass that lets one entry leave, whatever depends on it."""

    def bad(window: Window, turn: Turn) -> Window:
        entry: ContextEntry = next(filter(chosen, reversed(window.entries)))
        return window.with_([Decision(entry.id, "pruned", "planted", 1, turn.tools.ref_of(entry.id))])

    return bad


half_a_pair = dropping(lambda e: e.type == "tool_result")
users_first_words = dropping(lambda e: e.content == "do it")


def plant(monkeypatch, bad, number: int) -> None:
    monkeypatch.setattr(plan, "PASSES", (*plan.PASSES[:number], bad, *plan.PASSES[number:]))


def said(prepared: Prepared) -> str:
    return str(sent(prepared))


@pytest.mark.parametrize(("bad", "law"), [(half_a_pair, "1 of 2 members"), (users_first_words, "messages")])
def test_what_would_be_refused_falls_back_to_the_step_before_it_with_the_notes_made_for_that(
    tmp_path, monkeypatch, bad, law
):
    """The bad pass stands behind the budget: all that the budget let go is gone, and the note tells of just that."""
    with session_in(tmp_path / "good") as session:
        good = session.prepare(body(*HISTORY))
    plant(monkeypatch, bad, BEFORE_NOTES)
    with session_in(tmp_path / "bad") as session:
        prepared = session.prepare(body(*HISTORY))
        assert sent(prepared) == sent(good)
        assert [(a.kind, a.entry_id) for a in prepared.actions] == [(a.kind, a.entry_id) for a in good.actions]
        (warning,) = prepared.warnings
        assert warning.startswith("some entries stayed that should have left: the edit would have been refused (")
        assert law in warning
        for action in prepared.actions:
            why = session.why(action.ref)
            assert why is not None
            assert (why.kind, why.reason) == (action.kind, action.reason)
            assert why.reason != "planted"
    with session_in(tmp_path / "bad") as session:
        assert sent(session.prepare(body(*HISTORY))) == sent(good)


def test_where_the_first_pass_is_bad_nothing_is_decided(tmp_path, monkeypatch):
    plant(monkeypatch, users_first_words, FIRST)
    with session_in(tmp_path) as session:
        prepared = session.prepare(body(*HISTORY))
    assert prepared.actions == ()
    assert sent(prepared) == HISTORY
    assert prepared.tokens_after == prepared.tokens_before > prepared.budget_tokens
    assert [w for w in prepared.warnings if w.startswith("some entries stayed that should have left")]


def test_a_bad_pass_before_the_budget_costs_what_the_budget_took_and_not_what_is_known(tmp_path, monkeypatch):
    """What is known still stands in the window."""
    plant(monkeypatch, half_a_pair, BEFORE_NOTES - 1)
    with session_in(tmp_path) as session:
        prepared = session.prepare(body(*rounds_that_fit()))
    assert "the port is 8080" in said(prepared)
    assert {a.kind for a in prepared.actions} == {"noted"}
    assert problems(sent(prepared)) == ()


def rounds_that_fit() -> list[Json]:
    return [user("do it"), *rounds(4), assistant("done"), user("and now?")]


@pytest.mark.parametrize("budget_tokens", [1_400, 1_000])
def test_what_another_process_decides_meanwhile_is_taken_over_and_nothing_is_decided_twice(tmp_path, budget_tokens):
    """The same decisions are written once; others are a conflict, and the turn is planned again on top of them."""
    with session_in(tmp_path) as session, session_in(tmp_path, budget_tokens) as another:
        found: list[Prepared] = []
        with another_deciding(lambda: found.append(another.prepare(body(*HISTORY)))):
            prepared = session.prepare(body(*HISTORY))
        assert sent(prepared) == sent(found[0])
        assert prepared.warnings == ()
        assert [a.entry_id for a in prepared.actions] == [a.entry_id for a in found[0].actions]
        assert sent(session.prepare(body(*HISTORY))) == sent(prepared)
    with session_in(tmp_path) as restarted:
        assert sent(restarted.prepare(body(*HISTORY))) == sent(prepared)
    written = records(str(tmp_path))["decisions"]
    assert len(written) == len(prepared.actions)


@pytest.mark.parametrize("table", ["originals", "decisions", "operations"])
def test_where_the_store_takes_nothing_nothing_leaves_and_the_next_turn_decides_anew(tmp_path, table):
    with session_in(tmp_path) as session:
        with refusing(tmp_path, table):
            prepared = session.prepare(body(*HISTORY))
        assert sent(prepared) == HISTORY
        assert prepared.actions == ()
        assert any("nothing left the window, because it could not be stored" in one for one in prepared.warnings)
        after = session.prepare(body(*HISTORY))
        assert after.warnings == ()
        assert after.tokens_after <= after.budget_tokens
        assert all(session.recall(action.ref) for action in after.actions)
