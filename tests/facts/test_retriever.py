"""What a task is given to know: R4-20 to R4-22, A4-3 to A4-5, A4-12, A4-21, A4-22; the index gives what a look at each gives."""

import logging
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.facts.builders import Clock, fact, query, triples
from undrift.core.facts.index import FactIndex
from undrift.core.facts.retrieve import retrieve, wanted
from undrift.core.facts.words import STOP_WORDS, telling_words
from undrift.facts import InMemorySessionFactStore, KeywordFactRetriever
from undrift.values.facts import FactVersion, SessionFact


def retriever(*facts: SessionFact, **options: Any) -> KeywordFactRetriever:
    store = InMemorySessionFactStore()
    for one in facts:
        store.add([one])
    return KeywordFactRetriever(store, **options)


def found(of: KeywordFactRetriever, description: str, **fields: Any) -> list[str]:
    return [one.subject for one in of.retrieve(query(description, **fields))]


def test_the_stop_words_are_those_of_the_seed():
    assert len(STOP_WORDS) == 43
    assert {"a", "its", "shall", "not"} <= STOP_WORDS
    assert "task" not in STOP_WORDS


def test_words_are_split_as_the_seed_says():
    assert telling_words("The src/login_form.py: (a) [B]{c}-d; is,E\tf") == [
        "src",
        "login",
        "form",
        "py",
        "b",
        "c",
        "d",
        "e",
        "f",
    ]
    assert telling_words("…/ \"quoted\" 'a' what?") == ["quoted", "what"]


@given(st.text("aB1 \t/-_.,:;()[]{}'\"?!*=", max_size=40))
def test_words_are_cut_wherever_the_seed_cuts(text: str):
    by_the_seed = re.split(r"[\s/\-_.,:;()\[\]{}]+", text.lower())
    assert all(any(word in whole for whole in by_the_seed) for word in telling_words(text))


def test_more_words_in_common_come_first():
    of = retriever(fact("src/login.py"), fact("src/token/login.py"), fact("docs.md"))
    assert found(of, "fix login and token", max_facts=2) == ["src/token/login.py", "src/login.py"]


def test_another_form_of_a_word_is_found():
    one = fact("src/auth.py", "convention", "token refreshing happens in one place")
    for camel in (False, True):
        of = retriever(one, fact("docs.md"), split_camel_case=camel)
        assert found(of, "Fix refresh of tokens", min_score=0.6) == ["src/auth.py"]
        assert found(of, "it refreshes", min_score=1.0) == ["src/auth.py"]
        assert found(of, "refreshment", min_score=0.01) == []


def test_a_stop_word_of_the_caller_is_a_word_and_not_its_forms():
    of = retriever(fact("a.md", "convention", "files"), stop_words=("file",))
    assert found(of, "the file", min_score=0.01) == []
    assert found(of, "the files", min_score=0.01) == ["a.md"]


def test_of_equal_ones_the_newest_comes_first():
    of = retriever(fact("login/a", valid_from=5), fact("login/b", valid_from=9), fact("login/c", valid_from=7))
    assert found(of, "login") == ["login/b", "login/c", "login/a"]


def test_a_fact_that_was_seen_again_is_new():
    clock = Clock(100)
    store = InMemorySessionFactStore(clock=clock)
    for one in (fact("a", valid_from=1), fact("b", valid_from=50), fact("a", valid_from=1)):
        store.add([one])
    assert found(KeywordFactRetriever(store), "nothing") == ["a", "b"]


def test_without_any_match_the_newest_are_given():
    """R4-22; a description without words scores 0 as well (A4-4)."""
    of = retriever(fact("old.md", valid_from=1), fact("new.md", valid_from=2))
    assert found(of, "unrelated") == found(of, "") == found(of, "the of") == ["new.md", "old.md"]


def test_above_a_least_score_nothing_is_given_without_a_match():
    """A4-4"""
    of = retriever(fact("login.md"), fact("new.md"))
    assert found(of, "fix login", min_score=0.5) == ["login.md"]
    assert found(of, "fix login", min_score=0.51) == found(of, "", min_score=0.01) == []


def test_what_the_task_itself_said_is_left_out():
    of = retriever(fact("a", task="5"), fact("b", task="6"))
    assert found(of, "a", task_id="5") == ["b"]


def test_only_facts_with_one_of_the_tags():
    of = retriever(fact("a", tags=("error",)), fact("b", tags=("test",)), fact("c", tags=()))
    assert found(of, "", tags=("error", "test")) == ["b", "a"]
    assert found(of, "", tags=()) == []


def test_the_budget_stops_at_the_first_fact_that_does_not_fit():
    """A4-12: it stops, it does not skip. ceil(characters of the three / 4)."""
    of = retriever(
        fact("ab", "r", "12345", valid_from=3), fact("x" * 40, valid_from=2), fact("c", "r", "1", valid_from=1)
    )
    assert found(of, "", max_tokens=2) == ["ab"]
    assert found(of, "", max_tokens=1) == []
    assert found(of, "", max_tokens=16) == ["ab"]
    assert found(of, "", max_tokens=100) == ["ab", "x" * 40, "c"]
    assert found(of, "", max_facts=0) == found(of, "", max_facts=-1) == []


def test_more_stop_words_may_be_given():
    """A4-21: else "task 5" matches every fact."""
    of = retriever(fact("task:9", "summary", "login"), fact("a", object="b"))
    assert found(of, "do task 5", min_score=0.01) == ["task:9"]
    assert found(retriever(fact("task:9", "summary", "login"), stop_words=("task",)), "do task 5", min_score=0.01) == []


def test_words_in_camel_case_may_be_split():
    """A4-22"""
    one = fact("src/LoginForm.ts")
    assert found(retriever(one), "login", min_score=0.01) == []
    assert found(retriever(one, split_camel_case=True), "login", min_score=0.01) == ["src/LoginForm.ts"]


def test_an_empty_store_gives_nothing():
    assert retriever().retrieve(query("login")) == []


def test_it_never_raises(caplog: pytest.LogCaptureFixture):
    """A4-5"""

    class Broken(InMemorySessionFactStore):
        def get_valid(self) -> list[SessionFact]:
            raise OSError("the disk is gone")

    broken: Any = Broken()
    with caplog.at_level(logging.WARNING, "undrift.facts"):
        assert KeywordFactRetriever(broken, split_camel_case=True).retrieve(query("a")) == []
        assert retriever(fact()).retrieve(query(7)) == []  # type: ignore[arg-type]
    assert ("the disk is gone" in caplog.text and "TypeError" in caplog.text) or "AttributeError" in caplog.text


def test_an_ended_fact_is_not_given():
    of = retriever(fact("a"), fact("a", object="task:2"))
    assert triples(of.retrieve(query("a"))) == [("a", "modified_by", "task:2")]


WORDS = [f"w{n}" for n in range(12)]


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 900))
def test_the_index_gives_what_a_look_at_each_fact_gives(seed: int, size: int):
    """Common and rare words, facts in and out of order, taken out and seen again; over the point where it is rebuilt."""
    # A seed, not Hypothesis' own Random: that notes every draw, and thousands of draws are too large for an example.
    chance, index, kept = random.Random(seed), FactIndex(), dict[int, SessionFact]()
    for sequence in range(size):
        one = fact(
            " ".join(chance.choices(WORDS, [2**n for n in range(12)], k=4)),
            object=f"o{chance.randrange(5)} {sequence}",
            task=str(chance.randrange(3)),
            tags=tuple(chance.sample(("error", "test"), chance.randrange(3))),
            valid_from=sequence if chance.random() < 0.5 else chance.randrange(size),
        )
        index.add(FactVersion(sequence, one))
        kept[sequence] = one
        if chance.random() < 0.4:
            gone = chance.choice(list(kept))
            index.discard(gone)
            del kept[gone]
    for _ in range(10):
        said = " ".join(chance.choices([*WORDS, "unknown"], k=chance.randrange(6)))
        asked = wanted(
            query(
                said,
                str(chance.randrange(4)),
                tags=chance.choice([None, ("error",), ("error", "test"), ("decision",)]),
                max_facts=chance.randrange(12),
                min_score=chance.choice([0.0, 0.0, 0.3, 1.0]),
            )
        )
        assert index.best(asked) == retrieve([kept[n] for n in sorted(kept)], asked)
    assert len(index) == len(kept)
