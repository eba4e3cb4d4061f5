"""Recorded sessions in every form, turn by turn: nothing refused, nothing over budget that could leave, the same bytes.

Two small shared sessions and the demo; ``python -m tests.wires.sessions FOLDER`` plays all of them.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.wires import sessions
from tests.wires.sessions import MODELS, Outcome, Script, full_tokens, play, script_of, summary
from undrift.testing.simulators import AnthropicSimulator
from undrift.wire.forms import WIRES

DEMO = Path(__file__).parents[2] / "examples" / "demo-session.jsonl"
FOLDERS = ("claude-code", "codex")
SIZES = range(300_000, 700_000)  # of a recording, in bytes
SHARES = (0.5, 0.2)


@cache
def demo() -> Script:
    script = script_of(DEMO)
    return replace(script, turns=script.turns[:60])


def played(script: Script, wire: str, share: float) -> Outcome:
    model = MODELS[wire][0]
    return play(script, wire, share, full_tokens(script, wire, model), model)


@cache
def demo_played(wire: str, share: float) -> Outcome:
    return played(demo(), wire, share)


@pytest.fixture(scope="module")
def recorded(recorded_files: tuple[Path, ...]) -> list[Script]:
    """One session of each client."""
    found: dict[str, Script] = {}
    for path in recorded_files:
        is_new = path.parent.name in FOLDERS and path.parent.name not in found
        if is_new and path.suffix == ".jsonl" and path.stat().st_size in SIZES:
            script = script_of(path)
            if len(script.turns) > 20:
                found[path.parent.name] = script
    assert set(found) == set(FOLDERS)
    return list(found.values())


def assert_kept(outcome: Outcome) -> None:
    assert outcome.is_kept, outcome
    assert outcome.requests == outcome.turns
    assert outcome.edited, "the budget never bit"
    assert outcome.restarts


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("wire", WIRES)
def test_the_demo_session_is_never_refused(wire, share):
    assert_kept(demo_played(wire, share))


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("wire", WIRES)
def test_recorded_sessions_are_never_refused(recorded, wire, share):
    for script in recorded:
        assert_kept(played(script, wire, share))


@pytest.mark.parametrize("wire", WIRES)
def test_a_window_that_is_never_full_goes_out_as_it_came_and_is_read_from_the_cache(wire):
    outcome = demo_played(wire, 2.0)
    assert outcome.is_kept
    assert (outcome.edited, outcome.rewrites, outcome.over) == (0, 0, 0)
    assert outcome.read_tokens > 5 * (outcome.written_tokens + outcome.fresh_tokens)


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_rewritten_is_counted_and_costs_the_cache(wire):
    full, small = demo_played(wire, 2.0), demo_played(wire, 0.2)
    assert small.rewrites > 0
    assert small.late <= small.rewrites
    paid = [o.written_tokens + o.fresh_tokens for o in (full, small)]
    assert paid[1] / small.read_tokens > paid[0] / full.read_tokens


def test_a_refusal_ends_the_session_and_is_reported(monkeypatch):
    full = full_tokens(demo(), "anthropic", "claude-opus-5-5")
    monkeypatch.setattr(sessions, "simulator_for", lambda _wire, **_: AnthropicSimulator(window_tokens=full // 2))
    outcome = play(demo(), "anthropic", 2.0, full, "claude-opus-5-5")
    assert not outcome.is_kept
    assert outcome.requests < outcome.turns
    assert "prompt is too long" in "\n".join(summary([outcome]))
