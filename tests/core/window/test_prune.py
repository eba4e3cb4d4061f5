"""The plain rule: what stays, what leaves, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.window.incremental import IncrementalWindow
from undrift.core.window.prune import PruneResult, Unit, leaving, prune, target_tokens, unit_key
from undrift.errors import WindowError
from undrift.values.window import ENTRY_TYPES, PINNED_TYPES, ContextEntry


def entry(id_: str, type_: Any = "reasoning", tokens: int = 10, at: int = 0, **fields: Any) -> ContextEntry:
    metadata: dict[str, Any] | None = {name: fields.pop(name) for name in ("pair_id", "slot") if name in fields} or None
    return ContextEntry(id_, type_, f"content of {id_}", tokens, at, metadata, **fields)


def turns(*tokens: int) -> list[ContextEntry]:
    """Reasoning of these sizes, oldest first, named a, b, c ..."""
    return [entry(chr(ord("a") + i), tokens=size, at=i) for i, size in enumerate(tokens)]


def cut(entries, budget: int, keep: int = 0) -> PruneResult:
    return prune(entries, budget, keep_tool_results=keep)


def ids(entries) -> str:
    return " ".join(e.id for e in entries)


# ------------------------------------------------------------------------------------------------- which end, which order


def test_below_the_budget_everything_stays_ascending():
    """A2-10, R2-10"""
    result = cut([entry("c", at=3), entry("tas", "tas", at=2), entry("a", at=1)], 1_000)
    assert ids(result.kept) == "a tas c"
    assert result.removed == ()


def test_a_total_of_exactly_the_budget_is_allowed():
    """A2-7"""
    assert ids(cut(turns(10, 10, 10), 30).kept) == "a b c"
    assert ids(cut(turns(10, 10, 10), 29).kept) == "b c"


def test_an_empty_window_is_no_error():
    """R2-04"""
    assert cut([], 0) == PruneResult((), (), (), (), 0, 0, 0)


def test_what_is_left_is_in_order_of_time_with_the_pins_among_it():
    """R2-10"""
    window = [entry("new", at=5), entry("spec", "spec", at=4), entry("mid", at=3), entry("tas", "tas", at=0)]
    assert ids(cut([*window, entry("old", at=2)], 40).kept) == "tas mid spec new"


def test_what_left_is_in_order_of_time_as_well():
    """R2-10: it is flushed in that order."""
    assert ids(cut([entry("c", at=3), entry("a", at=1), entry("d", at=4), entry("b", at=2)], 10).removed) == "a b c"


def test_entries_of_one_millisecond_leave_in_the_order_of_insertion():
    """A0-2"""
    assert ids(cut([entry(name, at=7) for name in "abcd"], 20).kept) == "c d"


def test_the_insertion_number_decides_before_the_place_in_the_list():
    """A0-2"""
    assert ids(cut([entry("late", at=7, seq=2), entry("early", at=7, seq=1)], 10).kept) == "late"


def test_age_is_the_timestamp_before_it_is_the_insertion():
    """R2-09, A0-2"""
    assert ids(cut([entry("new", at=9, seq=1), entry("old", at=1, seq=2)], 10).kept) == "new"


# ------------------------------------------------------------------------------------------------------ stop at the misfit


def test_at_the_first_that_does_not_fit_everything_older_leaves():
    """A2-1, A2-2: `a` would still fit, but the window would have a hole where `b` was."""
    result = cut(turns(5, 30, 20), 40)
    assert ids(result.kept) == "c"
    assert result.oversize_ids == ()


def test_what_could_not_fit_even_alone_is_passed_over():
    """A2-1: else one huge newest entry would empty the window."""
    result = cut(turns(10, 10, 41, 10), 40)
    assert ids(result.kept) == "a b d"
    assert result.oversize_ids == ("c",)


def test_alone_means_beside_the_pins():
    """A2-1: larger than the budget less what is pinned."""
    pin = entry("tas", "tas", 60, at=9)
    assert cut([*turns(10, 40), pin], 100).oversize_ids == ()
    result = cut([*turns(10, 41), pin], 100)
    assert result.oversize_ids == ("b",)
    assert ids(result.kept) == "a tas"


def test_every_oversize_entry_is_named_also_behind_the_misfit():
    """A2-1"""
    result = cut(turns(50, 30, 50, 20), 40)
    assert ids(result.kept) == "d"
    assert set(result.oversize_ids) == {"a", "c"}


def test_with_the_pins_above_the_budget_nothing_is_called_oversize():
    """R2-08: then it is not its size that drives an entry out."""
    result = cut([*turns(10, 500), entry("tas", "tas", 60, at=9)], 59)
    assert ids(result.kept) == "tas"
    assert result.oversize_ids == ()


def test_an_entry_without_tokens_does_not_stop_the_fitting():
    """A2-7"""
    assert ids(cut(turns(10, 0, 10), 20).kept) == "a b c"


def test_the_units_that_leave_are_given_newest_first_whatever_their_order():
    """R2-09"""
    units = [Unit((i, 0, 0), 10, (f"u{i}",)) for i in (2, 0, 3, 1)]
    gone, oversize = leaving(units, 15)
    assert [unit.ids for unit in gone] == [("u2",), ("u1",), ("u0",)]
    assert oversize == []


# -------------------------------------------------------------------------------------------------------- pins and anchors


@pytest.mark.parametrize("type_", sorted(ENTRY_TYPES))
def test_a_type_is_pinned_or_prunable_and_never_between(type_):
    """R2-05, R2-12, A2-8"""
    result = cut([entry("x", type_)], 0)
    assert ids(result.kept if type_ in PINNED_TYPES else result.removed) == "x"
    assert result.over_budget is (type_ in PINNED_TYPES)


def test_pins_of_exactly_the_budget_are_not_over_it():
    """A2-7, R2-08"""
    pin = entry("tas", "tas", 50)
    assert not cut([pin, entry("a", at=1)], 50).over_budget
    assert cut([pin, entry("a", at=1)], 49).over_budget


def test_the_figures_of_a_result_add_up():
    """R2-07, R0-04"""
    window = [
        entry("tas", "tas", 50),
        entry("call", tokens=7, at=1, pair_id="p"),
        entry("result", "tool_result", 30, at=2, pair_id="p"),
        *(entry(f"t{i}", tokens=20, at=3 + i) for i in range(4)),
    ]
    result = cut(window, 130, keep=1)
    assert result.anchored_ids == ("result",)
    assert result.pinned_tokens == 50 + 7 + 30
    assert result.total_tokens == 127
    assert result.token_budget == 130


def test_anchors_are_named_newest_first_and_are_tool_results_only():
    """R0-02, R0-05"""
    window = [entry(f"r{i}", "tool_result", at=i) for i in range(4)] + [entry("thought", at=9)]
    assert cut(window, 1_000, keep=3).anchored_ids == ("r3", "r2", "r1")


def test_one_huge_observation_stays_as_it_is_and_the_overshoot_shows():
    """A0-6, R0-10"""
    huge = entry("huge", "tool_result", 900_000, at=1)
    result = cut([entry("a"), huge], 800_000, keep=5)
    assert result.kept == (huge,)
    assert result.kept[0] is huge
    assert result.over_budget
    assert result.pinned_tokens - result.token_budget == 100_000


# ------------------------------------------------------------------------------------------------------ calls and results


def test_a_call_and_its_result_leave_together():
    """A2-4: the pair is as old as its newer half."""
    window = [
        entry("call", at=0, pair_id="p"),
        entry("a", at=1),
        entry("result", "tool_result", at=2, pair_id="p"),
        entry("b", at=3),
    ]
    assert ids(cut(window, 30).kept) == "call result b"
    assert ids(cut(window, 29).kept) == "b"


def test_an_anchored_result_keeps_its_call_however_old():
    """A2-4"""
    window = [
        entry("call", at=0, pair_id="p"),
        *(entry(f"t{i}", at=1 + i) for i in range(9)),
        entry("result", "tool_result", at=20, pair_id="p"),
    ]
    assert ids(cut(window, 0, keep=1).kept) == "call result"


def test_the_call_does_not_take_a_place_among_the_last_results():
    """A2-4, R0-02"""
    window = []
    for i in range(3):
        window.append(entry(f"call{i}", at=2 * i, pair_id=f"p{i}"))
        window.append(entry(f"result{i}", "tool_result", at=2 * i + 1, pair_id=f"p{i}"))
    assert ids(cut(window, 0, keep=2).kept) == "call1 result1 call2 result2"


def test_parallel_calls_leave_each_with_its_own_result():
    """A2-4, A3-17: three results in one message are three pairs."""
    calls = [entry(f"call{i}", at=1, pair_id=f"p{i}") for i in range(3)]
    results = [entry(f"result{i}", "tool_result", at=2, pair_id=f"p{i}") for i in range(3)]
    assert ids(cut([*calls, *results], 20, keep=1).kept) == "call2 result2"
    assert ids(cut([*calls, *results], 40, keep=1).kept) == "call1 call2 result1 result2"


def test_a_pair_that_could_not_fit_alone_is_named_whole():
    """A2-1, A2-4"""
    window = [entry("call", tokens=5, pair_id="p"), entry("result", "tool_result", 36, at=1, pair_id="p")]
    assert cut([*window, entry("a", at=2)], 40).oversize_ids == ("call", "result")


def test_a_pair_id_equal_to_another_entry_s_id_ties_nothing():
    """A2-4"""
    assert unit_key(entry("x")) != unit_key(entry("y", pair_id="x"))
    assert ids(cut([entry("x"), entry("y", at=1, pair_id="x")], 10).kept) == "y"


@pytest.mark.parametrize("pair_id", ["", None, 7, ["p"]])
def test_what_is_no_pair_id_pairs_nothing(pair_id):
    """A2-4"""
    assert ids(cut([entry("a", pair_id=pair_id), entry("b", at=1, pair_id=pair_id)], 10).kept) == "b"


# ----------------------------------------------------------------------------------------------------- slots of the pinned


def test_of_one_slot_only_the_newest_version_is_pinned():
    """A2-9: by time, not by place in the list."""
    window = [entry("v2", "spec", at=2, slot="api.md"), entry("v1", "spec", at=1, slot="api.md"), entry("a", at=3)]
    result = cut(window, 20)
    assert ids(result.kept) == "v2 a"
    assert ids(result.removed) == "v1"
    assert result.pinned_tokens == 10


def test_an_older_version_may_stay_where_there_is_room():
    """A2-9, A2-10: it is an ordinary entry from then on."""
    window = [entry("v1", "spec", at=1, slot="api.md"), entry("v2", "spec", at=2, slot="api.md")]
    assert ids(cut(window, 20).kept) == "v1 v2"


def test_two_versions_of_one_millisecond_are_told_apart_by_insertion():
    """A2-9, A0-2"""
    assert ids(cut([entry("v1", "tas", slot="s"), entry("v2", "tas", slot="s")], 10).kept) == "v2"


def test_a_slot_belongs_to_its_type_and_other_slots_are_other_documents():
    """A2-9"""
    window = [
        entry("a", "spec", slot="s"),
        entry("b", "tas", slot="s"),
        entry("c", "spec", slot="t"),
        entry("d", "spec"),
    ]
    assert ids(cut(window, 0).kept) == "a b c d"


@pytest.mark.parametrize("slot", ["", None, 7, ["s"]])
def test_what_is_no_slot_supersedes_nothing(slot):
    """A2-9"""
    assert ids(cut([entry("a", "spec", slot=slot), entry("b", "spec", slot=slot)], 0).kept) == "a b"


def test_a_slot_on_something_prunable_pins_nothing():
    """A2-9, R2-05"""
    assert ids(cut([entry("a", "summary", slot="s")], 0).removed) == "a"


# -------------------------------------------------------------------------------------------------------- what is refused


def test_a_duplicate_id_is_refused_by_name():
    """A2-6: pinning by id would pin both."""
    with pytest.raises(WindowError, match="'a' occurs twice"):
        cut([entry("a", "tas"), entry("b"), entry("a")], 100)


@pytest.mark.parametrize("stranger", [None, "text", {"id": "a"}, ("a", "tas", "", 1, 0)])
def test_what_is_no_entry_is_refused_by_its_place(stranger):
    """A2-6"""
    with pytest.raises(WindowError, match="entry 1 must be a ContextEntry"):
        cut([entry("a"), stranger], 100)


@pytest.mark.parametrize("budget", [-1, 1.0, float("nan"), True, "100", None])
def test_a_budget_that_is_no_count_is_refused(budget):
    """A2-6"""
    with pytest.raises(WindowError, match="token budget must be an integer of at least 0"):
        cut([entry("a")], budget)


def test_a_negative_number_of_anchors_is_refused():
    """A2-6"""
    with pytest.raises(WindowError, match="tool results to keep"):
        cut([entry("a")], 100, keep=-1)


# ------------------------------------------------------------------------------------------------- how far down, how often


@pytest.mark.parametrize(
    ("budget", "pinned", "ratio", "expected"),
    [
        (800_000, 0, 0.75, 600_000),
        (1_000, 200, 0.75, 800),
        (1_000, 200, 1.0, 1_000),
        (1_000, 999, 0.75, 999),  # whole tokens, rounded down
        (1_000, 1_000, 0.75, 1_000),
        (1_000, 1_001, 0.75, 1_000),  # never below: pruning would not end under what cannot leave
        (1_000, 5_000, 0.75, 1_000),
    ],
)
def test_the_low_water_mark_shares_out_what_the_pins_leave(budget, pinned, ratio, expected):
    """A2-3"""
    assert target_tokens(budget, pinned, ratio) == expected


@pytest.mark.parametrize(("ratio", "prunes"), [(1.0, 1_000), (0.75, 3)])
def test_pruning_lower_than_the_budget_prunes_three_times_where_else_it_would_a_thousand(ratio, prunes):
    """A2-3: 2,600 entries of 500 tokens under a threshold of 800,000."""
    window, counted = IncrementalWindow(keep_tool_results=5), 0
    for i in range(2_600):
        window.add(entry(f"t{i}", tokens=500, at=i))
        if window.total_tokens > 800_000:
            counted += 1
            assert window.prune(target_tokens(800_000, window.pinned_tokens, ratio)).removed
    assert counted == prunes


# -------------------------------------------------------------------------------------------- what holds for every window


windows = st.lists(
    st.tuples(
        st.sampled_from(sorted(ENTRY_TYPES)),
        st.integers(0, 60),  # tokens
        st.integers(0, 8),  # time: ties are common
        st.sampled_from([None, None, "p1", "p2", "p3"]),
        st.sampled_from([None, None, "s1", "s2"]),
    ),
    max_size=30,
)


def made(rows) -> list[ContextEntry]:
    return [
        entry(f"e{i}", type_, size, at, pair_id=pair, slot=slot) for i, (type_, size, at, pair, slot) in enumerate(rows)
    ]


def slot_of(entry: ContextEntry) -> tuple[str, str] | None:
    return (entry.type, entry.metadata["slot"]) if entry.metadata and entry.metadata["slot"] else None


@given(windows, st.integers(0, 800), st.integers(0, 6))
def test_nothing_is_lost_changed_or_invented_and_the_input_stays_as_it_was(rows, budget, keep):
    """R2-10, R2-15, R0-10"""
    window = made(rows)
    before = list(window)
    result = cut(window, budget, keep)
    assert len(window) == len(before)
    assert all(now is then for now, then in zip(window, before, strict=True))
    assert sorted(map(id, (*result.kept, *result.removed))) == sorted(map(id, window))
    for part in (result.kept, result.removed):
        places = [(e.timestamp, window.index(e)) for e in part]
        assert places == sorted(places)
    assert cut(window, budget, keep) == result


@given(windows, st.integers(0, 800), st.integers(0, 6))
def test_the_budget_holds_unless_what_must_stay_is_over_it_and_then_nothing_else_stays(rows, budget, keep):
    """R2-08, R2-11"""
    result = cut(made(rows), budget, keep)
    assert result.total_tokens == sum(e.token_count for e in result.kept)
    if result.over_budget:
        assert result.total_tokens == result.pinned_tokens > budget
    else:
        assert result.pinned_tokens <= result.total_tokens <= budget


@given(windows, st.integers(0, 800), st.integers(0, 6))
def test_pins_anchors_and_the_halves_of_what_is_kept_are_never_removed(rows, budget, keep):
    """R2-05, R2-12, R0-04, A2-4, A2-9"""
    result = cut(made(rows), budget, keep)
    newer = {slot_of(e) for e in result.kept} - {None}
    assert all(slot_of(gone) in newer for gone in result.removed if gone.type in PINNED_TYPES)
    assert set(result.anchored_ids) <= {e.id for e in result.kept}
    assert len(result.anchored_ids) == min(keep, sum(e.type == "tool_result" for e in made(rows)))
    pairs = {e.pair_id for e in result.kept if e.pair_id}
    assert not pairs & {e.pair_id for e in result.removed if e.pair_id}


@given(st.lists(st.integers(0, 60), max_size=30), st.integers(0, 400))
def test_without_pins_what_fits_at_all_stays_as_one_suffix_and_no_longer_one_would_fit(sizes, budget):
    """R2-09, R2-13, A2-1"""
    window = [entry(f"e{i}", tokens=size, at=i) for i, size in enumerate(sizes)]
    result = cut(window, budget)
    fitting = [e for e in window if e.token_count <= budget]
    assert list(result.kept) == fitting[len(fitting) - len(result.kept) :]
    if len(result.kept) < len(fitting):
        assert result.total_tokens + fitting[-len(result.kept) - 1].token_count > budget
