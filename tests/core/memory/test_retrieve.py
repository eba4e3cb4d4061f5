"""What a query asks for, and the ranking: explained in full, the same each time, the newest first among equals."""

from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from undrift.core.memory.retrieve import (
    STOP_WORDS,
    WEIGHTS,
    Query,
    Weights,
    factors,
    is_question,
    parse,
    rank,
    speaker_keys,
    worded,
)
from undrift.core.text.words import speaker_key, words_of


class At(NamedTuple):
    speaker: str = ""
    asks: bool = False
    length: int = 0
    before: tuple[int | None, int | None] = (None, None)
    after: tuple[int | None, int | None] = (None, None)


def numbers(*args, k: int = 100, **kwargs) -> list[int]:
    return [one.number for one in rank(*args, k=k, **kwargs)]


def test_stop_words_and_question_words_are_not_looked_for():
    assert parse("What did the tests say about src/app.py?").words == ("tests", "say", "src", "app", "py")
    assert parse("Which database doesn't we've use?").words == ("database", "use")


def test_a_query_of_stop_words_alone_is_looked_for_as_it_is():
    assert parse("Who are you?").words == ("who", "are", "you")
    assert parse("").words == ()
    assert parse("?!").text == ""


def test_a_speaker_is_named_and_no_longer_looked_for():
    text = "When did Mary Ann's dog run?"
    assert {"mary", "mary ann", "dog"} <= set(speaker_keys(text))
    query = parse(text, ["mary ann"])
    assert query.words == ("dog", "run")
    assert query.text == "dog run"
    assert query.speakers == {"mary ann"}
    assert parse("Mary Ann?", ["mary ann"]).words == ("mary", "ann")


def test_words_that_only_hold_a_sentence_together_name_nobody():
    assert "will" not in speaker_keys("Will you go?")
    assert speaker_key(" Mary  ANN ") == "mary ann"
    assert speaker_key("?") == ""


def test_a_word_counts_once_and_keeps_its_case_for_the_embedder():
    query = parse("Redis or redis or REDIS cache")
    assert query.words == ("redis", "cache")
    assert query.text == "Redis redis REDIS cache"


@given(st.text())
def test_no_text_is_too_strange(text: str):
    query = parse(text, speaker_keys(text)[:1])
    assert len(query.words) <= 32
    assert all(word and " " not in word for word in query.words)
    is_question(text)
    assert words_of(text) is not None


def test_long_texts_are_cut_before_they_cost_time():
    query = parse("word " * 1_000_000 + "needle")
    assert query.words == ("word",)
    assert len(parse("x" * 5_000_000).words[0]) == 64
    assert len(parse(" ".join(f"w{n}" for n in range(1_000))).words) == 32


@pytest.mark.parametrize(
    ("text", "asks"), [("Is it?", True), ('"Is it?" ', True), ("It is.", False), ("Why? Because.", False), ("", False), ("是吗\uff1f", True)]
)  # fmt: skip
def test_a_question_ends_as_one(text: str, asks: bool):
    assert is_question(text) is asks


def test_hits_by_words_and_by_vectors_are_divided_by_their_best_and_added_up():
    lines = {number: At() for number in (1, 2, 3)}
    first, second, third = rank({1: 8.0, 2: 4.0}, {2: 0.6, 3: 0.3, 1: -0.1}, lines, k=9)
    assert [first.number, second.number, third.number] == [2, 1, 3]
    assert first.why == {"lexical": 0.5, "dense": 1.0, "similarity": 0.6}
    assert first.score == pytest.approx((0.6 * 0.5 + 0.4 * 1.0) / WEIGHTS.most)
    assert second.score == pytest.approx(0.6 / WEIGHTS.most)


def test_without_vectors_words_have_it_all():
    (only,) = rank({1: 3.0}, None, {1: At()}, k=9)
    assert only.why == {"lexical": 1.0}
    assert only.score == pytest.approx(1.0 / WEIGHTS.most)
    (only,) = rank({1: 3.0}, {}, {1: At()}, k=9)
    assert only.score == pytest.approx(0.6 / WEIGHTS.most)


def test_neighbours_get_shares_and_an_answer_gets_more_than_what_is_merely_next():
    weights = Weights(after=0.3, after_question=0.85, before=0.2, second_after=0.1, second_before=0.05)
    line = At(before=(4, 3), after=(6, 7))
    around = {3: At(), 4: At(), 5: line, 6: At(), 7: At()}
    why = {one.number: one.why.get("neighbours", 0.0) for one in rank({5: 1.0}, None, around, k=9, weights=weights)}
    assert why == {5: 0.0, 6: 0.3, 4: 0.2, 7: 0.1, 3: 0.05}
    asked = around | {5: line._replace(asks=True)}
    assert numbers({5: 1.0}, None, asked, weights=weights)[:2] == [6, 5]


def test_what_neighbours_give_is_damped_by_the_length_of_the_text_that_gets_it():
    around = {1: At(after=(2, None)), 2: At()}
    (_, short), (_, as_long), (_, longer) = (
        rank({1: 1.0}, None, around | {2: At(length=length)}, k=2) for length in (0, 200, 800)
    )
    assert short.why["neighbours"] == as_long.why["neighbours"] == WEIGHTS.after
    assert longer.why["neighbours"] == pytest.approx(WEIGHTS.after / 4)


def test_a_long_text_that_ends_as_a_question_is_taken_for_a_statement_by_as_much_as_it_is_longer():
    around = {1: At(asks=True, length=800, after=(2, None)), 2: At()}
    asked, answer = rank({1: 1.0}, None, around, k=2)
    assert asked.why["statement"] == pytest.approx(1 - (1 - WEIGHTS.question) / 4)
    assert answer.why["neighbours"] == pytest.approx(WEIGHTS.after + (WEIGHTS.after_question - WEIGHTS.after) / 4)


def test_the_speaker_that_is_named_and_statements_come_first():
    lines = {1: At("ann"), 2: At("bob"), 3: At("bob", asks=True)}
    assert numbers({1: 1.0, 2: 1.0, 3: 1.0}, None, lines, {"ann": 1.5}) == [1, 2, 3]
    assert numbers({1: 1.0, 2: 1.0, 3: 1.0}, None, lines, {"bob": 1.5}) == [2, 3, 1]
    assert numbers({1: 1.0, 2: 1.0}, None, {1: At(), 2: At()}, {}) == [2, 1]


def test_a_question_in_the_first_person_is_a_users_and_a_named_speaker_counts_more():
    assert factors(parse("Which port did I choose?")) == dict.fromkeys(["user", "human"], WEIGHTS.user)
    assert factors(parse("Which port did Ann choose?", ["ann"])) == {"ann": WEIGHTS.speaker}
    assert factors(Query((), frozenset({"user"}), "", is_own=True))["user"] == WEIGHTS.speaker >= WEIGHTS.user


def test_words_that_stand_together_count_more_than_the_same_words_apart():
    assert worded(2.0, 1.0) == 2.0
    assert worded(2.0, 0.5) > worded(2.0, 0.25) > 0


def test_of_equals_the_newest_is_first_and_the_first_k_do_not_depend_on_k():
    lines = {number: At() for number in range(50)}
    hits = dict.fromkeys(range(1, 50), 2.0)
    assert numbers(hits, None, lines) == list(range(49, 0, -1))
    assert numbers(hits, None, lines, k=3) == [49, 48, 47]
    assert numbers(hits, None, lines, k=0) == []


def test_what_has_no_line_is_passed_over():
    assert numbers({1: 5.0, 2: 1.0}, {3: 0.9}, {2: At(after=(9, None))}) == [2]


@example({0: 1.0, 9: 5e-324}, {}, [False] * 10, [0] * 10)
@given(
    st.dictionaries(st.integers(0, 9), st.floats(0, 10)),
    st.dictionaries(st.integers(0, 9), st.floats(-1, 1)),
    st.lists(st.booleans(), min_size=10, max_size=10),
    st.lists(st.integers(0, 5_000), min_size=10, max_size=10),
)
def test_every_score_is_between_0_and_1_and_is_the_sum_of_its_parts(lexical, dense, asks, lengths):
    lines = {n: At("ann" if n % 3 else "", asks[n], lengths[n], (n - 1, n - 2), (n + 1, n + 2)) for n in range(10)}
    ranked = rank(lexical, dense, lines, {"ann": 1.5}, k=10)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    for one in ranked:
        why, share = one.why, WEIGHTS.dense
        own = (1 - share) * why.get("lexical", 0.0) + share * why.get("dense", 0.0) + why.get("neighbours", 0.0)
        total = own * why.get("speaker", 1.0) * why.get("statement", 1.0) / WEIGHTS.most
        assert one.score == pytest.approx(total)
        assert 0.0 < one.score <= 1.0 + 1e-9


def test_stop_words_are_written_as_words_are_compared():
    assert all(word == word.casefold() and word.isalpha() for word in STOP_WORDS)
