"""A sweep and the sessions: windows stay the same to the byte, and what cannot be recalled says when it went."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.builders import Json, assistant, body, call, opened, result, rounds, text, user
from tests.cli.builders import undrift
from tests.task_sessions import TaskSession
from undrift.core.home_age import swept_by
from undrift.errors import GoneError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.sqlite import SqliteStore
from undrift.values.retention import Retention
from undrift.values.window import Action
from undrift.window.sweep import sweep_sessions

NOW_MS = 1_900_000_000_000
DAY_MS = 86_400_000


def swept(home: Path, limits: str = "30 days") -> int:
    with SqliteStore.open(home, create=False) as store:
        return sweep_sessions(store, swept_by(Retention.of(limits), store.sweepable(), now_ms=NOW_MS), at_ms=NOW_MS)


def long_results(count: int) -> list[Json]:
    """Rounds whose results lose lines, with noise that is folded."""
    found = []
    for number in range(count):
        lines = "\n".join(f"src/module_{number}/file_{line}.py: def act_{line % 7}()" for line in range(60))
        found += [
            assistant(text(f"I look at {number}."), call(f"c{number}", path=f"{number}.py")),
            user(result(f"c{number}", f"{lines}\n" + "downloading 10%\n" * 30)),
        ]
    return found


@pytest.mark.parametrize("turns", [rounds(40), long_results(14)])
def test_windows_of_a_swept_session_are_the_same_to_the_byte(tmp_path: Path, turns: Sequence[Json]):
    history = [user("Go."), *turns]
    with opened(tmp_path, budget_tokens=2_500) as session:
        session.pin("spec", "Name files in full.")
        session.remember("The port is 8080.")
        for end in range(3, len(history), 2):
            session.prepare(body(*history[:end]))
        before = session.prepare(body(*history))
    assert before.actions
    refs = [action.ref for action in before.actions if action.kind != "pinned"]
    assert swept(tmp_path) >= len(set(refs))
    with opened(tmp_path, budget_tokens=2_500) as session:
        after = session.prepare(body(*history))
        assert json.dumps(after.body) == json.dumps(before.body)
        assert {action.kind for action in after.actions} == {"pinned"}
        assert [(one.kind, one.ref) for one in after.gone] == [("swept", ref) for ref in refs]
        assert all(session.recall(action.ref) for action in after.actions)
        for one in after.gone:
            with pytest.raises(GoneError, match="its original was swept on 2030-03-17"):
                session.recall(one.ref)
        assert [one.content for one in session.memories()] == ["The port is 8080."]
        longer = session.prepare(body(*history, assistant("So."), user("Continue with all of it.")))
        assert {one.ref for one in longer.gone} == set(refs)
    with SqliteStore.open(tmp_path) as store:
        assert store.integrity() == ()
    assert "swept on 2030-03-17" in undrift("recall", refs[0], "--why", "--home", str(tmp_path)).output


def test_a_finished_task_keeps_its_tombstone(tmp_path: Path):
    session = TaskSession(tmp_path)
    session.does("a")
    before = session.session.prepare(body(*session.history))
    session.close()
    assert swept(tmp_path) > 0
    with opened(tmp_path) as again:
        assert json.dumps(again.prepare(body(*session.history)).body) == json.dumps(before.body)


def test_a_session_of_the_last_days_is_not_touched(tmp_path: Path):
    settings = Settings(budget_tokens=900, token_counter="characters/4")

    def actions() -> tuple[Action, ...]:
        with Session.open("s", home=tmp_path, settings=settings, clock=lambda: NOW_MS - 29 * DAY_MS) as session:
            return session.prepare(body(user("Go."), *rounds(30))).actions

    before = actions()
    assert before
    assert swept(tmp_path, "0 days, 0 KB") == 0
    assert actions() == before


def test_the_command_shows_what_would_go_asks_and_says_what_went(tmp_path: Path):
    with opened(tmp_path, budget_tokens=900) as session:
        session.prepare(body(user("Go."), *rounds(30)))
    home = ("--home", str(tmp_path))
    shown = undrift("store", "sweep", "--older-than", "30d", "--dry-run", *home)
    assert "A sweep deletes the removed texts of 1 session" in shown.output
    assert "1970-01-01" in shown.output
    assert 'undrift store sweep --older-than "30d"' in shown.output
    refused = undrift("store", "sweep", "--older-than", "30d", *home)
    assert refused.exit_code != 0
    assert "--yes" in refused.output
    nothing = undrift("store", "sweep", "--larger-than", "10GB", "--yes", *home)
    assert "Nothing to sweep" in nothing.output
    done = json.loads(undrift("store", "sweep", "--older-than", "30d", "--yes", "--json", *home).output)
    assert (done["swept"], [one["session_id"] for one in done["sessions"]]) == (done["sessions"][0]["originals"], ["s"])
    assert "without a limit nothing is swept" in undrift("store", "sweep", *home).output
    assert "must be" in undrift("store", "sweep", "--older-than", "soon", *home).output
