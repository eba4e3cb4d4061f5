"""The passages of a text: their places, cut between sentences or lines. Pure, linear in the text.

Law: all passages together hold every character of the text but blanks, up to `MOST_CHARACTERS`, in its order. Stored vectors
are counted by these passages: who cuts otherwise gives the embedder another id.
"""

import re
from typing import NamedTuple

__all__ = ["LONGEST_PASSAGE", "MOST_CHARACTERS", "Passage", "passages_of"]

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
    cut = text[:MOST_CHARACTERS]
    found: list[Passage] = []
    start = fitting = 0
    for end in [*(match.end() for match in _END.finditer(cut)), len(cut)]:
        while end - start > LONGEST_PASSAGE:
            until = fitting if fitting > start else _between_words(cut, start)
            found += _trimmed(cut, start, until)
            start = until
        fitting = end
    return [*found, *_trimmed(cut, start, len(cut))]


def _between_words(text: str, start: int) -> int:
    """Return where to cut what has no end in reach: at a blank, or in the middle of a word."""
    blank = text.rfind(" ", start + LONGEST_PASSAGE // 2, start + LONGEST_PASSAGE)
    return blank if blank > 0 else start + LONGEST_PASSAGE


def _trimmed(text: str, start: int, end: int) -> list[Passage]:
    piece = text[start:end]
    stripped = piece.strip()
    first = start + len(piece) - len(piece.lstrip())
    return [Passage(first, first + len(stripped))] if stripped else []
