"""The shape of one rule that finds a secret, and the parts that most rules are made of. Pure.

A rule names literals that every match begins with: they are found with `str.find` (1 to 3 GB/s), and the expression is
tried only if one stands, so that clean text costs little. Every quantifier is bounded or possessive, and no unbounded one
stands inside another: an expression cannot run away.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["END", "Pattern", "START", "compiled"]

# Must not stand before a token: a letter or digit, unless it is the tail of an escape (\n in a JSON string). A backslash
# before n, r, t, b, f or u makes an escape of the letter: the string would be none any more without it.
START = r"(?:(?<![A-Za-z0-9])(?!(?<=\\)[nrtbfu])|(?<=\\[nrtbf]))"
END = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of secret.

    Args:
        literals: What a match begins with; one of them must stand in the text for `expression` to be tried.
        expression: Source of a regular expression that is matched from the first character of a literal on.
        group: The group that is the secret; 0 is all of the match, -1 the group that took part last.
        accept: Looks at a match once more; None accepts all.
        folded: The literals are in small letters, and stand in the text in letters of any case.
        in_run: A literal stands where `START` allows it, in a run of core/text/prefilter.py: a match is long, without a space.
        ahead: So many characters of a match stand before the literal.
        in_word: No letter stands before a literal, and none behind its first three to five, or six letters or more begin it.
        parts: Gives the places of several secrets in a match, and where the search continues; `group` and `accept` are not asked.
    """

    name: str
    literals: tuple[str, ...]
    expression: str
    group: int = 0
    accept: Callable[[re.Match[str]], bool] | None = None
    folded: bool = False
    in_run: bool = False
    in_word: bool = False
    parts: Callable[[re.Match[str]], tuple[list[tuple[int, int]], int]] | None = None
    ahead: int = 0

    @property
    def regex(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed."""
        return compiled(self.expression)


@functools.cache
def compiled(expression: str) -> re.Pattern[str]:
    """Compile an expression whose classes are those of ASCII, once."""
    return re.compile(expression, re.ASCII)
