"""The passages of a text: they hold all of it, are short, and the best one is what a question asks for."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from undrift.core.memory.passages import best_passage, passage_in
from undrift.values.passages import LONGEST_PASSAGE, Passage, passages_of

_TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n\t\u2028é"), max_size=2_000)


@given(_TEXTS)
def test_passages_hold_every_word_in_order_and_are_short(text: str) -> None:
    found = passages_of(text)
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())
    assert all(0 < end - start <= LONGEST_PASSAGE for start, end in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_a_short_text_is_one_passage() -> None:
    assert passages_of("  One. Two!\nThree ") == [Passage(2, 17)]


def test_the_best_passage_holds_most_of_the_question_in_any_form_of_its_words() -> None:
    text = "Port 22 is open. " * 40 + "The token is refreshed at night. " + "Port 80 is not. " * 40
    place, coverage = best_passage(text, {"refresh": 3.0, "tokens": 2.0, "zebra": 5.0})
    assert "token is refreshed" in passage_in(text, {"passage": list(place)})
    assert coverage == 0.5


def test_without_a_word_of_the_question_the_first_passage_stands_for_the_text_and_covers_nothing() -> None:
    assert best_passage("One. " * 200, {"zebra": 1.0}) == (Passage(0, 299), 0.0)
    assert best_passage("One. " * 200, {"zebra": 1.0}, 2)[0] == Passage(600, 899)
    assert best_passage("", {}) == (Passage(0, 0), 0.0)
    assert passage_in("whole", {}) == "whole"
