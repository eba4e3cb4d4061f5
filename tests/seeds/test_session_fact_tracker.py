"""The seven integration tests that the seed of session facts names, through the front door, without mocks (R4-31)."""

import pytest

from undrift import (
    FactQuery,
    ImplementerResult,
    InMemorySessionFactStore,
    KeywordFactRetriever,
    ReviewerResult,
    RuleBasedFactExtractor,
    SessionFact,
    create_fact_id,
    format_session_facts,
)


@pytest.fixture
def store() -> InMemorySessionFactStore:
    return InMemorySessionFactStore()


@pytest.fixture
def extractor() -> RuleBasedFactExtractor:
    return RuleBasedFactExtractor()


@pytest.fixture
def retriever(store: InMemorySessionFactStore) -> KeywordFactRetriever:
    return KeywordFactRetriever(store)


def asked(description: str, task_id: str, **fields: int) -> FactQuery:
    return FactQuery(description, task_id, None, **{"max_facts": 10, "max_tokens": 500, **fields})


def made(number: int, task: int) -> SessionFact:
    triple = (f"src/module_{number}.py", "modified_by", f"task:{task}")
    return SessionFact(create_fact_id(*triple), *triple, ("file_change",), 1_000 + number, source_task_id=str(task))


def test_first_task_in_session_produces_no_session_context(retriever):
    assert format_session_facts(retriever.retrieve(asked("Set up the login form", "1"))) == ""


def test_facts_from_task_1_appear_in_task_2_prompt(store, extractor, retriever):
    result = ImplementerResult(
        task_id="1",
        status="completed",
        summary="Added the login form with token refresh",
        files_modified=("src/auth/login.ts", "src/auth/token.ts"),
        tests=(),
        follow_up_actions=(),
    )
    store.add(extractor.extract_from_implementer(result, "1"))
    facts = retriever.retrieve(asked("Extend src/auth/login.ts with a remember-me box", "2"))
    assert facts[0].triple == ("src/auth/login.ts", "modified_by", "task:1")
    lines = format_session_facts(facts).split("\n")
    assert lines[0] == "[Session Context]"
    assert "- src/auth/login.ts modified_by task:1 [task:1]" in lines
    assert "- task:1 summary Added the login form with token refresh [task:1]" in lines


def test_reviewer_conventions_persist_across_tasks(store, extractor, retriever):
    review = ReviewerResult(
        task_id="2",
        assessment="needs_changes",
        issues=(),
        required_fixes=("Use readonly arrays in all public types",),
    )
    store.add(extractor.extract_from_reviewer(review, "2"))
    store.add(extractor.extract_from_implementer(ImplementerResult("3", "completed", "Added the cache"), "3"))
    facts = retriever.retrieve(asked("Add the public types of the exporter", "4"))
    assert ("task:2", "must_fix", "Use readonly arrays in all public types") in [one.triple for one in facts]
    assert facts[0].tags == ("convention",)


def test_temporal_invalidation_excludes_old_facts(store, extractor, retriever):
    for task in ("1", "3"):
        result = ImplementerResult(task, "completed", f"Step {task}", files_modified=("src/x.ts",))
        store.add(extractor.extract_from_implementer(result, task))
    about = [one.object for one in retriever.retrieve(asked("Change src/x.ts", "4")) if one.subject == "src/x.ts"]
    assert about == ["task:3"]


def test_self_exclusion_works(store, extractor, retriever):
    result = ImplementerResult("5", "completed", "Renamed the parser", files_modified=("src/parser.ts",))
    store.add(extractor.extract_from_implementer(result, "5"))
    assert store.count() == 3
    assert retriever.retrieve(asked("Rename the parser in src/parser.ts", "5")) == []


def test_compaction_preserves_recent_facts(store):
    store.add([made(number, 1 + number // 30) for number in range(600)])
    store.compact(500)
    assert store.count() == 500
    assert [one.subject for one in store.get_valid()] == [f"src/module_{number}.py" for number in range(100, 600)]
    assert {one.source_task_id for one in store.get_valid()} == {str(task) for task in range(4, 21)}


def test_token_budget_truncation(store, retriever):
    store.add([made(number, 1) for number in range(50)])
    facts = retriever.retrieve(asked("Change src/module_7.py", "2", max_facts=50, max_tokens=100))
    assert facts
    assert sum(-(-len("".join(one.triple)) // 4) for one in facts) <= 100
