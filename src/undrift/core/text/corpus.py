"""The rules of a well-kept detector, which stand behind our own. Pure.

`make secret-rules` writes their data; here they become patterns. One expression says for all of them, which characters may
stand between a vendor's name and a value.
"""

from undrift.core.text.corpus_named import LINES, NAMED
from undrift.core.text.corpus_tokens import TOKENS
from undrift.core.text.patterns import END, START, Pattern
from undrift.core.text.secret_values import is_named_token, is_token

__all__ = ["CORPUS"]

_JOINT = r"[ \t\w.-]{0,20}+[\s'\"\\]{0,4}+(?:=>|=|>|:{1,3}=|\|\||:|\?=|,)[`'\"\s=\\]{0,6}+"


def _shape(name: str, literals: str, expression: str, is_in_run: bool) -> Pattern:
    """Make the pattern of what has a form of its own: a token in a run, else a line that mostly begins with a word."""
    prefixes = tuple(literals.split())
    is_word = not is_in_run and prefixes[0][:3].isalpha()
    before = START if is_in_run or is_word else ""
    is_folded = expression.startswith("(?i:")
    return Pattern(name, prefixes, before + expression, -1, is_token, is_folded, is_in_run, is_word)


def _named(name: str, literals: str, names: str, value: str) -> Pattern:
    """Make the pattern of a value behind a vendor's name."""
    expression = f"(?<![A-Za-z])(?i:{names}){_JOINT}({value}){END}"
    return Pattern(name, tuple(literals.split()), expression, 1, is_named_token, folded=True, in_word=True)


CORPUS: tuple[Pattern, ...] = (
    *(_shape(*row, True) for row in TOKENS),
    *(_shape(*row, False) for row in LINES),
    *(_named(*row) for row in NAMED),
)
"""In the order of their names within each of the three."""
