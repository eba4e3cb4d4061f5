"""What an edit must never break: pairs, pins, order; each law with what it lets through and what it names."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.window.check import problems
from undrift.values.window import PINNED_TYPES, ContextEntry


def entry(id_: str, type_: Any = "reasoning", *, pair: str = "", words: str = "") -> ContextEntry:
    return ContextEntry(id_, type_, words or f"words of {id_}", 10, 0, {"pair_id": pair} if pair else None)


def window(names: str) -> list[ContextEntry]:
    """Entries by name; two of one capital letter are a call and its result, one that ends in ! is pinned."""
    return [
        entry(name, "spec" if name.endswith("!") else "reasoning", pair=name[0] if name[0].isupper() else "")
        for name in names.split()
    ]


BEFORE = "a! b C1 C2 d E1 E2 E3 f"


@pytest.mark.parametrize("after", [BEFORE, "a!", "a! C1 C2", "a! b d f", "a! E1 E2 E3", "a! b C1 C2 d f", "a! p! f q!"])
def test_what_keeps_all_laws_has_no_problems(after):
    assert problems(window(BEFORE), window(after)) == ()


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("a! C1", "C: 1 of 2 members are left of a pair"),
        ("a! C2", "C: 1 of 2 members are left of a pair"),
        ("a! b C1 C2 d E1 E3 f", "E: 2 of 3 members are left of a pair"),
        ("", "a!: a pinned entry has left or was changed"),
        ("b", "a!: a pinned entry has left or was changed"),
        ("a! d b", "b: out of its order"),
        ("b a!", "a!: out of its order"),
        ("a! b b", "b: out of its order"),
        ("a! C2 C1", "C1: out of its order"),
        ("a! x", "x: an entry that never came in and is neither pin nor note"),
    ],
)
def test_each_breach_is_named(after, said):
    assert problems(window(BEFORE), window(after)) == (said,)


def test_all_breaches_are_named_at_once():
    found = problems(window(BEFORE), window("E1 b x"))
    assert [text.partition(":")[0] for text in found] == ["E", "a!", "b", "x"]


@pytest.mark.parametrize("type_", sorted(PINNED_TYPES))
def test_what_is_pinned_stays_word_for_word(type_):
    pin = entry("a", type_, words="the rule")
    assert problems([pin], [replace(pin, token_count=3, timestamp=9)]) == ()
    assert problems([pin], [replace(pin, content="the rule.")]) == ("a: a pinned entry has left or was changed",)
    assert problems([], [pin]) == ()


@pytest.mark.parametrize("type_", ["reasoning", "tool_result", "summary"])
def test_what_is_not_pinned_may_be_cut(type_):
    one = entry("a", type_)
    assert problems([one], [replace(one, content="w")]) == ()
    assert problems([one], []) == ()


def test_a_pair_that_came_in_as_one_half_may_stay_one():
    assert problems(window("C1 b"), window("C1")) == ()
    assert problems(window("C1 b"), window("b")) == ()


names = st.lists(st.sampled_from(BEFORE.split()), max_size=9)


@given(names)
def test_a_window_is_right_exactly_when_it_is_a_part_of_the_history_with_whole_pairs_and_all_pins(left):
    whole = BEFORE.split()
    in_order = left == [name for name in whole if name in left]
    pairs = all(not 0 < sum(n.startswith(p) for n in left) < size for p, size in (("C", 2), ("E", 3)))
    assert (problems(window(BEFORE), window(" ".join(left))) == ()) == (in_order and pairs and "a!" in left)
