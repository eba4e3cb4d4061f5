"""fold_lines: only noise is folded, every distinct line stays, and a line keeps its number."""

import base64
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.window.fold import Fold, fold_lines
from undrift.core.window.trim import trim_text

FOLDS: tuple[Fold, Fold] = ("noise", "all")


def folded(text: str, fold: Fold = "all") -> str:
    found = fold_lines(text, fold)
    return "\n".join(found.shown(0, len(found.lines)))


def data(size: int) -> str:
    return base64.b64encode(Random(1).randbytes(size)).decode()


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize(
    "text", ["", "\n", "a\nb\n", "  1 a\n", "10:15 began\n11:15 ended\n12:15 a\n13:15 b", "x" * 5_000, "-" * 300]
)
def test_what_is_no_noise_stays_as_it_is(text, fold):
    assert folded(text, fold) == text
    assert fold_lines(text, fold).what == ()


def test_numbers_leave_where_they_count_on_and_the_first_of_a_run_stays():
    text = "head\n     9→a\n    10→  b\n    11→\n    12→d\n    40→e\ntail"
    assert folded(text) == "head\n9→a\n  b\n\nd\n    40→e\ntail"
    assert folded(text, "noise") == text
    assert fold_lines(text, "all").what == ("line numbers",)


@pytest.mark.parametrize("mark", ["→", "\t", "|", " |"])
def test_every_mark_of_a_listing_is_known(mark):
    text = "\n".join(f"{n:5}{mark}row {n}" for n in range(1, 20))
    assert folded(text).split("\n") == [f"1{mark}row 1", *(f"row {n}" for n in range(2, 20))]


def test_numbers_that_do_not_count_on_or_change_their_mark_stay():
    for text in ("1→a\n3→b\n5→c\n7→d\n9→e", "1→a\n2→b\n3→c", "1→a\n2\tb\n3→c\n4\td", "9→a\n8→b\n7→c\n6→d"):
        assert folded(text) == text


def test_equal_lines_become_one_with_their_number():
    text = "a\n" + "same line\n" * 10_000 + "b\nb\nc"
    assert folded(text) == "a\nsame line\n[9,999 more lines like it]\nb\nb\nc"
    assert fold_lines(text, "all").what == ("repeated lines",)


def test_of_an_overwritten_line_its_last_state_stays():
    assert folded("10%\r50%\r100%\ndone\n") == "100%\ndone\n"
    assert folded("loading ...\rok\n") == "okading ...\n", "as a terminal shows it"
    assert folded("loading ...\r\x1b[Kok\n") == "ok\n"
    assert folded("one\r\x1b[2K\x1b[1Gtwo\x1b[Gthree") == "three"
    assert folded("a\r\nb\r\n") == "a\nb\n"


def test_escape_codes_leave_and_no_letter_of_the_text():
    text = "\x1b[1;31merror\x1b[0m: \x1b]8;;https://a.b\x07link\x1b]8;;\x07 \x1b(B[not] a code\x1b[38;2;1;2;3m!"
    assert folded(text) == "error: link [not] a code!"


def test_of_encoded_data_the_beginning_stays():
    blob = data(3_000)
    assert (
        folded(f'{{"png": "{blob}", "name": "a"}}')
        == f'{{"png": "{blob[:24]}[3,976 more characters of data]", "name": "a"}}'
    )
    assert folded("0123456789abcdef" * 20) == "0123456789abcdef01234567[296 more characters of data]"
    many = "\n".join(blob[at : at + 80] for at in range(0, 4_000, 80))
    assert folded(f"begin\n{many}\nend") == f"begin\n{blob[:80]}\n[49 more lines of data]\nend"


@pytest.mark.parametrize(
    "line",
    ["a/long/path/of/words" * 20, "word" * 100, "=" * 400, "f" * 900, "aB1" * 200, "0123456789" * 99, "0x" + "é" * 300],
)
def test_long_words_are_no_data(line):
    assert folded(line) == line


def test_hashes_one_to_a_line_are_lines_of_their_own():
    text = "\n".join(Random(n).randbytes(32).hex() for n in range(20))
    assert folded(text) == text


def test_a_range_that_begins_where_a_mark_would_stand_begins_with_its_line():
    found = fold_lines("same line\n" * 50, "all")
    assert found.shown(10, 13) == ["same line", "[2 more lines like it]"]
    assert fold_lines("\n".join(f"{n}→row {n}" for n in range(9)), "all").shown(3, 5) == ["row 3", "row 4"]


LINES = st.lists(
    st.sampled_from(
        ["", "a", "same line " * 4, "7→x", "8→y", "9→z", "10→z", "a\rb", "\x1b[1mbold\x1b[0m", data(300), data(45)]
    )
)


@given(LINES, st.sampled_from(FOLDS))
def test_no_distinct_line_is_lost_and_numbers_of_lines_hold(lines, fold):
    text = "\n".join(lines)
    found = fold_lines(text, fold)
    shown = found.shown(0, len(found.lines))
    assert len(found.lines) == len(found.plain) == len(found.lengths()) == len(text.split("\n"))
    assert {line for line in found.lines if line is not None} <= set(shown)
    hidden = {found.plain[n] for n, line in enumerate(found.lines) if line is None and n not in found.data}
    assert hidden <= {found.plain[n] for n, line in enumerate(found.lines) if line is not None}
    assert [part for n in range(len(found.lines)) for part in found.shown(n, n + 1)] == [
        plain if line is None else line for line, plain in zip(found.lines, found.plain, strict=True)
    ]


@given(st.text(), st.sampled_from(FOLDS))
def test_any_text_can_be_folded_and_alike_each_time(text, fold):
    assert folded(text, fold) == folded(text, fold)
    assert fold_lines(text, fold) == fold_lines(text, fold)


def test_the_first_line_says_what_was_folded_and_where_the_whole_is():
    text = "\n".join(f"{n}→row {n}" for n in range(20))
    assert trim_text(text, None, "ref", "all").split("\n")[:3] == [
        "[no line numbers; as it came: undrift recall ref]",
        "0→row 0",
        "row 1",
    ]
    assert trim_text(text, ((2, 4),), "ref", "all").split("\n") == [
        "[2 of 20 lines stay, no line numbers; all of it: undrift recall ref]",
        "…",
        "row 2",
        "row 3",
        "…",
    ]
    assert trim_text("a\nb", ((0, 1),), "", None).split("\n")[0] == "[1 of 2 lines stay here; the original was purged]"
