"""The measure of briefs: what a task needed, and what each text holds of it."""

from bench.briefs import RecordedTask, shares_of, table
from tests.core.handoff.test_brief import ENTRIES, ran, text_of
from undrift.core.autopsy.steps import steps_of

FILLED = [one for number in range(30, 36) for one in ran(number, "Bash", {"command": f"make part{number}"}, "done")]


def recorded(used: str) -> RecordedTask:
    done = steps_of([text_of(90, used, "assistant")])
    return RecordedTask("codex", "r", [*ENTRIES, *FILLED], "Explain parse_iso_week and its strict mode.", done)


def test_a_need_is_what_the_parent_had_learned_and_the_sub_agent_used() -> None:
    shares = shares_of(recorded("parse_iso_week takes strict_mode; my_own_word is new."), 400)
    assert shares is not None
    assert shares.needed == (2, 0)
    assert shares.held["brief"] == (2, 0)
    assert shares.held["task"] == (1, 0)
    assert shares.tokens["brief"] <= 400
    assert "codex: 1 tasks" in table([shares])


def test_a_task_that_needs_nothing_of_the_parent_is_passed_over() -> None:
    assert shares_of(recorded("nothing of it"), 400) is None
