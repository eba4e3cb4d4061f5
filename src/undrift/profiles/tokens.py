"""Splits JavaScript into tokens. Pure, linear in the code.

Law: every code has tokens. A text without its end ends with its line, a template or a comment without one with the code.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["OPENS", "Token", "TokenKind", "partners", "tokens_of"]

TokenKind = Literal["name", "number", "pattern", "piece", "sign", "text"]
"""``piece``: a part of a template between two of its expressions; a template begins and ends with one."""

OPENS = {"(": ")", "[": "]", "{": "}", "${": "}"}

_TOKEN = re.compile(
    r"""
    (?P<space> (?>(?:\s|//[^\n]*+|/\*(?>(?:[^*]|\*(?!/))*)(?:\*/)?)+) )
  | (?P<text> "(?>(?:[^"\\\n]|\\[\s\S])*)"? | '(?>(?:[^'\\\n]|\\[\s\S])*)'? )
  | (?P<name> [A-Za-z_$][\w$]*+ )
  | (?P<number> \d[\w.]*+ )
  | (?P<sign> =>|\.\.\.|[=!]==?|&&|\|\||\?\?|[\s\S] )
    """,
    re.VERBOSE,
)
_PATTERN = re.compile(r"/(?>(?:[^/\\\n\[]|\\.|\[(?>(?:[^\]\\\n]|\\.){0,200})\]){1,1000})/[a-z]{0,8}+")
_MOST_TRIED = 8
"""After so many slashes on one line that begin no pattern the others are signs: each try may read the whole line."""
_PIECE = re.compile(r"(?>(?:[^`\\$]|\\[\s\S]|\$(?!\{))*)")
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,5})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r?\n)|([\s\S]))")
_PLAIN = {"0": "\0", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_BEFORE_A_VALUE = frozenset({"await", "case", "in", "of", "return", "typeof"})


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `text`: as written; of a text and of a piece what it means."""

    kind: TokenKind
    text: str
    start: int
    end: int


def tokens_of(code: str) -> Iterator[Token]:
    """Yield the tokens, without space and comments."""
    at, open_signs, patterns = 0, list[str](), _Patterns(code)
    last: Token | None = None
    while at < len(code):
        found = _TOKEN.match(code, at)
        if found is None or found.lastgroup is None:
            return
        at = found.end()
        if found.lastgroup == "space":
            continue
        for token in _read(code, found, found.lastgroup, last, open_signs, patterns):
            at, last = token.end, token
            yield token


class _Patterns:
    """The regular expressions of some code; see `_MOST_TRIED`."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._line_end = self._missed = 0

    def at(self, start: int) -> re.Match[str] | None:
        """Return the one that begins at this slash; places come in order."""
        if start >= self._line_end:
            end = self._code.find("\n", start)
            self._line_end, self._missed = len(self._code) if end < 0 else end, 0
        found = _PATTERN.match(self._code, start) if self._missed < _MOST_TRIED else None
        self._missed += found is None
        return found


def _read(
    code: str, found: re.Match[str], kind: str, last: Token | None, open_signs: list[str], patterns: _Patterns
) -> Iterator[Token]:
    """Yield the tokens of one match: of a template its first or its next piece as well."""
    sign, start, end = found[0], found.start(), found.end()
    if kind == "text":
        yield Token("text", _meant(sign[1:-1] if len(sign) > 1 and sign[-1] == sign[0] else sign[1:]), start, end)
        return
    if kind in ("name", "number"):
        yield Token("name" if kind == "name" else "number", sign, start, end)
        return
    if sign == "`":
        yield from _piece(code, end, open_signs)
        return
    if sign == "/" and not _ends_a_value(last) and (pattern := patterns.at(start)):
        yield Token("pattern", pattern[0], start, pattern.end())
        return
    yield Token("sign", sign, start, end)
    if sign in OPENS:
        open_signs.append(sign)
    elif sign in ")]}" and open_signs and open_signs.pop() == "${":
        yield from _piece(code, end, open_signs)


def _piece(code: str, start: int, open_signs: list[str]) -> Iterator[Token]:
    """Yield a piece of a template, and the sign that opens the expression behind it."""
    found = _PIECE.match(code, start)
    end = found.end() if found else start
    if code.startswith("${", end):
        yield Token("piece", _meant(code[start:end]), start, end)
        open_signs.append("${")
        yield Token("sign", "${", end, end + 2)
    else:
        yield Token("piece", _meant(code[start:end]), start, min(end + 1, len(code)))


def _ends_a_value(token: Token | None) -> bool:
    if token is None or (token.kind == "name" and token.text in _BEFORE_A_VALUE):
        return False
    return token.kind != "sign" or token.text in (")", "]", "}")


def _meant(written: str) -> str:
    if "\\" not in written:
        return written
    meant = _ESCAPE.sub(_one, written)
    return meant.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two escapes may be one character


def _one(found: re.Match[str]) -> str:
    point = found[1] or found[2] or found[3]
    if point:
        return chr(int(point, 16))
    return "" if found[4] else _PLAIN.get(found[5], found[5])


def partners(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the place of the closing bracket by that of the opening one, and the other way round."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in OPENS:
            waiting.append(place)
        elif token.text in (")", "]", "}"):
            if not waiting or OPENS[tokens[waiting[-1]].text] != token.text:
                waiting.clear()
                continue
            found[place] = waiting.pop()
            found[found[place]] = place
    return found
