"""The one splitter and the one stemmer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text.words import opened, stem, terms_of, words_of


def test_a_word_is_a_run_of_letters_and_digits():
    assert words_of("The src/login_form.py: (a) it's C++ 3.11, \u00c4RGER") == (
        ["the", "src", "login", "form", "py", "a", "it", "s", "c", "3", "11", "\u00e4rger"]
    )
    assert words_of("\u2026 -- /") == []
    assert words_of("x" * 100) == ["x" * 64]


def test_a_term_keeps_the_signs_that_join_its_words():
    assert terms_of("Use C++ (not `node.js`), $5 or 3.11; see src/a.py!") == (
        ["Use", "C++", "not", "node.js", "$5", "or", "3.11", "see", "src/a.py"]
    )


@given(st.text("ab1-_./:'`\"()[] ,;!?*", max_size=60))
def test_terms_hold_the_words_of_a_text_and_no_others(text: str):
    assert [word for term in terms_of(text) for word in words_of(term)] == words_of(text)


@pytest.mark.parametrize(
    "forms",
    [("test", "tests", "testing", "tested"), ("write", "writes", "written", "wrote"), ("stop", "stopped", "stopping")],
)
def test_the_forms_of_a_word_have_one_stem(forms: tuple[str, ...]):
    assert len({stem(form) for form in forms}) == 1


def test_what_is_no_word_alone_has_itself_for_a_stem():
    assert [stem(word) for word in ("node.js", "v2s", "it", "class")] == ["node.js", "v2s", "it", "class"]


def test_negations_are_words_of_their_own():
    assert opened("I can't, won't and didn\u2019t; it cannot.") == "I can not, will not and did not; it can not."
