"""The function from valid facts, new ones and cardinality to changes; its callers are tried in tests/facts."""

from undrift.core.facts.changes import CARDINALITY, fact_changes
from undrift.values.facts import FactChange, FactVersion, SessionFact, create_fact_id


def version(sequence: int, relation: str, about: str) -> FactVersion:
    return FactVersion(sequence, new(relation, about))


def new(relation: str, about: str) -> SessionFact:
    return SessionFact(create_fact_id("s", relation, about), "s", relation, about, (), 10, source_task_id="1")


def test_the_cardinality_is_what_the_caller_says():
    valid = [version(1, "likes", "a"), version(2, "likes", "b")]
    single = fact_changes(valid, [new("likes", "c")], at_ms=20, next_sequence=3, cardinality={})
    assert [(c.before is not None, c.after.fact.valid_to) for c in single if c.after] == [
        (True, 20),
        (True, 20),
        (False, None),
    ]
    many = fact_changes(
        valid, [new("likes", "b"), new("likes", "c")], at_ms=20, next_sequence=3, cardinality={"likes": "many"}
    )
    assert [(c.after.sequence, c.after.fact.valid_to, c.after.fact.last_seen) for c in many if c.after] == [
        (1, 20, None),
        (2, None, 20),
        (3, None, None),
    ]


def test_nothing_new_changes_nothing():
    assert fact_changes([version(1, "summary", "a")], [], at_ms=20, next_sequence=2) == []
    assert fact_changes([version(1, "summary", "a")], [new("summary", "a")], at_ms=10, next_sequence=2) == []


def test_a_change_names_what_was_and_what_is():
    before = version(1, "summary", "a")
    first, second = fact_changes([before], [new("summary", "b")], at_ms=20, next_sequence=7)
    assert first.before == before
    assert first.after is not None
    assert first.after.fact.valid_to == 20
    assert second == FactChange(None, FactVersion(7, new("summary", "b")))


def test_every_relation_of_ours_says_how_many_objects_it_has():
    assert set(CARDINALITY.values()) == {"single", "many"}
    assert CARDINALITY["modified_by"] == "single"
    assert CARDINALITY["must_fix"] == "many"
