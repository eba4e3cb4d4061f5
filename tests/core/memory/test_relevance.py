"""Which hits fit a question at all."""

from typing import Any

import pytest

from undrift.core.memory.relevance import (
    ENOUGH,
    LEAST_NEIGHBOURS,
    LEAST_SIMILARITY,
    Asked,
    any_fits,
    asked_of,
    fit,
    is_relevant,
)
from undrift.values.memory import MemoryEntry, ScoredMemoryEntry


@pytest.mark.parametrize(
    ("why", "fits"),
    [
        ({"lexical": 0.01}, True),
        ({"stated": 0.3}, True),
        ({"stands_for": "m1"}, True),
        ({"dense": 1.0, "similarity": LEAST_SIMILARITY}, True),
        ({"dense": 1.0, "similarity": LEAST_SIMILARITY - 0.001}, False),
        ({"neighbours": LEAST_NEIGHBOURS}, True),
        ({"neighbours": LEAST_NEIGHBOURS - 0.001, "speaker": 1.5}, False),
        ({}, False),
    ],
)
def test_words_always_fit_and_meaning_has_a_threshold(why: dict[str, Any], fits: bool):
    assert is_relevant(why) is fits


def test_neither_a_stored_question_nor_a_note_of_a_tool_hides_the_amount():
    question = "How much did the guitar cost?"
    assert fit(Asked(question, total=50), [*near(question, 1.0), *near("It was $300 in the sale.", 0.2)]) >= 0.0
    why: dict[str, Any] = {"coverage": 1.0}
    note = MemoryEntry("a", "The guitar and what it cost were discussed.", trust="tool")
    said = MemoryEntry("b", "The guitar cost $300.", trust="user")
    hits = [ScoredMemoryEntry(one, 0.5, 0.5, why) for one in (note, said)]
    assert any_fits(Asked(question, total=50), hits)
    assert not any_fits(Asked(question, total=50), hits[:1])


def near(text: str, coverage: float = 0.8, similarity: float = 0.0) -> list[tuple[dict[str, Any], str]]:
    return [({"coverage": coverage, "similarity": similarity}, text)]


@pytest.mark.parametrize(
    ("question", "text", "fits"),
    [
        ("How much did the guitar cost?", "I bought the guitar in May.", False),
        ("How much did the guitar cost?", "I bought the guitar for $300.", True),
        ("What is the rent?", "The rent is nine hundred a month.", True),
        ("How much memory does the worker need?", "The worker needs plenty of memory.", True),
        ("How many retries are there?", "The client retries.", False),
        ("How many retries are there?", "The client retries five times.", True),
        ("How old is the dog?", "The dog is old and tired.", False),
        ("How long is the trip?", "We travel for weeks.", True),
        ("Why is the guitar here?", "I bought the guitar.", True),
    ],
)
def test_a_question_for_an_amount_needs_one_near_its_words(question: str, text: str, fits: bool):
    assert (fit(Asked(question, total=50), near(text)) >= 0.0) is fits


def test_the_floor_asks_for_more_the_more_memories_there_are():
    few, many = (Asked("soup", total=total, absent=0.5) for total in (5, ENOUGH))
    assert fit(few, near("soup", 0.05)) > 0.0 > fit(many, near("soup", 0.05))
    assert fit(many, near("soup", 1.0)) > 0.0
    assert fit(many, []) < 0.0
    assert fit(Asked("soup", total=5, by_words=False), near("broth", 0.0, 0.5)) > 0.0
    assert fit(Asked("soup", total=ENOUGH, by_words=False), near("broth", 0.0, 0.3)) < 0.0


def test_a_name_that_no_memory_holds_tells_that_nothing_fits():
    words, counts = {"maria": 4.0, "cook": 4.0, "2023": 4.0, "may": 4.0}, {"cook": 3}
    asked = asked_of("What did Maria cook in May 2023?", words, counts, ENOUGH, names_speaker=False, by_words=True)
    assert (set(asked.unknown), asked.absent) == ({"maria"}, 0.5)
    assert fit(asked, near("I cook", 0.5)) < 0.0
    assert fit(Asked("What did she cook?", total=ENOUGH), near("I cook", 0.5)) > 0.0
