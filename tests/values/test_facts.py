"""The records of facts, and the id of one: R4-01 to R4-03, A4-7."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.values.facts import FACT_TAGS, FactQuery, ImplementerResult, ReviewerResult, SessionFact, create_fact_id


def test_an_id_is_the_hash_of_a_json_array():
    text = json.dumps(["a", "b", "c"], separators=(",", ":"))
    assert create_fact_id("a", "b", "c") == hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.tuples(st.text(), st.text(), st.text()), st.tuples(st.text(), st.text(), st.text()))
def test_two_triples_have_two_ids(one: tuple[str, str, str], other: tuple[str, str, str]):
    assert (create_fact_id(*one) == create_fact_id(*other)) == (one == other)
    assert len(create_fact_id(*one)) == 16


def test_nothing_moves_from_one_part_to_the_next():
    ids = {
        create_fact_id(*parts)
        for parts in (
            ("ab", "c", ""),
            ("a", "bc", ""),
            ("a", "b", "c"),
            ("", "ab", "c"),
            ("a\x1fb", "c", ""),
            ("a", "b\x1fc", ""),
        )
    }
    assert len(ids) == 6
    create_fact_id("\ud800", "\0", "")


def test_lists_become_what_nobody_can_change():
    tags: list = ["error"]
    fact = SessionFact("i", "s", "r", "o", tags, 1, metadata={"a": 1})  # type: ignore[arg-type]
    tags.append("test")
    assert fact.tags == ("error",)
    assert hash(fact) == hash(SessionFact("i", "s", "r", "o", ("error",), 1))
    assert FactQuery("d", "1", tags=["test"]).tags == ("test",)  # type: ignore[arg-type]
    assert ImplementerResult("1", "completed", "s", files_changed=["a"]).files_changed == ("a",)  # type: ignore[arg-type]
    assert ReviewerResult("1", "approved").issues is None


def test_the_tags_are_those_of_the_seed():
    assert FACT_TAGS == ("file_change", "convention", "decision", "error", "dependency", "test")


@pytest.mark.parametrize(("last_seen", "seen"), [(None, 5), (3, 5), (9, 9)])
def test_when_a_fact_was_said_last(last_seen: int | None, seen: int):
    assert SessionFact("i", "s", "r", "o", (), 5, last_seen=last_seen).seen == seen
