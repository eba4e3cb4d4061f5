"""Make an agent's text fit for the next agent's prompt: one line, no marks, no headers of ours. Pure, and linear.

Law: the same text gives the same words, and words given again stay as they are.
"""

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["one_line", "one_lines"]

_MARK = re.compile(r"\b(BEGIN|END)([\W_]{0,3})(DISPATCH)([\W_]{0,3})(RESULT)", re.IGNORECASE)
_HEADER = re.compile(r"[\[\uff3b\u3010]\s?(session\s?context)\s?[\]\uff3d\u3011]", re.IGNORECASE)
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_LOOKED_AT = 8  # times the limit: white space and what is not seen go before the text is measured


def one_line(text: object, most_characters: int) -> str:
    """Return a text on one line, without invisible characters, without result marks, and without prompt headers.

    `most_characters`: at least 4; a longer line ends in ``...``, which is counted.
    """
    if not isinstance(text, str):
        return ""
    beginning = text[: _LOOKED_AT * most_characters]
    if not beginning.isascii() or not beginning.isprintable():
        beginning = "".join(c if c.isspace() or unicodedata.category(c) not in _UNSEEN else "" for c in beginning)
    line = " ".join(beginning.split())
    line = (
        _HEADER.sub(r"(\1)", _MARK.sub(r"\1 \3 \5", line)) if "_" in line or "[" in line or not line.isascii() else line
    )
    is_cut = len(line) > most_characters or len(text) > _LOOKED_AT * most_characters
    return f"{line[: most_characters - 3].rstrip()}..." if is_cut else line


def one_lines(texts: Iterable[object] | None, most_items: int, most_characters: int) -> tuple[str, ...]:
    """Return the texts that are not empty, each on one line; the last item says how many were left out, if any."""
    said = [line for line in (one_line(text, most_characters) for text in texts or ()) if line]
    if len(said) <= most_items:
        return tuple(said)
    return (*said[: most_items - 1], f"... and {len(said) - most_items + 1} more")
