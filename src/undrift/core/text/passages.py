"""The lines of a text around the words that are looked for, within a size. Pure.

Law: linear in the text, and no more is returned than was asked for.
"""

from collections.abc import Sequence
from heapq import nsmallest

__all__ = ["passages"]

_AROUND = 2
_MOST_WORDS = 32
_MOST_HITS = 200
_LONGEST_LINE = 240


def passages(text: str, words: str, *, most_characters: int) -> tuple[tuple[int, str], ...]:
    """Return the lines that hold most of the words, with two lines around each, by their numbers from 1.

    Capital letters make no difference, and a word may stand inside another one. A longer line than 240 characters is cut.
    `most_characters`: of all lines together.
    """
    wanted = tuple(dict.fromkeys(words.casefold().split()))[:_MOST_WORDS]
    lines = text.split("\n")
    counted = ((sum(word in line for word in wanted), place) for place, line in enumerate(text.casefold().split("\n")))
    hits = nsmallest(_MOST_HITS, ((-count, place) for count, place in counted if count and place < len(lines)))
    chosen: dict[int, str] = {}
    left = most_characters
    for _, hit in hits:
        new = [place for place in _around(hit, lines) if place not in chosen]
        shown = {place: _cut(lines[place]) for place in new}
        size = sum(len(line) + 1 for line in shown.values())
        if size > left:
            break
        chosen |= shown
        left -= size
    return tuple((place + 1, chosen[place]) for place in sorted(chosen))


def _around(hit: int, lines: Sequence[str]) -> range:
    return range(max(0, hit - _AROUND), min(len(lines), hit + _AROUND + 1))


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
