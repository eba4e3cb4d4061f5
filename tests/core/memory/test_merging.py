"""One ranking of the hits of a project and of those that hold in every project."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from undrift.core.memory.merging import merged, rarity, strength
from undrift.values.memory import MemoryEntry, ScoredMemoryEntry


def hit(id: str, raw: float, decayed: float | None = None, content: str = "words", **more: Any) -> ScoredMemoryEntry:
    why = {"similarity": more.pop("similarity")} if "similarity" in more else {}
    return ScoredMemoryEntry(MemoryEntry(id, content, **more), raw, raw if decayed is None else decayed, why)


def ids(hits: list[ScoredMemoryEntry]) -> str:
    return "".join(one.entry.id for one in hits)


def test_hits_that_fit_better_come_first_and_equal_ones_behind_the_projects():
    project = [hit("a", 0.5), hit("b", 0.3), hit("c", 0.1)]
    assert ids(merged(project, [hit("x", 0.4), hit("y", 0.3), hit("z", 0.05)])) == "axbycz"
    assert ids(merged(project, [hit("x", 0.4)], factor=2.0)) == "xabc"
    assert ids(merged(project, [hit("x", 0.4)], factor=0.1)) == "abcx"
    assert ids(merged([], [hit("x", 0.4), hit("y", 0.3)])) == "xy"
    assert merged(project, []) == project
    assert ids(merged([hit("a", 1.0, 0.5)], [hit("x", 1.0)], factor=2.0)) == "ax"  # no score is above 1


def test_an_old_memory_that_fits_better_is_not_passed():
    assert ids(merged([hit("a", 0.5, 0.05), hit("b", 0.02)], [hit("x", 0.4)])) == "axb"
    superseded = hit("a", 0.5, 0.05, contradicted_by_entry_id="b")
    assert ids(merged([superseded], [hit("x", 0.4)])) == "xa"


def test_scores_of_the_rest_fall_and_those_of_the_project_stay():
    project = [hit("a", 0.5, 0.05), hit("b", 0.02)]
    found = merged(project, [hit("x", 0.4)])
    assert [(one.raw_score, one.decayed_score) for one in found] == [(0.5, 0.05), (0.4, 0.05), (0.02, 0.02)]
    assert [one for one in found if one.entry.id in "ab"] == project


SCORES = st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.05, 1)), max_size=8)


@given(SCORES, SCORES, st.floats(0.1, 5))
@example([(1.0, 1.0)], [(1.0, 1.0)], 2.0)
def test_the_law_holds_for_any_scores(
    mine: list[tuple[float, float]], theirs: list[tuple[float, float]], factor: float
):
    project = sorted(
        (hit(f"p{n}", raw, raw * kept) for n, (raw, kept) in enumerate(mine)), key=lambda x: -x.decayed_score
    )
    user = sorted((hit(f"u{n}", raw) for n, (raw, _) in enumerate(theirs)), key=lambda x: -x.decayed_score)
    found = merged(project, user, factor)
    assert [one for one in found if one.entry.id.startswith("p")] == project
    assert [one.entry.id for one in found if one.entry.id.startswith("u")] == [one.entry.id for one in user]
    for place, one in enumerate(found):
        if one.entry.id.startswith("u"):
            assert all(other.raw_score < one.raw_score for other in found[place:] if other.entry.id.startswith("p"))
    scores = [one.decayed_score for one in found]
    assert scores == sorted(scores, reverse=True)


def test_a_rare_word_says_more():
    weights = rarity(10, {"the": 10, "port": 2, "ornithopter": 0})
    assert 0 < weights["the"] < weights["port"] < weights["ornithopter"]
    assert rarity(0, {"port": 3})["port"] > 0


def test_the_strength_is_the_share_of_the_question():
    words = {"deploy": 1.0, "ports": 3.0}
    assert strength([hit("a", 0.1, content="We deploy it")], words) == 0.25
    assert strength([hit("a", 0.1, content="We deploy it"), hit("b", 0.1, content="The port")], words) == 0.75
    assert strength([hit("a", 0.1, content="port", similarity=0.5)], words) == pytest.approx(0.6 * 0.75 + 0.4 * 0.5)
    assert strength([], words) == strength([hit("a", 0.1)], {}) == 0.0
