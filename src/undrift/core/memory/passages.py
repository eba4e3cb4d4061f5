"""The passages of a long text, and the one that fits a question best. Pure, linear in the text.

Law: a passage is cut between sentences or lines, stands in the text as it is, and says little enough to be judged as one
statement. All passages together hold every character of the text but blanks, up to `MOST_CHARACTERS`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from undrift.core.text.words import stem, words_of

__all__ = ["LONGEST_PASSAGE", "MOST_CHARACTERS", "Passage", "best_passage", "passage_in", "passages_of"]

LONGEST_PASSAGE = 300
"""Characters. Chosen on half of the conversations of two corpora; 600 and 1,200 found less (docs/memory-retrieval.md)."""

MOST_CHARACTERS = 32_000
"""Only so much of a text is cut into passages: its beginning."""

_END = re.compile(r"[.!?](?=\s)|\n")


class Passage(NamedTuple):
    """The place of a passage: its first character, and the one after its last."""

    start: int
    end: int


def passages_of(text: str) -> list[Passage]:
    """Cut a text into passages, in their order: as many sentences or lines as fit into the longest passage."""
    found: list[Passage] = []
    for start, end in _pieces(text[:MOST_CHARACTERS]):
        if found and end - found[-1].start <= LONGEST_PASSAGE:
            found[-1] = Passage(found[-1].start, end)
        else:
            found.append(Passage(start, end))
    return found


def best_passage(text: str, words: Mapping[str, float]) -> tuple[Passage, float]:
    """Return the passage that holds most of a question, and the share of the question that it holds, 0 to 1.

    Args:
        words: The words of the question, each with its rarity. Any form of a word counts.
    """
    stems: dict[str, float] = {}
    for word, weight in words.items():
        stems[stem(word)] = max(weight, stems.get(stem(word), 0.0))
    best, most = Passage(0, len(text)), -1.0
    for one in passages_of(text):
        held = _held(text[one.start : one.end], stems)
        if held > most:
            best, most = one, held
    whole = sum(stems.values())
    return best, min(1.0, max(most, 0.0) / whole) if whole > 0.0 else 0.0


def passage_in(text: str, why: Mapping[str, Any]) -> str:
    """Return the passage of a hit's text that fits the question best: its ``why["passage"]``; without one, the whole text."""
    place = why.get("passage")
    return text[place[0] : place[1]] if place else text


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """Stem a word; most words of a text were in the one before."""
    return stem(word)


def _held(text: str, stems: Mapping[str, float]) -> float:
    own = {_stem(word) for word in words_of(text)}
    return sum(weight for one, weight in stems.items() if one in own)


def _pieces(text: str) -> Iterator[Passage]:
    """Cut a text at the ends of sentences and lines, and what is too long between two words; without the blanks around."""
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        while end - start > LONGEST_PASSAGE:
            blank = text.rfind(" ", start + LONGEST_PASSAGE // 2, start + LONGEST_PASSAGE)
            cut = blank if blank > 0 else start + LONGEST_PASSAGE
            yield from _trimmed(text, start, cut)
            start = cut
        yield from _trimmed(text, start, end)
        start = end


def _trimmed(text: str, start: int, end: int) -> Iterator[Passage]:
    piece = text[start:end]
    if stripped := piece.strip():
        first = start + len(piece) - len(piece.lstrip())
        yield Passage(first, first + len(stripped))
