"""Decides whether a hit fits a question at all, and whether any of the hits does. Pure.

Law: judged on what a text has to do with the question, before decay: age alone takes no memory out of an answer. A doubt keeps
the hits. The numbers are learned from questions that something answers and from questions that nothing answers
(`python -m bench.relevance`); at most 5% of the former may be lost.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.core.memory.passages import passage_in
from undrift.core.memory.quotas import USERS, stratum_of
from undrift.core.memory.retrieve import is_question
from undrift.core.text.words import words_written
from undrift.values.memory import TRUST_TIERS, ScoredMemoryEntry

__all__ = [
    "Asked",
    "ENOUGH",
    "Floor",
    "LEAST_NEIGHBOURS",
    "LEAST_SIMILARITY",
    "LOOKED_AT",
    "any_fits",
    "asked_of",
    "fit",
    "is_relevant",
]

LEAST_SIMILARITY = 0.15
"""Cosine. With 0.15 none of 287 right answers among the first ten of two LoCoMo conversations is lost, with 0.2 one. In a
home of eight memories, four questions about nothing in it had 14 hits; 1 of them is left."""

LEAST_NEIGHBOURS = 0.05
"""The share that neighbours give, of the best hit's own score. With 0.1 one of the 287 is lost."""

LOOKED_AT = 10
"""The first hits decide for all."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The least that the best hit has to do with the question.

    The fit of a hit is its coverage + `similarity` x its cosine + `speaker` if the question names one. `name` is taken off if
    no memory holds a name of the question, and `absent` x the share of the question that no memory holds; half of
    that with vectors, which find other words for it.

    Args:
        words: The floor of a search by words alone; `vectors`: with vectors too.
    """

    similarity: float = 3.0
    speaker: float = 0.5
    absent: float = 0.5
    name: float = 0.4
    words: float = 0.0
    vectors: float = 1.2


_FLOOR = Floor()
ENOUGH = 200
"""Memories. Among fewer, chance finds less, so the floor is lower and a missing word says less."""

_NAMED = ("lexical", "stated", "stands_for")
_CALENDAR = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ]
)
_QUERY_CHARACTERS = 1_000
_NUMBER = (
    r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|couple|few|several|both|half|once"
    r"|twice|hundred|thousand|million|none)\b)"
)
_UNITS = r"\b(?:second|minute|hour|day|night|week|month|year|decade|age)s?\b"
_AMOUNT = re.compile(f"{_NUMBER}|{_UNITS}|\\b(?:free|nothing)\\b", re.IGNORECASE)
_ASKS_FOR_AMOUNT = re.compile(
    r"\bhow (?:old|many|long)\b|\bhow much\b.{0,80}\b(?:cost|pay|paying|paid|spend|spent|charged?|earn)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a question that tell whether anything fits it.

    Args:
        names_speaker: True if it names a speaker of a memory.
        total: The number of memories.
        unknown: Its words that no memory holds, in any form.
        absent: The share of the question that these are, weighed by their rarity.
        by_words: True if the search has no vectors.
        words: Its words that mean something, each with its rarity.
    """

    text: str
    names_speaker: bool = False
    total: int = 0
    unknown: frozenset[str] = frozenset()
    absent: float = 0.0
    by_words: bool = True
    words: Mapping[str, float] = field(default_factory=dict, hash=False)


def asked_of(
    text: str, words: Mapping[str, float], counts: Mapping[str, int], total: int, *, names_speaker: bool, by_words: bool
) -> Asked:
    """Return a question as it is judged.

    Args:
        words: Its words that mean something, each with its rarity.
        counts: For each of them the number of memories that hold it.
    """
    counted = {word: weight for word, weight in words.items() if word not in _CALENDAR and not word.isdigit()}
    unknown = frozenset(word for word in counted if not counts.get(word))
    whole = sum(counted.values())
    absent = sum(counted[word] for word in unknown) / whole if whole else 0.0
    return Asked(text[:_QUERY_CHARACTERS], names_speaker, total, unknown, absent, by_words, words)


def is_relevant(why: Mapping[str, Any]) -> bool:
    """Tell whether a hit fits, by the parts of its score."""
    if any(why.get(name) for name in _NAMED):
        return True
    similarity, neighbours = float(why.get("similarity", 0.0)), float(why.get("neighbours", 0.0))
    return similarity >= LEAST_SIMILARITY or neighbours >= LEAST_NEIGHBOURS


def any_fits(asked: Asked, hits: Sequence[ScoredMemoryEntry]) -> bool:
    """Tell whether any hit fits. A user's statements are judged by themselves too: no note beside them hides them."""
    of_users = [hit for hit in hits if stratum_of(TRUST_TIERS[hit.entry.trust]) == USERS]
    return any(fit(asked, [(hit.why, hit.entry.content) for hit in some]) >= 0.0 for some in (hits, of_users))


def fit(asked: Asked, hits: Sequence[tuple[Mapping[str, Any], str]], floor: Floor = _FLOOR) -> float:
    """Return by how much the best of the first hits is above the floor; below 0 nothing fits.

    Args:
        hits: The parts of each hit's score, and its text; best first.
    """
    first = [(why, passage_in(text, why)) for why, text in hits[:LOOKED_AT]]
    covered = max((float(why.get("coverage", 0.0)) for why, _ in first), default=0.0)
    likest = max((float(why.get("similarity", 0.0)) for why, _ in first), default=0.0)
    if not first or _lacks_amount(asked.text, first):
        return -1.0
    found = covered + floor.similarity * likest + floor.speaker * asked.names_speaker
    missing = floor.name * _lacks_name(asked) + floor.absent * asked.absent * (1.0 if asked.by_words else 0.5)
    return found - min(1.0, asked.total / ENOUGH) * (missing + (floor.words if asked.by_words else floor.vectors))


def _lacks_amount(question: str, first: Sequence[tuple[Mapping[str, Any], str]]) -> bool:
    """Tell whether a question asks for an amount, and no passage near it states any; a question states none."""
    if not _ASKS_FOR_AMOUNT.search(question):
        return False
    stated = [(float(why.get("coverage", 0.0)), text) for why, text in first if not is_question(text)]
    covered = max((coverage for coverage, _ in stated), default=0.0)
    near = [text for coverage, text in stated if 2 * coverage >= covered]
    return bool(near) and not any(_AMOUNT.search(text) for text in near)


def _lacks_name(asked: Asked) -> bool:
    """Tell whether a question is about a name that no memory holds, and about no speaker of one."""
    written = words_written(asked.text)[1:]
    names = (word for word in written if word[0].isupper() and not word.isupper())
    return not asked.names_speaker and any(name.casefold() in asked.unknown for name in names)
