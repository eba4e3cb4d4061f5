"""Removes escape codes from a text; every character keeps its position. Pure, linear in the text.

Colour codes, real or spelled out, become spaces; an encoded sign that ends a name or a value (``%3D``, ``%253D``,
``\\u003d``) becomes the sign with spaces before it. An escaped letter or digit stays: inside a key nothing is decoded.
"""

import re

from undrift.core.text.pieces import pieces

__all__ = ["unescaped"]

_SIGNS = ("\x1b", "\\", "%", "^[[")
_ESCAPED = re.compile(
    r"(?:\x1b|\\{1,4}(?:u001[bB]|x1[bB]|033|e)|\^\[)\[[0-9;:?]{0,32}+[A-Za-z]"
    r"|(?:%(?:25){0,2}|\\{1,4}u00)(0[aAdD9]|2[0267cC]|3[aAbBcCdDeEfF]|5[bBdD]|7[bBdD])"
)


def unescaped(text: str) -> str:
    """Return the text without escape codes, with its length unchanged."""
    if not any(sign in text for sign in _SIGNS):
        return text
    return "".join(_ESCAPED.sub(_blank, text[start:end]) for start, end in pieces(text))


def _blank(escaped: re.Match[str]) -> str:
    return (chr(int(escaped[1], 16)) if escaped[1] else "").rjust(len(escaped[0]))
