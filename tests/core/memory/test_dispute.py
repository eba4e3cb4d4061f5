"""Hits that exclude each other."""

from typing import Any

from undrift.core.memory.dispute import named, with_disputes
from undrift.values.memory import MemoryEntry, ScoredMemoryEntry


def hit(id: str, trust: Any = "user", against: str = "", **more: Any) -> ScoredMemoryEntry:
    metadata = {"conflicts": [{"with": against}]} if against else {}
    return ScoredMemoryEntry(MemoryEntry(id, "words", trust=trust, metadata=metadata, **more), 0.5, 0.5)


def order(*hits: ScoredMemoryEntry) -> list[tuple[str, list[str]]]:
    return [(one.entry.id, one.why.get("disputes", [])) for one in with_disputes(hits)]


def test_both_are_marked_and_the_trusted_one_comes_first():
    assert order(hit("b", "assistant", "a"), hit("x"), hit("a")) == [("a", ["b"]), ("b", ["a"]), ("x", [])]
    assert order(hit("a"), hit("x"), hit("b", "assistant", "a")) == [("a", ["b"]), ("x", []), ("b", ["a"])]


def test_of_equal_trust_the_later_one_stands_directly_before_the_earlier():
    old, new = hit("a", "spec", seq=1), hit("b", "user", "a", seq=2)
    both = [("b", ["a"]), ("a", ["b"])]
    assert order(old, hit("x"), new) == [*both, ("x", [])]
    assert order(new, hit("x"), old) == [*both, ("x", [])]
    assert order(new, old) == both
    assert [one for one, _ in order(hit("a", pinned=True, seq=1), new)] == ["a", "b"]


def test_no_hit_moves_before_one_that_is_trusted_more():
    old, new = hit("a", "assistant", seq=1), hit("b", "assistant", "a", seq=2)
    assert [one for one, _ in order(old, hit("u"), new)] == ["u", "b", "a"]
    assert [one for one, _ in order(new, hit("u"), old)] == ["b", "u", "a"]
    assert [one for one, _ in order(hit("c", "tool", "d", seq=4), hit("x"), hit("d", "tool", seq=3))] == ["c", "x", "d"]


def test_pairs_that_the_question_shows_are_marked_too():
    hits = [hit("a", seq=1), hit("x"), hit("b", seq=2)]
    found = with_disputes(hits, [("a", "b"), ("a", "gone")])
    assert [(one.entry.id, one.why.get("disputes")) for one in found] == [("b", ["a"]), ("a", ["b"]), ("x", None)]


def test_one_that_is_not_found_or_superseded_is_no_mark():
    assert order(hit("b", "assistant", "a")) == [("b", [])]
    superseded = hit("a", contradicted_by_entry_id="c")
    assert order(hit("b", "assistant", "a"), superseded) == [("b", []), ("a", [])]


def test_several_conflicts_of_one():
    found = order(hit("c", "tool", "a"), hit("b", "assistant", "a"), hit("a"))
    assert found == [("a", ["c", "b"]), ("c", ["a"]), ("b", ["a"])]


def test_without_conflicts_nothing_changes():
    hits = [hit("a"), hit("b")]
    assert with_disputes(hits) == hits


def test_two_ids_are_named_and_the_others_counted():
    texts = [named([]), named(["a"]), named(["a", "b"]), named(["a", "b", "c", "d"])]
    assert texts == ["", "a", "a, b", "a, b and 2 more"]
    assert named(["a", "b"], {"b": "2026-03-01"}) == "a, b of 2026-03-01"
