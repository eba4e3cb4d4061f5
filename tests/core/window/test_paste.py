"""A long paste keeps its beginning and its end, and says what is missing between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text.tokens import characters_per_4
from undrift.core.window.paste import cut_text, plan_cut

REF = "0123456789abcdef"
LINES = "".join(f"line {n}: something happened\n" for n in range(1_000))


def cut(text: str, keep: int) -> str | None:
    planned = plan_cut(text, characters_per_4(text), keep, ref=REF, count=characters_per_4)
    return None if planned is None else cut_text(text, planned.keep_head, planned.keep_tail, REF)


def test_whole_lines_stay_at_both_ends_and_the_marker_says_how_to_get_the_rest():
    short = cut(LINES, 500)
    assert short is not None
    head, _, rest = short.partition("\n[")
    marker, _, tail = rest.partition("]\n")
    assert LINES.startswith(head)
    assert head.endswith("\n")
    assert LINES.endswith(tail)
    assert tail.startswith("line ")
    assert f"undrift recall {REF}" in marker
    left = len(LINES) - len(head) - len(tail)
    assert f"{left:,} characters" in marker


@pytest.mark.parametrize("keep", [30, 100, 500, 2_000])
def test_what_stays_costs_about_what_was_asked_for_and_more_of_it_is_the_beginning(keep):
    planned = plan_cut(LINES, characters_per_4(LINES), keep, ref=REF, count=characters_per_4)
    assert planned is not None
    assert keep - 130 <= planned.tokens <= keep + 10
    assert planned.tokens == characters_per_4(cut_text(LINES, planned.keep_head, planned.keep_tail, REF))
    assert planned.keep_head >= planned.keep_tail or keep < 200


@pytest.mark.parametrize("keep", [2, 3, 24, 25, 30, 100])
@pytest.mark.parametrize("text", ["BEGIN" + "x" * 4_000 + "END", "\n" + "x" * 4_000 + "\n", LINES])
def test_something_of_both_ends_always_stays(keep, text):
    planned = plan_cut(text, characters_per_4(text), keep, ref=REF, count=characters_per_4)
    assert planned is not None
    assert planned.keep_head > 0
    assert planned.keep_tail > 0
    assert text[: planned.keep_head].strip() or text[0] == "\n"


@pytest.mark.parametrize("text", ["", "short", "x" * 100, "x" * 120])
def test_a_text_that_would_not_get_shorter_is_not_cut(text):
    assert cut(text, 30) is None


@given(st.text(max_size=900), st.integers(2, 400))
def test_any_text_is_cut_to_less_or_not_at_all(text, keep):
    planned = plan_cut(text, characters_per_4(text), keep, ref=REF, count=characters_per_4)
    if planned is not None:
        short = cut_text(text, planned.keep_head, planned.keep_tail, REF)
        assert planned.tokens == characters_per_4(short) < characters_per_4(text)
        assert short.startswith(text[: planned.keep_head])
        assert short.endswith(text[len(text) - planned.keep_tail :])
        assert 0 <= planned.keep_head + planned.keep_tail < len(text)
