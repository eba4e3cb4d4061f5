"""Finds references: names and lines of code that an agent may need again. Pure, linear in the text.

Law: the only definition. The engine weighs references by it, the measure counts them by it, and so do the restore text and
the autopsy. Each of them has its own rule for *needed* (docs/MEASURES.md).
"""

import re
from typing import Literal

__all__ = [
    "LINE_CHARACTERS",
    "NAME_CANDIDATE",
    "NameTable",
    "RARE_MENTIONS",
    "Reference",
    "decoded_call",
    "line_number",
    "lines_of",
    "name_in",
    "normal",
    "references_in",
]

Reference = tuple[Literal["identifier", "line"], str]

RARE_MENTIONS = 6
"""A reference that more entries mention turns up again by itself: to keep it, or to give it back, shows nothing."""

LINE_CHARACTERS = range(30, 301)
"""A shorter line says little; a longer one is data, not code that an agent copies."""

NAME_CANDIDATE = re.compile(r"[A-Za-z0-9_./\-]{6,120}")
"""Not ``\\w``: the characters of identifiers, paths, versions and flags in code."""

_NAME_EDGE = "./-_"
_NAME_MIN_CHARACTERS = 6
_NAME_SHAPE = re.compile(r"[_/.\d]|[a-z][A-Z]")
"""A name differs from a plain word by a joint, a digit, or a hump."""

_GUTTER = re.compile(r"\s*(\d{1,9})\s*[→|:\t]")


class NameTable(dict[str, str | None]):
    """Possible name -> the name in it, None for a plain word. Each value is computed on first use."""

    def __missing__(self, candidate: str) -> str | None:
        name = self[candidate] = name_in(candidate)
        return name


def name_in(candidate: str) -> str | None:
    """Return the name in a match of `NAME_CANDIDATE`. None means: it is a plain word."""
    name = candidate.strip(_NAME_EDGE)
    return name if len(name) >= _NAME_MIN_CHARACTERS and _NAME_SHAPE.search(name) else None


def line_number(line: str) -> int | None:
    """Return the line number at the start of a listing's line. None means: there is none."""
    gutter = _GUTTER.match(line)
    return int(gutter[1]) if gutter else None


def normal(line: str) -> str:
    """Return a line without outer spaces and line number, so that lines can be compared."""
    stripped = line.strip()
    if stripped and stripped[0].isdigit() and (gutter := _GUTTER.match(line)):
        return line[gutter.end() :].strip()
    return stripped


def decoded_call(text: str) -> str:
    """Return the JSON of a call with newlines, tabs and quotes in place of their escapes."""
    return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def lines_of(text: str) -> list[str]:
    """Return every line of a text or call, as `normal` returns it."""
    return [normal(line) for line in decoded_call(text).split("\n")]


def references_in(text: str) -> frozenset[Reference]:
    """Return every name and every line of code in a text."""
    found: set[Reference] = {
        ("identifier", name) for candidate in NAME_CANDIDATE.findall(text) if (name := name_in(candidate))
    }
    found.update(("line", line) for line in lines_of(text) if len(line) in LINE_CHARACTERS)
    return frozenset(found)
