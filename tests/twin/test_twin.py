"""This version is its own twin, over a pipe; and the twin finds an error that is planted in one of the two."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.builders import assistant, body, call, crowded, result, text, thinking, user
from tests.long_form import sized
from tests.twin import machine
from tests.twin.twin import Differ, Other, Twin
from undrift.core.window import plan
from undrift.core.window.notes import notes
from undrift.core.window.turn import Turn
from undrift.core.window.window import Window
from undrift.settings import Settings
from undrift.values.window import Decision

PATCH = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def other() -> Iterator[Other]:
    with Other() as process:
        yield process


@pytest.mark.parametrize("wire", machine.TWINS)
def test_conversations_are_the_same_on_both_sides_of_the_pipe(other: Other, wire: str):
    machine.use(other)
    assert machine.play(wire, 6, first_seed=1, examples=2) >= 6


def test_tasks_are_the_same_on_both_sides_of_the_pipe(other: Other):
    machine.use(other)
    steps = sized(16, 40)
    assert machine.play_tasks(steps, first_seed=1, examples=2, most_steps=steps) >= steps


# ------------------------------------------------------------------------------------------------------- what is played
def opened(other: Other, home: Path, **chosen: Any) -> Twin:
    clock = count(1_700_000_000_000, 1_000)
    settings = Settings(token_counter="characters/4", debug_archive=False, **chosen)
    return Twin(other, "s", str(home), settings, lambda: next(clock))


def an_agent_thinks_and_takes_notes(other: Other, home: Path) -> None:
    """On a model that binds its thinking, under a budget that bites, with notes that change."""
    with opened(other, home, budget_tokens=1_500, keep_tool_results=2) as twin:
        history = [user("go")]
        for number in range(24):
            if number % 5 == 0:
                twin.scratchpad.write(f"what is known in round {number} " + "n" * 400)
            history += [
                assistant(thinking(f"thought {number}"), call(f"c{number}", path=f"{number}.py")),
                user(result(f"c{number}", f"answer {number} ".ljust(400, "x"))),
            ]
            twin.prepare(body(*history, model="claude-opus-5-5", thinking={"type": "adaptive"}))


def results_have_many_short_lines(other: Other, home: Path) -> None:
    """A first choice of lines costs more than was estimated."""
    messages, budget_tokens = crowded(283)
    fit = {"keep_tool_results": 1, "prune_target_ratio": 1.0}
    with opened(other, home, budget_tokens=budget_tokens, **fit) as twin:
        twin.prepare(body(*messages))


def two_agents_end_their_tasks_over_the_same_words(other: Other, home: Path) -> None:
    """One says more than the other, and both let the same words go."""
    with opened(other, home) as twin:
        history = [user("go")]
        twin.prepare(body(*history))
        for agent in ("first", "second"):
            twin.change_tasks([{"id": agent, "status": "in_progress", "content": agent}], agent=agent)
        for number in range(4):
            history += [assistant(text(f"I look at {number}."), call(f"c{number}", path=f"{number}.py"))]
            history += [user(result(f"c{number}", f"file {number} holds the number 7 " + "x" * 400))]
            twin.prepare(body(*history))
        for agent in ("first", "second"):
            summary = f"The number 7 stands in each file, says the {agent}."
            twin.change_tasks([{"id": agent, "status": "completed", "result_summary": summary}], agent=agent)
        twin.prepare(body(*history, assistant("Done."), user("And now?")))


PLAYED = (
    an_agent_thinks_and_takes_notes,
    results_have_many_short_lines,
    two_agents_end_their_tasks_over_the_same_words,
)


def play_all(other: Other, home: Path) -> None:
    for number, played in enumerate(PLAYED):
        (home / str(number)).mkdir()
        played(other, home / str(number))


# ----------------------------------------------------------------------------------------------------- what is planted
With = Callable[[Window, Iterable[Decision]], Window]
_with = Window.with_


def no_strip(window: Window, decisions: Iterable[Decision]) -> Window:
    """Bound thinking stays."""
    return _with(window, [d for d in decisions if not d.detail.get("thinking")])


def last_wins(window: Window, decisions: Iterable[Decision]) -> Window:
    """Of two decisions about one block, the last counts."""
    return _with(window, {d.entry_id: d for d in decisions}.values())


def stale_notes_stay(window: Window, decisions: Iterable[Decision]) -> Window:
    """A note that says something else by now stays where it is."""
    return _with(window, [d for d in decisions if d.kind != "pruned" or ":note:" not in d.entry_id])


def one_round(window: Window, decisions: Iterable[Decision]) -> Window:
    """The budget takes what its first round names, and no more."""
    given = list(decisions)
    is_second = any("budget_tokens" in d.detail for d in given) and any("budget_tokens" in d.detail for d in window.new)
    return window if is_second else _with(window, given)


def notes_over_the_budget(window: Window, turn: Turn) -> Window:
    """All that is new is said, however full the window is."""
    return notes(window, replace(turn, room=replace(turn.room, budget_tokens=10**9)))


def plant(patch: PATCH, error: Callable[..., Window]) -> None:
    if error is notes_over_the_budget:
        patch.setattr(plan, "PASSES", (*plan.PASSES[:-1], error))
    else:
        patch.setattr(Window, "with_", error)


def test_what_is_played_shows_no_difference(other: Other, tmp_path: Path):
    play_all(other, tmp_path)


@pytest.mark.parametrize("error", [no_strip, last_wins, stale_notes_stay, one_round, notes_over_the_budget])
def test_an_error_that_is_planted_is_found(
    other: Other, tmp_path: Path, monkeypatch: PATCH, error: Callable[..., Window]
):
    plant(monkeypatch, error)
    with pytest.raises(Differ):
        play_all(other, tmp_path)
