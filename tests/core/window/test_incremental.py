"""The incremental window decides as the plain pruner does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.window.incremental import IncrementalWindow, Pruned
from undrift.core.window.prune import prune, target_tokens
from undrift.errors import WindowError
from undrift.values.window import ContextEntry

TYPES = ["tas", "requirements", "spec", "reasoning", "tool_result", "summary"]

entries = st.lists(
    st.tuples(
        st.sampled_from(TYPES),
        st.integers(0, 60),  # tokens
        st.integers(0, 8),  # time: ties are common
        st.sampled_from([None, None, "p1", "p2", "p3"]),
    ),
    max_size=30,
)


def made(rows: list[tuple[Any, int, int, str | None]]) -> list[ContextEntry]:
    return [
        ContextEntry(f"e{i}", type_, "", tokens, at, {"pair_id": pair} if pair else None)
        for i, (type_, tokens, at, pair) in enumerate(rows)
    ]


@given(entries, st.integers(0, 400), st.integers(1, 6))
def test_pruning_after_every_added_entry_gives_the_plain_rule_s_window(rows, budget, keep):
    window, plain = IncrementalWindow(keep_tool_results=keep), []
    for entry in made(rows):
        window.add(entry)
        plain.append(entry)
        assert window.total_tokens == sum(e.token_count for e in plain)
        expected = prune(plain, budget, keep_tool_results=keep)
        assert window.pinned_tokens == expected.pinned_tokens
        assert window.anchored_ids == expected.anchored_ids
        pruned = window.prune(budget)
        assert pruned.removed == expected.removed
        assert set(pruned.oversize_ids) == set(expected.oversize_ids)
        assert window.entries == expected.kept
        plain = [e for e in plain if e not in expected.removed]


@given(entries, st.integers(0, 200), st.integers(1, 3))
def test_what_is_restored_stands_where_it_stood(rows, budget, keep):
    window = IncrementalWindow(keep_tool_results=keep, entries=made(rows))
    before = (window.entries, window.total_tokens, window.pinned_tokens, window.anchored_ids)
    first = window.prune(budget)
    window.restore(first)
    assert (window.entries, window.total_tokens, window.pinned_tokens, window.anchored_ids) == before
    assert window.prune(budget).removed == first.removed


def test_a_newer_version_of_a_slot_displaces_the_older_at_once():
    window = IncrementalWindow(keep_tool_results=1)
    window.add(ContextEntry("a", "spec", "v1", 10, 1, {"slot": "api.md"}))
    pruned = window.add(ContextEntry("b", "spec", "v2", 20, 2, {"slot": "api.md"}))
    assert [e.id for e in pruned.removed] == ["a"]
    assert (window.total_tokens, window.pinned_tokens) == (20, 20)


def test_an_older_version_of_a_slot_leaves_as_it_comes():
    window = IncrementalWindow(keep_tool_results=1)
    window.add(ContextEntry("b", "spec", "v2", 20, 2, {"slot": "api.md"}))
    assert [e.id for e in window.add(ContextEntry("a", "spec", "v1", 10, 1, {"slot": "api.md"})).removed] == ["a"]
    assert [e.id for e in window.entries] == ["b"]


with_slots = st.lists(
    st.tuples(
        st.sampled_from(TYPES),
        st.integers(0, 60),  # tokens
        st.integers(0, 8),  # time: ties are common
        st.sampled_from([None, None, "p1", "p2", "p3"]),
        st.sampled_from([None, "s1", "s2"]),
    ),
    max_size=30,
)


def made_with_slots(rows: list[tuple[Any, int, int, str | None, str | None]]) -> list[ContextEntry]:
    return [
        ContextEntry(f"e{i}", type_, "", tokens, at, {"pair_id": pair, "slot": slot})
        for i, (type_, tokens, at, pair, slot) in enumerate(rows)
    ]


@given(with_slots, st.integers(0, 400), st.integers(1, 6), st.sampled_from([0.5, 0.75, 1.0]))
def test_with_documents_that_get_new_versions_and_a_low_water_mark_it_is_still_the_plain_rule(
    rows, budget, keep, ratio
):
    """A2-3, A2-9, R2-22"""
    window = IncrementalWindow(keep_tool_results=keep)
    plain: list[ContextEntry] = []
    for entry in made_with_slots(rows):
        superseded = window.add(entry).removed
        plain = [e for e in [*plain, entry] if e not in superseded]
        assert window.pinned_tokens == prune(plain, budget, keep_tool_results=keep).pinned_tokens
        if window.total_tokens > budget:
            target = target_tokens(budget, window.pinned_tokens, ratio)
            expected = prune(plain, target, keep_tool_results=keep)
            assert window.prune(target).removed == expected.removed
            plain = list(expected.kept)
        assert list(window.entries) == list(prune(plain, 10**9, keep_tool_results=keep).kept)
        assert window.total_tokens == sum(e.token_count for e in plain)
        assert len(window) == len(plain)


@given(with_slots, st.integers(1, 6))
def test_of_one_slot_only_the_newest_version_is_held(rows, keep):
    """A2-9: an older one is there only as half of a pair that something else holds."""
    window = IncrementalWindow(keep_tool_results=keep, entries=made_with_slots(rows))
    window.prune(0)
    pinned = [e for e in window.entries if e.type in ("tas", "requirements", "spec") and not e.pair_id]
    alone = [(e.type, slot) for e in pinned if e.metadata and (slot := e.metadata["slot"])]
    assert len(alone) == len(set(alone))


def test_a_window_that_is_opened_with_entries_is_the_window_they_were_added_to():
    """A2-5: a restart sees the same."""
    rows = [("spec", 10, 1, None, "s1"), ("tool_result", 10, 2, "p1", None), ("reasoning", 10, 3, None, None)]
    grown = IncrementalWindow(keep_tool_results=1)
    for entry in made_with_slots(rows):
        grown.add(entry)
    opened = IncrementalWindow(keep_tool_results=1, entries=grown.entries)
    assert (opened.entries, opened.pinned_tokens, opened.anchored_ids) == (grown.entries, 20, ("e1",))


def test_a_duplicate_id_is_refused_and_changes_nothing():
    """A2-6"""
    window = IncrementalWindow(keep_tool_results=1, entries=[ContextEntry("a", "tool_result", "", 10, 1)])
    with pytest.raises(WindowError, match="'a' is already in the window"):
        window.add(ContextEntry("a", "tas", "", 99, 2))
    assert (window.total_tokens, window.pinned_tokens, len(window), window.anchored_ids) == (10, 10, 1, ("a",))
    assert "a" in window
    assert "b" not in window


def test_an_id_that_left_may_come_again():
    """A2-5: the store decides whether it may; the window forgets what left."""
    window = IncrementalWindow(keep_tool_results=1, entries=[ContextEntry("a", "reasoning", "", 10, 1)])
    assert [e.id for e in window.prune(0).removed] == ["a"]
    window.add(ContextEntry("a", "reasoning", "", 20, 2))
    assert (window.total_tokens, [e.id for e in window.entries]) == (20, ["a"])


def test_nothing_to_remove_is_an_empty_answer():
    """A2-10"""
    window = IncrementalWindow(keep_tool_results=1, entries=[ContextEntry("a", "reasoning", "", 10, 1)])
    assert window.prune(10) == Pruned()
