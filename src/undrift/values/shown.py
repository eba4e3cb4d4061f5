"""Values as a line for a person, for `__repr__`. Pure.

Law: it never raises, and reads nothing but what it is given. A text is cut and quoted, so that no character of it does
anything to a terminal or a log.
"""

import reprlib
from typing import Any

__all__ = ["many", "number", "quoted", "saved"]

_MOST_CHARACTERS = 40


def quoted(value: Any, most: int = _MOST_CHARACTERS) -> str:
    """Return a text in quotes on one line; a longer one ends in an ellipsis. `most`: characters, the quotes included."""
    if not isinstance(value, str):
        return _cut(reprlib.repr(value), most)
    kept = value[:most]
    while len(shown := repr(kept if len(kept) == len(value) else f"{kept}…")) > most and kept:
        kept = kept[:-1]
    return shown


def number(value: Any) -> str:
    """Return a number with commas, such as ``1,200``."""
    return f"{value:,}" if isinstance(value, int) else quoted(value)


def many(value: Any, noun: str) -> str:
    """Return a number with its noun, such as ``1,200 tokens``."""
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def saved(tokens: Any) -> str:
    """Return the tokens that a change frees, or adds to a window."""
    is_more = isinstance(tokens, int) and tokens < 0
    return f"{many(-tokens, 'token')} added" if is_more else f"{many(tokens, 'token')} saved"


def _cut(line: str, most: int) -> str:
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line[:most])
    return line if len(line) <= most else f"{line[: most - 1]}…"
