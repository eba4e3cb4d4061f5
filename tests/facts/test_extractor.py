"""The rules by which results become facts: R4-14 to R4-19, A4-1, A4-2, A4-5, A4-8, A4-15, A4-16, A4-20, R4-O2, R4-O3."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts.builders import Clock, implemented, reviewed, triples
from undrift.core.facts.changes import EndedFacts
from undrift.core.facts.check import clip_text
from undrift.core.facts.extract import MOST_ELEMENTS, Extraction
from undrift.facts import InMemorySessionFactStore, RuleBasedFactExtractor
from undrift.facts.extractor import RULES
from undrift.values.facts import RanTest, ReviewIssue, create_fact_id


@pytest.fixture
def extractor() -> RuleBasedFactExtractor:
    return RuleBasedFactExtractor(clock=Clock(5_000))


def test_every_field_of_an_implementers_result_becomes_facts(extractor):
    result = implemented(
        "1",
        files_changed=["src/login.py"],
        files_modified=["src/login.py", "src/token.py"],
        tests=[RanTest("pytest -q", True), {"command": "ruff check", "passed": True}],
        follow_up_actions=["update the docs", "x" * 130],
        conventions=["errors name the file"],
        blockers=["no key for staging"],
    )
    found = extractor.extract_from_implementer(result, "1")
    assert [(*one.triple, *one.tags) for one in found] == [
        ("task:1", "completed_with", "completed", "decision"),
        ("task:1", "summary", "Login reads the token", "decision"),
        ("src/login.py", "modified_by", "task:1", "file_change"),
        ("src/token.py", "modified_by", "task:1", "file_change"),
        ("task:1", "requires", "update the docs", "dependency"),
        ("task:1", "requires", "x" * 117 + "...", "dependency"),
        ("task:1", "tests_passed", "2/2", "test"),
        ("task:1", "convention", "errors name the file", "convention"),
        ("task:1", "blocked_by", "no key for staging", "error"),
    ]
    assert {(one.confidence, one.valid_from, one.valid_to, one.source_role, one.source_task_id) for one in found} == {
        (1.0, 5_000, None, "implementer", "1")
    }
    assert all(one.id == create_fact_id(*one.triple) for one in found)


def test_every_field_of_a_reviewers_result_becomes_facts(extractor):
    result = reviewed(
        "2",
        issues=[
            ReviewIssue("the token is logged", "critical", "src/login.py", "log its length"),
            {"message": "Names must be snake_case here", "severity": "minor", "fix": ""},
        ],
        required_fixes=["do not log the token"],
    )
    found = extractor.extract_from_reviewer(result, "2")
    assert [(*one.triple, *one.tags) for one in found] == [
        ("task:2", "reviewed_as", "needs_changes", "decision"),
        ("src/login.py", "issue", "the token is logged", "error"),
        ("task:2", "issue", "Names must be snake_case here", "error"),
        ("task:2", "convention", "Names must be snake_case here", "convention"),
        ("task:2", "must_fix", "do not log the token", "convention"),
    ]
    assert found[1].metadata == {"severity": "critical", "fix": "log its length"}  # A4-17
    assert {one.source_role for one in found} == {"reviewer"}


def test_missing_lists_are_no_facts_and_end_nothing(extractor):
    """R4-17"""
    found = extractor.extract_from_implementer(implemented(), "1")
    assert [one.relation for one in found] == ["completed_with", "summary"]
    assert found.ended == ()
    assert extractor.extract_from_reviewer(reviewed(), "1").ended == ()


def test_an_empty_list_clears_the_one_before_it(extractor):
    """A4-1"""
    store = InMemorySessionFactStore()
    store.add(extractor.extract_from_reviewer(reviewed(required_fixes=["a"], issues=[{"message": "b"}]), "1"))
    store.add(extractor.extract_from_reviewer(reviewed(assessment="approved", required_fixes=[], issues=[]), "1"))
    assert triples(store.get_valid()) == [("task:1", "reviewed_as", "approved")]


@pytest.mark.parametrize(
    "message",
    [
        "follow the convention",
        "wrong PATTERN",
        "naming",
        "Style",
        "use camelCase",
        "PascalCase",
        "snake_case",
        "format it",
        "reformat: formatting",
    ],
)
def test_an_issue_about_a_convention_is_a_convention(extractor, message: str):
    """R4-O3, A4-16"""
    found = extractor.extract_from_reviewer(reviewed(issues=[{"message": message, "file": "a.py"}]), "1")
    assert ("a.py", "convention", message) in triples(found)


def test_an_issue_about_something_else_is_none(extractor):
    found = extractor.extract_from_reviewer(reviewed(issues=[{"message": "the information is not stylish"}]), "1")
    assert "convention" not in [one.relation for one in found]


def test_a_failed_test_is_known_until_it_passes(extractor):
    """A4-15: also in the hands of another task."""
    store = InMemorySessionFactStore()

    def ran(task_id: str, **passed: bool) -> list[tuple[str, str, str]]:
        tests = [{"command": name, "passed": value} for name, value in passed.items()]
        store.add(extractor.extract_from_implementer(implemented(task_id, tests=tests), task_id))
        return [one.triple for one in store.get_valid_by_tags(["test"])]

    assert ran("1", unit=True, slow=False) == [("slow", "test_failed", "task:1")]
    assert ran("2", unit=True) == [("slow", "test_failed", "task:1"), ("task:2", "tests_passed", "1/1")]
    assert ran("3", slow=True) == [("task:2", "tests_passed", "1/1"), ("task:3", "tests_passed", "1/1")]
    assert ran("3", slow=False) == [("task:2", "tests_passed", "1/1"), ("slow", "test_failed", "task:3")]
    assert store.get_valid_by_tags(["error"])[0].subject == "slow"


def test_a_command_that_failed_and_passed_in_one_result_has_failed(extractor):
    tests = [RanTest("unit", False), RanTest("unit", True)]
    found = extractor.extract_from_implementer(implemented(tests=tests), "1")
    assert ("unit", "test_failed", "task:1") in triples(found)
    assert EndedFacts("test_failed", "unit") not in found.ended


FIELDS = (
    "status",
    "summary",
    "files_changed",
    "files_modified",
    "tests",
    "follow_up_actions",
    "conventions",
    "blockers",
)
WRONG = (7, "text", {"a": 1}, object(), 1.5, True)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, wrong) for name in FIELDS for wrong in WRONG if not (name in ("status", "summary") and wrong == "text")],
)
def test_a_malformed_field_costs_only_itself(extractor, name: str, wrong: Any, caplog: pytest.LogCaptureFixture):
    """R4-17"""
    fields = {"status": "completed", "summary": "s", "files_changed": ["a"], "follow_up_actions": ["b"], name: wrong}
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        found = extractor.extract_from_implementer(fields, "1")
    good = extractor.extract_from_implementer({k: v for k, v in fields.items() if k != name}, "1")
    assert list(found) == list(good)
    assert name in caplog.text


def test_a_malformed_element_costs_only_itself(extractor, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        found = extractor.extract_from_reviewer(
            {
                "issues": [{"file": "a.py"}, None, {"message": "m", "file": 7, "severity": []}],
                "required_fixes": ["", "f"],
            },
            "1",
        )
    assert triples(found) == [("task:1", "issue", "m"), ("task:1", "must_fix", "f")]
    assert "issues[0]" in caplog.text
    assert "issues[1]" in caplog.text
    assert "required_fixes[0]" in caplog.text


def test_a_rule_that_fails_does_not_stop_the_others(caplog: pytest.LogCaptureFixture):
    """R4-14: adding a rule is appending, and each is guarded."""

    def fails(source: Any) -> Extraction:
        raise KeyError("no such field")

    def strengths(source: Any) -> Extraction:
        return Extraction(
            tuple(source.fact(source.task, "praised_for", one, "decision") for one in source.field("strengths"))
        )

    extractor = RuleBasedFactExtractor(rules={"reviewer": (fails, *RULES["reviewer"], strengths)})
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        found = extractor.extract_from_reviewer(reviewed(strengths=["short"]), "1")
    assert triples(found) == [("task:1", "reviewed_as", "needs_changes"), ("task:1", "praised_for", "short")]
    assert "KeyError" in caplog.text
    assert "summary" in [one.relation for one in extractor.extract_from_implementer(implemented(), "1")]


def test_the_task_of_the_run_counts(extractor, caplog: pytest.LogCaptureFixture):
    """A4-20"""
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        found = extractor.extract_from_implementer(implemented("9"), "1")
    assert {one.source_task_id for one in found} == {"1"}
    assert "of task '9'" in caplog.text


def test_a_flood_is_cut(extractor, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        found = extractor.extract_from_implementer(
            implemented(follow_up_actions=[f"do {n}" for n in range(5_000)], blockers=[None] * 5_000), "1"
        )
    assert len([one for one in found if one.relation == "requires"]) == MOST_ELEMENTS
    assert len(caplog.records) < 20


def test_a_result_may_be_any_object(extractor):
    found = extractor.extract_from_implementer(SimpleNamespace(status="failed", summary=" "), "1")
    assert triples(found) == [("task:1", "completed_with", "failed")]
    assert extractor.extract_from_implementer(None, "1") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = [
    "task_id",
    "status",
    "summary",
    "files_changed",
    "tests",
    "follow_up_actions",
    "assessment",
    "issues",
    "required_fixes",
]


@given(st.dictionaries(st.sampled_from(NAMES), JSON), st.text())
def test_nothing_that_an_agent_writes_raises(result: dict[str, Any], task_id: str):
    extractor, store = RuleBasedFactExtractor(), InMemorySessionFactStore()
    for found in (
        extractor.extract_from_implementer(result, task_id),
        extractor.extract_from_reviewer(result, task_id),
    ):
        store.add(found)
        assert {one.triple for one in found} <= {one.triple for one in store.get_valid()} | {
            one.triple for one in found
        }


@given(st.text(max_size=300), st.integers(0, 130))
def test_a_clipped_text_is_never_longer(text: str, most: int):
    """R4-18, A4-8"""
    clipped = clip_text(text, most)
    assert len(clipped) <= most
    assert clipped == text or (len(text) > most and clipped.endswith("..."[:most]))
