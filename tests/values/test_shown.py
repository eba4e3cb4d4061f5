"""A value as a line: short, on one line, harmless to a terminal, and never an error."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.values.memory import MemoryEntry, ScoredMemoryEntry
from undrift.values.prepared import Prepared
from undrift.values.shown import many, number, quoted, saved
from undrift.values.window import Action

REF = "0123456789abcdef"
HOSTILE = "\x1b]0;owned\x07\x1b[31m\r\n\u202e\ud800'\"" * 1_000
ANYTHING: Any = st.one_of(st.text(), st.integers(), st.none(), st.binary(), st.lists(st.text()), st.floats())


class Raises:
    """An object whose own repr fails."""

    def __repr__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (
            Action("pruned", "m1.0", "pruned to 45,000 tokens", 1_200, REF),
            f"Action('pruned', 1,200 tokens saved, ref='{REF}', 'pruned to 45,000 tokens')",
        ),
        (
            Action("pinned", "m1:r", "pinned as requirements", -1, REF),
            f"Action('pinned', 1 token added, ref='{REF}', 'pinned as requirements')",
        ),
        (
            Prepared(
                {"secret": "body"},
                83_211,
                59_840,
                60_000,
                (Action("cut", "e", "r", 1, REF),) * 31,
                new=(Action("cut", "e", "r", 1, REF),) * 4,
            ),
            "Prepared(83,211 -> 59,840 of 60,000 tokens, 31 actions, 4 new)",
        ),
        (
            Prepared({}, 1_200, 1_200, 60_000, warnings=("careful",)),
            "Prepared(1,200 of 60,000 tokens, 0 actions, 0 new, 1 warning)",
        ),
        (
            MemoryEntry("m_1", "Use SQLite for local runs", "architectural_decision"),
            "MemoryEntry('Use SQLite for local runs', type='architectural_decision', id='m_1')",
        ),
        (
            MemoryEntry("m_1", "The port is 8080", pinned=True, contradicted_by_entry_id="m_2"),
            "MemoryEntry('The port is 8080', type='note', id='m_1', pinned, superseded)",
        ),
        (
            ScoredMemoryEntry(MemoryEntry("m_1", "The port is 8080"), 0.9, 0.625),
            "ScoredMemoryEntry(0.62, MemoryEntry('The port is 8080', type='note', id='m_1'))",
        ),
    ],
)
def test_a_value_tells_a_person_what_it_is(value: Any, line: str):
    assert repr(value) == line


@pytest.mark.parametrize(
    "value",
    [
        Action("pruned", HOSTILE, HOSTILE, 10**12, HOSTILE),
        Prepared({"x": HOSTILE}, 10**12, 10**12 - 1, 10**12, warnings=(HOSTILE,)),
        MemoryEntry(HOSTILE, HOSTILE, pinned=True, contradicted_by_entry_id="x"),
        ScoredMemoryEntry(MemoryEntry(HOSTILE, HOSTILE), 1.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_hostile_text_stays_short_and_on_its_line(value: Any):
    line = repr(value)
    assert line.isprintable()
    assert len(line) <= 160
    line.encode("utf-8")


@given(ANYTHING, ANYTHING, ANYTHING)
def test_no_value_makes_a_line_fail(one: Any, two: Any, three: Any):
    for value in (Action(one, two, three, two, one), Prepared(one, two, three, two, warnings=(three,))):
        assert repr(value).isprintable()


def test_an_object_that_cannot_be_shown_is_no_error():
    one: Any = Raises()
    assert "Raises instance" in quoted(one)
    assert repr(Action(one, one, one, one, one)).startswith("Action(<Raises instance")


def test_a_line_makes_no_actions():
    def late() -> tuple[Action, ...]:
        raise AssertionError("it was not asked for")

    prepared = Prepared({}, 2, 1, 1).telling(10_000, late, ["e1", "e2"])
    assert repr(prepared) == "Prepared(2 -> 1 of 1 token, 10,000 actions, 2 new)"


@given(st.text(), st.integers(min_value=8, max_value=60))
def test_a_quoted_text_has_at_most_so_many_characters(text: str, most: int):
    line = quoted(text, most)
    assert len(line) <= most
    assert line.isprintable()
    assert line == repr(text) or "…" in line


def test_numbers_have_commas_and_their_nouns():
    assert (number(1_200), many(1, "token"), many(1_200, "token")) == ("1,200", "1 token", "1,200 tokens")
    assert (saved(12), saved(-12), saved(None)) == ("12 tokens saved", "12 tokens added", "None tokens saved")
