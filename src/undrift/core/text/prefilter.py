"""Says which kinds of secrets a text can hold, by the beginnings of its words. Pure, and linear in the text.

However many kinds there are, a text is read twice: once for the beginnings of its long runs, once for those of its words.
A literal of a kind is searched for only if its first characters are among them.
"""

import re
from collections.abc import Iterator, Sequence

from undrift.core.text.patterns import Pattern
from undrift.core.text.pieces import pieces

__all__ = ["Index", "runs"]

_RUN = re.compile(r"(?<![A-Za-z0-9_+/=.$-])[A-Za-z0-9_+/=.$-]{15,}+", re.ASCII)
# In runs, each on a line of its own, as START allows a token.
_HEAD = re.compile(r"(?:(?<![A-Za-z0-9])|(?<=\n[nrtbf]))(?=(.{4}))", re.ASCII)
_WORD = re.compile(r"(?<![a-z])[a-z]{3,6}", re.ASCII)
_WORD_BEHIND_ESCAPE = re.compile(r"\\[nrtbf]([a-z]{3,6})", re.ASCII)  # \n in a JSON string
_HEAD_CHARACTERS = 4

_Sought = list[tuple[int, Pattern, str]]


class Index:
    """Patterns by what their literals begin with, each with its place in the list."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.names = {pattern.name for pattern in patterns}
        self.always: _Sought = []
        self.by_head: dict[str, _Sought] = {}
        self.by_word: dict[str, _Sought] = {}
        for place, pattern in enumerate(patterns):
            for literal in pattern.literals:
                sought = self.always
                if pattern.in_run:
                    sought = self.by_head.setdefault(literal[:_HEAD_CHARACTERS].lower(), [])
                elif pattern.in_word:
                    sought = self.by_word.setdefault(_first_word(literal), [])
                sought.append((place, pattern, literal))

    def sought_in(self, folded: str) -> Iterator[tuple[Pattern, str]]:
        """Yield the patterns and literals that may stand in a text of ASCII, given in small letters, as they are listed."""
        heads = _heads(folded)
        shorter = {head[:size] for head in heads for size in range(1, _HEAD_CHARACTERS)}
        found = [one for head in (heads | shorter) & self.by_head.keys() for one in self.by_head[head]]
        found += [one for word in _words(folded) & self.by_word.keys() for one in self.by_word[word]]
        for _, pattern, literal in sorted(found + self.always, key=lambda one: one[0]):
            yield pattern, literal


def _first_word(literal: str) -> str:
    """Give a literal's first letters, as `_words` gives those of a word."""
    found = _WORD.match(literal.lower())
    return found[0] if found else ""


def _heads(folded: str) -> set[str]:
    """Give what tokens may begin with: four characters, at each place in a long run where a token may stand."""
    found = "\n".join(["", *runs(folded)])
    return _all_found(_HEAD, found)


def runs(plain: str) -> Iterator[str]:
    """Yield the runs of `_RUN`; it matches no character at which a piece ends, and looks behind at such a one."""
    for start, end in pieces(plain):
        yield from _RUN.findall(plain, start, end)


def _words(folded: str) -> set[str]:
    """Give the first three to six letters of each word."""
    return _all_found(_WORD, folded) | (_all_found(_WORD_BEHIND_ESCAPE, folded) if "\\" in folded else set())


def _all_found(expression: re.Pattern[str], text: str) -> set[str]:
    """Give what an expression finds in the pieces of a text, each once."""
    found = set[str]()
    for start, end in pieces(text):
        found.update(expression.findall(text, start, end))
    return found
