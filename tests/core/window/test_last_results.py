"""Which tool results are the newest: by time, then by insertion, then by place."""

from itertools import permutations
from typing import get_args

import pytest

from undrift.core.window.last_results import TerminalObservationWindow
from undrift.errors import WindowError
from undrift.values.window import ContextEntry, EntryType

get_last = TerminalObservationWindow.get_last


def result(id_: str, at: int = 0, *, seq: int = 0, tool: str = "bash") -> ContextEntry:
    return ContextEntry(id_, "tool_result", f"output of {id_}", 10, at, {"tool_name": tool}, seq=seq)


def ids(entries) -> str:
    return " ".join(e.id for e in entries)


def test_only_tool_results_count():
    """R0-02"""
    others = [ContextEntry(type_, type_, "", 1, 99) for type_ in get_args(EntryType) if type_ != "tool_result"]
    assert ids(get_last([*others, result("a", 1), *others], 5)) == "a"


def test_every_tool_is_a_terminal():
    """A0-7: a file read or a search counts like a command's output."""
    assert ids(get_last([result("a", 1, tool="read"), result("b", 2, tool="grep"), result("c", 3)], 5)) == "c b a"


def test_the_order_of_the_list_does_not_matter_where_times_differ():
    """R0-02"""
    for shuffled in permutations([result("a", 1), result("b", 2), result("c", 3), result("d", 4)]):
        assert ids(get_last(shuffled, 3)) == "d c b"


def test_of_ten_results_in_one_millisecond_the_last_inserted_are_kept():
    """A0-2: a stable sort on the timestamp alone would keep the first five."""
    parallel = [result(f"r{i}", 7) for i in range(10)]
    assert ids(get_last(parallel, 5)) == "r9 r8 r7 r6 r5"


def test_in_one_millisecond_the_insertion_number_comes_before_the_place_in_the_list():
    """A0-2"""
    assert ids(get_last([result("b", 7, seq=2), result("c", 7, seq=3), result("a", 7, seq=1)], 2)) == "c b"


def test_a_later_timestamp_comes_before_a_later_insertion():
    """A0-2"""
    assert ids(get_last([result("late", 9, seq=1), result("early", 8, seq=2)], 1)) == "late"


@pytest.mark.parametrize(("n", "expected"), [(0, ""), (1, "c"), (3, "c b a"), (4, "c b a"), (10**9, "c b a")])
def test_n_is_the_most_that_is_given_back(n, expected):
    """R0-02"""
    assert ids(get_last([result("a", 1), result("b", 2), result("c", 3)], n)) == expected


@pytest.mark.parametrize("n", [-1, True, 1.0, float("nan"), "5", None])
def test_an_n_that_is_no_count_is_refused(n):
    """A2-6"""
    with pytest.raises(WindowError, match="integer of at least 0"):
        get_last([result("a")], n)


def test_the_list_is_left_as_it_was_and_the_entries_are_the_very_objects():
    """R0-03, R0-10"""
    given = [result("b", 2), result("a", 1), result("c", 3)]
    before = list(given)
    last = get_last(given, 2)
    assert last[0] is given[2]
    assert last[1] is given[0]
    assert all(now is then for now, then in zip(given, before, strict=True))
    assert get_last(given, 2) == last


def test_any_iterable_will_do():
    """R0-02"""
    assert ids(get_last((result(f"r{i}", i) for i in range(3)), 2)) == "r2 r1"
