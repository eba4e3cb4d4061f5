"""Hits of which a later one may change an earlier one, by the passages that fit the question best."""

from typing import Any

import pytest

from undrift.core.memory.opposed import Opposed, opposed
from undrift.values.memory import MemoryEntry, ScoredMemoryEntry

PAIR = (("a", "b"),)
LONG = " I would like to hear what you think of it, so please take your time and look at all of the parts."


def hit(id: str, text: str, seq: int, **fields: Any) -> ScoredMemoryEntry:
    long = text + LONG * 5
    why = {"passage": [0, len(text)], "coverage": fields.pop("coverage", 1.0)}
    return ScoredMemoryEntry(MemoryEntry(id, long, seq=seq, **{"speaker": "user", **fields}), 0.5, 0.5, why)


WORDS = "How many words is my weekly goal?"
OLDER = hit("a", "I'm struggling with my weekly goal, like the 1,200 words that I promised.", 1)
NEWER = hit("b", "My weekly goal was just adjusted to 1,350 words, so how can I meet it?", 2)


@pytest.mark.parametrize(
    ("query", "older", "newer", "found"),
    [
        (WORDS, OLDER, NEWER, Opposed(changed=PAIR)),
        (
            "When is the review of my draft?",
            hit("a", "I have the review of my draft on March 22 at 3 PM.", 1),
            hit("b", "Can you remind me that the review of my draft is now on March 22 at 4:30 PM?", 2),
            Opposed(changed=PAIR),
        ),
        (
            "Have I ever used Zotero for my citations?",
            hit("a", "I just downloaded Zotero to manage my citations.", 1),
            hit("b", "I've never used Zotero for citations, so how do I get started?", 2),
            Opposed(denied=PAIR),
        ),
        (
            "Have I ever used Zotero for my citations?",
            hit("a", "I've never used Zotero for citations, so how do I get started?", 1),
            hit("b", "I have used Zotero for my citations this week.", 2),
            Opposed(denied=PAIR),
        ),
    ],
)
def test_the_later_one_changes_or_denies_what_is_asked_for(
    query: str, older: ScoredMemoryEntry, newer: ScoredMemoryEntry, found: Opposed
) -> None:
    assert opposed(query, [older, newer]) == opposed(query, [newer, older]) == found


@pytest.mark.parametrize(
    "newer",
    [
        hit("b", "My weekly goal is 1,350 words, so how can I meet it?", 2),  # nothing says that it changed
        hit("b", "My weekly goal was just adjusted to 1,200 words, so how can I meet it?", 2),  # the same value
        hit("b", "My weekly goal was just adjusted to 3 chapters, so how can I meet it?", 2),  # of another kind
        hit("b", "Their weekly goal was just adjusted to 1,350 words.", 2),  # not of the speaker
        hit("b", "My weekly goal was just adjusted to 1,350 words.", 2, speaker="assistant"),
        hit("b", "My weekly goal was just adjusted to 1,350 words.", 2, trust="tool"),
        hit("b", "My weekly goal was just adjusted to 1,350 words.", 2, contradicted_by_entry_id="c"),
        hit("b", "My weekly goal was just adjusted to 1,350 words.", 2, coverage=0.3),  # about something else
    ],
)
def test_other_pairs_are_left_alone(newer: ScoredMemoryEntry) -> None:
    assert opposed(WORDS, [OLDER, newer]) == Opposed()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "the of",
        "weekly goal",
        "Show me my weekly goal in words",
        "How many words between my first goal and my weekly goal?",
    ],
)
def test_a_question_that_asks_for_no_value_names_no_pair(query: str) -> None:
    assert opposed(query, [OLDER, NEWER]) == Opposed()


def test_at_most_four_pairs_are_named_and_one_of_each_is_among_the_first_hits() -> None:
    many = [hit(f"n{n}", f"My weekly goal was just adjusted to {1_300 + n} words.", n + 2) for n in range(40)]
    assert len(opposed(WORDS, [OLDER, *many]).changed) == 4
    others = [hit(f"o{n}", "I like my weekly goal.", n + 9) for n in range(10)]
    assert opposed(WORDS, [*others, OLDER, NEWER]) == Opposed()


@pytest.mark.parametrize(("amount", "found"), [("{}", PAIR), ("```\n{}\n```", ())])
def test_the_amount_may_stand_in_the_sentence_before_the_passage_but_not_in_code(
    amount: str, found: tuple[tuple[str, str], ...]
) -> None:
    text = amount.format("I added some, so it is now 1,350 words.") + " My weekly goal is what I ask about."
    why = {"passage": [text.index("My"), len(text)], "coverage": 1.0}
    newer = ScoredMemoryEntry(MemoryEntry("b", text + LONG * 5, seq=2, speaker="user"), 0.5, 0.5, why)
    assert opposed(WORDS, [OLDER, newer]).changed == found


def test_a_hit_without_a_passage_counts_only_if_it_is_short() -> None:
    bare = [ScoredMemoryEntry(one.entry, 0.5, 0.5, {"coverage": 1.0}) for one in (OLDER, NEWER)]
    assert opposed(WORDS, bare) == Opposed()
