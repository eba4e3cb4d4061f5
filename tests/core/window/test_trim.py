"""trim_text: lines in their order, word for word, with a mark wherever something left."""

from hypothesis import given
from hypothesis import strategies as st

from undrift.core.window.trim import GAP, ranges_of, trim_text

REF = "0123456789abcdef"


def test_what_stays_stands_in_its_order_with_a_mark_in_each_gap():
    assert trim_text("a\nb\nc\nd\ne", [(1, 2), (3, 4)], REF).split("\n") == [
        f"[2 of 5 lines stay here; all of it: undrift recall {REF}]",
        *[GAP, "b", GAP, "d", GAP],
    ]


def test_no_mark_stands_where_nothing_left():
    assert trim_text("a\nb\nc", [(0, 2)], REF).split("\n")[1:] == ["a", "b", GAP]
    assert trim_text("a\nb\nc", [(1, 3)], REF).split("\n")[1:] == [GAP, "b", "c"]


def test_without_lines_only_the_first_one_says_what_was_there():
    assert trim_text("a\nb", [], REF) == f"[0 of 2 lines stay here; all of it: undrift recall {REF}]"


def test_neighbours_become_one_range():
    assert ranges_of([]) == ()
    assert ranges_of([0, 1, 2, 5, 7, 8]) == ((0, 3), (5, 6), (7, 9))


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=5), min_size=1, max_size=30), st.data())
def test_every_line_that_stays_is_there_and_no_other(lines: list[str], data: st.DataObject):
    numbers = sorted(data.draw(st.sets(st.integers(0, len(lines) - 1))))
    shown = trim_text("\n".join(lines), ranges_of(numbers), REF).split("\n")[1:]
    gaps = [one for one in lines if one == GAP]
    assert [one for one in shown if one != GAP or gaps] == [lines[n] for n in numbers] or gaps
