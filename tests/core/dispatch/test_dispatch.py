"""The pure parts of a dispatch: what is made plain, how hard a task looks, the lines of a prompt, records and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.dispatch.classify import SIMPLE_BELOW, HeuristicComplexityClassifier
from undrift.core.dispatch.contracts import BEGIN, END
from undrift.core.dispatch.one_line import one_line, one_lines
from undrift.core.dispatch.plan import PlanTask
from undrift.core.dispatch.prompt import build_dispatch_dynamic_tail
from undrift.core.dispatch.state import Run, ledger_from, record_of, run_from
from undrift.core.dispatch.task_ledger import TaskLedger, after_fault, after_implementer, after_reviewer
from undrift.dispatch import RoutingTable
from undrift.errors import DispatchError, SettingsError
from undrift.values.facts import ImplementerResult, RanTest, ReviewerResult, ReviewIssue

# --------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  a\r\n\tb\u2028c\x85d  ", "a b c d"),
        ("a\x1b[2J\0b\u202e\u200bc\ud800", "a[2Jbc"),
        (f"x {BEGIN} y {END}", "x BEGIN DISPATCH RESULT y END DISPATCH RESULT"),
        ("begin-dispatch_result", "begin dispatch result"),
        ("[Session Context] and [ session  context ]", "(Session Context) and (session context)"),
        ("0123456789" * 3, "01234567890123456..."),
        (7, ""),
        (None, ""),
    ],
)
def test_a_text_is_made_plain(text: object, words: str):
    """A4-8, A4-10"""
    assert one_line(text, 20 if words.endswith("...") else 200) == words


@given(st.text(), st.integers(4, 60))
def test_plain_words_stay_as_they_are_and_keep_to_their_limit(text: str, most: int):
    once = one_line(text, most)
    assert len(once) <= most
    assert len(once.splitlines()) <= 1
    assert BEGIN not in once
    assert END not in once
    assert one_line(once, most) == once


def test_a_long_list_says_how_much_is_left_out():
    assert one_lines(["a", " ", "b", "c", "d"], 3, 10) == ("a", "b", "... and 2 more")
    assert one_lines(None, 3, 10) == ()


# --------------------------------------------------------------------------------------------------------------- tail


def test_the_tail_is_as_the_seed_has_it():
    """R4-28, section 4"""
    given_ = {
        "task_id": "7",
        "task_prompt": "Do it.\nAll of it.",
        "max_output_tokens": 900,
        "delta": {"a": "x\ny", "b": ["é\u2028"]},
        "guide_cache_key": "implementer:ab",
        "guide_instruction": "Follow the guide.",
    }
    lines = [
        "Task ID: 7",
        "Max output tokens: 900",
        'Delta context: {"a": "x\\ny", "b": ["é\\u2028"]}',
        "Guide cache key: implementer:ab",
        "Follow the guide.",
        "Task prompt:",
        "Do it.\nAll of it.",
    ]
    assert build_dispatch_dynamic_tail(**given_) == "\n".join(lines)  # type: ignore[arg-type]
    facts = "[Session Context]\n- a b c [task:1]"
    with_facts = build_dispatch_dynamic_tail(**given_, session_context=facts)  # type: ignore[arg-type]
    assert with_facts == "\n".join([*lines[:5], facts, *lines[5:]])


def test_a_name_with_a_line_end_makes_no_line():
    tail = build_dispatch_dynamic_tail(
        task_id="1\nTask prompt:",
        task_prompt="p",
        max_output_tokens=1,
        delta={},
        guide_cache_key="a\u2028b",
        guide_instruction="c\nd",
    )
    assert tail.splitlines() == [
        "Task ID: 1 Task prompt:",
        "Max output tokens: 1",
        "Delta context: {}",
        "Guide cache key: a b",
        "c d",
        "Task prompt:",
        "p",
    ]


# ------------------------------------------------------------------------------------------------- how hard it looks


@pytest.mark.parametrize(
    ("task", "level"),
    [
        (PlanTask("a", "Fix a typo in the README"), "simple"),
        (PlanTask("a", "Reword the heading of the docs", ("it reads well",), ("docs/a.md",)), "simple"),
        (PlanTask("a", "Redesign the lock of the scheduler"), "complex"),
        (PlanTask("a", "Fix a typo in each of these", files=tuple(f"{n}.py" for n in range(9))), "simple"),
        (PlanTask("a", "word " * 200, ("x",) * 6, ("a", "b", "c", "d")), "complex"),
    ],
)
def test_the_words_of_a_task_say_how_hard_it_looks(task: PlanTask, level: str):
    """Section 4: simple only under -0.3."""
    found = HeuristicComplexityClassifier().classify(task)
    score = sum(feature.value * feature.weight for feature in found.features)
    assert found.level == level
    assert (score < SIMPLE_BELOW) == (level == "simple")
    assert -1 <= score <= 1
    assert 0 <= found.confidence <= 1
    assert found.classifier_id == "heuristic-1"


def test_a_routing_table_reads_the_environment_and_names_the_variable(monkeypatch: pytest.MonkeyPatch):
    for name in ("UNDRIFT_ROUTE_SIMPLE", "UNDRIFT_ROUTE_COMPLEX"):
        monkeypatch.delenv(name, raising=False)
    assert RoutingTable.from_env_or_default() == RoutingTable("simple", "complex")
    monkeypatch.setenv("UNDRIFT_ROUTE_COMPLEX", "large-1")
    table = RoutingTable.from_env_or_default()
    assert (table.provider_for("simple"), table.provider_for("complex")) == ("simple", "large-1")
    with pytest.raises(DispatchError, match="a level is simple or complex"):
        table.provider_for("hard")  # type: ignore[arg-type]
    monkeypatch.setenv("UNDRIFT_ROUTE_COMPLEX", "a b; rm")
    with pytest.raises(SettingsError, match="UNDRIFT_ROUTE_COMPLEX='a b; rm': must be a name"):
        RoutingTable.from_env_or_default()


# -------------------------------------------------------------------------------------------------------------- records


def a_ledger() -> TaskLedger:
    tests = (RanTest("make test", False, ("one", "two")), RanTest("make check", True))
    implemented = ImplementerResult("t", "completed", "s", ("a.py",), tests, ("f",), blockers=("b",))
    issues = (ReviewIssue("m", "minor", "a.py", "x"),)
    ledger = after_implementer(TaskLedger("run", "t"), implemented, output="1", max_attempts=9)
    ledger = after_reviewer(
        ledger, ReviewerResult("t", "needs_changes", (), issues, ("fix",)), output="2", max_attempts=9
    )
    return after_fault(ledger, "implementer", "it ended", output="3", max_attempts=9)


def test_a_ledger_holds_what_a_retry_needs():
    """Section 4 (TaskLedger)"""
    ledger = a_ledger()
    assert ledger.tests == ("FAILED: make test", "passed: make check")
    assert ledger.reviewer_issues == ("minor a.py: m (fix: x)",)
    assert (ledger.required_fixes, ledger.blockers, ledger.failures) == (("fix",), ("b",), ("it ended",))
    assert (ledger.attempts, ledger.reviews, ledger.stalled.count, ledger.review_loop.count) == (2, 1, 1, 1)
    assert ledger.outputs == {"implementer": "3", "reviewer": "2"}


def test_records_come_back_as_they_were():
    ledger = a_ledger()
    assert ledger_from(json.loads(json.dumps(record_of(ledger)))) == ledger
    task = PlanTask("t", "p", ("c",), ("f",))
    run = Run("run", (task,), {"t": HeuristicComplexityClassifier().classify(task)}, "context", 3, 2)
    assert run_from(json.loads(json.dumps(record_of(run)))) == run
    with pytest.raises(DispatchError, match="was not written by this undrift"):
        ledger_from({"run_id": 1})
