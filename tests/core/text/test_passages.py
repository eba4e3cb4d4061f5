"""The lines of a text around words: bounded, in order, with their numbers."""

from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text.passages import passages

TEXT = "\n".join(f"line {number} of the file" for number in range(1, 101))


def test_the_lines_around_a_hit_come_with_their_numbers():
    text = TEXT.replace("line 50 of", "line 50 with Panic_Handler of")
    found = passages(text, "panic_handler", most_characters=1_000)
    assert [number for number, _ in found] == [48, 49, 50, 51, 52]
    assert found[2] == (50, "line 50 with Panic_Handler of the file")


def test_a_line_with_more_of_the_words_comes_before_one_with_fewer():
    text = TEXT.replace("line 20 of", "line 20 panic").replace("line 70 of", "line 70 panic handler")
    assert [number for number, _ in passages(text, "panic handler", most_characters=130)] == [68, 69, 70, 71, 72]


def test_no_word_is_no_line():
    assert passages(TEXT, "nowhere", most_characters=1_000) == ()
    assert passages(TEXT, " ", most_characters=1_000) == ()


def test_a_long_line_is_cut():
    ((_, line),) = passages("word " * 1_000, "word", most_characters=1_000)
    assert len(line) == 240
    assert line.endswith("…")


@given(st.text(alphabet="ab\n İ", max_size=400), st.text(alphabet="ab İ", max_size=9), st.integers(0, 300))
def test_no_more_is_returned_than_was_asked_for(text: str, words: str, most: int):
    found = passages(text, words, most_characters=most)
    assert sum(len(line) + 1 for _, line in found) <= most
    numbers = [number for number, _ in found]
    assert numbers == sorted(set(numbers))
    assert all(text.split("\n")[number - 1] == line for number, line in found)
