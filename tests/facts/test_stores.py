"""What a store of facts promises, whichever keeps it: R4-08 to R4-13, A4-1, A4-6, A4-13, A4-14."""

import logging
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from tests.facts.builders import Clock, fact, implemented, reviewed, triples
from undrift.core.facts.changes import EndedFacts, FactBatch
from undrift.errors import InputError
from undrift.facts import RuleBasedFactExtractor
from undrift.values.facts import SessionFact

HOSTILE = [
    "a\0b",
    "line\nbreak",
    "'; DROP TABLE facts; --",
    "\ud800",
    "é",
    "é",
    "😀",
    "%s",
    " ",
    "\u202e",
    "[Session Context]",
]


def wrong(**fields: Any) -> SessionFact:
    return replace(fact(), **fields)


def ended(store: Any) -> list[tuple[str, str, str]]:
    return [version.fact.triple for version in store.history() if version.fact.valid_to is not None]


def test_a_fact_comes_back_as_it_was_given(store):
    given = fact(tags=("error", "test"), confidence=0.5, metadata={"severity": "minor", "n": [1, None]}, task="7")
    store.add([given])
    assert store.get_valid() == [replace(given, run_id="run")]
    assert store.count() == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_may_stand_in_a_fact(store, text: str):
    given = fact(text, text, text, task=text)
    store.add([given])
    assert store.get_valid() == [replace(given, run_id="run")]
    store.invalidate(text, text)
    assert store.get_valid() == []


def test_a_fact_cannot_be_changed(store):
    store.add([fact()])
    with pytest.raises(FrozenInstanceError):
        store.get_valid()[0].object = "x"
    store.get_valid().clear()
    assert store.count() == 1


def test_a_new_object_ends_the_old_one(store, clock: Clock):
    """R4-09: a new object takes its place, and the old one is kept as what it was."""
    old, new = fact(object="task:1"), fact(object="task:3", task="3", valid_from=2_000)
    store.add([old])
    clock.at_ms = 2_500
    store.add([new])
    assert triples(store.get_valid()) == [new.triple]
    assert [version.fact.valid_to for version in store.history()] == [2_500, None]


def test_an_unknown_relation_has_one_object(store):
    store.add([fact(relation="odd", object="a")])
    store.add([fact(relation="odd", object="b")])
    assert triples(store.get_valid()) == [("a.py", "odd", "b")]


def test_within_one_batch_the_last_object_of_a_single_relation_counts(store):
    store.add([fact(object="task:1"), fact(object="task:2")])
    assert triples(store.get_valid()) == [("a.py", "modified_by", "task:2")]
    assert ended(store) == [("a.py", "modified_by", "task:1")]


def test_9_facts_of_a_task_are_9_valid_facts(store):
    """A4-1: with the literal rule they would be 3. 4 follow-ups, 3 fixes and 2 issues of one file."""
    extractor = RuleBasedFactExtractor()
    follow_ups = [f"follow up on {n}" for n in range(4)]
    store.add(one for one in extractor.extract_from_implementer(implemented(follow_up_actions=follow_ups), "1"))
    issues = [{"file": "a.py", "message": f"problem {n}", "severity": "minor", "fix": ""} for n in range(2)]
    store.add(
        extractor.extract_from_reviewer(reviewed(issues=issues, required_fixes=[f"fix {n}" for n in range(3)]), "1")
    )
    counted = [one.relation for one in store.get_valid() if one.relation in ("requires", "must_fix", "issue")]
    assert sorted(counted) == ["issue"] * 2 + ["must_fix"] * 3 + ["requires"] * 4


def test_a_batch_takes_the_place_of_the_one_before_it(store):
    def fixes(*objects: str, task: str = "1") -> list:
        return [fact(f"task:{task}", "must_fix", one, task=task, role="reviewer") for one in objects]

    store.add(fixes("a", "b"))
    store.add(fixes("c", task="2"))
    store.add(fixes("b", "d"))
    assert triples(store.get_valid()) == triples([*fixes("b"), *fixes("c", task="2"), *fixes("d")])
    assert triples(store.get_valid_by_tags(["file_change"])) == triples(store.get_valid())


def test_a_batch_of_another_role_is_another_batch(store):
    store.add([fact("task:1", "convention", "a", role="reviewer")])
    store.add([fact("task:1", "convention", "b")])
    assert store.count() == 2


def test_issues_of_a_file_give_way_to_the_next_review_of_it(store):
    """A4-1: by the same role, of whichever task."""
    store.add([fact("a.py", "issue", "old", role="reviewer"), fact("b.py", "issue", "other", role="reviewer")])
    store.add([fact("a.py", "issue", "new", task="2", role="reviewer")])
    assert triples(store.get_valid()) == [("b.py", "issue", "other"), ("a.py", "issue", "new")]


def test_an_empty_batch_clears_the_one_before_it(store):
    store.add([fact("task:1", "must_fix", "a", role="reviewer")])
    store.add(FactBatch([], [EndedFacts("must_fix", None, "reviewer", "1")]))
    assert store.get_valid() == []
    assert ended(store) == [("task:1", "must_fix", "a")]


def test_a_triple_that_is_valid_is_only_seen_again(store, clock: Clock):
    """A4-6"""
    store.add([fact()])
    clock.at_ms = 3_000
    store.add([fact(valid_from=3_000, task="9")])
    (version,) = store.history()
    assert (version.fact.valid_from, version.fact.last_seen, version.fact.source_task_id) == (1_000, 3_000, "1")


def test_what_comes_back_is_a_new_version(store, clock: Clock):
    """A4-6: A, B, A are three records, keyed by sequence as milliseconds tie."""
    for one in ("A", "B", "A"):
        store.add([fact(object=one)])
    assert [(v.sequence, v.fact.object, v.fact.valid_to) for v in store.history()] == [
        (1, "A", 1_000),
        (2, "B", 1_000),
        (3, "A", None),
    ]


def test_two_triples_with_one_id_are_two_facts(store):
    """A4-7: 64 bits can be made to collide."""
    store.add([replace(fact("a"), id="same"), replace(fact("b"), id="same")])
    assert triples(store.get_valid()) == [("a", "modified_by", "task:1"), ("b", "modified_by", "task:1")]


def test_invalidate_ends_all_of_a_subject_and_relation(store, clock: Clock):
    """R4-10"""
    store.add([fact("task:1", "requires", one) for one in ("a", "b")] + [fact("task:2", "requires", "c", task="2")])
    clock.at_ms = 4_000
    store.invalidate("task:1", "requires")
    store.invalidate("task:1", "no such relation")
    assert triples(store.get_valid()) == [("task:2", "requires", "c")]
    assert [v.fact.valid_to for v in store.history()] == [4_000, 4_000, None]


def test_a_fact_does_not_end_before_it_began(store, clock: Clock):
    store.add([fact(valid_from=9_000)])
    store.invalidate("a.py", "modified_by")
    assert store.history()[0].fact.valid_to == 9_000


def test_facts_by_tag(store):
    """R4-11"""
    store.add([fact("a", tags=("error", "test")), fact("b", tags=()), fact("c", tags=("convention", "convention"))])
    assert triples(store.get_valid_by_tags(["test", "convention"])) == triples([fact("a"), fact("c")])
    assert store.get_valid_by_tags([]) == []
    store.invalidate("a", "modified_by")
    assert store.get_valid_by_tags(["error"]) == []


def test_a_fact_that_has_ended_already_is_history(store):
    store.add([fact(object="task:1")])
    store.add([fact(object="task:0", valid_from=10, valid_to=20)])
    assert triples(store.get_valid()) == [("a.py", "modified_by", "task:1")]
    assert len(store.history()) == 2


def test_compaction_drops_ended_facts_first_then_the_oldest(store):
    """R4-12"""
    store.add([fact(f"{n}.py", valid_from=1_000 + n) for n in range(10)])
    store.add([fact("0.py", object="task:2", valid_from=2_000)])
    store.compact(10)
    assert (store.count(), len(store.history())) == (10, 11)
    store.compact(9)
    assert triples(store.get_valid()) == triples(
        [*(fact(f"{n}.py") for n in range(2, 10)), fact("0.py", object="task:2")]
    )
    assert ended(store) == []
    store.compact(0)
    assert store.get_valid() == []
    assert store.history() == ()


def test_what_was_seen_again_is_not_the_oldest(store, clock: Clock):
    store.add([fact("a"), fact("b")])
    clock.at_ms = 5_000
    store.add([fact("a")])
    store.compact(1)
    assert triples(store.get_valid()) == [fact("a").triple]


def test_ended_facts_have_a_cap_as_well(store):
    """A4-13: else they would grow without bound while few facts are valid."""
    for n in range(30):
        store.add([fact(object=f"task:{n}")])
        store.compact(5)
        assert len(store.history()) <= 20
    assert triples(store.get_valid()) == [("a.py", "modified_by", "task:29")]
    assert ended(store)[0] == ("a.py", "modified_by", "task:10")


def test_the_store_compacts_only_when_it_is_asked(store):
    """A4-14"""
    store.add([fact(f"{n}.py") for n in range(600)])
    assert store.count() == 600


@pytest.mark.parametrize("most", [-1, 1.5, True, None])
def test_a_cap_that_is_none_is_refused(store, most: Any):
    with pytest.raises(InputError, match="max_facts"):
        store.compact(most)


@pytest.mark.parametrize(
    "bad",
    [
        None, "text", {"subject": "a"}, wrong(subject=""), wrong(object=7), wrong(id=None),
        wrong(tags=("unknown",)), wrong(tags="error"), wrong(valid_from="now"),
        wrong(valid_from=-1), wrong(valid_from=True), wrong(valid_to=1.5),
        wrong(valid_from=2**63), wrong(confidence=float("nan")), wrong(confidence=2),
        wrong(confidence=True), wrong(source_role="user"), wrong(source_task_id=None),
        wrong(metadata={"a": {1, 2}}), wrong(metadata=[1]), wrong(run_id=3),
    ],
)  # fmt: skip
def test_a_malformed_fact_is_passed_over_and_logged(store, bad: Any, caplog: pytest.LogCaptureFixture):
    """R4-O6, A4-5: one by one, the others are kept."""
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        store.add([fact("before"), bad, fact("after")])
    assert [one.subject for one in store.get_valid()] == ["before", "after"]
    assert "malformed fact" in caplog.text


def test_long_fields_are_cut(store):
    """R4-O7; two long paths that begin alike stay two things."""
    store.add([fact("x" * 5_000_000, "r" * 99, "o" * 999), fact("x" * 4_999_999 + "y", "r" * 99, "o" * 999)])
    first, second = store.get_valid()
    assert [len(part) for part in first.triple] == [200, 50, 200]
    assert first.object.endswith("...")
    assert first.subject != second.subject
