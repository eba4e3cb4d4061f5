"""The places of the rules in a text that a user typed: of a long text they stay when its middle leaves. Pure.

Law: the places are characters of the text as the client sends it, so the words are the user's own. The text is read once;
places are searched forwards.
"""

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from undrift.core.rules.crowded import UNSURE
from undrift.core.rules.spoken import CUT
from undrift.core.rules.typed import sayings_in
from undrift.core.text.typed import user_texts
from undrift.values.rule import LONGEST_RULE
from undrift.values.window import ContextEntry

__all__ = ["rule_places"]

_MOST_READ = 1 << 20
"""Characters; a longer text is a file."""

_WORD = re.compile(r"\S+")
_MOST_PLACES = 64
_MOST_CHARACTERS = 8_000
"""About 2,000 tokens: a text that is nothing but rules loses the oldest of them."""

_LONGEST_GAP = 2_000
"""Characters of a quotation within a sentence."""


def rule_places(entry: ContextEntry) -> tuple[tuple[int, int], ...]:
    """Return the half-open ranges of the rules in a user's text, and of what lifts or limits one; ascending, apart.

    At most 64, and 8,000 characters: of more the last ones.
    """
    if len(entry.content) > _MOST_READ or not any(user_texts([entry])):
        return ()
    return _places(entry.content)


@lru_cache(maxsize=16)  # a plan is tried several times in a turn
def _places(text: str) -> tuple[tuple[int, int], ...]:
    words, end = _Words(text), 0
    found: list[tuple[int, int]] = []
    for one in sayings_in(text, 1):
        if one.kind in UNSURE:
            continue
        place = words.place(one.text, end)
        if place is not None:
            end = place[1]
            found.append((words.raw(place[0]), words.raw(end - 1) + 1))
    room, kept = _MOST_CHARACTERS, list[tuple[int, int]]()
    for start, end in reversed(found[-_MOST_PLACES:]):
        room -= end - start
        if room < 0:
            break
        kept.append((start, end))
    return tuple(reversed(kept))


class _Words:
    """A text with one space between its words, and the way back to the places in the text."""

    def __init__(self, text: str) -> None:
        words = [(found.start(), found.group()) for found in _WORD.finditer(text)]
        self._raw = [start for start, _ in words]
        self._joined = [0, *accumulate(len(word) + 1 for _, word in words)]
        self.text = " ".join(word for _, word in words)

    def place(self, sentence: str, start: int) -> tuple[int, int] | None:
        """Return the first place of a sentence from a place on, with its quotations; both are places in `text`."""
        first, end = -1, start
        for part in filter(None, (part.strip() for part in sentence.split(CUT))):
            limit = len(self.text) if first < 0 else end + _LONGEST_GAP + LONGEST_RULE
            at = self.text.find(part, end, limit)
            if at < 0:
                return None
            first, end = (at if first < 0 else first), at + len(part)
        return None if first < 0 else (first, end)

    def raw(self, place: int) -> int:
        """Return the place of a character in the text as it was typed."""
        number = bisect_right(self._joined, place) - 1
        return self._raw[number] + place - self._joined[number]
