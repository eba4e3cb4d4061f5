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


def _token(name: str, literals: str, expression: str) -> Pattern:
    """Make the pattern of a token, which stands in a run."""
    is_folded = expression.startswith("(?i:")
    return Pattern(name, tuple(literals.split()), START + expression, -1, is_token, is_folded, in_run=True)


def _line(name: str, literal: str, ahead: int, expression: str) -> Pattern:
    """Make the pattern of what no run holds; its literal is a word, or stands behind the beginning of a match."""
    is_word = not ahead and literal[:3].isalpha()
    is_folded = expression.startswith("(?i:")
    before = START if is_word or ahead else ""
    return Pattern(name, (literal,), before + expression, -1, is_token, is_folded, in_word=is_word, ahead=ahead)


def _named(name: str, literals: str, names: str, value: str) -> Pattern:
    """Make the pattern of a value behind a vendor's name."""
    expression = f"(?<![A-Za-z])(?i:{names}){_JOINT}({value}){END}"
    return Pattern(name, tuple(literals.split()), expression, 1, is_named_token, folded=True, in_word=True)


CORPUS: tuple[Pattern, ...] = (
    *(_token(*row) for row in TOKENS),
    *(_line(*row) for row in LINES),
    *(_named(*row) for row in NAMED),
)
"""In the order of their names within each of the three."""
