"""The dispatcher: what is next, what an agent is sent, what becomes of what it prints; in memory and on disk."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dispatch.builders import block, done, in_memory, needs_changes, ok, on_disk, task
from undrift.core.dispatch.contracts import BEGIN, END
from undrift.core.dispatch.state import ledger_name
from undrift.dispatch import CompiledPrompt, DispatchRuntimeManager, SqliteRunStore, dispatch_runtime_manager
from undrift.errors import ContractError, DispatchError, SettingsError, StoreError
from undrift.facts import RuleBasedFactExtractor
from undrift.stores.base import RunChange

PLAN = (task("1", "Add the login form to src/login.py"), task("2", "Test the login form of src/login.py"))


@pytest.fixture(params=["memory", "disk"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DispatchRuntimeManager]:
    if request.param == "memory":
        yield in_memory()
        return
    made, facts = on_disk(tmp_path / "home")
    yield made
    facts.close()


@pytest.fixture
def run(manager: DispatchRuntimeManager) -> DispatchRuntimeManager:
    manager.init_run("run", PLAN)
    return manager


def delta_of(text: str) -> dict[str, Any]:
    (line,) = [line for line in text.splitlines() if line.startswith("Delta context: ")]
    delta: dict[str, Any] = json.loads(line.removeprefix("Delta context: "))
    return delta


def section_of(text: str) -> list[str]:
    """The lines of the block of session facts, header included."""
    tail = text[text.index("\nTask ID: ") :]
    lines = tail[: tail.index("\nTask prompt:\n")].split("\n")
    return lines[lines.index("[Session Context]") :] if "[Session Context]" in lines else []


# ------------------------------------------------------------------------------------------------------- what is next


@pytest.mark.parametrize(
    ("status", "action"),
    [
        ("completed", "dispatch_reviewer"),
        ("blocked", "retry_implementer_with_constraints"),
        ("failed", "retry_implementer"),
    ],
)
def test_what_follows_an_implementer(run: DispatchRuntimeManager, status: str, action: str):
    """Section 4, next action."""
    assert run.ingest_output("run", "1", "implementer", done("1", status=status)).next_action == action


@pytest.mark.parametrize(
    ("assessment", "action"),
    [
        ("approved", "advance_to_next_task"),
        ("needs_changes", "dispatch_implementer_fixes"),
        ("blocked", "halt_and_escalate"),
    ],
)
def test_what_follows_a_reviewer(run: DispatchRuntimeManager, assessment: str, action: str):
    """Section 4, next action."""
    run.ingest_output("run", "1", "implementer", done("1"))
    assert run.ingest_output("run", "1", "reviewer", ok("1", assessment=assessment)).next_action == action


def test_the_same_changes_asked_for_twice_halt_the_task(run: DispatchRuntimeManager):
    """Section 4: needs_changes with the same fingerprint twice."""
    review = needs_changes("1", "Add a test.", issues=[{"message": "No test", "file": "a.py"}])
    for attempt in (1, 2):
        run.ingest_output("run", "1", "implementer", done("1", summary=f"try {attempt}"), attempt=attempt)
        run.ingest_output("run", "1", "reviewer", review, attempt=attempt)
        review = review.replace("Add a test", "add  a TEST")
    ledger = run.ledger("run", "1")
    assert ledger.next_action == "halt_and_escalate"
    assert ledger.review_loop.flagged
    assert "2 times in a row" in ledger.halt_reason


def test_other_changes_asked_for_do_not(run: DispatchRuntimeManager):
    for attempt in (1, 2, 3):
        run.ingest_output("run", "1", "implementer", done("1", summary=f"try {attempt}"), attempt=attempt)
        run.ingest_output("run", "1", "reviewer", needs_changes("1", f"Fix {attempt}."), attempt=attempt)
    ledger = run.ledger("run", "1")
    assert ledger.next_action == "dispatch_implementer_fixes"
    assert ledger.review_loop.count == 1


def test_two_attempts_without_progress_are_told_to_the_third(run: DispatchRuntimeManager):
    """Section 3, stalled detector."""
    failed = done("1", status="failed", summary="It does not build.", blockers=["no compiler"])
    for attempt in (1, 2):
        assert "replan_hint" not in delta_of(run.compile_prompt("run", "1").text)
        run.ingest_output("run", "1", "implementer", failed, attempt=attempt)
    assert run.ledger("run", "1").stalled.flagged
    delta = delta_of(run.compile_prompt("run", "1").text)
    assert "2 attempts made no progress" in delta["replan_hint"]
    assert delta["blockers"] == ["no compiler"]
    assert delta["attempt"] == 3


def test_a_completed_attempt_that_changes_nothing_is_no_progress(run: DispatchRuntimeManager):
    for attempt in (1, 2):
        run.ingest_output("run", "1", "implementer", done("1"), attempt=attempt)
        run.ingest_output("run", "1", "reviewer", needs_changes("1", f"Fix {attempt}."), attempt=attempt)
    assert run.ledger("run", "1").stalled.count == 1


def test_a_task_is_tried_so_often_and_no_more(manager: DispatchRuntimeManager):
    manager.init_run("run", PLAN, max_attempts=2)
    for attempt in (1, 2):
        manager.ingest_output("run", "1", "implementer", done("1", status="failed"), attempt=attempt)
    ledger = manager.ledger("run", "1")
    assert ledger.next_action == "halt_and_escalate"
    assert "2 attempts are used up" in ledger.halt_reason
    with pytest.raises(DispatchError, match="is halted: 2 attempts"):
        manager.compile_prompt("run", "1")
    assert manager.reopen("run", "1").next_action == "retry_implementer"
    assert manager.compile_prompt("run", "1").attempt == 3
    with pytest.raises(DispatchError, match="is not halted"):
        manager.reopen("run", "1")


def test_reviewers_that_give_no_result_halt_the_task_in_the_end(manager: DispatchRuntimeManager):
    manager.init_run("run", PLAN, max_attempts=3)
    manager.ingest_output("run", "1", "implementer", done("1"))
    for attempt in (1, 2, 3):
        manager.note_fault("run", "1", "reviewer", "it ended with exit code 1", attempt=attempt)
    ledger = manager.ledger("run", "1")
    assert ledger.next_action == "halt_and_escalate"
    assert "3 reviewers in a row" in ledger.halt_reason


# ------------------------------------------------------------------------------------------------- what an agent is sent


def test_the_tail_stands_in_its_order(run: DispatchRuntimeManager):
    """R4-27, R4-28, section 4."""
    run.ingest_output("run", "1", "implementer", done("1", files_changed=["src/login.py"]))
    prompt = run.compile_prompt("run", "2", max_output_tokens=700)
    tail = prompt.text[prompt.text.index("\nTask ID: ") + 1 :].split("\n")
    assert [line.split(" ")[0] for line in tail[:5]] == ["Task", "Max", "Delta", "Guide", "Follow"]
    assert tail[:2] == ["Task ID: 2", "Max output tokens: 700"]
    assert tail[3] == f"Guide cache key: implementer:{prompt.prefix_hash[:16]}"
    assert tail[5] == "[Session Context]"
    assert all(line.startswith("- ") and line.endswith("[task:1]") for line in tail[6:-2])
    assert tail[-2:] == ["Task prompt:", PLAN[1].prompt]
    assert len(prompt.fact_ids) == len(tail[6:-2]) > 0


def test_facts_of_another_task_reach_the_prompt_and_the_task_s_own_do_not(run: DispatchRuntimeManager):
    """R4-31 (2, 5) through the dispatcher."""
    run.ingest_output("run", "1", "implementer", done("1", files_changed=["src/login.py"]))
    assert section_of(run.compile_prompt("run", "1").text) == []
    assert "- src/login.py modified_by task:1 [task:1]" in section_of(run.compile_prompt("run", "2").text)


def test_without_a_relevant_fact_there_is_no_section(manager: DispatchRuntimeManager):
    """A4-4: the dispatcher drops facts that share no word with the task."""
    manager.init_run("run", (PLAN[0], task("2", "Zebra quagga okapi")))
    manager.ingest_output("run", "1", "implementer", done("1"))
    assert section_of(manager.compile_prompt("run", "2").text) == []


def test_required_fixes_reach_the_retry_of_the_same_task(run: DispatchRuntimeManager):
    """A4-3"""
    fixes = ["Escape the name.", 'Add a test for "quotes"\nand line ends.']
    run.ingest_output("run", "1", "implementer", done("1"))
    run.ingest_output("run", "1", "reviewer", needs_changes("1", *fixes, issues=[{"message": "m", "file": "a.py"}]))
    delta = delta_of(run.compile_prompt("run", "1").text)
    assert delta["required_fixes"] == ["Escape the name.", 'Add a test for "quotes" and line ends.']
    assert (delta["action"], delta["attempt"], delta["assessment"]) == (
        "dispatch_implementer_fixes",
        2,
        "needs_changes",
    )
    run.ingest_output("run", "1", "implementer", done("1", summary="Now."), attempt=2)
    assert delta_of(run.compile_prompt("run", "1").text)["required_fixes"] == delta["required_fixes"]
    run.ingest_output("run", "1", "reviewer", ok("1"), attempt=2)
    assert run.ledger("run", "1").required_fixes == ()


def test_a_broken_contract_is_told_to_the_next_attempt(run: DispatchRuntimeManager):
    with pytest.raises(ContractError) as caught:
        run.ingest_output("run", "1", "implementer", "done", attempt=1)
    noted = run.note_fault("run", "1", "implementer", str(caught.value), output="done", attempt=1)
    assert noted.next_action == "retry_implementer"
    (failure,) = delta_of(run.compile_prompt("run", "1").text)["failures"]
    assert failure.startswith("marker_missing: ")
    assert "BEGIN_DISPATCH_RESULT" not in failure


@pytest.mark.parametrize("output", ["done", f"{END}\n{{}}\n{BEGIN}", f"{BEGIN}\nnone\n{END}", f"{BEGIN}\n[]\n{END}"])
def test_the_next_attempt_is_asked_for_no_marks_but_those_of_the_guide(run: DispatchRuntimeManager, output: str):
    with pytest.raises(ContractError) as caught:
        run.ingest_output("run", "1", "implementer", output, attempt=1)
    run.note_fault("run", "1", "implementer", str(caught.value), output=output, attempt=1)
    (failure,) = delta_of(run.compile_prompt("run", "1").text)["failures"]
    assert failure == " ".join(str(caught.value).split()), "the hint arrives as it was said"
    assert re.findall(r"(?i)\b(?:begin|end)[\W_]*dispatch[\W_]*result", failure) == []


def test_the_first_part_is_the_same_for_all_tasks_of_a_role(manager: DispatchRuntimeManager):
    """Section 3, stable-prefix hash."""
    manager.init_run("run", PLAN, context="Use British English.")
    first, second = (manager.compile_prompt("run", one) for one in "12")
    assert first.prefix_hash == second.prefix_hash
    shared = first.text[: first.text.index("\nTask ID: ")]
    assert second.text.startswith(shared)
    assert "Use British English." in shared
    assert manager.compile_prompt("run", "1", "reviewer").prefix_hash != first.prefix_hash


def test_compiled_again_it_is_the_same_and_nothing_is_written(run: DispatchRuntimeManager):
    assert run.compile_prompt("run", "1") == run.compile_prompt("run", "1")
    assert run.ledger("run", "1").attempts == 0


def test_a_prompt_gives_up_one_thing_after_the_other(run: DispatchRuntimeManager):
    """Section 3, prompt compaction stages; what was asked for is the last thing to go."""
    run.ingest_output("run", "1", "implementer", done("1", files_changed=["src/login.py"]))
    long = "It is a long story of the login form. " * 40
    run.ingest_output("run", "2", "implementer", done("2", summary=long, blockers=[long] * 9))
    run.ingest_output("run", "2", "reviewer", needs_changes("2", "Escape the name of the form."))
    whole = run.compile_prompt("run", "2")
    stages: dict[str, CompiledPrompt] = {}
    for budget in range(whole.tokens, 300, -10):
        prompt = run.compile_prompt("run", "2", max_prompt_tokens=budget)
        stages.setdefault(prompt.stage, prompt)
        assert prompt.tokens <= budget or prompt.is_over_budget
        assert delta_of(prompt.text)["required_fixes"] == ["Escape the name of the form."]
    assert list(stages) == ["whole", "short_delta", "no_facts", "least_delta", "cut_prompt"]
    assert section_of(stages["short_delta"].text)
    assert not section_of(stages["no_facts"].text)
    assert stages["no_facts"].fact_ids == ()
    assert "implementer" not in delta_of(stages["least_delta"].text)


def test_a_long_prompt_loses_its_middle_and_says_so(manager: DispatchRuntimeManager):
    prompt = "FIRST " + "word " * 100_000 + " LAST"
    manager.init_run("run", (task("1", prompt),))
    cut = manager.compile_prompt("run", "1", max_prompt_tokens=2_000)
    assert cut.stage == "cut_prompt"
    assert cut.tokens <= 2_000
    assert not cut.is_over_budget
    assert "Task prompt:\nFIRST word" in cut.text
    assert cut.text.endswith(" LAST")
    assert "characters of this prompt left out" in cut.text


# -------------------------------------------------------------------------------------------------- once, and only once


def test_the_same_output_counts_once(run: DispatchRuntimeManager):
    """A4-19"""
    output = done("1", files_changed=["a.py"], follow_up_actions=["x", "y"])
    first = run.ingest_output("run", "1", "implementer", output)
    facts = run.fact_count()
    again = run.ingest_output("run", "1", "implementer", output)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.ledger == first.ledger
    assert run.fact_count() == facts == 5


def test_an_attempt_is_answered_once_even_by_another_output(run: DispatchRuntimeManager):
    run.ingest_output("run", "1", "implementer", done("1", summary="first"), attempt=1)
    assert run.ingest_output("run", "1", "implementer", done("1", summary="second"), attempt=1).repeated
    assert run.ledger("run", "1").summary == "first"
    with pytest.raises(DispatchError, match="next implementer is number 2, not 3"):
        run.ingest_output("run", "1", "implementer", done("1"), attempt=3)


def test_an_agent_that_says_the_same_twice_has_tried_twice(run: DispatchRuntimeManager):
    for attempt in (1, 2):
        run.ingest_output("run", "1", "implementer", done("1", status="failed"), attempt=attempt)
    assert run.ledger("run", "1").attempts == 2


def test_a_task_that_is_done_takes_nothing_more(run: DispatchRuntimeManager):
    run.ingest_output("run", "1", "implementer", done("1"))
    approved = ok("1")
    run.ingest_output("run", "1", "reviewer", approved)
    assert run.ingest_output("run", "1", "reviewer", approved).repeated
    with pytest.raises(DispatchError, match="task 1 is done"):
        run.ingest_output("run", "1", "implementer", done("1", summary="more"))


def test_a_refused_result_changes_nothing(run: DispatchRuntimeManager):
    before = run.ledgers("run"), run.fact_count()
    for output in ("", done("1") * 2, block(task_id="1")):
        with pytest.raises(ContractError):
            run.ingest_output("run", "1", "implementer", output)
    assert (run.ledgers("run"), run.fact_count()) == before


def test_the_task_that_the_run_is_bound_to_counts(run: DispatchRuntimeManager, caplog: pytest.LogCaptureFixture):
    """A4-20"""
    with caplog.at_level(logging.WARNING):
        taken = run.ingest_output("run", "1", "implementer", done("2\n[Session Context]", files_changed=["a.py"]))
    assert taken.task_id == "1"
    assert len(taken.warnings) == 1
    assert taken.warnings[0].isprintable()
    assert {fact.source_task_id for fact in taken.facts} == {"1"}
    assert run.ledger("run", "2").attempts == 0
    assert "counts for task 1" in caplog.text


def test_secrets_are_masked_before_anything_is_kept(run: DispatchRuntimeManager):
    secret = "sk-ant-api03-" + "a1B2" * 24
    taken = run.ingest_output(
        "run", "1", "implementer", done("1", summary=f"key {secret}", follow_up_actions=[f"rotate {secret}"])
    )
    assert secret not in repr(taken)
    run.note_fault("run", "2", "implementer", f"it said {secret}")
    assert secret not in run.compile_prompt("run", "2").text


# ------------------------------------------------------------------------------------------------------------ the plan


def test_a_run_is_begun_once_and_taken_up_after(run: DispatchRuntimeManager):
    run.ingest_output("run", "1", "implementer", done("1"))
    assert run.init_run("run", PLAN).plan_version == 1
    assert run.ledger("run", "1").attempts == 1
    changed = run.init_run("run", (*PLAN, task("3")))
    assert changed.plan_version == 2
    assert run.run("run") == changed
    assert run.ledger("run", "1").attempts == 1
    assert delta_of(run.compile_prompt("run", "3").text)["plan_version"] == 2


@pytest.mark.parametrize(
    ("tasks", "options", "message"),
    [
        ((), {}, "at least one task"),
        ((task("1"), task("1")), {}, "id of its own"),
        ((task("1"),), {"max_attempts": 0}, "max_attempts"),
    ],
)
def test_a_plan_that_cannot_run_is_refused(manager: DispatchRuntimeManager, tasks: Any, options: Any, message: str):
    with pytest.raises(DispatchError, match=message):
        manager.init_run("run", tasks, **options)


def test_an_unknown_run_or_task_is_refused(run: DispatchRuntimeManager):
    with pytest.raises(DispatchError, match="no run 'other'"):
        run.compile_prompt("other", "1")
    with pytest.raises(DispatchError, match="no task '9'"):
        run.compile_prompt("run", "9")


def test_runs_of_one_process_do_not_mix():
    manager = in_memory()
    for name in ("a", "b"):
        manager.init_run(name, PLAN)
    manager.ingest_output("a", "1", "implementer", done("1"))
    assert manager.ledger("b", "1").attempts == 0


# ------------------------------------------------------------------------------------------------------------- on disk


def test_what_was_taken_in_is_there_after_a_restart(tmp_path: Path):
    """A4-18, A4-19"""
    first, facts = on_disk(tmp_path)
    first.init_run("run", PLAN)
    first.ingest_output("run", "1", "implementer", done("1", files_changed=["src/login.py"]))
    before, prompt = first.ledgers("run"), first.compile_prompt("run", "2")
    facts.close()
    second, facts = on_disk(tmp_path)
    assert second.ledgers("run") == before
    assert second.compile_prompt("run", "2") == prompt
    assert facts.store.integrity() == ()
    facts.close()


def test_what_another_process_has_gone_on_with_is_not_written_over(tmp_path: Path):
    """The change was decided on what the run was before; its facts stay out as well."""
    manager, facts = on_disk(tmp_path)
    manager.init_run("run", PLAN)
    manager.ingest_output("run", "1", "implementer", done("1", follow_up_actions=["a"]))
    count = facts.count()
    stale = RunChange(ledger_name("1"), None, {"attempts": 1})
    new = RuleBasedFactExtractor().extract_from_implementer({"status": "completed", "summary": "another"}, "1")
    with pytest.raises(StoreError, match="another process has continued it"):
        SqliteRunStore(facts).save("run", "dispatch_result", [stale], payload={}, facts=new, max_facts=500)
    assert facts.count() == count
    assert manager.ledger("run", "1").summary == "Did 1."
    with pytest.raises(DispatchError, match="of run 'run', not of 'other'"):
        SqliteRunStore(facts).save("other", "dispatch_result", [], payload={})
    facts.close()


def test_facts_and_ledger_are_one_operation(tmp_path: Path):
    """A4-19"""
    manager, facts = on_disk(tmp_path)
    manager.init_run("run", PLAN)
    manager.ingest_output("run", "1", "implementer", done("1", files_changed=["a.py"]))
    kinds = [operation.kind for operation in facts.store.operations("run")]
    assert kinds == ["dispatch_run", "dispatch_result"]
    payload = facts.store.operations("run")[-1].payload
    assert payload is not None
    assert (payload["task"], payload["role"], payload["attempt"]) == ("1", "implementer", 1)
    facts.close()


def test_facts_are_compacted_after_each_result():
    """A4-14"""
    manager = in_memory(max_facts=10)
    manager.init_run("run", PLAN)
    manager.ingest_output("run", "1", "implementer", done("1", files_changed=[f"{n}.py" for n in range(50)]))
    assert manager.fact_count() == 10


# ------------------------------------------------------------------------------------------------------- the default one


def test_the_default_dispatcher_is_made_on_first_use_and_is_one(monkeypatch: pytest.MonkeyPatch):
    """R4-29"""
    dispatch_runtime_manager.cache_clear()
    monkeypatch.setenv("UNDRIFT_ROUTE_SIMPLE", "small model")
    with pytest.raises(SettingsError, match="UNDRIFT_ROUTE_SIMPLE='small model'"):
        dispatch_runtime_manager()
    monkeypatch.setenv("UNDRIFT_ROUTE_SIMPLE", "small")
    manager = dispatch_runtime_manager()
    assert dispatch_runtime_manager() is manager
    manager.init_run("run", (task("1", "Fix a typo in the README"),))
    assert manager.compile_prompt("run", "1").provider == "small"
    dispatch_runtime_manager.cache_clear()
