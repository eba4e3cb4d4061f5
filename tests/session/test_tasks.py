"""Tasks of a session: what a completed one produced gives way to its summary, and comes back whole."""

import json

import pytest

from tests.builders import (
    Json,
    assistant,
    body,
    call,
    opened,
    parts,
    problems,
    refusing,
    result,
    sent,
    text,
    thinking,
    user,
)
from undrift.errors import SummaryRejected, TaskError
from undrift.session.session import Session
from undrift.values.prepared import Prepared

SUMMARY = "The login bug was in auth.py line 12; it is fixed and the tests pass."


def raw(n: int, characters: int = 400) -> str:
    return f"raw {n} of auth.py line 12: the login bug is fixed, 4 passed ".ljust(characters, "x")


def work(first: int, count: int, *, said: bool = True, characters: int = 400) -> list[Json]:
    """Rounds in which the agent says something and calls a tool."""
    messages = []
    for n in range(first, first + count):
        words = [text(f"I look at file {n} now.")] if said else []
        messages += [
            assistant(*words, call(f"c{n}", path=f"{n}.py")),
            user(result(f"c{n}", raw(n, characters))),
        ]
    return messages


def shown(prepared: Prepared) -> str:
    return json.dumps(sent(prepared))


def done(
    session: Session, *, criteria: tuple[str, ...] = ("tests pass",), rounds: int = 8
) -> tuple[list[Json], Prepared]:
    """A session that has just completed its task, its history, and the window after it."""
    history = [user("Fix the login.")]
    session.prepare(body(*history))
    session.start_task("fix-login", content="Fix the login", acceptance_criteria=criteria)
    for end in range(rounds):
        history += work(end, 1)
        session.prepare(body(*history))
    session.complete_task("fix-login", SUMMARY)
    history += [assistant("Done."), user("Next, the logout.")]
    return history, session.prepare(body(*history))


def test_a_completed_task_leaves_its_summary_and_its_calls(tmp_path):
    session = opened(tmp_path)
    _, prepared = done(session)
    seen = shown(prepared)
    assert "raw 3" not in seen
    assert "I look at file 3" not in seen
    calls = [p["id"] for m in sent(prepared) for p in parts(m) if p["type"] == "tool_use"]
    assert calls == [f"c{n}" for n in range(8)]
    assert "Fix the login." in seen
    assert "Next, the logout." in seen
    assert problems(sent(prepared)) == ()
    assert prepared.tokens_after < prepared.tokens_before


def test_what_is_said_after_a_task_ended_elsewhere_stays_where_the_store_refused_the_turn_between(tmp_path):
    session = opened(tmp_path)
    history = [user("Fix the login.")]
    session.prepare(body(*history))
    session.start_task("fix-login", content="Fix the login", acceptance_criteria=["tests pass"])
    history += work(0, 6)
    session.prepare(body(*history))
    with opened(tmp_path) as other:
        other.complete_task("fix-login", SUMMARY)
    history += [assistant(text("Done with the login.")), user("Next, the logout.")]
    with refusing(tmp_path, "tasks"):
        session.prepare(body(*history))
    history += [assistant(text("The logout stands in out.py.")), user("Go on."), assistant("I go on."), user("Yes.")]
    seen = shown(session.prepare(body(*history)))
    assert "I look at file 3" not in seen
    assert "Done with the login." in seen
    assert "The logout stands in out.py." in seen


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-5"])
def test_an_answer_that_begins_with_thinking_leaves_a_tombstone_whether_or_not_the_model_binds_it(tmp_path, model):
    session = opened(tmp_path)
    fields = {"model": model, "thinking": {"type": "adaptive"}}
    history = [user("Fix the login.")]
    session.prepare(body(*history, **fields))
    session.start_task("fix-login", content="Fix the login", acceptance_criteria=["tests pass"])
    for answer, results in zip(*[iter(work(0, 6))] * 2, strict=True):
        history += [assistant(thinking("Hm."), *answer["content"]), results]
        session.prepare(body(*history, **fields))
    session.complete_task("fix-login", SUMMARY)
    history += [assistant("Done."), user("Next, the logout.")]
    messages = sent(session.prepare(body(*history, **fields)))
    answers = [message for message in messages if message["role"] == "assistant"][:6]
    begins = [parts(message)[0].get("text", "")[:58] for message in answers]
    assert begins == ["[Assistant thinking/text for task fix-login evicted to sav"] * 6
    assert SUMMARY in parts(answers[-1])[0]["text"]
    assert not any(part["type"] == "thinking" for message in messages for part in parts(message))


def test_the_tombstones_are_those_of_the_seed_and_only_the_last_of_a_kind_has_the_summary(tmp_path):
    session = opened(tmp_path)
    _, prepared = done(session)
    results = [p["content"] for m in sent(prepared) for p in parts(m) if p["type"] == "tool_result"]
    verdict = "\n\n✅ [Sigma Validation] All criteria met (Score: 1.00)"
    full = f"[Task fix-login completed. Raw logs evicted to archive. \nSUMMARY: {SUMMARY}{verdict}]\n"
    assert results[-1].startswith(full)
    assert all(one.startswith("[Task fix-login completed. Raw logs evicted to archive.]\n") for one in results[:-1])
    words = [p["text"] for m in sent(prepared) if m["role"] == "assistant" for p in parts(m) if p["type"] == "text"]
    assert words[-2].startswith(
        "[Assistant thinking/text for task fix-login evicted to save tokens. \nSUMMARY: The login"
    )
    assert words[0].startswith("[Assistant thinking/text for task fix-login evicted to save tokens.]\n")
    assert words[-1] == "Done."


def test_every_original_is_recalled_byte_for_byte(tmp_path):
    session = opened(tmp_path)
    _, prepared = done(session)
    refs = [action.ref for action in prepared.actions if action.kind == "evicted"]
    originals = [session.recall(ref) for ref in refs]
    assert raw(3) in originals
    assert "I look at file 3 now." in originals
    tombstones = [p["content"] for m in sent(prepared) for p in parts(m) if p["type"] == "tool_result"]
    assert session.recall(tombstones[3].rsplit(" ", 1)[1].rstrip("]")) == raw(3)


def test_the_window_is_the_same_after_a_restart_and_on_every_later_turn(tmp_path):
    session = opened(tmp_path)
    history, prepared = done(session)
    session.close()
    again = opened(tmp_path)
    assert again.prepare(body(*history)).body == prepared.body
    later = again.prepare(body(*history, *work(50, 2)))
    assert sent(later)[: len(sent(prepared))] == sent(prepared)
    assert [task.status for task in again.tasks()] == ["completed"]


def test_without_criteria_the_newest_results_stay_raw_until_newer_ones_displace_them(tmp_path):
    """AX-1: nothing was measured, so the last N hold."""
    session = opened(tmp_path, keep_tool_results=3)
    history, prepared = done(session, criteria=())
    seen = shown(prepared)
    assert "raw 4" not in seen
    assert all(f"raw {n}" in seen for n in (5, 6, 7))
    later = shown(session.prepare(body(*history, *work(20, 3, said=False), assistant("so"), user("go on"))))
    assert not any(f"raw {n} " in later for n in range(8))
    assert all(f"raw {n}" in later for n in (20, 21, 22))


def test_what_was_done_before_and_after_a_task_stays(tmp_path):
    session = opened(tmp_path)
    history = [user("Look around."), *work(100, 2)]
    session.prepare(body(*history))
    session.start_task("a", acceptance_criteria=("tests pass",))
    history += work(0, 3)
    session.prepare(body(*history))
    session.complete_task("a", SUMMARY)
    history += work(200, 2)
    seen = shown(session.prepare(body(*history)))
    assert all(f"raw {n}" in seen for n in (100, 101, 200, 201))
    assert "I look at file 100" in seen
    assert "I look at file 201" in seen
    assert "raw 1 " not in seen


def test_a_second_task_needs_the_first_to_end_and_the_error_says_so(tmp_path):
    session = opened(tmp_path)
    session.start_task("a")
    with pytest.raises(TaskError, match="a"):
        session.start_task("b")
    with pytest.raises(SummaryRejected, match="15"):
        session.complete_task("a", "ok")
    assert [task.status for task in session.tasks()] == ["in_progress"]


def test_a_cancelled_task_lets_nothing_go(tmp_path):
    session = opened(tmp_path)
    history = [user("Go.")]
    session.prepare(body(*history))
    session.start_task("a")
    history += work(0, 3)
    session.prepare(body(*history))
    session.update_task("a", status="cancelled")
    given = body(*history, assistant("Stopped."), user("And now?"))
    assert session.prepare(given).body is given


def test_a_tombstone_can_be_pruned_like_any_summary(tmp_path):
    session = opened(tmp_path)
    history, _ = done(session)
    session.close()
    small = opened(tmp_path, budget_tokens=900)
    prepared = small.prepare(body(*history, *work(60, 12)))
    assert prepared.tokens_after <= 900
    assert problems(sent(prepared)) == ()
    assert "raw 3 " in small.recall(next(a.ref for a in prepared.actions if "raw 3" in small.recall(a.ref)))


def test_a_secret_in_a_summary_is_masked(tmp_path):
    session = opened(tmp_path)
    session.prepare(body(user("Go.")))
    session.start_task("a", acceptance_criteria=("tests pass",))
    secret = "sk-" + "ant-" + "api03-" + "A" * 90
    task = session.complete_task("a", f"The tests pass with the key {secret} in place.")
    assert secret not in task.annotated_summary
